"""How many labels of the training samples are wrong, and what thresholds should learn instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuselearn._parameters import check_number
from fuselearn.multilabel.data.labels import UNKNOWN, PartialTable
from fuselearn.multilabel.decisions.base import Scores

LOWEST_SHARE = 0.1
FEWEST_SAMPLES = 10
RAREST_SHARE = 0.25
FEWEST_CELLS = 30
# Less than this are the mistakes of the scores rather than of the labels.
LEAST_RATE = 0.04
LARGEST_RATE = 0.4


def read_noise_rate(noise_rate: Any, scores: Scores, truth: PartialTable) -> float:
    """Return the share of wrong labels that a rule is to assume, which is estimated if it is ``"auto"``."""
    if isinstance(noise_rate, str) and noise_rate == "auto":
        return estimate_noise_rate(scores, truth)
    if isinstance(noise_rate, str) or not check_number("noise_rate", noise_rate, 0) < 0.5:
        raise ValueError(f"noise_rate must be 'auto' or a number from 0 to less than 0.5, not {noise_rate!r}.")
    return float(noise_rate)


def estimate_noise_rate(scores: Scores, truth: PartialTable) -> float:
    """Estimate the share of labels that were flipped, whatever the sample.

    Hardly any of the samples with the lowest scores for a rare label have it. Those that are said to have it, say it
    wrongly. Their share, over the rarest quarter of the labels and the lowest tenth of the scores, is the estimate.

    Parameters
    ----------
    scores : array of shape (n_samples, n_labels)
        Out-of-sample scores.
    truth : array of shape (n_samples, n_labels)
        The labels, 1, 0 or unknown.

    Returns
    -------
    float
        At most 0.4; 0 if it is less than 0.04, or if there are too few samples to tell.

    Examples
    --------
    Of 400 samples in the order of their scores, the last 40 have the label, and so has every tenth of the others.

    >>> truth = np.zeros((400, 1), dtype=np.int8)
    >>> truth[360:] = truth[::10] = 1
    >>> estimate_noise_rate(np.linspace(0, 1, 400)[:, None], truth)
    0.1
    """
    known = truth != UNKNOWN
    n_positives = (truth == 1).sum(axis=0)
    labels = np.argsort(n_positives, kind="stable")[np.count_nonzero(n_positives == 0) :]
    labels = labels[: int(np.ceil(RAREST_SHARE * len(labels)))]
    n_lowest = max(FEWEST_SAMPLES, int(LOWEST_SHARE * len(scores)))
    lowest = np.argsort(scores[:, labels], axis=0, kind="stable")[:n_lowest]
    said = np.take_along_axis(truth[:, labels], lowest, axis=0)[np.take_along_axis(known[:, labels], lowest, axis=0)]
    rate = float(said.mean()) if len(said) >= FEWEST_CELLS else 0.0
    return 0.0 if rate < LEAST_RATE else min(rate, LARGEST_RATE)


def correct_labels(truth: PartialTable, noise_rate: float) -> Scores:
    """Return labels with the expectation of the correct ones, if this share of them was flipped; unknown ones are 0.

    Examples
    --------
    >>> correct_labels(np.array([[1, 0, -1]], dtype=np.int8), 0.1)
    array([[ 1.125, -0.125,  0.   ]])
    """
    return np.where(truth == UNKNOWN, 0.0, (truth - noise_rate) / (1.0 - 2.0 * noise_rate))


def correct_probabilities(probabilities: Scores, noise_rate: float) -> Scores:
    """Return the probabilities of the correct labels, given those of labels of which this share was flipped.

    Examples
    --------
    >>> correct_probabilities(np.array([0.1, 0.5, 0.9, 1.0]), 0.1)
    array([0. , 0.5, 1. , 1. ])
    """
    return np.clip((probabilities - noise_rate) / (1.0 - 2.0 * noise_rate), 0.0, 1.0)


def noise_variance(noise_rate: float) -> float:
    """Return the variance that flips add to a label of `correct_labels`."""
    return noise_rate * (1.0 - noise_rate) / (1.0 - 2.0 * noise_rate) ** 2
