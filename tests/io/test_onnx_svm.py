"""Support vector machines predict the same, through onnxruntime, as they do themselves."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import BaggedClassifier, KFHEClassifier, SVMClassifier, to_onnx
from fuselearn.combine import ErrorCorrectingCodeClassifier
from fuselearn.io import onnx_svm
from fuselearn.learners import kernel_table
from fuselearn.multilabel import HOMERClassifier
from tests.io.exporting import compare, feed_frame, make_frame

X, Y = make_classification(300, 8, n_informative=6, n_classes=4, flip_y=0.1, random_state=0)
SAMPLES = np.random.default_rng(0).normal(scale=2.0, size=(3_000, 8))
NAMES = ["size", "town", "grade"]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
class TestKernels:
    def test_probabilities_and_scalings(self, kernel):
        for n_classes, scaling, probability in itertools.product(
            [2, 4], ["standard", "minmax", None], ["platt", "logistic", "sign"]
        ):
            gamma = 1.0 if scaling == "minmax" else None
            model = SVMClassifier(kernel=kernel, gamma=gamma, probability=probability, scaling=scaling, random_state=0)
            compare(model.fit(X, Y % n_classes), SAMPLES)

    def test_categories_also_missing_and_unknown_ones(self, kernel):
        frame, samples = make_frame(300, 20, 0, NAMES).fillna({"size": 0.0}), make_frame(2_000, 30, 1, NAMES)
        samples["size"] = samples["size"].fillna(0.0)
        target = np.where(frame["size"] > 0, "large", np.where(frame["grade"] == 2, "two", "other"))
        compare(SVMClassifier(kernel=kernel, random_state=0).fit(frame, target), samples, feed_frame(samples))

    def test_missing_numbers_become_medians(self, kernel):
        gaps, samples = X.copy(), SAMPLES.copy()
        gaps[::5, 2] = samples[::7, 2] = samples[::9, 4] = np.nan
        compare(SVMClassifier(kernel=kernel, impute=True, random_state=0).fit(gaps, Y), samples)

    @pytest.mark.parametrize("n_samples", [20, 300])  # fewer samples than features, and more
    def test_sparse_tables_become_dense_inputs(self, kernel, n_samples):
        table = sparse.random_array((n_samples, 30), density=0.3, random_state=0, format="csr")
        sums = np.asarray(table.sum(axis=1)).ravel()
        model = SVMClassifier(kernel=kernel, random_state=0).fit(table, sums > np.median(sums))
        compare(model, sparse.random_array((500, 30), density=0.3, random_state=1, format="csr").toarray())

    @pytest.mark.filterwarnings("ignore:The Gram matrix of")
    def test_tables_too_large_for_a_gram_matrix(self, kernel, monkeypatch):
        monkeypatch.setattr(kernel_table, "MOST_SAMPLES", 100)
        monkeypatch.setattr(kernel_table, "N_LANDMARKS", 40)
        compare(SVMClassifier(kernel=kernel, random_state=0).fit(X, Y), SAMPLES)


def test_sparse_tables_without_a_gram_matrix(monkeypatch):
    monkeypatch.setattr(kernel_table, "MOST_SPARSE_SAMPLES", 100)
    compare(SVMClassifier(kernel="linear", random_state=0).fit(sparse.csr_array(X), Y), SAMPLES)


def test_values_far_beyond_the_training_data():
    samples = np.vstack([SAMPLES[:50], SAMPLES[:50] * 1e10, SAMPLES[:50] * 1e300])
    compare(SVMClassifier(kernel="linear", random_state=0).fit(X, Y), samples)


def test_a_class_without_weight():
    compare(SVMClassifier(random_state=0).fit(X, Y, sample_weight=np.where(Y == 3, 0.0, 1.0)), SAMPLES)


def test_ensembles_and_their_members():
    bagged = BaggedClassifier(SVMClassifier(), n_estimators=2, max_features=0.5, random_state=0).fit(X, Y)
    compare(bagged.estimators_[0], SAMPLES)
    compare(bagged, SAMPLES)
    compare(KFHEClassifier(SVMClassifier(kernel="linear"), n_estimators=3, random_state=0).fit(X, Y), SAMPLES)
    for code in ("auto", "one-vs-one"):
        compare(ErrorCorrectingCodeClassifier(SVMClassifier(), code=code, random_state=0).fit(X, Y), SAMPLES)


def test_other_opsets_and_a_pipeline():
    model = SVMClassifier(random_state=0).fit(X, Y)
    for opset in (13, 21):
        compare(model, SAMPLES, exported=to_onnx(model, target_opset=opset))
    compare(make_pipeline(StandardScaler(), model).fit(X, Y), SAMPLES)


def test_more_support_vectors_than_a_file_holds_are_refused(monkeypatch):
    monkeypatch.setattr(onnx_svm, "MOST_BYTES", 1_000)
    model = SVMClassifier(random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="numbers in its support vectors cannot be exported to ONNX"):
        to_onnx(model)
    to_onnx(SVMClassifier(kernel="linear", random_state=0).fit(X, Y))


def test_hierarchies_take_categories():
    frame, samples = make_frame(300, 20, 0, NAMES).fillna({"size": 0.0}), make_frame(1_000, 30, 1, NAMES)
    samples["size"] = samples["size"].fillna(0.0)
    labels = np.column_stack([frame["size"] > 0, frame["grade"] == 2, frame["town"].isna()]).astype(int)
    model = HOMERClassifier(SVMClassifier(kernel="linear", probability="logistic"), random_state=0).fit(frame, labels)
    compare(model, samples, feed_frame(samples))
