"""Random states, and seeds for the estimators of an ensemble."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Model = TypeVar("Model", bound="BaseEstimator")


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator for any valid ``random_state``."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    from sklearn.utils import check_random_state  # not needed to read a table

    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def seed_estimator(model: Model, seed: int | None, *, unset_only: bool = False, same: bool = False) -> Model:
    """Set every ``random_state`` of an estimator and of nested estimators, and return the estimator.

    Parameters
    ----------
    model : estimator
    seed : int or None
    unset_only : bool
        Whether to keep those that are not None.
    same : bool
        Whether all get the same seed, rather than seeds derived from it.
    """
    names = sorted(
        name
        for name, value in model.get_params().items()
        if name.split("__")[-1] == "random_state" and not (unset_only and value is not None)
    )
    seeds = [seed] * len(names) if same else np.random.SeedSequence(seed).generate_state(len(names)).tolist()
    return model.set_params(**dict(zip(names, seeds, strict=True)))
