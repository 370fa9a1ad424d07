"""Label noise estimated from held-out probabilities, and weights of samples for a second fit by confident learning.

A class is predicted with confidence for a sample if its probability is at least the mean probability of the class over
the samples with that label. The joint counts of labels and confident classes estimate the noise of the labels [1]_.

.. [1] Northcutt, C. G., Jiang, L., Chuang, I. L. (2021). Confident learning: estimating uncertainty in dataset labels.
   Journal of Artificial Intelligence Research 70, 1373-1411.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.fusion.members import sharpen
from fuselearn.learners.learner import Scores, Weights

ClassIndices = npt.NDArray[np.integer]

# A class keeps all samples if fewer than this number would remain.
LEAST_OF_CLASS = 3
LEAST_TRUST = 0.02
# Maximum factor that compensates a class for its mislabeled samples.
MOST_GAIN = 3.0
JOINT_PRIOR = 0.001
# Tolerance, so that equal probabilities are not below their mean by rounding.
ROUNDING = 1e-9
# Minimum fraction of contradicted labels for a second fit.
LEAST_CONTRADICTED = 0.05
MOST_WEIGHT = 0.5
# One side of an interval of 90 %, also as a number of standard errors.
QUANTILE = 0.05
N_ERRORS = 1.645
# The noise estimate averages over all pairs of an exponent and a fraction of random labels. At most half of the labels
# are wrong. The last number is the prior probability that all labels are correct and p is calibrated.
SHARPNESS = np.geomspace(1.0, 5.0, 10)
N_FRACTIONS = 25
MOST_WRONG = 0.5
MOST_RANDOM = 0.95
PRIOR_OF_NO_NOISE = 0.1
# With this number of samples, the estimate has an accuracy of about 0.001.
MOST_SAMPLES = 20_000


class EvenNoise(NamedTuple):
    """Estimates about wrong labels, assuming that they are spread evenly over samples and classes.

    Attributes
    ----------
    exponent : float
        The probabilities of the correct classes are proportional to p^exponent.
    rate : float
        Fraction of wrong labels.
    least : float
        Lower bound of the fraction, which is larger with a probability of 95 %.
    """

    exponent: float
    rate: float
    least: float


def separate_noise(probabilities: Scores, target: ClassIndices, weights: Weights | None = None) -> EvenNoise:
    """Distinguish wrong labels from samples that are hard to classify.

    Probabilities p that were calibrated to noisy labels are underconfident about the correct classes. If a fraction e
    of the labels is replaced at random, labels follow (1 - e) q + e / n_classes, with q the probabilities of the
    correct classes. This has a maximum below 1, which no power of p has. With q proportional to p^b, all pairs of b and
    e are weighted by their likelihood. The exponent is the b for which q is closest to its mean over all pairs. The
    rate corresponds to the e for which 1 / (1 - e), the factor that corrects prediction sets, equals its mean.

    If a model cannot separate the classes, such as a linear one for two concentric circles, its probabilities are not a
    power of the correct ones, and the rate is too large.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Held-out probabilities.
    target : int array of shape (n_samples,)
        Class indices of the labels.
    weights : array of shape (n_samples,), optional
        Sample weights; only their ratios matter.

    Examples
    --------
    Underconfident probabilities; no label, or every fifth label, is wrong:

    >>> rng = np.random.default_rng(0)
    >>> correct = rng.dirichlet([0.5, 0.5], 5_000)
    >>> classes = (rng.random(5_000) > correct[:, 0]).astype(int)
    >>> labels = np.where(np.arange(5_000) % 5 == 0, 1 - classes, classes)
    >>> [round(separate_noise(sharpen(correct, 0.5), given).rate, 2) for given in (classes, labels)]
    [0.0, 0.2]
    """
    n_classes = probabilities.shape[1]
    step = -(-len(target) // MOST_SAMPLES)
    probabilities, target = probabilities[::step], target[::step]
    weights = np.ones(len(target)) if weights is None else weights[::step]
    weights = weights * (weights.sum() / (weights @ weights))  # they sum to the effective number of samples
    fractions = np.linspace(0.0, min(MOST_RANDOM, MOST_WRONG * n_classes / (n_classes - 1)), N_FRACTIONS)
    sharpened = np.stack([sharpen(probabilities, exponent) for exponent in SHARPNESS])
    likelihoods = np.empty((len(SHARPNESS), N_FRACTIONS))
    for row, own in zip(likelihoods, sharpened[:, np.arange(len(target)), target], strict=True):
        row[:] = weights @ np.log(np.outer(own, 1.0 - fractions) + fractions / n_classes)
    prior = np.full(likelihoods.shape, (1.0 - PRIOR_OF_NO_NOISE) / likelihoods.size)
    prior[0, 0] += PRIOR_OF_NO_NOISE
    posterior = np.exp(likelihoods - likelihoods.max()) * prior
    posterior /= posterior.sum()
    of_exponents, of_fractions = posterior.sum(axis=1), posterior.sum(axis=0)
    distances = ((sharpened - np.tensordot(of_exponents, sharpened, axes=1)) ** 2).sum(axis=(1, 2))
    to_wrong = (n_classes - 1) / n_classes  # of labels drawn at random
    return EvenNoise(
        exponent=float(SHARPNESS[distances.argmin()]),
        rate=float(1.0 - 1.0 / (of_fractions / (1.0 - fractions)).sum()) * to_wrong,
        least=float(np.interp(QUANTILE, of_fractions.cumsum(), fractions)) * to_wrong,
    )


class ConfidentJoint(NamedTuple):
    """Joint counts of labels and confident classes.

    Attributes
    ----------
    thresholds : array of shape (n_classes,)
        Mean probability of each class over the samples with that label.
    is_contradicted : bool array of shape (n_samples,)
        Whether a class other than the label is predicted with confidence.
    counts : array of shape (n_classes, n_classes)
        The weight of the samples with each label (row) and confident class (column), scaled to the totals of the
        labels.
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
        totals = self.counts.sum(axis=0)  # 0 for a class that is never predicted with confidence
        counts = np.where(totals > 0.0, self.counts, np.eye(len(totals)))
        matrix: Scores = (counts / counts.sum(axis=0)).T
        return matrix


def count_confident(probabilities: Scores, target: ClassIndices, weights: Weights | None = None) -> ConfidentJoint:
    """Count labels and classes that are predicted with confidence.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Held-out probabilities.
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
    """Compute sample weights for a second fit, which are lower for labels that are probably wrong.

    With d_z the fraction of the samples of confident class z that are labeled z, r_c = p_c / t_c the ratio of
    probability and threshold, and keep = 0 for a contradicted label z, else 1, the weight is ::

        w = clip(1 / d_z, 1, 3) (keep + clip(r_z / max_c r_c, 0.02, 1)^3) / 2.

    Weights up to 0.02 are set to 0, and the others are scaled to a mean of 1. If fewer than three labels of a class are
    not contradicted, none of them is treated as contradicted.

    Parameters
    ----------
    joint : ConfidentJoint
        As returned by `count_confident` for the same samples.
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
    """Return the weight of the second fit: the fraction of contradicted labels, at most 0.5, and 0 below 0.05.

    Examples
    --------
    >>> weigh_second_fit(0.04), weigh_second_fit(0.2), weigh_second_fit(0.7)
    (0.0, 0.2, 0.5)
    """
    return 0.0 if contradicted < LEAST_CONTRADICTED else min(contradicted, MOST_WEIGHT)


def bound_noise(noise: EvenNoise, contradicted: float, n_samples: float) -> tuple[float, float]:
    """Return an interval for the fraction of wrong labels.

    The lower bound excludes samples that are hard to predict. The upper bound is the fraction of contradicted labels,
    extended by 1.645 standard errors.

    Examples
    --------
    >>> low, high = bound_noise(EvenNoise(2.0, rate=0.12, least=0.07), 0.32, 250)
    >>> round(low, 3), round(high, 3)
    (0.07, 0.369)
    """
    error = N_ERRORS * np.sqrt(contradicted * (1.0 - contradicted) / n_samples)
    return min(noise.least, contradicted), min(1.0, max(noise.rate, float(contradicted + error)))


def describe_labels(
    noise_rate: float,
    interval: tuple[float, float],
    noise_matrix: Scores,
    classes: npt.NDArray[Any],
    again: tuple[int, int, float],
) -> str:
    """Describe the estimated label noise as text.

    Parameters
    ----------
    noise_rate : float
    interval : (float, float)
    noise_matrix : array of shape (n_classes, n_classes)
    classes : array of shape (n_classes,)
    again : (int, int, float)
        The number of contradicted labels, the number of members fitted again, and their weight.

    Examples
    --------
    >>> matrix = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> print(describe_labels(0.12, (0.07, 0.37), matrix, np.array(["no", "yes"]), (40, 5, 0.3)))
    about 12.0% of the labels seem to be wrong; at least 7.0%, and at most 37.0% if all contradicted labels are wrong
    40 doubtful labels are ignored in a second fit of 5 members, with a weight of 0.300
    labeled as     no    yes
    no          0.900  0.100
    yes         0.200  0.800
    """
    n_doubted, n_again, weight = again
    second = f"ignored in a second fit of {n_again} members, with a weight of {weight:.3f}"
    lines = [
        f"about {noise_rate:.1%} of the labels seem to be wrong; at least {interval[0]:.1%}, "
        f"and at most {interval[1]:.1%} if all contradicted labels are wrong",
        f"{n_doubted} doubtful labels" + (f" are {second}" if n_again else "; no second fit"),
    ]
    names = [str(one) for one in classes.tolist()]
    width, wide = max(map(len, ["labeled as", *names])), max(map(len, ["0.000", *names]))
    lines.append("  ".join(["labeled as".ljust(width), *(name.rjust(wide) for name in names)]))
    for name, row in zip(names, noise_matrix, strict=True):
        lines.append("  ".join([name.ljust(width), *(f"{value:{wide}.3f}" for value in row)]))
    return "\n".join(lines)
