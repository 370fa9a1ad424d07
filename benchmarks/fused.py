"""The fused classifier and the audit of labels, against scikit-learn's random forest with 500 trees."""

from __future__ import annotations

from functools import partial

from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.timing import best_of_turns, pick, print_limit, print_ratio, seconds
from fuselearn import FusedClassifier
from fuselearn.datasets import corrupt_labels
from fuselearn.diagnosis import audit_labels


def main() -> None:
    iris = load_iris(return_X_y=True)
    FusedClassifier(random_state=0).fit(*iris)
    print_limit(
        "fused fit, iris",
        min(seconds(lambda: FusedClassifier(random_state=0).fit(*iris)) for _ in range(pick(5, 1))),
        0.15,
        "s",
    )
    X, y = make_classification(pick(10_000, 100), 20, n_informative=10, n_classes=3, random_state=0)
    for rate in (0.0, 0.3):
        labels = corrupt_labels(y, rate, random_state=0)
        times = best_of_turns(
            partial(FusedClassifier(random_state=0, n_jobs=2).fit, X, labels),
            partial(RandomForestClassifier(pick(500, 5), random_state=0, n_jobs=2).fit, X, labels),
            2,
        )
        print_ratio(f"fused fit, 10,000 x 20, {rate:.0%} wrong labels, 2 threads, against a forest of 500", *times, 3)
    audit = min(seconds(lambda: audit_labels(X, y, random_state=0, n_jobs=2)) for _ in range(pick(2, 1)))
    print_limit("audit_labels, 10,000 x 20, 2 threads", audit, 5, "s")


if __name__ == "__main__":
    main()
