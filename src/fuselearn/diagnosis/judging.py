"""Compare given labels with probabilities by models that have not seen the samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer]


class Verdict(NamedTuple):
    """What probabilities say about given labels.

    Attributes
    ----------
    own : array of shape (n_samples,)
        Probability of the given label; NaN for a sample that could not be judged.
    suggested : int array of shape (n_samples,)
        The most likely other label.
    largest : array of shape (n_samples,)
        Its probability.
    counts : array of shape (n_classes, n_classes)
        Estimated number of judged samples by given and true class.
    is_doubted : bool array of shape (n_samples,)
        Whether another class is predicted confidently, and is more likely than the given one.
    """

    own: Floats
    suggested: Codes
    largest: Floats
    counts: Floats
    is_doubted: npt.NDArray[np.bool_]

    @property
    def n_wrong(self) -> float:
        """Estimated number of wrong labels."""
        return float(self.counts.sum() - np.trace(self.counts))

    @property
    def noise(self) -> Floats:
        """Estimated probability that a class (row) is labelled as each class (column)."""
        truly = self.counts.sum(axis=0)[:, None]
        # Nothing is known about the labels of a class that is never predicted confidently.
        return np.where(truly > 0, self.counts.T / np.where(truly > 0, truly, 1.0), np.eye(len(truly)))


def judge(probabilities: Floats, given: Codes, is_judged: npt.NDArray[np.bool_]) -> Verdict:
    """Compare the given label of each sample with the most likely other one, and estimate which are wrong.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        By models that have not seen the samples.
    given : int array of shape (n_samples,)
        Class numbers.
    is_judged : bool array of shape (n_samples,)

    Returns
    -------
    Verdict
    """
    places = np.arange(len(given))
    others = probabilities.copy()
    others[places, given] = -1.0
    own, largest = probabilities[places, given], others.max(axis=1)
    reached = _reach(probabilities[is_judged], given[is_judged])
    is_doubted = np.zeros(len(given), dtype=bool)
    is_doubted[is_judged] = (reached.max(axis=1) >= 0) & (reached.argmax(axis=1) != given[is_judged])
    return Verdict(
        own=np.where(is_judged, own, np.nan),
        suggested=others.argmax(axis=1),
        largest=largest,
        counts=count_confident(probabilities[is_judged], given[is_judged]),
        is_doubted=is_doubted & (largest > own),
    )


def rank(own: npt.ArrayLike, largest: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Order labels by their probability, the most doubtful first, and those that could not be judged last."""
    return np.lexsort((-np.asarray(largest), np.asarray(own)))  # NaN comes last


def count_confident(probabilities: Floats, given: Codes) -> Floats:
    """Count samples by given and confidently predicted class, scaled to the number of samples of each given class.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Probabilities by models that have not seen the samples.
    given : int array of shape (n_samples,)
        Class numbers.

    Returns
    -------
    array of shape (n_classes, n_classes)
        Entry (i, j) estimates the number of samples labelled i whose true class is j.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9], [0.2, 0.8], [0.9, 0.1]])
    >>> count_confident(p, np.array([0, 0, 0, 1, 1, 1]))
    array([[2., 1.],
           [1., 2.]])
    """
    n_classes = probabilities.shape[1]
    sizes = np.bincount(given, minlength=n_classes)
    reached = _reach(probabilities, given)
    is_confident = reached.max(axis=1) >= 0
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (given[is_confident], reached.argmax(axis=1)[is_confident]), 1.0)
    # Without any confident sample there is no evidence against the labels of a class.
    counts[counts.sum(axis=1) == 0] = np.eye(n_classes)[counts.sum(axis=1) == 0]
    return counts / counts.sum(axis=1, keepdims=True) * sizes[:, None]


def _reach(probabilities: Floats, given: Codes) -> Floats:
    """Return the probabilities that are at least the mean of the samples labelled with that class; -1 for others."""
    n_classes = probabilities.shape[1]
    own = probabilities[np.arange(len(given)), given]
    sizes = np.bincount(given, minlength=n_classes)
    thresholds = np.full(n_classes, np.inf)  # there is no threshold for a class without samples
    np.divide(np.bincount(given, weights=own, minlength=n_classes), sizes, out=thresholds, where=sizes > 0)
    return np.where(probabilities >= thresholds, probabilities, -1.0)
