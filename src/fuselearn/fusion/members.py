"""Members of a fused classifier: shared learners, calibration, errors and weights.

The probabilities p of a member are calibrated by a power p^a, normalized to a sum of one, with the exponent a that
minimizes the squared error on held-out samples. This does not change the ranking of the classes. Members are weighted
by this error, which is the variance R_k of a measurement in terms of a Kalman filter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.learners import Learner
from fuselearn.learners.learner import Scores, Weights

# The time and memory of SVMs are quadratic in the number of samples.
MOST_SVM_SAMPLES = 5_000
EXPONENTS = np.geomspace(0.1, 6.0, 25)
LEAST_PROBABILITY = 1e-3

ClassIndices = npt.NDArray[np.integer]


class SharedLearners(Learner):
    """Learners of one table for the members of an ensemble; members that prepare it in the same way share a learner.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind
    >>> X, learners = np.arange(4.0)[:, None], SharedLearners(4)
    >>> stump, tree = CARTClassifier(max_depth=1), CARTClassifier()
    >>> first = learners.get(stump, lambda: bind(stump, X))
    >>> second = learners.get(tree, lambda: bind(tree, X))
    >>> first.bound is second.bound, second.estimator
    (True, CARTClassifier())
    """

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples
        self.known: list[tuple[Hashable, Learner]] = []

    def get(self, base: Any, make: Callable[[], Learner], way: Hashable = None) -> Learner:
        """Return the learner of a member.

        Parameters
        ----------
        base : estimator or None
            The base estimator of the member, if it has one.
        make : callable
            Makes a learner, if no other member has made a suitable one.
        way : hashable, optional
            A key that members must have in common to share a learner.
        """
        for other, learner in self.known:
            if way == other and (base is None or learner.fits(base)):
                return learner if base is None else learner.with_estimator(base)
        self.known.append((way, make()))
        return self.known[-1][1]

    def release(self) -> None:
        """Release data that are only needed for training."""
        for _, learner in self.known:
            learner.release()


class MemberReport(NamedTuple):
    """Held-out results of a member.

    Attributes
    ----------
    name : str
    weight : float
        Weight in the fused probabilities; 0 for an excluded member.
    error : float
        Mean squared error of its calibrated probabilities on held-out samples.
    accuracy : float
        Accuracy on held-out samples.
    exponent : float
        Exponent of the calibration; above 1 the probabilities were underconfident, below 1 overconfident.
    seconds : float
        Time of its fits to the folds.
    """

    name: str
    weight: float
    error: float
    accuracy: float
    exponent: float
    seconds: float


def note_preparations(imputed: bool, n_used: int = 0, n_samples: int = 0) -> str:
    """Describe the preprocessing for a member; return an empty string if there was none.

    Examples
    --------
    >>> note_preparations(True, 5_000, 20_000)
    'missing values imputed, trained on 5,000 of 20,000 samples'
    """
    notes = ["missing values imputed"] if imputed else []
    if n_used < n_samples:
        notes.append(f"trained on {n_used:,} of {n_samples:,} samples")
    return ", ".join(notes)


def warn_of(notes: Mapping[str, str], stacklevel: int) -> None:
    """Warn about the preprocessing for members, once for members with the same note."""
    for note in dict.fromkeys(notes.values()):
        names = ", ".join(repr(name) for name, own in notes.items() if own == note)
        warnings.warn(f"Members {names}: {note}.", UserWarning, stacklevel=stacklevel)


def describe_members(
    names: Sequence[str],
    columns: Mapping[str, tuple[Sequence[float] | Weights, str]],
    notes: Mapping[str, str],
    noise_rate: float | None,
) -> str:
    """Return a table of the members with their notes, and the estimated fraction of wrong labels.

    Parameters
    ----------
    names : sequence of str
        The members with held-out results.
    columns : dict of str to (values, format)
        The columns of the table.
    notes : dict of str to str
        Notes on members, including excluded ones.
    noise_rate : float or None

    Examples
    --------
    >>> print(describe_members(["svm", "forest"], {"weight": ([0.25, 0.75], ".2f")}, {"svm": "imputed"}, 0.1))
    member  weight
    svm       0.25  imputed
    forest    0.75
    about 10.0% of the labels seem to be wrong
    """
    width = max(len("member"), *map(len, [*names, *notes]))
    lines = ["  ".join(["member".ljust(width), *columns])]
    for number, name in enumerate(names):
        cells = [f"{values[number]:{len(title)}{form}}" for title, (values, form) in columns.items()]
        lines.append("  ".join([name.ljust(width), *cells, notes.get(name, "")]).rstrip())
    lines += [f"{name.ljust(width)}  {note}" for name, note in notes.items() if name not in names]
    if noise_rate is not None:
        lines.append(f"about {noise_rate:.1%} of the labels seem to be wrong")
    return "\n".join(lines)


def squared_error(probabilities: Scores, target: ClassIndices, weights: npt.NDArray[np.float64] | None) -> float:
    """Compute the mean over the samples of the sum over the classes of (probability - truth)^2: the Brier score.

    Examples
    --------
    >>> squared_error(np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([0, 1]), None)
    0.29
    """
    # scikit-learn's brier_score_loss spends 1.6 ms on validation, and a fused classifier calls it 40 times per member.
    truth = np.eye(probabilities.shape[1])[target]
    return float(np.average(((probabilities - truth) ** 2).sum(axis=1), weights=weights))


def sharpen(probabilities: Scores, exponent: float) -> Scores:
    """Raise probabilities to a power and normalize those of each sample to a sum of one.

    Examples
    --------
    >>> sharpen(np.array([[0.6, 0.3, 0.1]]), 2.0).round(2)
    array([[0.78, 0.2 , 0.02]])
    """
    powers = (probabilities + LEAST_PROBABILITY) ** exponent
    scaled: Scores = powers / powers.sum(axis=1, keepdims=True)
    return scaled


def best_exponent(probabilities: Scores, target: ClassIndices, weights: Weights | None) -> float:
    """Return the exponent with the smallest squared error; ties go to the first one."""
    errors = [squared_error(sharpen(probabilities, exponent), target, weights) for exponent in EXPONENTS]
    return float(EXPONENTS[int(np.argmin(errors))])


def weigh_members(errors: npt.NDArray[np.float64], tolerance: float, least: float) -> npt.NDArray[np.float64]:
    """Return weights of members from their errors, with a sum of one; weights below ``least`` are set to 0.

    Examples
    --------
    If an error is larger by the tolerance, the weight is smaller by a factor of e:

    >>> weigh_members(np.array([0.20, 0.21, 0.40]), 0.01, 0.01).round(2)
    array([0.73, 0.27, 0.  ])
    """
    weights: npt.NDArray[np.float64] = np.exp((errors.min() - errors) / tolerance)
    weights[weights < least * weights.sum()] = 0.0
    return weights / weights.sum()
