"""Weights of samples in parts, and exact sums of them."""

from __future__ import annotations

from fuselearn.engines.draws import draw_uniforms
from fuselearn.engines.exact import from_units, sum_units
from fuselearn.parts.part import Part
from fuselearn.parts.session import Kept, Session

FINGERPRINT_SEED = 1


def from_all_units(sums: tuple[int, ...]) -> tuple[float, ...]:
    """Return the nearest numbers to exact sums, which are whole numbers of units, see `engines.exact`."""
    return tuple(from_units(total) for total in sums)


def from_one_sum(sums: tuple[int]) -> float:
    """Return the nearest number to a sum."""
    return from_units(sums[0])


def add_exactly(session: Session, sums: Kept) -> tuple[float, ...]:
    """Add the exact sums of parts."""
    return from_all_units(session.merge(add_units, sums))


def sum_fingerprint(part: Part) -> tuple[int]:
    """Return a sum that is another one if samples, classes or weights are, or if they stand in another order."""
    of_sample = part.codes.sum(axis=1) + part.target + part.weights
    return (sum_units(draw_uniforms(FINGERPRINT_SEED, part.first, len(part.codes)) * of_sample),)


def add_units(parts: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Add exact sums."""
    return tuple(sum(units) for units in zip(*parts, strict=True))
