"""Estimate the fraction of flipped labels, and correct what thresholds are learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuselearn._parameters import check_number
from fuselearn.multilabel.data.labels import UNKNOWN, PartialTable
from fuselearn.multilabel.decisions.base import Scores

LOWEST_FRACTION = 0.1
MIN_SAMPLES = 10
RAREST_FRACTION = 0.25
MIN_ENTRIES = 30
# Lower rates are mistakes of the scores rather than of the labels.
MIN_RATE = 0.04
MAX_RATE = 0.4


def read_noise_rate(noise_rate: Any, scores: Scores, truth: PartialTable) -> float:
    """Return the fraction of flipped labels that a rule is to assume, estimated if it is ``"auto"``."""
    if isinstance(noise_rate, str) and noise_rate == "auto":
        return estimate_noise_rate(scores, truth)
    if isinstance(noise_rate, str) or not check_number("noise_rate", noise_rate, 0) < 0.5:
        raise ValueError(f"noise_rate must be 'auto' or a number from 0 to less than 0.5, not {noise_rate!r}.")
    return float(noise_rate)


def estimate_noise_rate(scores: Scores, truth: PartialTable) -> float:
    """Estimate the fraction of labels that were flipped, independently of the features.

    Hardly any of the samples with the lowest scores for a rare label have it, so its positives among them are mostly
    flips. Their fraction, over the rarest quarter of the labels and the lowest tenth of the scores, is the estimate.

    Parameters
    ----------
    scores : array of shape (n_samples, n_labels)
        Out-of-sample scores.
    truth : array of shape (n_samples, n_labels)
        The labels, 1, 0 or `UNKNOWN`.

    Returns
    -------
    float
        At most 0.4; 0 if it is less than 0.04, or if there are too few samples.

    Examples
    --------
    Of 400 samples in the order of their scores, the last 40 have the label, and every tenth of the others.

    >>> truth = np.zeros((400, 1), dtype=np.int8)
    >>> truth[360:] = truth[::10] = 1
    >>> estimate_noise_rate(np.linspace(0, 1, 400)[:, None], truth)
    0.1
    """
    n_positives = (truth == 1).sum(axis=0)
    labels = np.argsort(n_positives, kind="stable")[np.count_nonzero(n_positives == 0) :]
    labels = labels[: int(np.ceil(RAREST_FRACTION * len(labels)))]
    n_lowest = max(MIN_SAMPLES, int(LOWEST_FRACTION * len(scores)))
    lowest = np.argsort(scores[:, labels], axis=0, kind="stable")[:n_lowest]
    entries = np.take_along_axis(truth[:, labels], lowest, axis=0)
    entries = entries[entries != UNKNOWN]
    rate = float(entries.mean()) if len(entries) >= MIN_ENTRIES else 0.0
    return 0.0 if rate < MIN_RATE else min(rate, MAX_RATE)


def correct_labels(truth: PartialTable, noise_rate: float) -> Scores:
    """Return labels whose expectation is that of the correct ones, given the fraction of flips; 0 for unknown ones.

    Examples
    --------
    >>> correct_labels(np.array([[1, 0, -1]], dtype=np.int8), 0.1)
    array([[ 1.125, -0.125,  0.   ]])
    """
    return np.where(truth == UNKNOWN, 0.0, (truth - noise_rate) / (1.0 - 2.0 * noise_rate))


def correct_probabilities(probabilities: Scores, noise_rate: float) -> Scores:
    """Return the probabilities of the correct labels, given those of labels of which this fraction was flipped.

    Examples
    --------
    >>> correct_probabilities(np.array([0.1, 0.5, 0.9, 1.0]), 0.1)
    array([0. , 0.5, 1. , 1. ])
    """
    return np.clip((probabilities - noise_rate) / (1.0 - 2.0 * noise_rate), 0.0, 1.0)


def noise_variance(noise_rate: float) -> float:
    """Return the variance that flips add to a label of `correct_labels`."""
    return noise_rate * (1.0 - noise_rate) / (1.0 - 2.0 * noise_rate) ** 2
