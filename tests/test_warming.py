"""After a warm-up, ordinary use compiles nothing. As a script, this file warms up and reports what was used then."""

import importlib
import json
import pkgutil
import subprocess
import sys
import warnings
from types import CodeType, FunctionType

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numba.core import event
from numba.core.dispatcher import Dispatcher
from sklearn.base import is_regressor
from typer.testing import CliRunner

import fuselearn
from fuselearn import BaggedClassifier, CARTClassifier, KFHEClassifier, SAMMEClassifier, multilabel
from fuselearn.cli.main import app
from fuselearn.ensembles import KFHERegressor

# Kernels that a warm-up need not reach, each with the reason.
EXEMPT = {}


def find_kernels():
    """Find all kernels of the library by name; two of the same name come from one function."""
    found = {}
    for module in pkgutil.walk_packages(fuselearn.__path__, "fuselearn."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Dispatcher):
                    found.setdefault(name_of(value.py_func), []).append(value)
    return found


def name_of(function):
    return f"{function.__module__}.{function.__qualname__}"


def ordinary_uses():
    """Yield estimators and data to fit them to, of all kinds that users have."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(90, 4)), {"sample_weight": rng.random(90)}
    y, Y = rng.integers(0, 2, 90), rng.integers(0, 2, (90, 3))
    missing = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    frame = pd.DataFrame(missing, columns=list("abcd")).assign(e=pd.Categorical(rng.choice(list("xyz"), 90)))
    whole = rng.integers(0, 50, (90, 4))
    for table in (X, X.astype(np.float32), X.copy("F"), pd.DataFrame(X), whole, missing, frame, pl.from_pandas(frame)):
        for kind in (KFHEClassifier, SAMMEClassifier, BaggedClassifier):
            yield kind(n_estimators=3), table, y, {}
            yield kind(n_estimators=3), table, np.array(["no", "yes"])[y], weights
        yield CARTClassifier(), table, y, weights
        yield KFHERegressor(n_estimators=3), table, y, {}
        for name in ("PCTForest", "AdaBoostMH", "GradientBoostingMultilabel", "KFHEMultilabel"):
            yield getattr(multilabel, f"{name}Classifier")(n_estimators=3), table, Y, {}
            yield getattr(multilabel, f"{name}Classifier")(n_estimators=3), table, Y, weights
    for name in ("KFHEHOMER", "EnsembleHOMER", "HOMER", "BinaryRelevance", "Chain", "LabelPowerset", "RAkEL"):
        yield getattr(multilabel, f"{name}Classifier")(), X, Y, {}
        yield getattr(multilabel, f"{name}Classifier")(), X, Y, weights
    tall, classes = rng.normal(size=(5_000, 3)), rng.integers(0, 4, 5_000)
    for table in (tall, tall.round(1), pd.DataFrame(tall, columns=list("xyz")).assign(c=pd.Categorical(classes % 3))):
        yield KFHEClassifier(n_estimators=2, n_jobs=2), table, classes, {}
        yield KFHEClassifier(n_estimators=2), table, classes, {"sample_weight": rng.random(5_000)}
        yield KFHERegressor(n_estimators=2), table, classes, {}


def report():
    """Warm up, then list the kernels that this has used, and those that ordinary use has compiled."""
    warnings.simplefilter("ignore")
    outcome = CliRunner().invoke(app, ["warmup", "--jobs", "1"])
    assert outcome.exit_code == 0, outcome.output
    used = [name for name, kernels in find_kernels().items() if any(kernel.signatures for kernel in kernels)]
    compiled = []
    with event.install_recorder("numba:compile") as recorder:
        for model, table, target, given in ordinary_uses():
            fitted = model.fit(table, target, **given)
            fitted.predict(table) if is_regressor(model) else fitted.predict_proba(table)
            for _, compilation in recorder.buffer:
                what = f"{name_of(compilation.data['dispatcher'].py_func)} for {type(model).__name__}"
                compiled.append(f"{what}, {type(table).__name__}, {[*given]}")
            recorder.buffer.clear()
    return {"used": used, "compiled": compiled}


def names_in(code):
    """List the names that the code of a function uses, that of functions inside of it included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def called_by(function):
    """Find the functions and kernels that a function names, as globals or as cells."""
    cells = dict(zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=True))
    for name in [*names_in(function.__code__), *cells]:
        value = cells.get(name, function.__globals__.get(name))
        if isinstance(value, Dispatcher):
            yield value.py_func
        elif isinstance(value, FunctionType) and value.__module__.startswith("fuselearn."):
            yield value


@pytest.fixture(scope="module")
def reported():
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_ordinary_use_compiles_nothing(reported):
    assert reported["compiled"] == []


def test_every_kernel_is_reached(reported):
    """A kernel that another one calls is in the machine code of that one."""
    kernels = find_kernels()
    waiting = [kernel.py_func for name in reported["used"] for kernel in kernels[name]]
    reached = set()
    while waiting:
        function = waiting.pop()
        if function not in reached:
            reached.add(function)
            waiting += called_by(function)
    assert set(kernels) - {name_of(function) for function in reached} == set(EXEMPT)


if __name__ == "__main__":
    print(json.dumps(report()))
