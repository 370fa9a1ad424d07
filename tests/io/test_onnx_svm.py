"""Support vector machines predict the same, through onnxruntime, as they do themselves."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import BaggedClassifier, SVMClassifier, to_onnx
from fuselearn.io import onnx_svm
from fuselearn.learners import kernel_table
from fuselearn.multilabel import HOMERClassifier

X, Y = make_classification(300, 8, n_informative=6, n_classes=4, flip_y=0.1, random_state=0)
ROWS = np.random.default_rng(0).normal(scale=2.0, size=(3_000, 8))


def make_frame(n_rows, n_towns, seed):
    """Make samples of numbers and of categories, some of which are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "town": rng.choice([f"town {k}" for k in range(n_towns)], n_rows),
            "grade": pd.Categorical(rng.choice([1, 2, 5], n_rows)),
        }
    )
    for name in ("town", "grade"):
        frame.loc[rng.random(n_rows) < 0.1, name] = None
    return frame


def feed_frame(frame):
    town = frame[["town"]].astype(object).fillna("").to_numpy()
    return {"size": frame[["size"]].to_numpy(), "town": town, "grade": frame[["grade"]].to_numpy(float)}


class TestMachines:
    @pytest.mark.parametrize("n_classes", [2, 4])
    @pytest.mark.parametrize("scaling", ["standard", "minmax", None])
    @pytest.mark.parametrize("probability", ["platt", "logistic", "sign"])
    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_labels_equal_and_probabilities_close(self, kernel, probability, scaling, n_classes, compare_export):
        gamma = 1.0 if scaling == "minmax" else None
        model = SVMClassifier(kernel=kernel, gamma=gamma, probability=probability, scaling=scaling, random_state=0)
        model.fit(X, Y % n_classes)
        compare_export(to_onnx(model), {"X": ROWS}, model, ROWS)

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_categories_also_missing_and_unknown_ones(self, kernel, compare_export):
        frame, rows = make_frame(300, 20, seed=0), make_frame(2_000, 30, seed=1)
        target = np.where(frame["size"] > 0, "large", np.where(frame["grade"] == 2, "two", "other"))
        model = SVMClassifier(kernel=kernel, random_state=0).fit(frame, target)
        compare_export(to_onnx(model), feed_frame(rows), model, rows)

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    @pytest.mark.parametrize("n_rows", [20, 300])  # fewer samples than features, and more
    def test_sparse_tables_become_dense_inputs(self, kernel, n_rows, compare_export):
        table = sparse.random_array((n_rows, 30), density=0.3, random_state=0, format="csr")
        target = np.asarray(table.sum(axis=1)).ravel() > np.median(np.asarray(table.sum(axis=1)))
        model = SVMClassifier(kernel=kernel, random_state=0).fit(table, target)
        rows = sparse.random_array((500, 30), density=0.3, random_state=1, format="csr")
        compare_export(to_onnx(model), {"X": rows.toarray()}, model, rows)

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    @pytest.mark.filterwarnings("ignore:The Gram matrix of")
    def test_tables_too_large_for_a_gram_matrix(self, kernel, monkeypatch, compare_export):
        monkeypatch.setattr(kernel_table, "MOST_SAMPLES", 100)
        monkeypatch.setattr(kernel_table, "N_LANDMARKS", 40)
        model = SVMClassifier(kernel=kernel, random_state=0).fit(X, Y)
        compare_export(to_onnx(model), {"X": ROWS}, model, ROWS)

    def test_sparse_tables_without_a_gram_matrix(self, monkeypatch, compare_export):
        monkeypatch.setattr(kernel_table, "MOST_SPARSE_SAMPLES", 100)
        model = SVMClassifier(kernel="linear", random_state=0).fit(sparse.csr_array(X), Y)
        compare_export(to_onnx(model), {"X": ROWS}, model, sparse.csr_array(ROWS))

    def test_values_far_beyond_the_training_data(self, compare_export):
        rows = np.vstack([ROWS[:50], ROWS[:50] * 1e10, ROWS[:50] * 1e300])
        model = SVMClassifier(kernel="linear", random_state=0).fit(X, Y)
        compare_export(to_onnx(model), {"X": rows}, model, rows)

    def test_a_member_of_an_ensemble_that_sees_some_features(self, compare_export):
        ensemble = BaggedClassifier(SVMClassifier(), n_estimators=2, max_features=0.5, random_state=0).fit(X, Y)
        model = ensemble.estimators_[0]
        compare_export(to_onnx(model), {"X": ROWS}, model, ROWS)

    def test_a_class_without_weight(self, compare_export):
        model = SVMClassifier(random_state=0).fit(X, Y, sample_weight=np.where(Y == 3, 0.0, 1.0))
        compare_export(to_onnx(model), {"X": ROWS}, model, ROWS)

    @pytest.mark.parametrize("opset", [13, 21])
    def test_other_opsets(self, opset, compare_export):
        model = SVMClassifier(random_state=0).fit(X, Y)
        compare_export(to_onnx(model, target_opset=opset), {"X": ROWS}, model, ROWS)

    def test_in_a_pipeline(self, compare_export):
        model = make_pipeline(StandardScaler(), SVMClassifier(random_state=0)).fit(X, Y)
        compare_export(to_onnx(model), {"X": ROWS}, model, ROWS)

    def test_more_support_vectors_than_a_file_holds_are_refused(self, monkeypatch):
        monkeypatch.setattr(onnx_svm, "MOST_BYTES", 1_000)
        model = SVMClassifier(random_state=0).fit(X, Y)
        with pytest.raises(TypeError, match="numbers for its support vectors cannot be exported to ONNX"):
            to_onnx(model)
        to_onnx(SVMClassifier(kernel="linear", random_state=0).fit(X, Y))


def test_hierarchies_of_machines_take_categories(compare_export):
    frame, rows = make_frame(300, 20, seed=0), make_frame(1_000, 30, seed=1)
    labels = np.column_stack([frame["size"] > 0, frame["grade"] == 2, frame["town"].isna()]).astype(int)
    model = HOMERClassifier(SVMClassifier(kernel="linear", probability="logistic"), random_state=0).fit(frame, labels)
    compare_export(to_onnx(model), feed_frame(rows), model, rows)
