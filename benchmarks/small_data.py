"""KFHE on small data, against the same algorithm written plainly on scikit-learn's tree.

Training ends early when the filter has become certain, at a different moment in each program, so times are per
component.
"""

from __future__ import annotations

from sklearn.datasets import load_iris, load_wine, make_classification

from benchmarks.plain_kfhe import PlainKFHE
from benchmarks.timing import pick, print_ratio, seconds
from fuselearn import KFHEClassifier


def main() -> None:
    glass_sized = make_classification(
        214, 9, n_informative=6, n_classes=6, n_clusters_per_class=1, flip_y=0.1, random_state=0
    )
    datasets = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "glass-sized": glass_sized,
    }
    for name, (X, y) in datasets.items():
        KFHEClassifier(reset="training", random_state=0).fit(X, y)
        ours, other = [], []
        for seed in range(pick(10, 1)):
            fuse, plain = KFHEClassifier(reset="training", random_state=seed), PlainKFHE(random_state=seed)
            ours.append(seconds(lambda: fuse.fit(X, y)) / (fuse.n_iter_ + 1))  # noqa: B023
            other.append(seconds(lambda: plain.fit(X, y)) / len(plain.trees))  # noqa: B023
        print_ratio(f"KFHE fit, {name}, per component", min(ours), min(other), 35)


if __name__ == "__main__":
    main()
