"""What a component of a multi-class ensemble says about the training rows, and how the two filters take it in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel, larger
from fuselearn.ensembles.filtering import Measurement, pull_weights
from fuselearn.filters import KalmanFilter, gain_of

Scores = npt.NDArray[np.float64]
Classes = npt.NDArray[np.int32]
Weights = npt.NDArray[np.float64]


def blend_scores(estimate: Scores, scores: Scores, truth: Classes, shares: Weights) -> Measurement:
    """Average an estimate with a component's scores, and compare both with the truth.

    Parameters
    ----------
    estimate : array of shape (n_rows, n_classes)
        Class scores so far.
    scores : array of shape (n_rows, n_classes)
        Those of the component.
    truth : int32 array of shape (n_rows,)
        The right class. The largest score, the first of equal ones, should be that class's.
    shares : array of shape (n_rows,)
        What each row counts, in all 1.

    Returns
    -------
    Measurement

    Examples
    --------
    >>> estimate, scores = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> blend_scores(estimate, scores, np.array([1, 0], dtype=np.int32), np.array([0.5, 0.5]))
    Measurement(scores=array([[0.45, 0.55],
           [0.3 , 0.7 ]]), loss=array([False,  True]), error=0.5, own_error=0.5, estimate_error=0.5)
    """
    measurement = 0.5 * (estimate + scores)
    wrong = measurement.argmax(axis=1) != truth
    errors = (float(shares @ (of.argmax(axis=1) != truth)) for of in (measurement, scores, estimate))
    return Measurement(measurement, wrong, *errors)


def fuse_votes(
    models: KalmanFilter,
    weights: KalmanFilter,
    votes: Classes,
    truth: Classes,
    shares: Weights,
    linear: bool,
    error_limit: float,
) -> tuple[float, float, float]:
    """Let both filters take in a component's votes.

    A vote is a score of 1 for its class and of 0 for the others; with such scores, this does what `blend_scores` and
    `take_in` do, in one call.

    Returns
    -------
    error : float
        Share of the rows where the measurement is wrong.
    vote_error : float
        Share of the rows where the vote is wrong. If it is not below the limit, the filters are left as they are.
    estimate_error : float
        Share of the rows where the estimate was wrong.
    """
    errors = _fuse_votes(
        models.state, models.variance, weights.state, weights.variance, votes, truth, shares, linear, error_limit
    )
    if errors[1] < error_limit:
        models.weigh(errors[0])
        weights.weigh(errors[0])
    return errors


@kernel
def _fuse_votes(estimate, variance, weights, weight_variance, votes, truth, shares, linear, error_limit):  # type: ignore[no-untyped-def]
    n_rows, n_classes = estimate.shape
    wrong = np.empty(n_rows, dtype=np.bool_)
    voted = np.empty(n_rows)
    error = 0.0
    vote_error = 0.0
    estimate_error = 0.0
    for i in range(n_rows):
        # Nothing here depends on a branch, which would often be guessed wrong. The true class has the largest score
        # (the first of equal ones) if it exceeds all earlier ones and no later one exceeds it.
        vote, true = votes[i], truth[i]
        own = estimate[i, true]
        earlier = later = -np.inf
        for j in range(n_classes):
            earlier = larger(earlier, estimate[i, j] if j < true else -np.inf)
            later = larger(later, estimate[i, j] if j > true else -np.inf)
        right_before = (own > earlier) & (own >= later)
        # In the measurement, twice of which is compared, the class of the vote has a score that is larger by one.
        voted[i] = estimate[i, vote]
        raised = voted[i] + 1.0
        right_if_true = (raised > earlier) & (raised >= later)
        right_if_other = right_before & ((own > raised) | ((own == raised) & (true < vote)))
        wrong[i] = not (right_if_true if vote == true else right_if_other)
        error += shares[i] * wrong[i]
        vote_error += shares[i] * (vote != true)
        estimate_error += shares[i] * (not right_before)
    if vote_error < error_limit:
        gain = gain_of(variance, error)
        scores = estimate.ravel()
        for k in range(len(scores)):
            scores[k] += gain * (0.5 * scores[k] - scores[k])
        for i in range(n_rows):
            estimate[i, votes[i]] = voted[i] + gain * (0.5 * (voted[i] + 1.0) - voted[i])
        pull_weights(weights, wrong, shares, linear, gain_of(weight_variance, error))
    return error, vote_error, estimate_error
