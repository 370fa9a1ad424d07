"""Weights of samples in parts, and exact sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.engines.exact import from_units, sum_units
from fuselearn.engines.sampling import draw_uniforms
from fuselearn.parts.part import Part
from fuselearn.parts.session import Session

Weights = npt.NDArray[np.float64]

FINGERPRINT_SEED = 1


def add_exactly(session: Session, sums: Sequence[Any]) -> tuple[float, ...]:
    """Add the exact sums of parts, tuples of whole numbers of units, see `engines.exact`."""
    return tuple(from_units(total) for total in session.merge(add_units, sums))


def normalise(session: Session, weights: list[Any]) -> list[Any]:
    """Divide weights by the sum of those of all parts."""
    (total,) = add_exactly(session, session.map(sum_part, weights))
    return session.map(divide_part, weights, [total] * len(weights))


def share_weights(part: Part, total: float) -> Weights:
    """Return what each sample counts."""
    return part.weights / total


def sum_fingerprint(part: Part) -> tuple[int]:
    """Return a sum that is another one if samples, classes or weights are, or if they stand in another order."""
    of_sample = part.codes.sum(axis=1) + part.target + part.weights
    return (sum_units(draw_uniforms(FINGERPRINT_SEED, part.first, len(part.codes)) * of_sample),)


def sum_part(weights: Weights) -> tuple[int]:
    """Sum up the weights of a part."""
    return (sum_units(weights),)


def divide_part(weights: Weights, total: float) -> Weights:
    """Divide the weights of a part by the sum of those of all parts."""
    return weights / total


def add_units(parts: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Add exact sums."""
    return tuple(sum(units) for units in zip(*parts, strict=True))
