"""Borda counts of (100, 100,000, 10) scores against NumPy's mean; selection from 200 models on 20,000 samples."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from benchmarks.timing import best_of_turns, pick, print_limit, seconds
from fuselearn.combine import combine_scores
from fuselearn.combine.candidates import candidates_for_classes, candidates_for_numbers
from fuselearn.combine.classes import Classes
from fuselearn.combine.selection import select_greedily


def time_rules() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(pick((100, 100_000, 10), (10, 100, 3)))
    combine_scores(scores[:, :10], "borda")
    ours, mean = best_of_turns(lambda: combine_scores(scores, "borda"), lambda: scores.mean(axis=0), 5)
    print_limit("borda of (100, 100000, 10), against the mean of NumPy", ours / mean, 3, "times")
    few = scores[:, :10_000]
    ours, other = best_of_turns(lambda: combine_scores(few, "borda"), lambda: rankdata(few, axis=2).mean(axis=0), 5)
    print(f"borda of (100, 10000, 10): SciPy takes {other / ours:.1f} times as long")


def time_selection() -> None:
    rng = np.random.default_rng(0)
    n_models, n_rows = pick((200, 20_000), (5, 100))
    for n_classes, scoring in (
        (2, "neg_log_loss"),
        (2, "accuracy"),
        (2, "f1"),
        (10, "neg_log_loss"),
        (10, "accuracy"),
        (10, "f1_macro"),
    ):
        truth = rng.integers(0, n_classes, n_rows)
        skill = rng.uniform(0.0, 0.4, (n_models, 1, 1))
        answers = rng.dirichlet(np.ones(n_classes), (n_models, n_rows)) * (1 - skill) + skill * np.eye(n_classes)[truth]
        classes = Classes(np.arange(n_classes))
        select_greedily(candidates_for_classes(scoring, answers[:3, :50], truth[:50], classes, None), 5)
        taken = seconds(lambda: select_greedily(candidates_for_classes(scoring, answers, truth, classes, None), 50))  # noqa: B023
        print_limit(f"selection, {scoring}, {n_classes} classes, 50 rounds", taken, 2, "s")
    target = rng.normal(size=n_rows)
    predictions = target + rng.normal(size=(n_models, n_rows)) * rng.uniform(0.3, 2, (n_models, 1))
    for scoring in ("neg_mean_squared_error", "neg_mean_absolute_error"):
        taken = seconds(lambda: select_greedily(candidates_for_numbers(scoring, predictions, target, None), 50))  # noqa: B023
        print_limit(f"selection, {scoring}, 50 rounds", taken, 2, "s")


def main() -> None:
    time_rules()
    time_selection()


if __name__ == "__main__":
    main()
