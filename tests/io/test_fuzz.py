"""Files damaged at random load as the same model, or are refused."""

import contextlib
import resource
import time

import numpy as np
import pytest
from sklearn.datasets import load_wine

from fuselearn import KFHEClassifier
from fuselearn.io import ModelFileError, load, read_header, save

X, y = load_wine(return_X_y=True)


def damage(content, rng):
    """Flip bits, overwrite, cut out, double or cut off a random part."""
    data = bytearray(content)
    start = int(rng.integers(len(data)))
    end = min(len(data), start + int(rng.integers(1, 64)))
    way = rng.integers(6)
    if way == 0:
        return bytes(data[:start])
    if way == 1:
        data[start] ^= 1 << int(rng.integers(8))
    elif way == 2:
        data[start:end] = rng.bytes(end - start)
    elif way == 3:
        del data[start:end]
    elif way == 4:
        data[start:start] = data[start:end]
    else:
        for place in rng.integers(len(data), size=int(rng.integers(1, 20))):
            data[place] ^= int(rng.integers(1, 256))
    return bytes(data)


def run(folder, n_files, seed):
    """Load damaged copies of a model file; count how many load, and give the slowest time."""
    path = folder / "model.fuse"
    model = KFHEClassifier(n_estimators=10, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    save(model, path)
    content = path.read_bytes()
    rng = np.random.default_rng(seed)
    n_loaded, slowest = 0, 0.0
    for _ in range(n_files):
        path.write_bytes(damage(content, rng))
        start = time.perf_counter()
        with contextlib.suppress(ModelFileError):
            loaded = load(path)
            n_loaded += 1
            np.testing.assert_array_equal(loaded.predict_proba(X), expected)
        with contextlib.suppress(ModelFileError):
            read_header(path)
        slowest = max(slowest, time.perf_counter() - start)
    return n_loaded, slowest


def test_300_damaged_files(tmp_path):
    n_loaded, slowest = run(tmp_path, 300, seed=1)
    assert n_loaded < 60
    assert slowest < 10


@pytest.mark.slow
def test_10000_damaged_files(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n_loaded, slowest = run(tmp_path, 10_000, seed=2)
    assert n_loaded < 2000
    assert slowest < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes
