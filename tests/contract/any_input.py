"""Cases for the promise that whatever comes in, an estimator gives a valid model or refuses with a sentence.

Tables, targets, weights and parameters are described by a few words and numbers, which hypothesis chooses and, if a
case fails, makes as plain as possible. The content of the columns follows from them and a seed.
"""

import re
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

import fuselearn
from fuselearn import BaggedRegressor, CARTClassifier, CleanedClassifier
from fuselearn.multilabel import ThresholdedClassifier

NUMBERS = ("normal", "constant", "few values", "whole", "flags", "tiny")
ODD_NUMBERS = ("gaps", "long", "huge", "no value", "one value")
OTHERS = ("infinite", "text", "categories", "gaps in text", "dates", "text and numbers")
ARRAYS = ("float64", "float32", "int64", "uint8", "bool", "object", "list", "columns first", "read only", "sparse")
FRAMES = ("pandas", "polars")
NAMES = ("letters", "unicode", "numbers", "numbers and text", "the same", "odd")
CLASSES = ("whole", "text", "unicode", "bool", "whole floats", "objects", "categories", "negative", "bytes")
WRONG_CLASSES = ("one class", "missing", "continuous", "mixed", "too short", "two columns", "none", "infinite")
LABELS = ("array", "bool", "frame", "sparse", "list", "constant", "empty rows")
WRONG_LABELS = ("twos", "missing", "one row of labels", "too short", "no labels", "none", "text")
VALUES = ("normal", "constant", "whole", "huge", "tiny", "list")
WRONG_VALUES = ("missing", "infinite", "text", "too short", "none")
WEIGHTS = ("none", "none", "ones", "random", "counts", "some zero", "one row", "minute", "enormous", "list")
WRONG_WEIGHTS = ("all zero", "negative", "missing", "infinite", "too short", "text", "two columns")
NEW_ROWS = ("the same", "others", "one row", "no rows", "another width", "another kind")

# Values of parameters, by name; what an estimator does not know as a choice it refuses, which is an outcome, too.
CHOICES = {
    "bootstrap": [False],
    "bag_fraction": [1.0],
    "clustering": ["kmeans", "random"],
    "code": ["random", "exhaustive"],
    "complexity": [None, 0.0, 1.0],
    "constraint": [None, "non-negative"],
    "decision": [
        0.0,
        1.0,
        "half",
        "cardinality",
        "per_label",
        "micro_f1",
        "known_sets",
        "at_least_one",
        "expected_f1",
        "set",
    ],
    "decoding": ["hamming", "loss"],
    "cv": [2, 3],
    "estimator": [None, "tree", GaussianNB(), CARTClassifier(min_samples_split=2), CARTClassifier(max_features=1)],
    "gamma": [0.5, 100.0],
    "impute": [True],
    "kernel": ["linear", "rbf"],
    "kernels": [("linear",)],
    "labelset_size": [1, 2],
    "loss": ["squared_error"],
    "max_bins": [2, 16],
    "max_depth": [1, None],
    "max_features": [1, 0.5, "sqrt"],
    "max_samples": [1, 0.3],
    "min_count": [1, 5],
    "min_samples_leaf": [1, 7],
    "min_samples_split": [2],
    "n_bags": [3],
    "n_clusters": [2, 9],
    "n_estimators": [1, 7],
    "n_initial": [2],
    "oob_score": [True],
    "order": ["random"],
    "overlapping": [False],
    "probability": ["logistic", "sign"],
    "reset": ["training"],
    "rule": ["and", "or", "borda", "mean", "median", "product", "min", "max", "trimmed"],
    "scaling": [None, "minmax"],
    "shrinkage": [0.5, "auto"],
    "splitter": ["random"],
    "vote": ["class", "probability"],
    "weighting": ["linear"],
    "weights": ["performance", [1.0, 3.0]],
}

# Members of ensembles over any models, which take missing values.
MEMBERS = {
    "classifier": [("ours", CARTClassifier()), ("other", DecisionTreeClassifier(max_depth=3, random_state=0))],
    "regressor": [
        ("one", DecisionTreeRegressor(max_depth=3, random_state=0)),
        ("two", BaggedRegressor(n_estimators=2)),
    ],
}

REQUIRED = {ThresholdedClassifier: ("estimator",)}

# What Python and NumPy say when a program is wrong, which a user could make nothing of.
UNHELPFUL = re.compile(
    r"broadcast|out of bounds|not aligned|zero-size|unsupported operand|not supported between|has no attribute|"
    r"object is not|object of type|unexpected keyword|positional argument|NoneType|inhomogeneous|truth value|"
    r"cannot reshape|must match exactly|No matching definition|not enough values|max\(\) |min\(\) |invalid literal",
)


class Table(NamedTuple):
    """A description of a table."""

    kind: str
    n_rows: int
    columns: list[str]
    names: str
    seed: int


class Case(NamedTuple):
    """A description of everything that goes into one fit and one prediction."""

    table: Table
    target: str
    n_outputs: int
    weights: str
    new_rows: str
    chosen: dict[str, Any]


def rarely(usual, rare, one_in):
    """Choose from the one, and once in a while from the other."""
    return st.integers(1, one_in).flatmap(lambda k: st.sampled_from(rare if k == one_in else usual))


@st.composite
def tables(draw, most_rows):
    kind = draw(st.sampled_from(("float64", *FRAMES, *ARRAYS)))
    columns = draw(st.lists(rarely(NUMBERS, ODD_NUMBERS, 8), min_size=1, max_size=4))
    one_in = 3 if kind in FRAMES else 8
    if draw(st.integers(1, one_in)) == one_in:
        columns.append(draw(st.sampled_from(OTHERS[1:4] if kind in FRAMES else OTHERS)))
    if draw(st.integers(1, 12)) == 12:
        columns = draw(st.sampled_from([[], ["infinite"], ["text and numbers", "dates"]]))
    names = draw(rarely(NAMES[:3], NAMES, 3))
    n_rows = draw(rarely(range(12, most_rows), range(1, 12), 5))
    return Table(kind, n_rows, columns, names, draw(st.integers(0, 2**16)))


@st.composite
def cases(draw, targets, wrong_targets, parameters, most_rows=40, most_outputs=12):
    n_outputs = draw(rarely(range(2, 4), range(1, most_outputs), 3))
    table = draw(tables(most_rows))
    if draw(st.integers(1, 60)) == 60:
        n_outputs = draw(st.sampled_from([100, 1000] if targets is CLASSES else [20, 50]))
        table = table._replace(n_rows=n_outputs + draw(st.integers(0, 100)), columns=table.columns[:2])
    chosen = {}
    for name in draw(st.lists(st.sampled_from(parameters), max_size=3, unique=True)):
        chosen[name] = draw(st.sampled_from(CHOICES[name]))
    return Case(
        table,
        draw(rarely(targets, wrong_targets, 8)),
        n_outputs,
        draw(rarely(WEIGHTS, WRONG_WEIGHTS, 10)),
        draw(st.sampled_from(NEW_ROWS)),
        chosen,
    )


def make_column(kind, n, rng):
    plain = rng.normal(size=n)
    words = rng.choice(["blue", "röd", "grün ", "", "нет"], n).astype(object)
    return {
        "normal": lambda: plain,
        "gaps": lambda: np.where(rng.random(n) < 0.3, np.nan, plain),
        "constant": lambda: np.full(n, 3.25),
        "few values": lambda: rng.choice([-1.5, 0.0, 2.0], n),
        "whole": lambda: rng.integers(-9, 9, n),
        "long": lambda: rng.integers(2**62, 2**63 - 1, n),
        "huge": lambda: plain * 1e300,
        "tiny": lambda: plain * 1e-310,
        "flags": lambda: plain > 0,
        "no value": lambda: np.full(n, np.nan),
        "one value": lambda: np.where(np.arange(n) == 0, 1.0, np.nan),
        "infinite": lambda: np.where(rng.random(n) < 0.3, -np.inf, plain),
        "text": lambda: words,
        "categories": lambda: pd.Categorical(words),
        "gaps in text": lambda: np.where(rng.random(n) < 0.3, None, words),
        "dates": lambda: np.datetime64("2020-02-29", "us") + rng.integers(0, 10**15, n),
        "text and numbers": lambda: np.where(rng.random(n) < 0.5, words, plain),
    }[kind]()


def name_columns(names, n_columns, *, text_only):
    numbered = [f"x{f}" for f in range(n_columns)]
    named = {
        "letters": numbered,
        "unicode": [f"größe {'é漢🙂'[f % 3]} {f}" for f in range(n_columns)],
        "numbers": list(range(10, 10 + n_columns)),
        "numbers and text": [f if f % 2 else f"x{f}" for f in range(n_columns)],
        "the same": ["x"] * n_columns,
        "odd": ["", " ", "a__b", "x\n", "[1]", "<"][:n_columns],
    }[names]
    return [str(name) for name in named] if text_only else named


def make_table(table):
    rng = np.random.default_rng(table.seed)
    columns = [make_column(kind, table.n_rows, rng) for kind in table.columns]
    if table.kind == "pandas":
        index = rng.integers(0, 5, table.n_rows)
        frame = pd.DataFrame(dict(enumerate(columns)), index=None if table.seed % 2 else index)
        frame.columns = name_columns(table.names, len(columns), text_only=False)
        return frame
    if table.kind == "polars":
        names = name_columns(table.names, len(columns), text_only=True)
        plain = [c if isinstance(c, np.ndarray) and c.dtype != object else c.tolist() for c in columns]
        if len(set(names)) < len(names):
            names = [f"{name}{f}" for f, name in enumerate(names)]
        return pl.DataFrame(dict(zip(names, plain, strict=True)), strict=False)
    return make_array(table.kind, columns, table.n_rows)


def make_array(kind, columns, n_rows):
    objects = np.empty((n_rows, len(columns)), dtype=object)
    for f, column in enumerate(columns):
        objects[:, f] = column.tolist()
    if kind in ("object", "list"):
        return objects if kind == "object" else objects.tolist()
    try:
        matrix = objects.astype(float)
    except (TypeError, ValueError):
        return objects
    if kind in ("int64", "uint8"):
        return np.clip(np.nan_to_num(matrix), 0 if kind == "uint8" else -(2.0**60), 2.0**60).astype(kind)
    if kind == "sparse":
        return sparse.csr_array(np.where(np.abs(matrix) < 1, 0.0, matrix))
    if kind == "columns first":
        return np.asfortranarray(matrix)
    matrix = matrix.astype({"float32": "float32", "bool": "bool"}.get(kind, "float64"))
    matrix.flags.writeable = kind != "read only"
    return matrix


def make_classes(kind, n_rows, n_classes, rng):
    numbers = np.resize(rng.permutation(n_classes), n_rows)
    texts = np.array([f"class {k}" for k in range(n_classes)])[numbers]
    return {
        "whole": lambda: numbers,
        "text": lambda: texts,
        "unicode": lambda: np.char.add("klasse ß ", texts),
        "bool": lambda: numbers % 2 == 1,
        "whole floats": lambda: numbers * 2.0,
        "objects": lambda: texts.astype(object),
        "categories": lambda: pd.Series(texts, dtype="category", index=np.zeros(n_rows)),
        "negative": lambda: 5 - numbers,
        "bytes": lambda: texts.astype(bytes),
        "one class": lambda: np.full(n_rows, "only"),
        "missing": lambda: np.where(numbers == 0, np.nan, numbers),
        "continuous": lambda: rng.normal(size=n_rows),
        "mixed": lambda: np.where(numbers % 2 == 0, texts.astype(object), numbers),
        "too short": lambda: texts[:-1],
        "two columns": lambda: np.column_stack([numbers, numbers]),
        "none": lambda: None,
        "infinite": lambda: np.where(numbers == 0, np.inf, numbers),
    }[kind]()


def make_labels(kind, n_rows, n_labels, rng):
    labels = (rng.random((n_rows, n_labels)) < rng.random(n_labels)).astype(int)
    return {
        "array": lambda: labels,
        "bool": lambda: labels == 1,
        "frame": lambda: pd.DataFrame(labels, columns=[f"étiquette {k}" for k in range(n_labels)]),
        "sparse": lambda: sparse.csr_array(labels),
        "list": lambda: labels.tolist(),
        "constant": lambda: np.full((n_rows, n_labels), rng.integers(0, 2)),
        "empty rows": lambda: labels * (np.arange(n_rows) % 3 == 0)[:, None],
        "twos": lambda: labels * 2,
        "missing": lambda: np.where(labels == 1, np.nan, labels),
        "one row of labels": lambda: labels[:, 0],
        "too short": lambda: labels[:-1],
        "no labels": lambda: labels[:, :0],
        "none": lambda: None,
        "text": lambda: np.where(labels == 1, "yes", "no"),
    }[kind]()


def make_values(kind, n_rows, rng):
    plain = rng.normal(size=n_rows)
    return {
        "normal": lambda: plain,
        "constant": lambda: np.full(n_rows, 0.1),
        "whole": lambda: rng.integers(-5, 5, n_rows),
        "huge": lambda: plain * 1e150,
        "tiny": lambda: plain * 1e-310,
        "list": lambda: plain.tolist(),
        "missing": lambda: np.where(plain > 0, np.nan, plain),
        "infinite": lambda: np.where(plain > 0, np.inf, plain),
        "text": lambda: plain.astype(str).astype(object) + "x",
        "too short": lambda: plain[:-1],
        "none": lambda: None,
    }[kind]()


def make_weights(kind, n_rows, rng):
    plain = rng.random(n_rows) + 0.01
    return {
        "none": lambda: None,
        "ones": lambda: np.ones(n_rows),
        "random": lambda: plain,
        "counts": lambda: rng.integers(1, 4, n_rows),
        "some zero": lambda: np.where(plain < 0.5, 0.0, plain),
        "one row": lambda: (np.arange(n_rows) == 0).astype(float),
        "minute": lambda: plain * 1e-300,
        "enormous": lambda: plain * 1e300,
        "list": lambda: plain.tolist(),
        "all zero": lambda: np.zeros(n_rows),
        "negative": lambda: plain - 0.5,
        "missing": lambda: np.where(plain < 0.5, np.nan, plain),
        "infinite": lambda: np.where(plain < 0.5, np.inf, plain),
        "too short": lambda: plain[:-1],
        "text": lambda: np.full(n_rows, "heavy"),
        "two columns": lambda: np.column_stack([plain, plain]),
    }[kind]()


def make_new_rows(kind, table):
    others = table._replace(seed=table.seed + 1)
    return make_table(
        {
            "the same": table,
            "others": others._replace(n_rows=17),
            "one row": others._replace(n_rows=1),
            "no rows": others._replace(n_rows=0),
            "another width": others._replace(columns=[*table.columns, "normal"]),
            "another kind": others._replace(kind="float64" if table.kind in FRAMES else "pandas"),
        }[kind]
    )


def refuse_helpfully(error, model):
    """Check that an error is a sentence about the input, unless it is that of scikit-learn's base learner."""
    message = str(error)
    assert len(message.split()) >= 4, f"no sentence: {message!r}"
    if not isinstance(getattr(model, "estimator", None), GaussianNB):
        assert not UNHELPFUL.search(message), f"a sentence about the program, not about the input: {message!r}"


def check_answers(model, task, rows, n_rows):
    """Check that the answers of a fitted model are valid, or its refusal."""
    try:
        predicted = model.predict(rows)
        scores = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
    except (ValueError, TypeError) as error:
        return refuse_helpfully(error, model)
    assert len(predicted) == n_rows
    if task == "values":
        assert np.isfinite(predicted).all()
        return None
    assert np.isin(predicted, model.classes_ if task == "classes" else [0, 1]).all()
    if scores is not None:
        assert np.isfinite(scores).all()
        assert scores.min() >= 0
        assert scores.max() <= 1
        assert scores.shape == ((n_rows, len(model.classes_)) if task == "classes" else predicted.shape)
        if task == "classes":
            np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-12)
    return None


def count_rows(rows):
    return rows.shape[0] if hasattr(rows, "shape") else len(rows)


def check_case(model, task, case):
    """Fit and predict; tell what became of it."""
    rng = np.random.default_rng(case.table.seed)
    n_rows = case.table.n_rows
    X, new_rows = make_table(case.table), make_new_rows(case.new_rows, case.table)
    if task == "values":
        y = make_values(case.target, n_rows, rng)
    else:
        y = (make_classes if task == "classes" else make_labels)(case.target, n_rows, case.n_outputs, rng)
    weights = make_weights(case.weights, n_rows, rng)
    try:
        model.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    except (ValueError, TypeError) as error:
        refuse_helpfully(error, model)
        assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("__")]
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        return "refused"
    check_answers(model, task, X, n_rows)
    check_answers(model, task, new_rows, count_rows(new_rows))
    return "fitted"


def run_cases(entry, n_cases):
    """Check cases for one estimator, and count what became of them."""
    parameters = sorted(name for name in CHOICES if entry.takes(name) and name not in REQUIRED.get(entry.kind, ()))
    targets = {"classes": (CLASSES, WRONG_CLASSES), "labels": (LABELS, WRONG_LABELS), "values": (VALUES, WRONG_VALUES)}
    members = {"n_estimators": 3, "estimators": MEMBERS["regressor" if entry.task == "values" else "classifier"]}
    fixed = {name: value for name, value in members.items() if entry.takes(name)}
    outcomes = Counter()

    @seed(zlib.crc32(entry.kind.__name__.encode()))  # or all estimators would get the same cases
    @settings(max_examples=n_cases, suppress_health_check=list(HealthCheck), database=None)
    @given(case=cases(*targets[entry.task], parameters))
    def run(case):
        # Weights go on to the estimator, and GaussianNB alone answers NaN to minute ones.
        assume(not (entry.kind is CleanedClassifier and case.weights == "minute" and "estimator" in case.chosen))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            outcomes[check_case(entry.make(**{**fixed, **case.chosen}), entry.task, case)] += 1
        refuse_warnings_of_the_library(said)

    run()
    return outcomes


def refuse_warnings_of_the_library(said):
    """Check that no arithmetic of the library itself overflows or divides by zero."""
    home = str(Path(fuselearn.__file__).parent)
    for warning in said:
        if issubclass(warning.category, RuntimeWarning) and warning.filename.startswith(home):
            raise AssertionError(f"{warning.filename}:{warning.lineno}: {warning.message}")
