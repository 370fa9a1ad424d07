"""Exported multi-label models give the same labels and probabilities, through onnxruntime, as the models themselves."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import SVMClassifier, to_onnx
from fuselearn.io.onnx_trees import split_exactly
from fuselearn.learners import kernel_table
from fuselearn.multilabel import (
    AdaBoostMHClassifier,
    BinaryRelevanceClassifier,
    ChainClassifier,
    EnsembleHOMERClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    FusedMultilabelClassifier,
    GradientBoostingMultilabelClassifier,
    HOMERClassifier,
    KFHEHOMERClassifier,
    KFHEMultilabelClassifier,
    LabelPowersetClassifier,
    MLkNNClassifier,
    PCTForestClassifier,
    ThresholdedClassifier,
)
from tests.io.exporting import compare, feed_frame, make_frame, run

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X, Y = make_multilabel_classification(150, 8, n_classes=7, random_state=0)
X = X + RNG.normal(size=X.shape)
SAMPLES = RNG.normal(5.0, 5.0, size=(10_000, 8))
LINEAR = SVMClassifier(kernel="linear")

MODELS = {
    "forest": PCTForestClassifier(20, random_state=0),
    "forest with large leaves": PCTForestClassifier(20, min_samples_leaf=4, random_state=0),
    "boosting": AdaBoostMHClassifier(20),
    "gradient boosting": GradientBoostingMultilabelClassifier(20, random_state=0),
    "homer": HOMERClassifier(LINEAR, n_clusters=2, random_state=0),
    "homer, logistic, not scaled": HOMERClassifier(
        SVMClassifier(kernel="linear", probability="logistic", scaling=None), random_state=0
    ),
    "homer of labelled samples": HOMERClassifier(LINEAR, n_clusters=2, any_label=False, random_state=0),
    "homer, signs": HOMERClassifier(
        SVMClassifier(kernel="linear", probability="sign", scaling="minmax"), random_state=0
    ),
    "filtered homers": KFHEHOMERClassifier(LINEAR, 5, random_state=0),
    "averaged homers": EnsembleHOMERClassifier(LINEAR, 5, random_state=0),
    "voting homers": EnsembleHOMERClassifier(LINEAR, 5, vote="class", random_state=0),
    "homer of trees": HOMERClassifier("tree", n_clusters=2, random_state=0),
    "filtered homers of trees": KFHEHOMERClassifier("tree", 5, random_state=0),
    "trees per label": BinaryRelevanceClassifier("tree", random_state=0),
    "linear SVMs per label": BinaryRelevanceClassifier(LINEAR, random_state=0),
    "ensemble per label": EnsembleOfBinaryRelevanceClassifier("tree", 5, max_features=0.6, random_state=0),
    "chain of trees": ChainClassifier("tree", order="random", random_state=0),
    "chain of linear SVMs": ChainClassifier(LINEAR, order="random", random_state=0),
    "chains of trees": EnsembleOfChainsClassifier("tree", 5, max_features=0.6, random_state=0),
    "chains of linear SVMs": EnsembleOfChainsClassifier(LINEAR, 5, vote="class", random_state=0),
    "filtered forests": KFHEMultilabelClassifier(PCTForestClassifier(3), n_estimators=3, random_state=0),
    "thresholds of a forest": ThresholdedClassifier(PCTForestClassifier(20), random_state=0),
}
RADIAL_MODELS = {
    "homer": HOMERClassifier(n_clusters=2, random_state=0),
    "filtered homers": KFHEHOMERClassifier(n_estimators=6, random_state=0),
    "averaged homers, not scaled": EnsembleHOMERClassifier(SVMClassifier(scaling=None), 5, random_state=0),
    "SVMs per label": BinaryRelevanceClassifier(random_state=0),
    "chain": ChainClassifier(SVMClassifier(scaling="minmax", gamma=1.0), order="random", random_state=0),
    "chains": EnsembleOfChainsClassifier(n_estimators=5, max_features=0.6, random_state=0),
    "fused": FusedMultilabelClassifier(n_estimators=5, random_state=0),
    "fused, label sets": FusedMultilabelClassifier(n_estimators=5, optimize="subset", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_labels_equal_and_probabilities_close(name):
    compare(MODELS[name].fit(X, Y), SAMPLES)


@pytest.mark.parametrize("name", RADIAL_MODELS)
def test_radial_kernels(name):
    """Kernel values have single precision in the model, and double precision in its export."""
    compare(RADIAL_MODELS[name].fit(X, Y), SAMPLES, tolerance=1e-4, wrong=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.filterwarnings("ignore:The Gram matrix of")
def test_large_tables(kernel, monkeypatch):
    """SVMs are then linear in the features, or in those of an approximation of the kernel."""
    monkeypatch.setattr(kernel_table, "MOST_SAMPLES", 100)
    monkeypatch.setattr(kernel_table, "N_LANDMARKS", 40)
    machine = SVMClassifier(kernel=kernel)
    for model in (HOMERClassifier(machine, random_state=0), ChainClassifier(machine)):
        compare(model.fit(X, Y), SAMPLES, tolerance=1e-4, wrong=1e-4)


@pytest.mark.parametrize("decision", [0.3, 0.5, "cardinality", "per_label", "at_least_one", "known_sets"])
@pytest.mark.parametrize("name", ["forest", "homer"])
def test_decision_rules(name, decision):
    compare(clone(MODELS[name]).set_params(decision=decision).fit(X, Y), SAMPLES)


def test_missing_values_and_categories(monkeypatch):
    frame, samples = make_frame(300, 20, 0, ["size", "town"]), make_frame(10_000, 25, 1, ["size", "town"])
    towns = frame["town"].isin(["town 1", "town 3", "town 8"])
    labels = np.column_stack([frame["size"] > 0, towns, frame["town"].isna()]).astype(int)
    for model in (
        PCTForestClassifier(20, random_state=0),
        AdaBoostMHClassifier(20),
        EnsembleOfChainsClassifier("tree", 5, max_features=1, random_state=0),
        ThresholdedClassifier(HOMERClassifier("tree"), random_state=0),
    ):
        compare(model.fit(frame, labels), samples, feed_frame(samples))
    monkeypatch.setattr("fuselearn.io.onnx_trees.LONGEST_CHAIN", 1)
    with pytest.raises(TypeError, match="PCTForestClassifier cannot be exported to ONNX: feature 'town' has too many"):
        to_onnx(PCTForestClassifier(3, random_state=0).fit(frame, labels))


def test_labels_that_never_or_always_occur():
    for name in [
        "homer",
        "filtered homers",
        "voting homers",
        "boosting",
        "forest",
        "chain of trees",
        "chain of linear SVMs",
        "homer of trees",
        "thresholds of a forest",
    ]:
        labels = np.column_stack([Y, np.zeros(len(Y), int), np.ones(len(Y), int)])
        model = clone(MODELS[name]).fit(X, labels)
        exported = to_onnx(model)
        compare(model, SAMPLES, exported=exported)
        assert (run(exported, {"X": SAMPLES})[1][:, -2:] == [0.0, 1.0]).all()


@pytest.mark.parametrize("n_clusters", [2, 7])
def test_samples_that_all_have_labels(n_clusters):
    """Then no machine tells samples with labels from those without."""
    labelled = Y.any(axis=1)
    assert not labelled.all()
    model = HOMERClassifier(LINEAR, n_clusters=n_clusters, random_state=0).fit(X[labelled], Y[labelled])
    compare(model, SAMPLES)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_more_columns_than_rows(kind):
    """Machines are then kept as support vectors."""
    rng = np.random.default_rng(0)
    wide = kind(rng.normal(size=(40, 60)) * (rng.random((40, 60)) < 0.3))
    samples = rng.normal(size=(10_000, 60))
    for model in (HOMERClassifier(LINEAR, random_state=0), ChainClassifier(LINEAR), ChainClassifier(decision=0.2)):
        compare(model.fit(wide, Y[:40]), samples, wrong=1e-4)  # kernel values have single precision there


def test_sparse_training_rows():
    model = HOMERClassifier(LINEAR, random_state=0).fit(sparse.csr_array(np.where(X > 5, X, 0.0)), Y)
    compare(model, SAMPLES)


def test_a_forest_as_the_last_step():
    model = make_pipeline(StandardScaler(), PCTForestClassifier(10, random_state=0)).fit(X, Y)
    compare(model, SAMPLES)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (ChainClassifier("tree", inference="monte_carlo"), "ChainClassifier cannot be exported to ONNX"),
        (HOMERClassifier(LogisticRegression()), r"HOMERClassifier over LogisticRegression cannot"),
        (ThresholdedClassifier(RandomForestClassifier(5)), "RandomForestClassifier cannot be exported to ONNX"),
        (LabelPowersetClassifier("tree"), "LabelPowersetClassifier cannot be exported to ONNX"),
        (MLkNNClassifier(), "MLkNNClassifier cannot be exported to ONNX"),
        (
            PCTForestClassifier(2, decision="expected_f1"),
            "with the decision rule ExpectedF1 cannot",
        ),
    ],
)
def test_refusals_are_named(model, sentence):
    with pytest.raises(TypeError, match=sentence):
        to_onnx(model.fit(X, Y))


def test_parts_of_numbers_add_up_and_their_sums_need_single_precision_only():
    values = [RNG.normal(scale=3.0, size=(50, 2)) for _ in range(40)]
    parts = split_exactly(values)
    for whole, split in zip(values, parts, strict=True):
        np.testing.assert_array_equal(split[:, :2] + (split[:, 2:4] + split[:, 4:]), whole)
    chosen = RNG.integers(50, size=(200, 40))
    sums = sum(split[chosen[:, t]] for t, split in enumerate(parts))
    np.testing.assert_array_equal(sums[:, :4], sums[:, :4].astype(np.float32))
    total = sums[:, :2] + (sums[:, 2:4] + sums[:, 4:].astype(np.float32))
    np.testing.assert_allclose(total, sum(values[t][chosen[:, t]] for t in range(40)), rtol=1e-14, atol=1e-14)


def test_votes_are_not_split():
    votes = [RNG.integers(0, 2, size=(5, 3)).astype(float) for _ in range(10)]
    assert split_exactly(votes) is votes


@pytest.mark.parametrize("base", ["tree", LINEAR], ids=["trees", "SVMs"])
def test_models_of_labels_that_are_partly_unknown(base):
    partial = np.where(np.random.default_rng(1).random(Y.shape) < 0.2, np.nan, Y)
    model = BinaryRelevanceClassifier(base, random_state=0).fit(X, partial)
    compare(model, SAMPLES)
