"""Draw samples, as counts of how often each was drawn. Seeds are from 0 to 2**63 - 1."""

from fuselearn._core import (
    draw_counts,
    draw_covering_counts,
    draw_covering_poisson_counts,
    draw_poisson_counts,
    draw_uniforms,
)

MOST_TRIES = 100
"""Maximum number of draws until every class is among the samples drawn."""
