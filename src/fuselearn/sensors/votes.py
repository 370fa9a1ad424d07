"""What a component's votes say about the training rows, in one pass over them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel


def blend_votes(
    estimate: npt.NDArray[np.float64],
    votes: npt.NDArray[np.int32],
    truth: npt.NDArray[np.int32],
    shares: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], float, float, float]:
    """Average an estimate with a component's votes, and compare both with the truth.

    Parameters
    ----------
    estimate : array of shape (n_rows, n_classes)
        Class scores so far.
    votes : int32 array of shape (n_rows,)
        The class that the component chooses.
    truth : int32 array of shape (n_rows,)
        The right class.
    shares : array of shape (n_rows,)
        What each row counts, in all 1.

    Returns
    -------
    measurement : array of shape (n_rows, n_classes)
        The mean of the estimate and the votes, a vote being 1 for its class and 0 for the others.
    wrong : bool array of shape (n_rows,)
        Where the measurement's largest score (the first of equal ones) is not the right class.
    error : float
        Share of the rows where the measurement is wrong.
    vote_error : float
        Share of the rows where the vote is wrong.
    estimate_error : float
        Share of the rows where the estimate was wrong.

    Examples
    --------
    >>> estimate = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> measurement, wrong, error, vote_error, estimate_error = blend_votes(
    ...     estimate, np.array([1, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32), np.array([0.5, 0.5])
    ... )
    >>> measurement
    array([[0.45, 0.55],
           [0.3 , 0.7 ]])
    >>> wrong, error, vote_error, estimate_error
    (array([False,  True]), 0.5, 0.5, 0.5)
    """
    return _blend_votes(estimate, votes, truth, shares)


@kernel
def _blend_votes(estimate, votes, truth, shares):  # type: ignore[no-untyped-def]
    n_rows, n_classes = estimate.shape
    measurement = np.empty((n_rows, n_classes))
    wrong = np.empty(n_rows, dtype=np.bool_)
    error = 0.0
    vote_error = 0.0
    estimate_error = 0.0
    for i in range(n_rows):
        best = best_before = 0
        top = top_before = -np.inf
        for j in range(n_classes):
            before = estimate[i, j]
            blended = 0.5 * (before + (1.0 if votes[i] == j else 0.0))
            measurement[i, j] = blended
            best, top = (j, blended) if blended > top else (best, top)
            best_before, top_before = (j, before) if before > top_before else (best_before, top_before)
        wrong[i] = best != truth[i]
        if wrong[i]:
            error += shares[i]
        if votes[i] != truth[i]:
            vote_error += shares[i]
        if best_before != truth[i]:
            estimate_error += shares[i]
    return measurement, wrong, error, vote_error, estimate_error


def blend_scores(
    estimate: npt.NDArray[np.float64],
    scores: npt.NDArray[np.float64],
    truth: npt.NDArray[np.int32],
    shares: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], float, float, float]:
    """Average an estimate with a component's scores; otherwise like :func:`blend_votes`."""
    measurement = 0.5 * (estimate + scores)
    wrong = measurement.argmax(axis=1) != truth
    errors = (float(shares @ (of.argmax(axis=1) != truth)) for of in (measurement, scores, estimate))
    return measurement, wrong, *errors
