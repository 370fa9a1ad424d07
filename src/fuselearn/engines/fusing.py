"""Kernels of the Kalman-filter ensembles: measurement updates in place, and votes compared with the truth."""

from __future__ import annotations

import math

import numpy as np

from fuselearn._kernels import kernel

WEIGHTINGS = ("exponential", "linear", "symmetric")
"""How the weights of wrong samples are measured, see `measure_weights`."""
EXPONENTIAL, LINEAR, SYMMETRIC = range(3)


@kernel
def pull(state, measurement, gain):  # type: ignore[no-untyped-def]
    """Compute x <- x + K (z - x) in place, without the temporary arrays that NumPy would make."""
    for i in range(len(state)):
        state[i] += gain * (measurement[i] - state[i])


@kernel
def pull_halfway(state, votes, gain):  # type: ignore[no-untyped-def]
    """Compute the same for z = (x + one_hot(votes)) / 2, which is not written out; False if a vote is out of range."""
    voted = np.empty(len(state))
    for i in range(len(state)):
        if not 0 <= votes[i] < state.shape[1]:
            return False
        voted[i] = state[i, votes[i]]
    entries = state.ravel()
    for k in range(len(entries)):  # first all entries as if none had a vote: a flat loop is vectorised
        entries[k] += gain * (0.5 * entries[k] - entries[k])
    for i in range(len(state)):
        state[i, votes[i]] = voted[i] + gain * (0.5 * (voted[i] + 1.0) - voted[i])
    return True


@kernel
def compare_votes(estimate, votes, truth, shares):  # type: ignore[no-untyped-def]
    """Compare the votes v, the estimate y and z = (y + one_hot(v)) / 2 with the true classes.

    Returns
    -------
    wrong : bool array of shape (n_samples,)
        Whether the largest score of z, the first of equal ones, is of another class.
    errors : tuple of three floats
        Share of wrong samples of z, of the votes and of the estimate.
    """
    n_samples, n_classes = estimate.shape
    wrong = np.empty(n_samples, dtype=np.bool_)
    error = vote_error = estimate_error = 0.0
    for i in range(n_samples):
        # Nothing here depends on a branch, which would often be guessed wrong. The true class has the largest score
        # (the first of equal ones) if it exceeds all earlier ones and no later one exceeds it.
        vote, true = votes[i], truth[i]
        own = estimate[i, true]
        earlier = later = -np.inf
        for j in range(n_classes):
            score = estimate[i, j]
            earlier = score if (j < true) & (score > earlier) else earlier
            later = score if (j > true) & (score > later) else later
        right_before = (own > earlier) & (own >= later)
        # Twice the measurement is compared: there, the score of the vote's class is larger by one.
        raised = estimate[i, vote] + 1.0
        right_if_true = (raised > earlier) & (raised >= later)
        right_if_other = right_before & ((own > raised) | ((own == raised) & (true < vote)))
        wrong[i] = not (right_if_true if vote == true else right_if_other)
        error += shares[i] * wrong[i]
        vote_error += shares[i] * (vote != true)
        estimate_error += shares[i] * (not right_before)
    return wrong, (error, vote_error, estimate_error)


@kernel
def measure_weights(weights, loss, shares, n_samples, weighting):  # type: ignore[no-untyped-def]
    """Compute the measurement of the sample weights, in which wrong samples count more.

    `weighting` is a position in `WEIGHTINGS`. Exponential: w_i exp(loss_i + 1/n), for n samples in all. Linear: 1/n +
    w_i loss_i, where 1/n is the initial weight. Symmetric: w_i exp(2 loss_i - 1). The caller scales the last two to
    sum to one.
    """
    measured = np.empty(len(weights))
    if weighting == LINEAR:
        for i in range(len(weights)):
            measured[i] = shares[i] + weights[i] * loss[i]
    elif weighting == SYMMETRIC:
        for i in range(len(weights)):
            measured[i] = weights[i] * math.exp(2.0 * loss[i] - 1.0)
    else:
        right_factor = math.exp(1.0 / n_samples)
        for i in range(len(weights)):
            factor = 1.0 if loss[i] == 0 else math.e if loss[i] == 1 else math.exp(loss[i])
            measured[i] = weights[i] * (factor * right_factor)
    return measured


@kernel
def normalise(weights):  # type: ignore[no-untyped-def]
    """Divide weights by their sum, in place."""
    total = 0.0
    for i in range(len(weights)):
        total += weights[i]
    for i in range(len(weights)):
        weights[i] /= total
