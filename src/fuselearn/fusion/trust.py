"""How many labels are wrong, and on which a second fit relies, from held-out probabilities and the given labels.

Labels drawn at random differ even where a model is nearly certain: `separate_noise`. The weights of the second fit come
from confident learning. A class is predicted with confidence for a sample if its probability is at least the mean
probability of the class where it is the label. The counts of labels and confident classes estimate which class is
labeled as which [1]_.

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
# An interval of 90 %, and how many standard errors that are to each side.
QUANTILE = 0.05
N_ERRORS = 1.645
# The estimate of the noise weighs all pairs of an exponent and a fraction of labels drawn at random; at most half of
# the labels are wrong. That none is and p is calibrated has this probability before the labels are seen.
SHARPNESS = np.geomspace(1.0, 5.0, 10)
N_FRACTIONS = 25
MOST_WRONG = 0.5
MOST_RANDOM = 0.95
PRIOR_OF_NO_NOISE = 0.1
# So many samples tell the fraction to a third digit.
MOST_SAMPLES = 20_000


class EvenNoise(NamedTuple):
    """What held-out probabilities tell about wrong labels that are spread evenly.

    Attributes
    ----------
    exponent : float
        Probabilities of the correct classes are in proportion to p^exponent.
    rate : float
        Fraction of wrong labels.
    least : float
        It is larger than this with a probability of 95 %.
    """

    exponent: float
    rate: float
    least: float


def separate_noise(probabilities: Scores, target: ClassIndices, weights: Weights | None = None) -> EvenNoise:
    """Distinguish wrong labels from samples that are hard to classify.

    Probabilities p that were calibrated to noisy labels are underconfident about the correct classes. If a fraction e
    of the labels is drawn at random, labels follow (1 - e) q + e / n_classes, with q the probabilities of the correct
    classes: even where q is certain, a fraction of the labels differs, which no power of p can express. With q in
    proportion to p^b, all pairs of b and e are weighed by their likelihood, beside the hypothesis that no label is
    wrong and q is p. The exponent is the b with which q is closest to its mean over all of these. The rate is the one
    for e with 1 / (1 - e) equal to its mean: the factor by which prediction sets are corrected.

    Probabilities of a model that cannot separate the classes, such as a line between two circles, follow no power of
    the correct ones, and the rate is too large.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Of held-out samples.
    target : int array of shape (n_samples,)
        Class indices of the labels.
    weights : array of shape (n_samples,), optional
        Sample weights; only their ratios matter.

    Examples
    --------
    Underconfident probabilities, and labels of which none or every fifth is wrong:

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


def bound_noise(noise: EvenNoise, contradicted: float, n_samples: float) -> tuple[float, float]:
    """Return an interval of the fraction of wrong labels.

    At least those labels are wrong that samples which are hard to predict do not explain, at most all contradicted ones
    and 1.645 standard errors more.

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
