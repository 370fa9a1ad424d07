"""Common behaviour of ``fit``: no half-fitted estimators, and no derived attributes in copies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from fuselearn._compat import count_rows

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fit_whole_or_not(fit: Fit) -> Fit:
    """Decorate a ``fit`` method so that it leaves an unfitted estimator if it fails or is interrupted.

    On success, the number of training samples is stored for the header of a model file.
    """

    @functools.wraps(fit)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(self, "warm_start", False):
            _forget(self)
        try:
            fit(self, X, *args, **kwargs)
            if "_n_rows_" not in vars(self):  # of a Dask collection, only fit knows it
                self._n_rows_ = count_rows(X)
            return self
        except BaseException:
            _forget(self)
            raise

    return wrapped  # type: ignore[return-value]


def _forget(estimator: Any) -> None:
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("__")]:
        delattr(estimator, name)


def without_derived(estimator: Any, state: Any) -> dict[str, Any]:
    """Return the state of an estimator without attributes that can be computed again, each a ``cached_property``."""
    kind = type(estimator)
    return {name: v for name, v in state.items() if not isinstance(getattr(kind, name, None), cached_property)}
