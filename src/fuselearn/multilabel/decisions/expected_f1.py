"""Find the set of labels with the largest expected F1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn.engines.labels import find_best_sizes

__all__ = ["maximise_expected_f1"]


def maximise_expected_f1(probabilities: npt.ArrayLike, empty: float = 1.0) -> npt.NDArray[np.int64]:
    """Return for each sample the set of labels with the largest expected F1, assuming independent labels.

    With the labels in order of falling probability, the best set of k labels is the first k (Lewis 1995). With T_k
    true labels among those and S_k among the others::

        f(k) = E[2 T_k / (k + T_k + S_k)] = Σ_i 2 i P(T_k = i) s_k(k + i),    s_k(a) = E[1 / (a + S_k)]

    and f(0) = `empty` · P(no label is true). P(T_k = i) follows from k - 1, and s_k from k + 1 (Ye et al. 2012)::

        P(T_k = i) = p_k P(T_{k-1} = i - 1) + (1 - p_k) P(T_{k-1} = i)
        s_{k-1}(a) = p_k s_k(a + 1) + (1 - p_k) s_k(a),    s_L(a) = 1 / a

    so the time for a sample is proportional to the square of the number L of labels. With μ_k = p_1 + ... + p_k,
    Jensen's inequality gives 2 μ_k / (k + 1 + μ_L) <= f(k) <= 2 μ_k / (k + μ_k), so sizes whose upper bound is below
    the best lower bound are skipped.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_labels)
        Values from 0 to 1.
    empty : float, default=1.0
        F1 of an empty set with an empty true set.

    Returns
    -------
    int64 array of shape (n_samples, n_labels)
        1 for the labels chosen; the smallest set in case of ties.

    References
    ----------
    Lewis, D. D. (1995). Evaluating and optimizing autonomous text classification systems. SIGIR, 246-254.
    Ye, N., Chai, K. M. A., Lee, W. S., Chieu, H. L. (2012). Optimizing F-measures: a tale of two approaches. ICML.

    Examples
    --------
    Predicting two labels of probability 0.4 is better than predicting none: P(none) = 0.36, f(1) = 0.37, f(2) = 0.48.

    >>> maximise_expected_f1([[0.4, 0.4], [0.1, 0.2], [0.9, 0.1]])
    array([[1, 1],
           [0, 0],
           [1, 0]])
    """
    table = np.ascontiguousarray(probabilities, dtype=np.float64)
    order = np.argsort(-table, axis=1, kind="stable")
    sizes = find_best_sizes(np.take_along_axis(table, order, axis=1), float(empty))
    chosen = np.empty(table.shape, dtype=np.int64)
    np.put_along_axis(chosen, order, np.arange(table.shape[1]) < sizes[:, None], axis=1)
    return chosen
