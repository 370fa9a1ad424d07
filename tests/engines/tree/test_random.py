"""Random numbers made of keys, against NumPy's functions and the laws that they follow."""

import numpy as np
from scipy.stats import kstest

from fuselearn._kernels import kernel
from fuselearn.engines.tree.random import draw_into, exponential, mix, uniform


@kernel
def numbers_of(keys):
    uniforms = np.empty(len(keys))
    exponentials = np.empty(len(keys))
    for k in range(len(keys)):
        uniforms[k] = uniform(keys[k])
        exponentials[k] = exponential(keys[k])
    return uniforms, exponentials


def some_keys(n_keys):
    return np.array([mix(np.uint64(7), k) for k in range(n_keys)], dtype=np.uint64)


def test_exponential_numbers_are_logarithms_of_uniform_ones():
    extremes = np.array([0, 1, 2**11, 2**12, 2**63 - 1, 2**63, 2**63 + 2**11, 2**64 - 1], dtype=np.uint64)
    around_a_half = (np.uint64(1) << np.uint64(63)) + (np.arange(-50, 50) * 2**11).astype(np.uint64)
    uniforms, exponentials = numbers_of(np.concatenate([extremes, around_a_half, some_keys(20_000)]))
    np.testing.assert_allclose(exponentials, -np.log1p(-uniforms), rtol=1e-15, atol=0)


def test_they_follow_their_laws():
    uniforms, exponentials = numbers_of(some_keys(5_000))
    assert kstest(uniforms, "uniform").pvalue > 0.01
    assert kstest(exponentials, "expon").pvalue > 0.01


def test_every_item_is_drawn_once():
    items = np.arange(20)
    drawn = [draw_into(items, position, np.uint64(3)) for position in range(20)]
    assert sorted(drawn) == list(range(20))
    assert drawn != list(range(20))
