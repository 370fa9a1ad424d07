"""What could be changed in KFHE, and what it is worth when labels are wrong.

The loop of the authors' program is written out here; each variant changes one thing: when the weights are reset, how
the error R of a measurement is measured, what becomes of the variance P, what the time update is, and what a
measurement is made of. ``python -m benchmarks.kfhe_knobs [DATASET ...]`` runs the datasets of the KFHE paper, which it
reads from the folders of ``FUSELEARN_DATA``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.tables import load_classes
from benchmarks.timing import pick
from fuselearn import CARTClassifier
from fuselearn._core import draw_covering_counts
from fuselearn.datasets import corrupt_labels
from fuselearn.learners import bind, class_target
from reproduction.experiments import KFHE_DATASETS

LEVELS = pick((0.0, 0.1, 0.2, 0.3, 0.4), (0.2,))
N_MEMBERS, N_REPEATS, MOST_SAMPLES = pick(100, 6), pick(3, 1), 2_000

UNPRUNED = CARTClassifier(complexity=None)
PRUNED = CARTClassifier()
RANDOM_FEATURES = CARTClassifier(complexity=None, max_features="sqrt")

Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class Variant(NamedTuple):
    """What differs from the authors' program."""

    trees: tuple[CARTClassifier, ...] = (UNPRUNED,)
    """The base estimators of the measurements, in turn."""
    reset: str | None = "training"
    """By which error the weights are reset: on the training samples, as in the papers, out of bag, or never."""
    linear_weights: bool = False
    per_class: bool = False
    """Whether each class has an error, a variance and a gain of its own, in both filters."""
    out_of_bag_error: bool = False
    """Whether R is measured on the samples that were not drawn."""
    posterior: bool = False
    """Whether the variance becomes the error of the new estimate."""
    process_noise: float = 0.0
    transition: float = 1.0
    """The factor a of a linear time update, x <- a x and P <- a^2 P."""
    least_wrong: float = 0.0
    """At least so many samples count as wrong, so that the gain never is 1: a slowdown."""
    n_measured: int = 1
    """Trees per step: the measurement is the mean of their votes."""


VARIANTS: Mapping[str, Variant] = {
    "as in the authors' program": Variant(),
    "never reset": Variant(reset=None),
    "reset out of bag": Variant(reset="out-of-bag"),
    "pruned trees": Variant(trees=(PRUNED,)),
    "pruned trees, reset out of bag": Variant(trees=(PRUNED,), reset="out-of-bag"),
    "linear weights (KFHE-l)": Variant(linear_weights=True),
    "linear weights, reset out of bag": Variant(linear_weights=True, reset="out-of-bag"),
    "slowdown: half a sample is wrong": Variant(least_wrong=0.5),
    "slowdown: five samples are wrong": Variant(least_wrong=5.0),
    "a filter per class": Variant(per_class=True),
    "a filter per class, reset out of bag": Variant(per_class=True, reset="out-of-bag"),
    "linear time update, a = 0.95": Variant(transition=0.95),
    "linear time update, a = 1.05": Variant(transition=1.05),
    "process noise 0.01": Variant(process_noise=0.01),
    "the estimate's error as variance": Variant(posterior=True),
    "R out of bag": Variant(out_of_bag_error=True),
    "three trees per measurement": Variant(n_measured=3),
    "unpruned, pruned and random-feature trees in turn": Variant(trees=(UNPRUNED, PRUNED, RANDOM_FEATURES)),
    "the same, reset out of bag": Variant(trees=(UNPRUNED, PRUNED, RANDOM_FEATURES), reset="out-of-bag"),
}


class OutOfBagVotes:
    """How often trees that were not trained on a sample vote for its label; no vote counts as one by its class."""

    def __init__(self, y: npt.NDArray[np.int32]) -> None:
        self.prior = (np.bincount(y) / len(y))[y]
        self.right, self.n_votes = np.zeros(len(y)), np.zeros(len(y))

    def add(self, is_right: npt.NDArray[np.bool_], is_out: npt.NDArray[np.bool_]) -> None:
        """Count the votes of a tree for the samples that it was not trained on."""
        self.right += is_right & is_out
        self.n_votes += is_out

    def error(self, weights: Weights) -> float:
        """Return the weight of the wrong votes."""
        return float(weights @ (1.0 - (self.prior + self.right) / (1.0 + self.n_votes)))


def measure_weights(weights: Weights, wrong: npt.NDArray[np.bool_], linear: bool) -> Weights:
    """Return the measurement of the sample weights, in which wrong samples count more."""
    n_samples = len(weights)
    if linear:
        measured = 1.0 / n_samples + weights * wrong
        return measured / measured.sum()
    return weights * np.exp(wrong + 1.0 / n_samples)


def run(
    X: Any, y: npt.NDArray[np.int32], new: Any, n_classes: int, variant: Variant, seed: int
) -> npt.NDArray[np.intp]:
    """Train KFHE and return the classes of new samples."""
    seeds = np.random.default_rng(seed).integers(2**62, size=2 * N_MEMBERS + 1).tolist()
    n_samples, target = len(y), class_target(y, n_classes)
    learners = [bind(tree, X) for tree in variant.trees]
    prepared = learners[0].prepare(new)

    def train(t: int, counts: npt.NDArray[np.int32], seed: int) -> Scores:
        """Return the scores of the training samples, and behind them those of the new ones."""
        model = learners[t % len(learners)].train(target, counts, seed)
        return np.vstack([model.scores(), model.scores(prepared)])

    def draw(weights: Weights, seed: int) -> npt.NDArray[np.int32]:
        return draw_covering_counts(seed, weights, n_samples, y, n_classes, 100)

    def class_means(values: npt.NDArray[Any]) -> Weights:
        return np.bincount(y, values, n_classes) / np.maximum(np.bincount(y, minlength=n_classes), 1)

    # The estimate of the new samples is carried along behind that of the training samples.
    estimate = train(0, np.ones(n_samples, dtype=np.int32), seeds[0])
    weights = np.full(n_samples, 1.0 / n_samples)
    n_filters = n_classes if variant.per_class else 1
    variance, weight_variance = np.ones(n_filters), np.ones(n_filters)
    of_sample = y if variant.per_class else np.zeros(n_samples, dtype=np.int32)
    votes_out_of_bag, guessing = OutOfBagVotes(y), 1.0 - 1.0 / n_classes - 1e-12

    for t in range(1, N_MEMBERS // variant.n_measured + 1):
        estimate *= variant.transition
        variance = variant.transition**2 * variance + variant.process_noise
        weight_variance = variant.transition**2 * weight_variance + variant.process_noise
        for attempt in range(2):
            h, is_out = np.zeros_like(estimate), np.ones(n_samples, dtype=bool)
            for k in range(variant.n_measured):
                counts = draw(weights, seeds[2 * t - attempt] + k)
                h += np.eye(n_classes)[train(t, counts, seeds[2 * t - attempt] + k).argmax(axis=1)]
                is_out &= counts == 0
            h /= variant.n_measured
            model_wrong = h[:n_samples].argmax(axis=1) != y
            if attempt == 1 or variant.reset is None or model_wrong.mean() < guessing:
                break
            weights, weight_variance = np.full(n_samples, 1.0 / n_samples), np.ones(n_filters)
        votes_out_of_bag.add(~model_wrong, is_out)
        z = (estimate + h) / 2
        wrong = z[:n_samples].argmax(axis=1) != y
        counted = is_out if variant.out_of_bag_error and is_out.any() else np.ones(n_samples, dtype=bool)
        errors = class_means(wrong) if variant.per_class else np.array([wrong[counted].mean()])
        errors = np.maximum(errors, variant.least_wrong / n_samples)
        gain = variance / np.maximum(variance + errors, np.finfo(float).tiny)
        weight_gain = weight_variance / np.maximum(weight_variance + errors, np.finfo(float).tiny)
        estimate += gain * (z - estimate)
        variance = variance - gain * variance
        if variant.posterior:
            variance = np.array([(estimate[:n_samples].argmax(axis=1) != y).mean()])
        if variant.reset == "out-of-bag" and votes_out_of_bag.error(weights) >= guessing:
            weights, weight_variance = np.full(n_samples, 1.0 / n_samples), np.ones(n_filters)
        else:
            measured = measure_weights(weights, wrong, variant.linear_weights)
            weights = weights + weight_gain[of_sample] * (measured - weights)
            weights /= weights.sum()
            weight_variance = weight_variance - weight_gain * weight_variance
        if not gain.any():
            break
    return estimate[n_samples:].argmax(axis=1)


def score(name: str, level: float, repeat: int) -> list[float]:
    """Return the macro F1 of each variant, trained on half of a dataset."""
    X, y = load_classes(name)
    y = y.astype(np.int32)
    chosen = np.random.default_rng(repeat).permutation(len(y))[:MOST_SAMPLES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with a single sample
        train, test = next(StratifiedKFold(2, shuffle=True, random_state=repeat).split(chosen, y[chosen]))
    train, test = chosen[train], chosen[test]
    noisy = corrupt_labels(y[train], level, random_state=repeat).astype(np.int32)
    given = X.iloc[train], noisy, X.iloc[test], int(y.max()) + 1
    predicted = [run(*given, variant, repeat) for variant in VARIANTS.values()]
    return [f1_score(y[test], one, average="macro", zero_division=0.0) for one in predicted]


def main(*chosen: str) -> None:
    names = chosen or KFHE_DATASETS[: pick(None, 1)]
    tasks = [(name, level, repeat) for name in names for level in LEVELS for repeat in range(N_REPEATS)]
    from benchmarks import kfhe_knobs  # processes find its functions by this name, not by that of the program

    found = Parallel(n_jobs=pick(-1, 1))(delayed(kfhe_knobs.score)(*task) for task in tasks)
    scores = np.reshape(found, (len(names), len(LEVELS), N_REPEATS, len(VARIANTS))).mean(axis=2)
    ranks = rankdata(-scores.round(6), axis=2)
    levels = " / ".join(f"{level:.0%}" for level in LEVELS)
    print(f"{len(names)} datasets, {N_REPEATS} splits, wrong labels {levels}; wins and losses against the first line\n")
    print("| variant | average rank | macro F1 | wins : losses |\n|---|---|---|---|")
    for v, label in enumerate(VARIANTS):
        rank, f1 = (
            " / ".join(f"{value:{form}}" for value in values[:, :, v].mean(axis=0))
            for values, form in ((ranks, ".1f"), (scores, ".3f"))
        )
        gained = (scores[:, :, v] - scores[:, :, 0]).round(6)
        record = " / ".join(f"{(g > 0).sum()} : {(g < 0).sum()}" for g in gained.T)
        print(f"| {label} | {rank} | {f1} | {record} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
