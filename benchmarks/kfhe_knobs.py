"""What could be turned in KFHE, and what it is worth when labels are wrong.

Each variant changes one thing in the loop of the paper, which is written out here: where the error R of a measurement
is measured, what becomes of the variance P, how many classifiers make a measurement, and when to stop.
``python -m benchmarks.kfhe_knobs`` needs the tables of ``fuselearn[tables]``.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.tables import load_classes
from benchmarks.timing import pick
from fuselearn import CARTClassifier
from fuselearn._core import draw_covering_counts
from fuselearn.datasets import corrupt_labels
from fuselearn.fusion import KalmanFilter

LEVELS = pick((0.0, 0.1, 0.2, 0.3), (0.2,))
N_MEMBERS, N_FOLDS, FOLDS_USED = pick(60, 6), 5, pick(2, 1)
TABLES = (
    "australian", "automobile", "breast_recurrence", "bupa", "ecoli", "haberman", "hepatitis", "lymphography",
    "mammographic", "newthyroid", "pima", "saheart", "tae", "zoo",
)  # fmt: skip


class Variant(NamedTuple):
    """What differs from the paper."""

    unseen: bool = False
    """Whether the error of a measurement is measured on the samples that its classifier has not seen."""
    per_class: bool = False
    """Whether each class has an error, and so a gain, of its own."""
    posterior: bool = False
    """Whether the variance becomes the error of the new estimate."""
    process_noise: float = 0.0
    n_measured: int = 1
    """Classifiers per step: the measurement is the mean of their votes."""
    patience: int = N_MEMBERS
    """Steps without a better error on unseen samples before training stops."""
    linear: bool = False


VARIANTS = {
    "as in the paper": Variant(),
    "error on unseen samples": Variant(unseen=True),
    "an error per class": Variant(per_class=True),
    "the estimate's error as variance": Variant(posterior=True),
    "process noise 0.01": Variant(process_noise=0.01),
    "process noise 0.1": Variant(process_noise=0.1),
    "three measurements per step": Variant(n_measured=3),
    "six measurements per step": Variant(n_measured=6),
    "stops after 10 steps without progress": Variant(patience=10),
    "linear weights (KFHE-l)": Variant(linear=True),
}


def measure_weights(
    weights: npt.NDArray[np.float64], wrong: npt.NDArray[np.bool_], shares: npt.NDArray[np.float64], linear: bool
) -> npt.NDArray[np.float64]:
    """Return the measurement of the sample weights, in which wrong samples count more."""
    if linear:
        measured = shares + weights * wrong
        return measured / measured.sum()
    return weights * np.exp(wrong + 1.0 / len(weights))


def run(X: Any, y: npt.NDArray[np.intp], new: Any, n_classes: int, variant: Variant, seed: int) -> npt.NDArray[np.intp]:
    """Train KFHE and return the classes of new samples."""
    rng = np.random.default_rng(seed)
    n_samples = len(y)
    shares = np.full(n_samples, 1.0 / n_samples)

    def train(counts: Any) -> npt.NDArray[np.float64]:
        """Return the scores of the training samples, and behind them those of the new ones."""
        tree = CARTClassifier(complexity=None).fit(X, y, sample_weight=counts)
        scores = np.zeros((n_samples + len(new), n_classes))
        scores[:, tree.classes_] = np.vstack([tree.predict_proba(X), tree.predict_proba(new)])
        return scores

    rng.integers(2**31)
    # The estimate of the new samples is carried along behind that of the training samples.
    kf_m = KalmanFilter(train(None), 1.0, variant.process_noise)
    kf_w = KalmanFilter(shares, 1.0, variant.process_noise)
    best, best_error, since = kf_m.state, np.inf, 0
    unseen_votes = np.zeros((n_samples, n_classes))
    for _ in range(N_MEMBERS // variant.n_measured):
        kf_m.predict()
        kf_w.predict()
        votes, unseen = np.zeros_like(kf_m.state), np.ones(n_samples, dtype=bool)
        for _ in range(variant.n_measured):
            draw = int(rng.integers(2**62))
            counts = draw_covering_counts(draw, kf_w.state, n_samples, y.astype(np.int32), n_classes, 100)
            votes += np.eye(n_classes)[train(counts).argmax(axis=1)] / variant.n_measured
            unseen &= counts == 0
        unseen_votes[unseen] += votes[:n_samples][unseen]
        z = (kf_m.state + votes) / 2
        wrong = z[:n_samples].argmax(axis=1) != y
        error = wrong[unseen].mean() if variant.unseen and unseen.any() else wrong.mean()
        if variant.per_class:
            by_class = np.bincount(y, wrong, n_classes) / np.bincount(y, minlength=n_classes)
            gains = kf_m.variance / np.maximum(kf_m.variance + by_class, np.finfo(float).tiny)
            state = kf_m.state + gains * (z - kf_m.state)
            gain = kf_m.update(z, error)
            kf_m.state = state
        else:
            gain = kf_m.update(z, error)
        if variant.posterior:
            variance = float((kf_m.state[:n_samples].argmax(axis=1) != y).mean())
            kf_m = KalmanFilter(kf_m.state, variance, variant.process_noise)
        kf_w.update(measure_weights(kf_w.state, wrong, shares, variant.linear), error)
        kf_w.state /= kf_w.state.sum()
        since += 1
        unseen_error = (unseen_votes.argmax(axis=1) != y).mean()
        if unseen_error < best_error:
            best, best_error, since = kf_m.state.copy(), unseen_error, 0
        if gain == 0.0 or since >= variant.patience:
            break
    estimate = best if variant.patience < N_MEMBERS else kf_m.state
    return estimate[n_samples:].argmax(axis=1)


def score(name: str, level: float) -> npt.NDArray[np.float64]:
    """Return the macro F1 of each variant on a table."""
    X, y = load_classes(name)
    scores = []
    splits = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(y, y))
    for fold, (train, test) in enumerate(splits[:FOLDS_USED]):
        noisy = corrupt_labels(y[train], level, random_state=fold)
        given = X.iloc[train], noisy, X.iloc[test], int(y.max()) + 1
        predicted = [run(*given, variant, fold) for variant in VARIANTS.values()]
        scores.append([f1_score(y[test], one, average="macro", zero_division=0.0) for one in predicted])
    return np.mean(scores, axis=0)


def main(*chosen: str) -> None:
    names = chosen or TABLES[: pick(None, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer samples than folds
        scores = np.array([[score(name, level) for level in LEVELS] for name in names])
    ranks = np.array([[rankdata(-level) for level in table] for table in scores.round(6)])
    print(f"{len(names)} tables, {FOLDS_USED} of {N_FOLDS} folds, wrong labels 0 / 10 / 20 / 30 %\n")
    print("| variant | average rank | macro F1 |\n|---|---|---|")
    for v, label in enumerate(VARIANTS):
        rank, f1 = (
            " / ".join(f"{value:{form}}" for value in values[:, :, v].mean(axis=0))
            for values, form in ((ranks, ".1f"), (scores, ".3f"))
        )
        print(f"| {label} | {rank} | {f1} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
