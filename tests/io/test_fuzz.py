"""Files damaged or forged at random load as the same model, or are refused; none hangs, swells or runs anything."""

import contextlib
import faulthandler
import json
import sys
import time
import warnings
import zipfile

import numpy as np
import pandas as pd
import psutil
import pytest
import skops.io
from sklearn.datasets import load_wine, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import BaggedClassifier, KFHEClassifier, KFHEHOMERClassifier
from fuselearn.io import ModelFileError, files, load, read_header, save
from fuselearn.io.flattening import flatten
from fuselearn.multilabel import EnsembleOfChainsClassifier, FusedMultilabelClassifier, PCTForestClassifier

resource = pytest.importorskip("resource", reason="Windows has no limits for a process")

X, y = load_wine(return_X_y=True)
ROWS, LABELS = make_multilabel_classification(60, 6, n_classes=5, random_state=0)
FRAME = pd.DataFrame(X[:, :3], columns=list("abc")).assign(town=pd.Categorical(np.resize(["Ulm", "Bonn", "Jena"], 178)))

MODELS = {
    "trees": lambda: (KFHEClassifier(n_estimators=5, random_state=0).fit(X, y), X),
    "categories": lambda: (BaggedClassifier(n_estimators=3, random_state=0).fit(FRAME, y), FRAME),
    "labels": lambda: (PCTForestClassifier(n_estimators=3, random_state=0).fit(ROWS, LABELS), ROWS),
    "machines": lambda: (KFHEHOMERClassifier(n_estimators=2, random_state=0).fit(ROWS, LABELS), ROWS),
    "chains": lambda: (
        EnsembleOfChainsClassifier("tree", n_estimators=2, max_features=0.5, random_state=0).fit(ROWS, LABELS),
        ROWS,
    ),
    "fused": lambda: (FusedMultilabelClassifier(n_estimators=2, random_state=0).fit(ROWS, LABELS), ROWS),
    "scikit-learn's": lambda: (
        make_pipeline(StandardScaler(), BaggedClassifier(RandomForestClassifier(2), n_estimators=2)).fit(X, y),
        X,
    ),
}

GIGABYTE = 1 << 30
LONGEST_SECONDS = 30
STARTS = {"os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen", "socket.connect"}


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


class Forger:
    """Change what a model is made of, and write a file whose digest fits."""

    def __init__(self, model, path, rng):
        save(model, path)
        with zipfile.ZipFile(path) as archive:
            self.header = archive.read(files.HEADER)
        self.flat = flatten(model)
        self.rng = rng

    def write(self, path):
        flat = {**self.flat, "parts": json.loads(self.flat["parts"]), "arrays": dict(self.flat["arrays"])}
        for _ in range(self.rng.integers(1, 4)):
            (self._change_numbers, self._change_array, self._change_part)[self.rng.choice(3, p=[0.4, 0.1, 0.5])](flat)
        flat["parts"] = json.dumps(flat["parts"]).encode()
        content = skops.io.dumps(flat, compression=zipfile.ZIP_DEFLATED)
        digest = files._digest(self.header, content)
        files._write_whole(path, {files.HEADER: self.header, files.MODEL: content, files.DIGEST: digest})

    def _change_numbers(self, flat):
        """Change some numbers: children, columns, cuts, shares, coefficients."""
        kind = self._pick(list(flat["arrays"]))
        pool = flat["arrays"][kind].copy()
        if not len(pool):
            return
        places = self.rng.integers(len(pool), size=self.rng.integers(1, 6))
        if pool.dtype.kind in "iu":
            limits = np.iinfo(pool.dtype)
            pool[places] = self._pick([limits.min, limits.max, 0, 1, len(pool) % limits.max, pool[self._place(pool)]])
        elif pool.dtype.kind == "f":
            pool[places] = self._pick([np.nan, np.inf, -np.inf, -1.0, 1e30, 0.5, pool[self._place(pool)]])
        else:
            pool[places] = pool[self._place(pool)]
        flat["arrays"][kind] = pool

    def _change_array(self, flat):
        """Give all numbers of a type another type, another length or another shape."""
        kind = self._pick(list(flat["arrays"]))
        pool = flat["arrays"][kind]
        changes = [
            lambda: pool[: len(pool) // 2],
            lambda: np.resize(pool, 2 * len(pool)),
            lambda: pool[:, None],
            lambda: pool[::-1],
            lambda: np.full(len(pool), "text"),
            lambda: pool.astype(self._pick(["f4", "f8", "i1", "i8", "u8", "?", "S3", "c16"])),
        ]
        with contextlib.suppress(ValueError, TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat["arrays"][kind] = self._pick(changes)()

    def _change_part(self, flat):
        """Change a value in the list of parts: a size, a shape, a place, a name, a reference."""
        parts = flat["parts"]
        part, place = parts, self._place(parts)
        while isinstance(part[place], list) and part[place]:
            part, place = part[place], self._place(part[place])
        old = part[place]
        others = [-1, 0, 1, 2, 1000, 10**6, 10**9, 10**18, 0.5, None, True, "", "list", [0], [self._place(parts)]]
        if isinstance(old, int) and not isinstance(old, bool):
            part[place] = self._pick([old + 1, old - 1, -old, 2 * old, *others])
        elif isinstance(old, str):
            texts = [value for listed in parts for value in listed if isinstance(value, str)]
            part[place] = self._pick([self._pick(texts), "os.system", *others])
        else:
            part[place] = self._pick(others)

    def _pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def _place(self, values):
        return int(self.rng.integers(len(values)))


@pytest.fixture(scope="module")
def programs():
    """Give a list of the programs and connections that were started."""
    seen = []

    def listen(event, arguments):
        if event in STARTS:
            seen.append((event, arguments))

    sys.addaudithook(listen)
    return seen


@pytest.fixture
def bounded():
    """End the run if something hangs, and let nothing take more than a gigabyte."""
    faulthandler.dump_traceback_later(600, exit=True)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    taken = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (taken + GIGABYTE, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)
    faulthandler.cancel_dump_traceback_later()


def refuse_hunger(error):
    """Fail if the reason of an error was that memory ran out."""
    while error is not None:
        assert not isinstance(error, MemoryError), "more than a gigabyte was asked for"
        error = error.__cause__ or error.__context__


def predict_if_loaded(path, rows):
    try:
        loaded = load(path)
    except ModelFileError as error:
        refuse_hunger(error)
        return "refused"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            loaded.predict_proba(rows)
    except Exception as error:  # a forged model need not predict, but it must not take the process with it
        refuse_hunger(error)
        return "failed"
    return "predicted"


@pytest.mark.parametrize("n_files", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_files(tmp_path, bounded, programs, n_files):
    path, rng = tmp_path / "model.fuse", np.random.default_rng(n_files)
    model = KFHEClassifier(n_estimators=10, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    save(model, path)
    content, n_loaded = path.read_bytes(), 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(n_files):
        path.write_bytes(damage(content, rng))
        start = time.perf_counter()
        try:
            loaded = load(path)
            n_loaded += 1
            np.testing.assert_array_equal(loaded.predict_proba(X), expected)
        except ModelFileError as error:
            refuse_hunger(error)
        with contextlib.suppress(ModelFileError):
            read_header(path)
        assert time.perf_counter() - start < LONGEST_SECONDS
    assert n_loaded < 0.2 * n_files
    assert not programs
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


@pytest.mark.parametrize("n_files", [60, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_forged_files(tmp_path, bounded, programs, name, n_files):
    """Forged copies of a model are refused, or at least do no harm."""
    path = tmp_path / "model.fuse"
    model, samples = MODELS[name]()
    forger = Forger(model, path, np.random.default_rng(n_files))
    load(path).predict_proba(samples)
    outcomes = []
    for _ in range(n_files):
        forger.write(path)
        start = time.perf_counter()
        outcomes.append(predict_if_loaded(path, samples))
        assert time.perf_counter() - start < LONGEST_SECONDS
    assert outcomes.count("refused") > 0.17 * n_files
    assert not programs
