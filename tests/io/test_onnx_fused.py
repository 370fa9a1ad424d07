"""Fused classifiers predict the same, through onnxruntime, as they do themselves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import (
    BaggedClassifier,
    CARTClassifier,
    ForestClassifier,
    FusedClassifier,
    KFHEClassifier,
    SAMMEClassifier,
    SVMClassifier,
    to_onnx,
)
from fuselearn.combine import ErrorCorrectingCodeClassifier
from fuselearn.combine.fused import default_members

X, Y = make_classification(300, 8, n_informative=6, n_classes=4, flip_y=0.2, random_state=0)
ROWS = np.random.default_rng(0).normal(scale=2.0, size=(10_000, 8))
ALL_COUNT = 100.0  # a tolerance with which every member has a weight


@pytest.fixture(scope="module")
def default():
    """Fit all default members."""
    return FusedClassifier(n_estimators=5, tolerance=ALL_COUNT, cv=2, random_state=0).fit(X, Y)


def test_all_default_members(default, compare_export):
    assert len(default.estimators_) == len(default_members(5, 0, X))
    compare_export(to_onnx(default), {"X": ROWS}, default, ROWS)


@pytest.mark.parametrize("opset", [13, 21])
def test_other_opsets(default, opset, compare_export):
    compare_export(to_onnx(default, target_opset=opset), {"X": ROWS[:500]}, default, ROWS[:500])


def test_single_precision_rows(default, compare_export):
    rows = ROWS[:500].astype(np.float32)
    compare_export(to_onnx(default, rows), {"X": rows}, default, rows)


def test_two_classes_and_missing_values(compare_export):
    table, rows = X.copy(), ROWS[:2_000].copy()
    rng = np.random.default_rng(0)
    table[rng.random(table.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.1] = np.nan
    model = FusedClassifier(n_estimators=5, cv=2, random_state=0).fit(table, np.where(Y > 1, "yes", "no"))
    compare_export(to_onnx(model), {"X": rows}, model, rows)


def test_members_with_weights_and_exponents_of_their_own(compare_export):
    """Not all default members count here."""
    wine = load_wine(return_X_y=True)
    model = FusedClassifier(n_estimators=5, random_state=0).fit(*wine)
    assert len(model.estimators_) < len(default_members(5, 0, X))
    assert len(np.unique(model._exponents_)) > 1
    compare_export(to_onnx(model), {"X": wine[0]}, model, wine[0])


def make_frame(n_rows, n_towns, seed):
    rng = np.random.default_rng(seed)
    towns = [f"town {k}" for k in range(n_towns)]
    return pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "town": pd.Series(rng.choice(towns, n_rows), dtype=object),
            "grade": pd.Categorical(rng.choice([1, 2, 5], n_rows)),
        }
    )


@pytest.mark.parametrize("unseen", [False, True])
def test_categories_and_members_that_see_some_columns(unseen, compare_export):
    frame, rows = make_frame(300, 12, seed=0), make_frame(2_000, 15, seed=1)
    target = np.where((frame["size"] > 0) ^ (frame["grade"] == 2), "yes", "no")
    members = [
        ("svm", SVMClassifier(random_state=0), ["grade", "size"]),
        ("code", ErrorCorrectingCodeClassifier(CARTClassifier(), code=[[0], [1]]), ["size"]),
        ("samme", SAMMEClassifier(n_estimators=5, random_state=0), ["size", "grade"]),
    ]
    if not unseen:
        members.append(("forest", ForestClassifier(n_estimators=5, random_state=0)))
    model = FusedClassifier(members, tolerance=ALL_COUNT, random_state=0).fit(frame, target)
    feed = {name: frame_column(rows, name) for name in frame}
    if unseen:  # of the type of the towns nothing is known
        feed["town"] = np.zeros((len(rows), 1))
    compare_export(to_onnx(model), feed, model, rows)


def frame_column(frame, name):
    return frame[[name]].to_numpy() if name == "town" else frame[[name]].to_numpy(float)


def test_a_fused_classifier_may_be_a_member(compare_export):
    inner = FusedClassifier(n_estimators=3, cv=2, random_state=0)
    members = [("inner", inner), ("kfhe", KFHEClassifier(n_estimators=4, random_state=0))]
    model = FusedClassifier(members, tolerance=ALL_COUNT, cv=2, random_state=0).fit(X, Y)
    compare_export(to_onnx(model), {"X": ROWS[:500]}, model, ROWS[:500])


def test_in_a_pipeline(compare_export):
    fused = FusedClassifier(n_estimators=3, cv=2, random_state=0)
    model = make_pipeline(StandardScaler(), fused).fit(X, Y)
    compare_export(to_onnx(model), {"X": ROWS[:1_000]}, model, ROWS[:1_000])


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (LogisticRegression(), "LogisticRegression cannot be exported to ONNX by fuselearn"),
        (make_pipeline(StandardScaler(), SVMClassifier()), "Pipeline cannot be exported to ONNX by fuselearn"),
        (BaggedClassifier(LogisticRegression(), n_estimators=2), "BaggedClassifier over LogisticRegression cannot"),
    ],
)
def test_a_member_that_cannot_be_exported_is_named(member, reason):
    members = [("tree", CARTClassifier()), ("line", member)]
    model = FusedClassifier(members, tolerance=ALL_COUNT, cv=2, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match=f"because of its member 'line': {reason}"):
        to_onnx(model)
    with pytest.raises(TypeError, match="because of its member 'line'"):
        to_onnx(make_pipeline(StandardScaler(), model).fit(X, Y))
