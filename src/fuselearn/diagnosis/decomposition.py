"""Decompose errors into noise, bias and variance, sample by sample.

A learner is trained on many training sets. Its predictions for one sample scatter around the *main prediction*: the
mean for squared loss, the most frequent class for zero-one loss.

    bias         loss of the main prediction against the truth
    variance     mean loss of the predictions against the main prediction
    noise        loss of the observed target against the truth

For squared loss, the error is the sum of the three. For zero-one loss, it is a weighted sum (Domingos): where the main
prediction is correct, variance is harmful; where it is wrong, variance helps by the correct predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

PARTS = ("noise", "noise_effect", "bias", "variance", "variance_effect", "error", "observed_error")


def decompose_squared(predictions: Floats, observed: Floats, truth: Floats) -> pd.DataFrame:
    """Decompose the squared error of each sample.

    With f the truth and h_1, ..., h_R the predictions for a sample, ::

        mean (h_r - f)^2 = bias + variance,        variance = sum (h_r - mean h)^2 / (R - 1),

    so bias is (mean h - f)^2 minus variance / R, the variance of the mean of R predictions. Both estimates are
    unbiased.

    Parameters
    ----------
    predictions : array of shape (n_rounds, n_samples)
        NaN where a round has no prediction for a sample.
    observed : array of shape (n_samples,)
        The target, with noise.
    truth : array of shape (n_samples,)
        The target without noise.

    Returns
    -------
    DataFrame
        The columns ``noise``, ``noise_effect`` (the same), ``bias`` (squared), ``variance``, ``variance_effect`` (the
        same), ``error`` (their sum), ``observed_error`` and ``n_predictions``. NaN for samples with fewer than two
        predictions.

    Examples
    --------
    >>> parts = decompose_squared(np.array([[1.0], [3.0]]), observed=np.array([6.0]), truth=np.array([5.0]))
    >>> parts.loc[0, ["noise", "bias", "variance", "error"]].tolist()
    [1.0, 8.0, 2.0, 11.0]
    """
    known = ~np.isnan(predictions)
    number = known.sum(axis=0)
    enough = np.where(number >= 2, number, np.nan)
    mean = np.where(known, predictions, 0.0).sum(axis=0) / enough

    def average(values: Floats) -> Floats:
        return np.where(known, values, 0.0).sum(axis=0) / enough

    variance = average((predictions - mean) ** 2) * enough / (enough - 1)
    bias = (mean - truth) ** 2 - variance / enough
    noise = np.where(number >= 2, (observed - truth) ** 2, np.nan)
    error, observed_error = average((predictions - truth) ** 2) + noise, average((predictions - observed) ** 2)
    columns = (noise, noise, bias, variance, variance, error, observed_error, number)
    return pd.DataFrame(dict(zip((*PARTS, "n_predictions"), columns, strict=True)))


def decompose_zero_one(
    predictions: npt.NDArray[np.intp], observed: npt.NDArray[np.intp], truth: npt.NDArray[np.intp], n_classes: int
) -> pd.DataFrame:
    """Decompose the zero-one error of each sample by Domingos' unified decomposition.

    With P(c) the fraction of the predictions that are class c, m the main prediction, t the observed class and f the
    true (optimal) one, ::

        error = c1 noise + bias + c2 variance,      noise = [t != f],   bias = [m != f],   variance = 1 - P(m),
        c1 = P(f) - P(t),                           c2 = 1 if m = f, otherwise - P(f) / (1 - P(m)).

    With two classes c2 is -1 where the main prediction is wrong. Ties for the main prediction go to the first class.

    Parameters
    ----------
    predictions : int array of shape (n_rounds, n_samples)
        Class indices; -1 where a round has no prediction for a sample.
    observed, truth : int array of shape (n_samples,)
        Class indices.
    n_classes : int

    Returns
    -------
    DataFrame
        The columns ``noise``, ``noise_effect`` (c1 noise), ``bias``, ``variance``, ``variance_effect`` (c2 variance),
        ``error``, ``observed_error`` (the same) and ``n_predictions``. NaN for samples with fewer than two predictions.

    Examples
    --------
    >>> votes = np.array([[0], [1], [1], [2]])
    >>> parts = decompose_zero_one(votes, observed=np.array([2]), truth=np.array([2]), n_classes=3)
    >>> parts.loc[0, ["bias", "variance", "variance_effect", "error"]].tolist()
    [1.0, 0.5, -0.25, 0.75]
    """
    samples = np.arange(predictions.shape[1])
    votes = np.stack([(predictions == c).sum(axis=0) for c in range(n_classes)], axis=1)
    number = votes.sum(axis=1)
    fractions = votes / np.where(number >= 2, number, np.nan)[:, None]
    main = votes.argmax(axis=1)

    variance = 1.0 - fractions[samples, main]
    is_biased = main != truth
    noise = np.where(number >= 2, observed != truth, np.nan)
    noise_effect = fractions[samples, truth] - fractions[samples, observed]
    bias = np.where(number >= 2, is_biased, np.nan)
    variance_effect = np.where(is_biased, -fractions[samples, truth], variance)
    error, observed_error = noise_effect + bias + variance_effect, 1.0 - fractions[samples, observed]
    columns = (noise, noise_effect, bias, variance, variance_effect, error, observed_error, number)
    return pd.DataFrame(dict(zip((*PARTS, "n_predictions"), columns, strict=True)))


def standard_errors(whole: pd.DataFrame, without_group: list[pd.DataFrame]) -> dict[str, float]:
    """Estimate the standard errors of the mean terms.

    Two variances are added: that of the training sets drawn, by the jackknife over groups of rounds, and that of the
    test samples, by the spread between samples. Their common part is counted twice, so the estimate is conservative.

    Parameters
    ----------
    whole : DataFrame
        The terms of each sample, from all rounds.
    without_group : list of DataFrame
        The same, each without one group of rounds.
    """
    parts = list(PARTS)
    n_samples = whole[parts].count()
    between_samples = whole[parts].var() / n_samples if len(whole) > 1 else 0.0 * n_samples
    means: Any = pd.DataFrame([part[parts].mean() for part in without_group])
    n_groups = len(without_group)
    between_rounds = (n_groups - 1) / n_groups * ((means - means.mean()) ** 2).sum()
    return {name: float(error) for name, error in np.sqrt(between_samples + between_rounds).items()}
