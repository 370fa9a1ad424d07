"""Validation and interpretation of parameters: numbers, threads, draws, random states."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from joblib import effective_n_jobs

from fuselearn._messages import did_you_mean, show

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Model = TypeVar("Model", bound="BaseEstimator")


def check_whole_number(name: str, value: Any, smallest: int) -> int:
    """Validate an integer parameter."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {show(value)}.")
    if value < smallest:
        raise ValueError(f"{name} must be at least {smallest}, not {value}.")
    return int(value)


def check_number(name: str, value: Any, smallest: float) -> float:
    """Validate a finite number with a lower bound."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {show(value)}.")
    if not smallest <= float(value) < np.inf:
        raise ValueError(f"{name} must be a finite number of at least {smallest:g}, not {show(value)}.")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Validate a Boolean parameter; text such as "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {show(value)}.")
    return bool(value)


def check_verbose(value: Any) -> int:
    """Validate a ``verbose`` parameter; True is 1."""
    return check_whole_number("verbose", int(value) if isinstance(value, bool) else value, 0)


def check_reporting(verbose: Any, callback: Any) -> None:
    """Check the parameters ``verbose`` and ``callback``."""
    check_verbose(verbose)
    if not (callback is None or callable(callback)):
        raise TypeError(f"callback must be a function or None, not {show(callback)}.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Validate a parameter with a few allowed values."""
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} must be {listed}, not {show(value)}.{did_you_mean(value, choices)}")
    return str(value)


def check_class_weight(value: Any) -> None:
    """Check the type of a ``class_weight`` parameter; scikit-learn checks that its keys are classes."""
    is_balanced = isinstance(value, str) and value == "balanced"
    if not (value is None or is_balanced or isinstance(value, Mapping)):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {show(value)}.")
    for label, weight in value.items() if isinstance(value, Mapping) else ():
        check_number(f"class_weight[{show(label)}]", weight, 0)


def count_features(max_features: Any, n_features: int) -> int:
    """Return the number of features for ``max_features``."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        check_choice("max_features", max_features, ("sqrt", "log2"))
        wanted = np.sqrt(n_features) if max_features == "sqrt" else np.log2(n_features)
        return max(1, int(wanted))
    if isinstance(max_features, float | np.floating):
        if not 0 < max_features <= 1:
            raise ValueError(f"max_features as a fraction must be above 0 and at most 1, not {show(max_features)}.")
        return max(1, int(max_features * n_features))
    return min(check_whole_number("max_features", max_features, 1), n_features)


def count_draws(max_samples: Any, n_samples: int, *, largest_fraction: float = np.inf) -> int:
    """Return the number of draws for ``max_samples``: an int is the number, a float a fraction of the samples.

    Examples
    --------
    >>> count_draws(2.0, 100), count_draws(30, 100)
    (200, 30)
    """
    if isinstance(max_samples, float | np.floating):
        if not (0 < max_samples <= largest_fraction and max_samples < np.inf):
            is_bounded = largest_fraction < np.inf
            expected = f"above 0 and at most {largest_fraction}" if is_bounded else "a finite number above 0"
            raise ValueError(f"max_samples as a fraction must be {expected}, not {show(max_samples)}.")
        return max(1, round(max_samples * n_samples))
    if not isinstance(max_samples, numbers.Integral) or isinstance(max_samples, bool):
        raise TypeError(
            f"max_samples must be a number of samples (int) or a fraction of them (float), not {show(max_samples)}."
        )
    return check_whole_number("max_samples", max_samples, 1)


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``."""
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool)):
        raise TypeError(f"n_jobs must be an integer or None, not {show(n_jobs)}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: 1 means one job, -1 one per processor.")
    return int(effective_n_jobs(n_jobs))


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
        Whether to set only those that are None.
    same : bool
        Whether to use the same seed for all instead of derived seeds.
    """
    names = sorted(
        name
        for name, value in model.get_params().items()
        if name.split("__")[-1] == "random_state" and not (unset_only and value is not None)
    )
    seeds = [seed] * len(names) if same else np.random.SeedSequence(seed).generate_state(len(names)).tolist()
    return model.set_params(**dict(zip(names, seeds, strict=True)))
