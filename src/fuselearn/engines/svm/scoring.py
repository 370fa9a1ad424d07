"""Decision values of many support vector machines, from kernel values or from weights of columns."""

import numpy as np

from fuselearn._kernels import kernel, vectorised
from fuselearn.engines.svm.smo import add_row

_DENSE_SHARE = 0.3


@kernel
def decide(kernel_rows, rows, support, coefficients, intercepts):  # type: ignore[no-untyped-def]
    """Return the decision values of some rows.

    Parameters
    ----------
    kernel_rows : float32 array of shape (n, n_train)
        Kernel values between rows and the rows trained on.
    rows : int array of shape (n_asked,)
        Which of the rows to answer for.
    support : int32 array of shape (n_support,)
    coefficients : float32 array of shape (n_columns, n_support)
    intercepts : float64 array of shape (n_columns,)

    Returns
    -------
    float64 array of shape (n_asked, n_columns)
    """
    n_train = kernel_rows.shape[1]
    n_columns = len(intercepts)
    values = np.empty((len(rows), n_columns))
    if len(support) > _DENSE_SHARE * n_train:
        # To multiply by zeros is cheaper than to pick most of a row one by one.
        spread = np.zeros((n_columns, n_train), dtype=np.float32)
        for c in range(n_columns):
            for s in range(len(support)):
                spread[c, support[s]] = coefficients[c, s]
        for r in range(len(rows)):
            for c in range(n_columns):
                values[r, c] = intercepts[c] + dot(spread[c], kernel_rows[rows[r]])
        return values
    picked = np.empty(len(support), dtype=np.float32)
    for r in range(len(rows)):
        row = kernel_rows[rows[r]]
        for s in range(len(support)):
            picked[s] = row[support[s]]
        for c in range(n_columns):
            values[r, c] = intercepts[c] + dot(coefficients[c], picked)
    return values


@kernel
def collapse(X, support, coefficients):  # type: ignore[no-untyped-def]
    """Turn coefficients of rows into weights of columns, which give the same products.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_columns)
    support : int array of shape (n_support,)
    coefficients : float64 array of shape (n_machines, n_support)

    Returns
    -------
    float64 array of shape (n_machines, n_columns)
    """
    weights = np.zeros((len(coefficients), X.shape[1]))
    for s in range(len(support)):
        for c in range(len(coefficients)):
            if coefficients[c, s] != 0.0:
                add_row(weights[c], X[support[s]], coefficients[c, s])
    return weights


@vectorised
def dot(a, b):  # type: ignore[no-untyped-def]
    """Sum up products, in float64."""
    total = 0.0
    for k in range(len(a)):
        total += np.float64(a[k]) * b[k]
    return total
