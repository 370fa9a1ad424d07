"""Estimate how many labels were flipped or forgotten, and correct labels and probabilities for it.

Both estimates need out-of-sample scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import check_number
from fuselearn.multilabel.labels import UNKNOWN, PartialTable

Scores = npt.NDArray[np.float64]

LOWEST_FRACTION = 0.1
HIGHEST_FRACTION = 0.1
# The lowest scores are the lowest tenth or, where positives are rare, up to this fraction minus that of positives.
SAFE_FRACTION = 0.35
MIN_ENTRIES = 30
# Up to this fraction, positives among the lowest scores are mistakes of the model rather than flipped labels.
MIN_RATE = 0.02
# In standard errors: how far positives among the lowest scores exceed MIN_RATE, and negatives among the highest scores
# fall below chance, as evidence of flipped labels.
ABOVE_RATE = 3.0
BELOW_CHANCE = 2.0
MAX_RATE = 0.4
MIN_POSITIVES = 8
BEST_LABELS = 0.9
SUREST_FRACTION = 0.02
MIN_FREQUENCY = 0.4
# Above this fraction, negatives among the highest scores are mistakes of the model rather than forgotten labels.
MAX_FREQUENCY = 0.8


def read_noise_rate(noise_rate: Any, scores: Scores, truth: PartialTable) -> float:
    """Validate the fraction of flipped labels, or estimate it for ``"auto"``."""
    if isinstance(noise_rate, str) and noise_rate == "auto":
        return estimate_noise_rate(scores, truth)
    if isinstance(noise_rate, str) or not check_number("noise_rate", noise_rate, 0) < 0.5:
        raise ValueError(f"noise_rate must be 'auto' or a number from 0 to less than 0.5, not {noise_rate!r}.")
    return float(noise_rate)


def estimate_noise_rate(scores: Scores, truth: PartialTable) -> float:
    """Estimate the fraction of labels that were flipped, independently of the features.

    Labels with the lowest scores are rarely true, and labels with the highest scores nearly always, so positives among
    the lowest scores and negatives among the highest scores are mostly flipped. The estimate is the smaller fraction.

    Labels that are hard to predict can look like flipped ones: if a tenth of the samples have a label regardless of
    their features, a tenth of the lowest scores are positive, too. There is evidence of flipped labels only if the
    fraction of positives among the lowest scores is above 2 % by three standard errors, and the fraction of negatives
    among the highest scores is below that of the same labels in all samples by two standard errors.

    Parameters
    ----------
    scores : array of shape (n_samples, n_labels)
        Out-of-sample probabilities.
    truth : array of shape (n_samples, n_labels)
        The labels, 1, 0 or `UNKNOWN`.

    Returns
    -------
    float
        At most 0.4; 0 without evidence.

    Examples
    --------
    400 samples are sorted by score. The last 200 have the label, and every tenth value is flipped.

    >>> truth = np.repeat([0, 1], 200).astype(np.int8)[:, None]
    >>> truth[::10] = 1 - truth[::10]
    >>> round(estimate_noise_rate(np.linspace(0, 1, 400)[:, None], truth), 2)
    0.1
    """
    known = truth != UNKNOWN
    given, frequencies = truth[known], np.ma.masked_array(truth, ~known).mean(axis=0)
    n_lowest, n_highest = _count_lowest(given), max(MIN_ENTRIES, int(HIGHEST_FRACTION * np.count_nonzero(given)))
    if n_lowest < MIN_ENTRIES or n_lowest + n_highest > len(given):
        return 0.0
    order = np.argsort(scores[known], kind="stable")
    lowest, highest = order[:n_lowest], order[-n_highest:]
    low, high = float(given[lowest].mean()), float(1.0 - given[highest].mean())
    by_chance = float(1.0 - np.broadcast_to(frequencies, truth.shape)[known][highest].mean())
    is_below = by_chance - high > BELOW_CHANCE * np.sqrt(high * (1.0 - high) / n_highest)
    return min(low, high, MAX_RATE) if _exceeds_mistakes(low, n_lowest) and is_below else 0.0


def _count_lowest(given: PartialTable) -> int:
    """Return the number of lowest scores whose labels are rarely true."""
    return int(max(LOWEST_FRACTION, SAFE_FRACTION - np.count_nonzero(given) / max(len(given), 1)) * len(given))


def _exceeds_mistakes(low: float, n_lowest: int) -> bool:
    """Return whether mistakes of the model cannot explain the fraction of positives among the lowest scores."""
    return bool(low - MIN_RATE > ABOVE_RATE * np.sqrt(MIN_RATE * (1.0 - MIN_RATE) / n_lowest))


def estimate_label_frequency(scores: Scores, truth: PartialTable) -> float:
    """Estimate the fraction of the true labels that are given, if the others were forgotten at random.

    If a label is easy to predict, nearly all samples with the highest scores have it, so negatives among them are
    mostly forgotten labels. For each label with at least eight positives, take the samples with the highest scores,
    half as many as there are positives, and compute the fraction of positives. The estimate is the 0.9-quantile over
    the labels.

    Labels that are hard to predict can look like forgotten ones. There is evidence of forgotten labels only if both
    this estimate and the fraction of positives among the highest scores of all labels (2 % of the number of positives,
    at least 30) are below 0.8; the larger one is returned. Flipped labels look the same there, but they also leave
    positives among the lowest scores. If these are above 2 % by three standard errors, no label counts as forgotten.

    Parameters
    ----------
    scores : array of shape (n_samples, n_labels)
        Out-of-sample scores.
    truth : array of shape (n_samples, n_labels)
        The labels, 1, 0 or `UNKNOWN`.

    Returns
    -------
    float
        From 0.4 to 0.8, or 1 without evidence, for example with fewer than 30 positives.

    References
    ----------
    Elkan, C., Noto, K. (2008). Learning classifiers from only positive and unlabeled data. KDD, 213-220. The paper
    estimates the fraction from the probabilities of the positives.

    Examples
    --------
    400 samples are sorted by score. The last 80 have the label, but it was forgotten for every fourth of them.

    >>> truth = np.zeros((400, 1), dtype=np.int8)
    >>> truth[320:] = np.tile([1, 1, 1, 0], 20)[:, None]
    >>> round(estimate_label_frequency(np.linspace(0, 1, 400)[:, None], truth), 2)
    0.73
    """
    n_top = (truth == 1).sum(axis=0) // 2
    labels = np.flatnonzero(n_top >= MIN_POSITIVES // 2)
    n_positives = int((truth == 1).sum())
    if not len(labels) or n_positives < MIN_ENTRIES:
        return 1.0
    ranked = np.take_along_axis(truth, np.argsort(-scores, axis=0, kind="stable"), axis=0)
    given = [ranked[ranked[:, label] != UNKNOWN, label][: n_top[label]].mean() for label in labels]
    known = truth != UNKNOWN
    order = np.argsort(-scores[known], kind="stable")
    surest, n_lowest = order[: max(MIN_ENTRIES, int(SUREST_FRACTION * n_positives))], _count_lowest(truth[known])
    if n_lowest >= MIN_ENTRIES and _exceeds_mistakes(float(truth[known][order[-n_lowest:]].mean()), n_lowest):
        return 1.0
    frequency = max(float(np.quantile(given, BEST_LABELS)), float(truth[known][surest].mean()))
    return max(frequency, MIN_FREQUENCY) if frequency < MAX_FREQUENCY else 1.0


def correct_labels(truth: PartialTable, noise_rate: float) -> Scores:
    """Return unbiased estimates of the correct labels, given the fraction of flipped labels; 0 for unknown labels.

    Examples
    --------
    >>> correct_labels(np.array([[1, 0, -1]], dtype=np.int8), 0.1)
    array([[ 1.125, -0.125,  0.   ]])
    """
    return np.where(truth == UNKNOWN, 0.0, (truth - noise_rate) / (1.0 - 2.0 * noise_rate))


def correct_probabilities(probabilities: Scores, noise_rate: float) -> Scores:
    """Return the probabilities of the correct labels, given those of the noisy labels and the fraction flipped.

    Examples
    --------
    >>> correct_probabilities(np.array([0.1, 0.5, 0.9, 1.0]), 0.1)
    array([0. , 0.5, 1. , 1. ])
    """
    return np.clip((probabilities - noise_rate) / (1.0 - 2.0 * noise_rate), 0.0, 1.0)


def noise_variance(noise_rate: float) -> float:
    """Return the variance that flipped labels add to an estimate of `correct_labels`."""
    return noise_rate * (1.0 - noise_rate) / (1.0 - 2.0 * noise_rate) ** 2
