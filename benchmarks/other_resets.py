"""What KFHE's out-of-bag reset is worth in AdaBoost.SAMME, and in the filter over label trees and HOMERs (ML-KFHE).

Each is trained with and without the reset, on labels of which a fraction is wrong. For labels, out-of-bag votes count
cell by cell, and are no better than guessing if they are wrong as often, under the weights, as the frequencies of the
labels are. ``python -m benchmarks.other_resets [METHOD ...]`` reads the papers' datasets from the folders of
``FUSELEARN_DATA``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.tables import load_classes, load_labels
from benchmarks.timing import pick
from fuselearn import HOMERClassifier, SAMMEClassifier, SVMClassifier
from fuselearn._core import draw_counts
from fuselearn.datasets import corrupt_labels
from fuselearn.fusion import KalmanFilter
from fuselearn.multilabel import PCTForestClassifier
from reproduction.experiments import KFHE_DATASETS

LEVELS = pick((0.0, 0.1, 0.2, 0.3, 0.4), (0.2,))
N_REPEATS, N_TREES, N_HOMERS, MOST_SAMPLES = pick(3, 1), pick(100, 4), pick(10, 2), 1_000
LABEL_SETS = ("flags_ml", "emotions", "birds")

Labels = npt.NDArray[np.int64]


def run_samme(X: Any, y: Labels, new: Any, seed: int, *, resets: bool) -> Labels:
    """Train SAMME, and return the classes of new samples."""
    model = SAMMEClassifier(n_estimators=N_TREES, reset="out-of-bag" if resets else "training", random_state=seed)
    predicted: Labels = model.fit(X, y).predict(new)
    return predicted


def run_filter(
    make: Callable[[int], Any], size: int, X: Any, Y: Labels, new: Any, seed: int, *, resets: bool
) -> Labels:
    """Fuse multi-label classifiers by the filter of KFHE, and return the labels of new samples."""
    n_samples, seeds = len(Y), np.random.default_rng(seed).integers(2**31, size=size + 1).tolist()
    frequency = Y.mean(axis=0)
    prior = np.where(Y == 1, frequency, 1.0 - frequency)
    n_votes, n_right = np.zeros(n_samples), np.zeros(Y.shape)

    def scores(counts: npt.NDArray[np.int32], seed: int) -> npt.NDArray[np.float64]:
        """Return the scores of the training samples, and behind them those of the new ones."""
        drawn = np.repeat(np.arange(n_samples), counts)
        model = make(seed).fit(X.iloc[drawn], Y[drawn])
        return np.vstack([model.predict_proba(X), model.predict_proba(new)])

    kf_m = KalmanFilter(scores(np.ones(n_samples, dtype=np.int32), seeds[0]))
    kf_w = KalmanFilter(np.full(n_samples, 1.0 / n_samples))
    for own_seed in seeds[1:]:
        counts = draw_counts(own_seed, kf_w.state, 2 * n_samples)
        h = scores(counts, own_seed)
        z = (kf_m.state + h) / 2
        losses = ((z[:n_samples] > 0.5) != Y).mean(axis=1)
        kf_m.update(z, losses.mean())
        n_votes += counts == 0
        n_right += (counts == 0)[:, None] & ((h[:n_samples] > 0.5) == Y)
        wrong = 1.0 - (prior + n_right) / (1.0 + n_votes)[:, None]
        if resets and kf_w.state @ wrong.mean(axis=1) >= kf_w.state @ (1.0 - prior).mean(axis=1):
            kf_w = KalmanFilter(np.full(n_samples, 1.0 / n_samples))
        else:
            kf_w.update(kf_w.state * np.exp(losses + 1.0 / n_samples), losses.mean())
            kf_w.state /= kf_w.state.sum()
        if kf_m.gain == 0.0:
            break
    predicted: Labels = (kf_m.state[n_samples:] > 0.5).astype(np.int64)
    return predicted


def make_tree(seed: int) -> PCTForestClassifier:
    return PCTForestClassifier(1, bootstrap=False, max_features=None, min_samples_split=20, random_state=seed)


def make_homer(seed: int) -> HOMERClassifier:
    """Return a HOMER of random shape."""
    rng = np.random.default_rng(seed)
    kernel, clustering = rng.choice(["rbf", "linear"]), rng.choice(["balanced", "kmeans", "random"])
    return HOMERClassifier(SVMClassifier(kernel=str(kernel)), clustering=str(clustering), random_state=seed)


METHODS: dict[str, tuple[Sequence[str], Callable[..., Labels]]] = {
    "SAMME": (KFHE_DATASETS, run_samme),
    "filter over label trees": (LABEL_SETS, partial(run_filter, make_tree, N_TREES // 2)),
    "filter over HOMERs": (LABEL_SETS, partial(run_filter, make_homer, N_HOMERS)),
}


def score(method: str, name: str, level: float, repeat: int) -> list[float]:
    """Return macro F1 without and with the reset, trained on half of a dataset."""
    has_classes = method == "SAMME"
    X, y = load_classes(name) if has_classes else load_labels(name)
    chosen = np.random.default_rng(repeat).permutation(len(y))[:MOST_SAMPLES]
    folds = (StratifiedKFold if has_classes else KFold)(2, shuffle=True, random_state=repeat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with a single sample, labels without any
        train, test = next(folds.split(chosen, y[chosen]))
        train, test = chosen[train], chosen[test]
        noisy = corrupt_labels(y[train], level, random_state=repeat)
        given = X.iloc[train], noisy, X.iloc[test], repeat
        predicted = [METHODS[method][1](*given, resets=resets) for resets in (False, True)]
        return [f1_score(y[test], one, average="macro", zero_division=0.0) for one in predicted]


def main(*chosen: str) -> None:
    from benchmarks import other_resets  # processes find its functions by this name, not by that of the program

    levels = " / ".join(f"{level:.0%}" for level in LEVELS)
    print(f"{N_REPEATS} splits, wrong labels {levels}, macro F1 without and with the reset, datasets better : worse\n")
    print("| | without | with | better : worse |\n|---|---|---|---|")
    for method in chosen or METHODS:
        names = METHODS[method][0][: pick(None, 1)]
        tasks = [(method, name, level, repeat) for name in names for level in LEVELS for repeat in range(N_REPEATS)]
        found = Parallel(n_jobs=pick(-1, 1))(delayed(other_resets.score)(*task) for task in tasks)
        scores = np.reshape(found, (len(names), len(LEVELS), N_REPEATS, 2)).mean(axis=2)
        gained = (scores[:, :, 1] - scores[:, :, 0]).round(6)
        without, with_resets = (" / ".join(f"{f1:.3f}" for f1 in scores[:, :, k].mean(axis=0)) for k in range(2))
        record = " / ".join(f"{(g > 0).sum()} : {(g < 0).sum()}" for g in gained.T)
        print(f"| {method} | {without} | {with_resets} | {record} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
