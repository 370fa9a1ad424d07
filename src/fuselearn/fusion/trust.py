"""Which labels a second fit relies on: confident learning, from held-out probabilities and the given labels.

A class is predicted with confidence for a sample if its probability is at least the mean probability of the class where
it is the label. The counts of labels and confident classes estimate which class is labeled as which [1]_.

.. [1] Northcutt, C. G., Jiang, L., Chuang, I. L. (2021). Confident learning: estimating uncertainty in dataset labels.
   Journal of Artificial Intelligence Research 70, 1373-1411.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.learners.learner import Scores, Weights

ClassIndices = npt.NDArray[np.integer]

# A class keeps all of its samples if fewer than so many would remain.
LEAST_OF_CLASS = 3
LEAST_TRUST = 0.02
# A class of which many samples have other labels gets back at most so many times its weight.
MOST_GAIN = 3.0
JOINT_PRIOR = 0.001
# Equal probabilities are not less than their mean.
ROUNDING = 1e-9
# With fewer contradicted labels, a second fit changes nothing.
LEAST_CONTRADICTED = 0.05
MOST_WEIGHT = 0.5
# Of the standard error, for an interval of 90 %.
QUANTILE = 1.645


class ConfidentJoint(NamedTuple):
    """How often each label meets each confident class.

    Attributes
    ----------
    thresholds : array of shape (n_classes,)
        Mean probability of each class where it is the label.
    is_contradicted : bool array of shape (n_samples,)
        Whether another class than the label is predicted with confidence.
    counts : array of shape (n_classes, n_classes)
        The weight of the samples of each label (row) by class (column), scaled to that of the labels.
    """

    thresholds: Scores
    is_contradicted: npt.NDArray[np.bool_]
    counts: Scores

    @property
    def contradicted(self) -> float:
        """Fraction of contradicted labels among those with a confident class."""
        return float(1.0 - np.trace(self.counts) / self.counts.sum())

    @property
    def noise_matrix(self) -> Scores:
        """Probability that a class (row) is labeled as each class (column)."""
        totals = self.counts.sum(axis=0)  # 0 for a class that no sample counts for
        counts = np.where(totals > 0.0, self.counts, np.eye(len(totals)))
        matrix: Scores = (counts / counts.sum(axis=0)).T
        return matrix


def count_confident(probabilities: Scores, target: ClassIndices, weights: Weights | None = None) -> ConfidentJoint:
    """Compare labels with the classes that are predicted with confidence.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Of held-out samples.
    target : int array of shape (n_samples,)
        Class indices of the labels.
    weights : array of shape (n_samples,), optional
        Sample weights.

    Examples
    --------
    The third sample is contradicted; the last one has no confident class:

    >>> p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9], [0.4, 0.6]])
    >>> joint = count_confident(p, np.array([0, 0, 0, 1, 1]))
    >>> joint.thresholds, joint.is_contradicted.nonzero()[0], joint.counts.round(2)
    (array([0.6 , 0.75]), array([2]), array([[2., 1.],
           [0., 2.]]))
    """
    n_classes = probabilities.shape[1]
    weights = np.ones(len(target)) if weights is None else weights
    labels = np.eye(n_classes)[target] * weights[:, None]
    of_labels = labels.sum(axis=0)
    sums = (labels * probabilities).sum(axis=0)
    thresholds = np.where(of_labels > 0, sums / np.where(of_labels > 0, of_labels, 1.0), np.inf)
    candidates = np.where(probabilities >= thresholds - ROUNDING, probabilities, -1.0)
    confident, is_confident = candidates.argmax(axis=1), candidates.max(axis=1) >= 0.0
    counts = labels[is_confident].T @ np.eye(n_classes)[confident[is_confident]] + JOINT_PRIOR * np.eye(n_classes)
    counts *= (of_labels / counts.sum(axis=1))[:, None]
    return ConfidentJoint(thresholds, is_confident & (confident != target), counts)


def trust_labels(joint: ConfidentJoint, probabilities: Scores, target: ClassIndices) -> Weights:
    """Weigh samples by how far their label is to be trusted.

    With d_z the fraction of the confident class z that is labeled as z, ratios r_c = p_c / t_c of probabilities and
    thresholds, and ``keep`` 0 for a contradicted label z and 1 for others, the weight is ::

        w = clip(1 / d_z, 1, 3) (keep + clip(r_z / max_c r_c, 0.02, 1)^3) / 2,

    0 if it is not above 0.02, and scaled to a mean of 1 over the others. A class that would keep fewer than three
    samples keeps all.

    Parameters
    ----------
    joint : ConfidentJoint
        Of the same samples.
    probabilities, target
        As for `count_confident`.

    Returns
    -------
    array of shape (n_samples,)

    Examples
    --------
    >>> p = np.array([[0.9, 0.1]] * 3 + [[0.1, 0.9]] * 4)
    >>> target = np.array([0, 0, 0, 0, 1, 1, 1])
    >>> trust_labels(count_confident(p, target), p, target).round(2)
    array([0.86, 0.86, 0.86, 0.  , 1.14, 1.14, 1.14])
    """
    keep = ~joint.is_contradicted
    keep |= (np.bincount(target[keep], minlength=len(joint.counts)) < LEAST_OF_CLASS)[target]
    ratios = probabilities / joint.thresholds
    own = ratios[np.arange(len(target)), target] / ratios.max(axis=1)
    correctly_labeled = np.diag(joint.noise_matrix)[target]
    trust = (keep + np.clip(own, LEAST_TRUST, 1.0) ** 3) / 2
    weights: Weights = trust * np.clip(1.0 / correctly_labeled, 1.0, MOST_GAIN)
    weights[weights <= LEAST_TRUST] = 0.0
    weights /= weights[weights > 0.0].mean()
    return weights


def weigh_second_fit(contradicted: float) -> float:
    """Return the weight of the models fitted again: the fraction of contradicted labels, if there are some, up to half.

    Examples
    --------
    >>> weigh_second_fit(0.04), weigh_second_fit(0.2), weigh_second_fit(0.7)
    (0.0, 0.2, 0.5)
    """
    return 0.0 if contradicted < LEAST_CONTRADICTED else min(contradicted, MOST_WEIGHT)


def bound_noise(noise_rate: float, contradicted: float, n_samples: float) -> tuple[float, float]:
    """Return an interval of the fraction of wrong labels.

    At least those labels are wrong that samples which are hard to predict do not explain, at most all contradicted
    ones; each end is moved by 1.645 standard errors.

    Examples
    --------
    >>> low, high = bound_noise(0.12, 0.32, 250)
    >>> round(low, 3), round(high, 3)
    (0.071, 0.369)
    """
    error = QUANTILE * np.sqrt(contradicted * (1.0 - contradicted) / n_samples)
    return max(0.0, float(min(noise_rate, contradicted) - error)), min(1.0, float(contradicted + error))


def describe_labels(
    noise_rate: float,
    interval: tuple[float, float],
    noise_matrix: Scores,
    classes: npt.NDArray[Any],
    again: tuple[int, int, float],
) -> str:
    """Return what is estimated about the labels, as text.

    Parameters
    ----------
    noise_rate : float
    interval : (float, float)
    noise_matrix : array of shape (n_classes, n_classes)
    classes : array of shape (n_classes,)
    again : (int, int, float)
        The number of labels that are not trusted, that of the members fitted again, and the weight of these.

    Examples
    --------
    >>> matrix = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> print(describe_labels(0.12, (0.07, 0.37), matrix, np.array(["no", "yes"]), (40, 5, 0.3)))
    about 12.0% of the labels seem to be wrong; at least 7.0%, and at most 37.0% if no sample is hard to predict
    40 labels are not trusted; 5 members are fitted again with less weight on doubtful labels, and count with 0.300
    labeled as     no    yes
    no          0.900  0.100
    yes         0.200  0.800
    """
    n_doubted, n_again, weight = again
    fitted = "no member is fitted again"
    if n_again:
        fitted = f"{n_again} members are fitted again with less weight on doubtful labels, and count with {weight:.3f}"
    lines = [
        f"about {noise_rate:.1%} of the labels seem to be wrong; at least {interval[0]:.1%}, "
        f"and at most {interval[1]:.1%} if no sample is hard to predict",
        f"{n_doubted} labels are not trusted; {fitted}",
    ]
    names = [str(one) for one in classes.tolist()]
    width, wide = max(map(len, ["labeled as", *names])), max(map(len, ["0.000", *names]))
    lines.append("  ".join(["labeled as".ljust(width), *(name.rjust(wide) for name in names)]))
    for name, row in zip(names, noise_matrix, strict=True):
        lines.append("  ".join([name.ljust(width), *(f"{value:{wide}.3f}" for value in row)]))
    return "\n".join(lines)
