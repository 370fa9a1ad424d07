"""Fused classifiers predict the same, through onnxruntime, as they do themselves."""

import numpy as np
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
from tests.io.exporting import compare, feed_frame, make_frame

X, Y = make_classification(300, 8, n_informative=6, n_classes=4, flip_y=0.2, random_state=0)
SAMPLES = np.random.default_rng(0).normal(scale=2.0, size=(10_000, 8))
ALL_COUNT = 100.0  # a tolerance with which every member has a weight


def test_default_members_in_all_opsets_and_precisions():
    model = FusedClassifier(n_estimators=5, tolerance=ALL_COUNT, cv=2, random_state=0).fit(X, Y)
    assert len(model.estimators_) == 2 * len(default_members(5, 0))  # all are fitted again, on doubtful labels
    compare(model, SAMPLES)
    for opset in (13, 21):
        compare(model, SAMPLES[:500], exported=to_onnx(model, target_opset=opset))
    single = SAMPLES[:500].astype(np.float32)
    compare(model, single, exported=to_onnx(model, single))


def test_two_classes_and_missing_values():
    table, samples = X.copy(), SAMPLES[:2_000].copy()
    rng = np.random.default_rng(0)
    table[rng.random(table.shape) < 0.1] = np.nan
    samples[rng.random(samples.shape) < 0.1] = np.nan
    with pytest.warns(UserWarning, match="Members 'svm', 'svm_linear': missing values imputed"):
        model = FusedClassifier(n_estimators=5, cv=2, random_state=0).fit(table, np.where(Y > 1, "yes", "no"))
    compare(model, samples)


def test_members_with_weights_and_exponents_of_their_own():
    """Not all default members count here."""
    wine = load_wine(return_X_y=True)
    model = FusedClassifier(n_estimators=5, random_state=0).fit(*wine)
    assert len(model.estimators_) < len(default_members(5, 0))
    assert len(np.unique(model._exponents_)) > 1
    compare(model, wine[0])


@pytest.mark.parametrize("unseen", [False, True])
def test_categories_and_members_that_see_some_columns(unseen):
    names = ["size", "town", "grade"]
    frame, samples = make_frame(300, 12, 0, names).fillna({"size": 0.0}), make_frame(2_000, 15, 1, names)
    samples["size"] = samples["size"].fillna(0.0)
    target = np.where((frame["size"] > 0) ^ (frame["grade"] == 2), "yes", "no")
    members = [
        ("svm", SVMClassifier(random_state=0), ["grade", "size"]),
        ("code", ErrorCorrectingCodeClassifier(CARTClassifier(), code=[[0], [1]]), ["size"]),
        ("samme", SAMMEClassifier(n_estimators=5, random_state=0), ["size", "grade"]),
    ]
    if not unseen:
        members.append(("forest", ForestClassifier(n_estimators=5, random_state=0)))
    model = FusedClassifier(members, tolerance=ALL_COUNT, random_state=0).fit(frame, target)
    feed = feed_frame(samples)
    if unseen:  # of the type of the towns nothing is known
        feed["town"] = np.zeros((len(samples), 1))
    compare(model, samples, feed)


def test_within_others():
    inner = FusedClassifier(n_estimators=3, cv=2, random_state=0)
    members = [("inner", inner), ("kfhe", KFHEClassifier(n_estimators=4, random_state=0))]
    compare(FusedClassifier(members, tolerance=ALL_COUNT, cv=2, random_state=0).fit(X, Y), SAMPLES[:500])
    compare(make_pipeline(StandardScaler(), inner).fit(X, Y), SAMPLES[:1_000])


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
    for exported in (model, make_pipeline(StandardScaler(), model).fit(X, Y)):
        with pytest.raises(TypeError, match=f"because of its member 'line': {reason}"):
            to_onnx(exported)
