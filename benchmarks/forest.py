"""A random forest on 100,000 x 30, against scikit-learn's, each with the same number of threads."""

from __future__ import annotations

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from benchmarks.timing import best_of_turns, pick, print_ratio
from fuselearn import ForestClassifier


def main() -> None:
    n_samples = pick(120_000, 240)
    X, y = make_classification(n_samples, 30, n_informative=12, n_classes=3, flip_y=0.05, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=n_samples // 6, random_state=0)
    for n_jobs in (1, 2):
        ours = ForestClassifier(n_estimators=50, random_state=0, n_jobs=n_jobs)
        other = RandomForestClassifier(50, random_state=0, n_jobs=n_jobs)
        times = best_of_turns(lambda: ours.fit(X, y), lambda: other.fit(X, y), 2)  # noqa: B023
        print_ratio(f"random forest fit, 50 trees, 100,000 x 30, n_jobs={n_jobs}", *times, 8)
        times = best_of_turns(lambda: ours.predict_proba(X), lambda: other.predict_proba(X), 3)  # noqa: B023
        print_ratio(f"random forest predict_proba of the same, n_jobs={n_jobs}", *times, 3)
    print(f"  test accuracy: ours {ours.score(X_test, y_test):.4f}, other {other.score(X_test, y_test):.4f}")


if __name__ == "__main__":
    main()
