"""Simulated probabilities."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def simulate():
    """Return a function that draws probabilities of four labels, three of them rare, and labels with these."""

    def draw(n_samples=400, seed=0):
        rng = np.random.default_rng(seed)
        scores = rng.beta(1, [1, 6, 12, 30], size=(n_samples, 4))
        return scores, (rng.random(scores.shape) < scores).astype(int)

    return draw
