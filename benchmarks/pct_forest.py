"""A forest for all labels at once, against scikit-learn's ``RandomForestClassifier`` on the same labels.

Both grow 100 unpruned trees on bootstrap samples and look at the square root of the columns in each node, with one
thread. Without the data (see ``FUSELEARN_DATA``), a random table of yeast's shape is used instead.
"""

from __future__ import annotations

from sklearn.ensemble import RandomForestClassifier

from benchmarks.homer import load
from benchmarks.timing import best_of_turns, print_ratio
from fuselearn.multilabel import PCTForestClassifier

TURNS = 3


def main() -> None:
    X, Y, title = load("yeast")
    PCTForestClassifier(2, random_state=0).fit(X, Y)
    times = best_of_turns(
        lambda: PCTForestClassifier(100, random_state=0, n_jobs=1).fit(X, Y),
        lambda: RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X, Y),
        TURNS,
    )
    print_ratio(f"PCT forest, 100 trees, {title}, fit", *times, 5)


if __name__ == "__main__":
    main()
