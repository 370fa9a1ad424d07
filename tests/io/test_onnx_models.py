"""An exported model gives the same labels and probabilities, through onnxruntime, as the model itself."""

import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from fuselearn import BaggedClassifier, CARTClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier, to_onnx
from fuselearn.combine import ErrorCorrectingCodeClassifier, make_code
from fuselearn.ensembles import (
    BaggedRegressor,
    BrownBoostClassifier,
    CARTRegressor,
    LogitBoostClassifier,
    RotationForestClassifier,
)
from fuselearn.multilabel import PCTForestClassifier
from tests.io.exporting import compare, feed_frame, make_frame, run

N_SAMPLES = 10_000

MODELS = {
    "cart": CARTClassifier(complexity=None),
    "kfhe": KFHEClassifier(n_estimators=30, random_state=0),
    "kfhe, probabilities": KFHEClassifier(n_estimators=30, vote="probability", random_state=0),
    "samme": SAMMEClassifier(n_estimators=30, random_state=0),
    "brownboost": BrownBoostClassifier(random_state=0),
    "logitboost": LogitBoostClassifier(n_estimators=5),
    "bagging": BaggedClassifier(n_estimators=30, random_state=0),
    "forest": ForestClassifier(n_estimators=30, random_state=0),
    "forest, votes": ForestClassifier(n_estimators=30, vote="class", random_state=0),
    "bagging, probabilities of some columns": BaggedClassifier(
        n_estimators=30, vote="probability", max_features=0.5, random_state=0
    ),
    "code": ErrorCorrectingCodeClassifier(random_state=0),
    "code, bits rounded": ErrorCorrectingCodeClassifier(decoding="hamming", random_state=0),
    "code, log loss": ErrorCorrectingCodeClassifier(CARTClassifier(complexity=None), decoding="loss", random_state=0),
    "code of few bits": ErrorCorrectingCodeClassifier(code="random", n_bits=2, random_state=0),
}


def make_numbers(missing=False, seed=0):
    X, y = make_classification(600, 8, n_informative=6, n_classes=4, flip_y=0.1, random_state=0)
    rng = np.random.default_rng(seed)
    samples = rng.normal(scale=2.0, size=(N_SAMPLES, 8))
    samples[: len(X)] = X  # training values lie on both sides of a cut, and in the middle of two of them
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        samples[rng.random(samples.shape) < 0.1] = np.nan
    return X, y, samples


def compare_labels(model, samples, feed=None):
    np.testing.assert_array_equal(
        run(to_onnx(model), {"X": samples} if feed is None else feed)[0], model.predict(samples)
    )


class TestNumbers:
    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize("name", MODELS)
    def test_labels_equal_and_probabilities_close(self, name, missing):
        X, y, samples = make_numbers(missing)
        compare(MODELS[name].fit(X, y), samples)

    @pytest.mark.parametrize("model", [CARTRegressor(), BaggedRegressor(n_estimators=10, random_state=0)])
    def test_regressors(self, model):
        X, _, samples = make_numbers(True)
        y = np.nan_to_num(X[:, 0]) ** 2
        compare(model.fit(X, y), samples)
        compare(make_pipeline(StandardScaler(), model).fit(X, y), samples)

    def test_frames_of_numbers_and_single_precision_take_one_matrix(self):
        X, y, samples = make_numbers()
        names = [f"column {f}" for f in range(8)]
        model = MODELS["kfhe"].fit(pd.DataFrame(X, columns=names), y)
        compare(model, pd.DataFrame(samples, columns=names), {"X": samples})
        samples = samples.astype(np.float32)
        model = MODELS["kfhe"].fit(X, y)
        compare(model, samples, exported=to_onnx(model, samples))

    def test_values_on_a_cut(self):
        X = np.array([[0.1], [0.2], [0.3], [0.4]] * 10)
        model = CARTClassifier(min_samples_split=2).fit(X, X[:, 0] > 0.25)
        cut = model.tree_.nodes["threshold"][0]
        compare_labels(model, np.array([[np.nextafter(cut, 0)], [cut], [np.nextafter(cut, 1)], [np.float32(cut)]]))

    def test_a_split_by_missing_values_alone(self):
        X = np.array([[1.0], [np.nan]] * 20)
        model = CARTClassifier().fit(X, np.isnan(X[:, 0]))
        compare_labels(model, np.array([[-5.0], [1.0], [1e300], [np.nan]]))

    def test_a_tree_without_a_split(self):
        X = np.zeros((30, 2))
        model = CARTClassifier().fit(X, np.arange(30) % 3 == 0)
        assert model.get_n_leaves() == 1
        label, probabilities = run(to_onnx(model), {"X": X})
        np.testing.assert_array_equal(label, model.predict(X))
        np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-7)

    def test_ties_go_to_the_class_with_most_training_samples(self):
        X, y, samples = make_numbers()
        model = BaggedClassifier(CARTClassifier(max_depth=1), n_estimators=4, random_state=0).fit(X, y)
        shares = np.sort(model.predict_proba(samples), axis=1)
        assert (shares[:, -1] == shares[:, -2]).any()
        compare(model, samples)

    @pytest.mark.parametrize("decoding", ["l1", "hamming", "loss"])
    def test_codes_and_decodings(self, decoding):
        X, y, samples = make_numbers()
        compare(ErrorCorrectingCodeClassifier(code=[[0], [1]], decoding=decoding).fit(X, y > 1), samples)
        for code in ("one-vs-rest", "one-vs-one"):
            compare(ErrorCorrectingCodeClassifier(code=code, decoding=decoding).fit(X, y), samples)
        X, y = load_digits(return_X_y=True)
        samples = np.random.default_rng(0).permuted(X, axis=0)
        for code in ("random", "hamming", make_code(10, 12, random_state=0)):
            model = ErrorCorrectingCodeClassifier(code=code, n_bits=12, decoding=decoding, random_state=0).fit(X, y)
            compare(model, samples)

    def test_one_sample_and_none(self):
        X, y, samples = make_numbers()
        exported = to_onnx(MODELS["kfhe"].fit(X, y))
        assert run(exported, {"X": samples[:1]})[1].shape == (1, 4)
        assert run(exported, {"X": samples[:0]})[1].shape == (0, 4)

    def test_labels_of_any_type(self):
        X, y, samples = make_numbers()
        for labels in (
            np.array(["ägypten", "b", "c", "d"]),
            np.array(["x", "b", "c", "d"], dtype=object),
            np.array([-7, 3, 10**12, 5]),
            np.array([3, 1, 2, 0], dtype=np.uint8),
            np.array([1.0, 2.0, 3.0, 4.0]),
        ):
            compare(BaggedClassifier(n_estimators=5, random_state=0).fit(X, labels[y]), samples)


@pytest.fixture(scope="module")
def training():
    frame = make_frame(800, 70, seed=0)
    number = frame["town"].str.slice(5).astype(float).fillna(0)
    target = np.where((frame["size"].fillna(0) > 0) ^ (number % 3 == 0) ^ (frame["grade"] == 2), "yes", "no")
    target[np.random.default_rng(0).random(800) < 0.1] = "maybe"
    return frame, target


class TestCategories:
    @pytest.mark.parametrize("name", MODELS)
    def test_labels_equal_and_probabilities_close(self, name, training):
        """Also for towns that the model has not seen."""
        samples = make_frame(N_SAMPLES, 90, seed=1)
        compare(MODELS[name].fit(*training), samples, feed_frame(samples))

    def test_inputs_are_columns(self, training):
        exported = to_onnx(MODELS["cart"].fit(*training))
        kinds = {i.name: i.type.tensor_type.elem_type for i in exported.graph.input}
        double, text = onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING
        assert kinds == {"size": double, "color": text, "town": text, "grade": double, "member": double}

    def test_the_empty_text_may_be_a_category(self):
        frame = pd.DataFrame({"town": ["", "Ulm", "Bonn"] * 20})
        model = CARTClassifier(min_samples_split=2).fit(frame, frame["town"] == "")
        compare_labels(model, frame, feed_frame(frame))

    def test_names_inside_of_the_graph_give_way_to_columns(self):
        frame = pd.DataFrame({"cast": ["a", "b"] * 20, "constant": [1.0, 2.0] * 20, "X": [1.0, 0.0] * 20})
        model = SAMMEClassifier(n_estimators=3).fit(frame, frame["cast"])
        feed = {"cast": frame[["cast"]].to_numpy(object), **{n: frame[[n]].to_numpy() for n in ("constant", "X")}}
        compare_labels(model, frame, feed)

    def test_a_column_with_the_name_of_an_output(self):
        frame = pd.DataFrame({"label": ["a", "b"] * 20})
        with pytest.raises(ValueError, match="Feature 'label' has the name of an output"):
            to_onnx(CARTClassifier().fit(frame, frame["label"]))

    def test_categories_that_onnx_does_not_have(self):
        frame = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"] * 20))})
        with pytest.raises(TypeError, match="Feature 'day' has categories that are neither text nor numbers"):
            to_onnx(CARTClassifier().fit(frame, np.arange(40) % 2))

    def test_categories_in_too_many_stretches(self, monkeypatch, training):
        monkeypatch.setattr("fuselearn.io.onnx_trees.LONGEST_CHAIN", 3)
        with pytest.raises(TypeError, match="CARTClassifier cannot be exported to ONNX: feature 'town' has too many"):
            to_onnx(CARTClassifier().fit(*training))


class TestPipelines:
    @pytest.mark.parametrize("name", ["kfhe", "code"])
    def test_of_arrays(self, name):
        X, y, samples = make_numbers(True)
        compare(make_pipeline(StandardScaler(), MODELS[name]).fit(X, y), samples)

    def test_of_frames(self):
        frame = make_frame(500, 10, 0, ["size", "color", "town"])
        frame = frame.fillna({"size": 0.0, "color": "red", "town": "town 1"}).astype({"color": object})
        target = np.where((frame["size"] > 0) ^ (frame["color"] == "red"), "yes", "no")
        encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = make_column_transformer((encode, ["color", "town"]), (StandardScaler(), ["size"]))
        model = make_pipeline(columns, MODELS["bagging"]).fit(frame, target)
        compare(model, frame, {name: frame[[name]].to_numpy() for name in frame}, exported=to_onnx(model, frame))
        with pytest.raises(ValueError, match="Pass X, some training samples"):
            to_onnx(model)

    def test_classes_of_any_type_and_a_model_without_steps_before_it(self):
        X, y, samples = make_numbers()
        compare(make_pipeline(StandardScaler(), CARTClassifier()).fit(X, y > 0), samples)
        compare(make_pipeline(CARTClassifier()).fit(X, y), samples)

    def test_samples_of_single_precision_make_an_input_of_single_precision(self):
        X, y, samples = (np.round(part, 3).astype(np.float32) if part.ndim == 2 else part for part in make_numbers())
        model = make_pipeline(StandardScaler(), CARTClassifier(max_depth=3)).fit(X.astype(np.float64), y)
        exported = to_onnx(model, X)
        assert exported.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        compare(model, samples, exported=exported, wrong=0.01, tolerance=1.0)

    def test_category_columns_are_for_the_model_itself(self):
        frame = pd.DataFrame({"town": pd.Categorical(["Ulm", "Bonn"] * 20)})
        keep = FunctionTransformer(validate=False)
        model = make_pipeline(keep, CARTClassifier()).fit(frame, np.arange(40) % 2)
        with pytest.raises(TypeError, match="CARTClassifier with categorical features"):
            to_onnx(model, frame.astype(object))

    def test_a_column_with_the_name_of_an_output(self):
        frame = pd.DataFrame({"label": np.arange(40.0)})
        model = make_pipeline(StandardScaler(), CARTClassifier()).fit(frame, np.arange(40) % 2)
        with pytest.raises(ValueError, match="'label' has the name of an output"):
            to_onnx(model, frame)

    def test_a_step_that_onnx_does_not_have_is_named(self):
        X, y, _ = make_numbers()
        model = make_pipeline(FunctionTransformer(np.tanh), CARTClassifier()).fit(X, y)
        with pytest.raises((TypeError, RuntimeError), match="FunctionTransformer"):
            to_onnx(model)


class TestSearches:
    X, y, samples = make_numbers()

    @pytest.mark.parametrize("is_last_step", [False, True])
    def test_the_best_estimator_is_taken(self, is_last_step):
        for search in (
            GridSearchCV(MODELS["kfhe"], {"n_estimators": [2, 3]}, cv=2),
            RandomizedSearchCV(MODELS["bagging"], {"n_estimators": [2, 3]}, n_iter=1, cv=2, random_state=0),
            HalvingGridSearchCV(MODELS["samme"], {"n_estimators": [2, 3]}, cv=2, random_state=0),
            GridSearchCV(make_pipeline(StandardScaler(), MODELS["cart"]), {"cartclassifier__max_depth": [2, 3]}, cv=2),
            GridSearchCV(GridSearchCV(MODELS["cart"], {"max_depth": [3]}, cv=2), {"cv": [2]}, cv=2),
        ):
            model = make_pipeline(StandardScaler(), clone(search)) if is_last_step else clone(search)
            compare(model.fit(self.X, self.y), self.samples)

    def test_of_several_labels(self):
        labels = np.column_stack([self.y > 0, self.y % 2]).astype(int)
        search = GridSearchCV(PCTForestClassifier(4, random_state=0), {"max_depth": [2, 3]}, cv=2)
        compare_labels(search.fit(self.X, labels), self.samples)

    def test_without_a_best_estimator(self):
        model = GridSearchCV(MODELS["cart"], {"max_depth": [3]}, cv=2, refit=False).fit(self.X, self.y)
        with pytest.raises(TypeError, match="GridSearchCV has no best estimator; set refit=True"):
            to_onnx(model)


class TestRefusals:
    X, y = load_wine(return_X_y=True)

    @pytest.mark.parametrize("kind", [KFHEClassifier, SAMMEClassifier, BaggedClassifier, ErrorCorrectingCodeClassifier])
    def test_other_base_learners_are_named(self, kind):
        settings = {} if kind is ErrorCorrectingCodeClassifier else {"n_estimators": 2}
        base = make_pipeline(StandardScaler(), LogisticRegression())
        model = kind(base, **settings).fit(self.X, self.y)
        for exported in (model, make_pipeline(StandardScaler(), model).fit(self.X, self.y)):
            with pytest.raises(TypeError, match=f"{kind.__name__} over Pipeline cannot be exported to ONNX"):
                to_onnx(exported)

    @pytest.mark.parametrize(
        "model",
        [
            GaussianNB(),
            GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2),
            RotationForestClassifier(n_estimators=2),
        ],
    )
    def test_other_estimators_are_named(self, model):
        kind = type(getattr(model, "estimator", None) or model).__name__
        with pytest.raises(TypeError, match=f"{kind} cannot be exported to ONNX"):
            to_onnx(model.fit(self.X, self.y))

    def test_models_that_are_not_fitted(self):
        with pytest.raises(NotFittedError):
            to_onnx(KFHEClassifier())

    @pytest.mark.parametrize(("opset", "error"), [(12, ValueError), (1000, ValueError), ("17", TypeError)])
    def test_opsets_that_do_not_exist(self, opset, error):
        with pytest.raises(error, match="target_opset must be"):
            to_onnx(CARTClassifier().fit(self.X, self.y), target_opset=opset)

    def test_other_opsets(self):
        model = CARTClassifier().fit(self.X, self.y)
        exported = to_onnx(model, target_opset=13)
        assert {o.domain: o.version for o in exported.opset_import} == {"": 13, "ai.onnx.ml": 3}
        compare(model, self.X, exported=exported)
        model = ErrorCorrectingCodeClassifier(random_state=0).fit(self.X, self.y)
        for opset in (13, 21):
            compare(model, self.X, exported=to_onnx(model, target_opset=opset))

    def test_without_onnx_a_sentence_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnx", None)
        with pytest.raises(ImportError, match=r"fuselearn\[onnx\]"):
            to_onnx(CARTClassifier().fit(self.X, self.y))
