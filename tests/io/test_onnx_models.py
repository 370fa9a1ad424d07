"""An exported model gives the same labels and probabilities, through onnxruntime, as the model itself."""

import sys

import numpy as np
import onnx
import onnxruntime
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
from fuselearn.io import register_converters
from fuselearn.multilabel import PCTForestClassifier

N_ROWS = 10_000

MODELS = {
    "cart": CARTClassifier(complexity=-1.0),
    "kfhe": KFHEClassifier(n_estimators=30, random_state=0),
    "kfhe, probabilities": KFHEClassifier(n_estimators=30, vote="probability", random_state=0),
    "samme": SAMMEClassifier(n_estimators=30, random_state=0),
    "bagging": BaggedClassifier(n_estimators=30, random_state=0),
    "forest": ForestClassifier(n_estimators=30, random_state=0),
    "bagging, probabilities of some columns": BaggedClassifier(
        n_estimators=30, vote="probability", max_features=0.5, random_state=0
    ),
    "code": ErrorCorrectingCodeClassifier(random_state=0),
    "code, bits rounded": ErrorCorrectingCodeClassifier(decoding="hamming", random_state=0),
    "code, log loss": ErrorCorrectingCodeClassifier(CARTClassifier(complexity=-1.0), decoding="loss", random_state=0),
    "code of few bits": ErrorCorrectingCodeClassifier(code="random", n_bits=2, random_state=0),
}


def predict(exported, feed):
    onnx.checker.check_model(exported, full_check=True)
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    return session.run(["label", "probabilities"], feed)


def compare(exported, feed, model, rows):
    label, probabilities = predict(exported, feed)
    expected = model.predict_proba(rows)
    np.testing.assert_array_equal(label, model.predict(rows))
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    assert probabilities.dtype == np.float32
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    assert len(np.unique(label)) > 1


def make_numbers(missing, seed=0):
    X, y = make_classification(600, 8, n_informative=6, n_classes=4, flip_y=0.1, random_state=0)
    rng = np.random.default_rng(seed)
    rows = rng.normal(scale=2.0, size=(N_ROWS, 8))
    rows[: len(X)] = X  # training values lie on both sides of a cut, and in the middle of two of them
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        rows[rng.random(rows.shape) < 0.1] = np.nan
    return X, y, rows


class TestNumbers:
    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize("name", MODELS)
    def test_labels_equal_and_probabilities_close(self, name, missing):
        X, y, rows = make_numbers(missing)
        model = MODELS[name].fit(X, y)
        compare(to_onnx(model), {"X": rows}, model, rows)

    def test_a_frame_of_numbers_becomes_one_matrix(self):
        X, y, rows = make_numbers(False)
        names = [f"column {f}" for f in range(8)]
        model = MODELS["kfhe"].fit(pd.DataFrame(X, columns=names), y)
        compare(to_onnx(model), {"X": rows}, model, pd.DataFrame(rows, columns=names))

    def test_single_precision_rows(self):
        X, y, rows = make_numbers(True)
        rows = rows.astype(np.float32)
        model = MODELS["kfhe"].fit(X, y)
        compare(to_onnx(model, rows), {"X": rows}, model, rows)

    def test_values_on_a_cut(self):
        X = np.array([[0.1], [0.2], [0.3], [0.4]] * 10)
        model = CARTClassifier(min_samples_split=2).fit(X, X[:, 0] > 0.25)
        cut = model.tree_.nodes["threshold"][0]
        rows = np.array([[np.nextafter(cut, 0)], [cut], [np.nextafter(cut, 1)], [np.float32(cut)]])
        label, _ = predict(to_onnx(model), {"X": rows})
        np.testing.assert_array_equal(label, model.predict(rows))

    def test_a_split_by_missing_values_alone(self):
        X = np.array([[1.0], [np.nan]] * 20)
        model = CARTClassifier().fit(X, np.isnan(X[:, 0]))
        rows = np.array([[-5.0], [1.0], [1e300], [np.nan]])
        label, _ = predict(to_onnx(model), {"X": rows})
        np.testing.assert_array_equal(label, [False, False, False, True])

    def test_a_tree_without_a_split(self):
        X, y = np.zeros((30, 2)), np.arange(30) % 3 == 0
        model = CARTClassifier().fit(X, y)
        assert model.get_n_leaves() == 1
        label, probabilities = predict(to_onnx(model), {"X": X})
        np.testing.assert_array_equal(label, model.predict(X))
        np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-7)

    def test_ties_go_to_the_class_with_most_training_rows(self):
        X, y, rows = make_numbers(False)
        model = BaggedClassifier(CARTClassifier(max_depth=1), n_estimators=4, random_state=0).fit(X, y)
        shares = np.sort(model.predict_proba(rows), axis=1)
        assert (shares[:, -1] == shares[:, -2]).any()
        compare(to_onnx(model), {"X": rows}, model, rows)

    @pytest.mark.parametrize("decoding", ["l1", "hamming", "loss"])
    def test_two_classes_and_a_single_bit(self, decoding):
        X, y, rows = make_numbers(False)
        model = ErrorCorrectingCodeClassifier(code=[[0], [1]], decoding=decoding).fit(X, y > 1)
        compare(to_onnx(model), {"X": rows}, model, rows)

    @pytest.mark.parametrize("decoding", ["l1", "hamming", "loss"])
    @pytest.mark.parametrize("code", ["random", "hamming", "made by hand"])
    def test_codes_and_decodings(self, code, decoding):
        X, y = load_digits(return_X_y=True)
        rows = np.random.default_rng(0).permuted(X, axis=0)
        book = make_code(10, 12, random_state=0) if code == "made by hand" else code
        model = ErrorCorrectingCodeClassifier(code=book, n_bits=12, decoding=decoding, random_state=0).fit(X, y)
        compare(to_onnx(model), {"X": rows}, model, rows)

    def test_one_row_and_none(self):
        X, y, rows = make_numbers(False)
        exported = to_onnx(MODELS["kfhe"].fit(X, y))
        assert predict(exported, {"X": rows[:1]})[1].shape == (1, 4)
        assert predict(exported, {"X": rows[:0]})[1].shape == (0, 4)


LABELS = {
    "text": np.array(["ägypten", "b", "c", "d"]),
    "text objects": np.array(["x", "b", "c", "d"], dtype=object),
    "numbers": np.array([-7, 3, 10**12, 5]),
    "small numbers": np.array([3, 1, 2, 0], dtype=np.uint8),
    "fractions": np.array([1.0, 2.0, 3.0, 4.0]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(kind):
    X, y, rows = make_numbers(False)
    model = BaggedClassifier(n_estimators=5, random_state=0).fit(X, LABELS[kind][y])
    compare(to_onnx(model), {"X": rows}, model, rows)


def make_frame(n_rows, n_towns, seed):
    """Make rows with numbers, categories of text and of numbers, and missing ones of each kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "colour": pd.Categorical(rng.choice(["red", "green", "blau"], n_rows), categories=["green", "red", "blau"]),
            "town": rng.choice([f"town {k}" for k in range(n_towns)], n_rows),
            "grade": pd.Categorical(rng.choice([1, 2, 5], n_rows)),
            "member": pd.Categorical(rng.choice([False, True], n_rows)),
        }
    )
    for name in frame:
        frame.loc[rng.random(n_rows) < 0.1, name] = None
    return frame


def feed_frame(frame):
    """Turn a frame into what onnxruntime takes, as docs/deploy.md says."""
    return {
        name: frame[[name]].to_numpy(float)
        if name in ("size", "grade", "member")
        else frame[[name]].astype(object).fillna("").to_numpy()
        for name in frame
    }


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
        model = MODELS[name].fit(*training)
        rows = make_frame(N_ROWS, 90, seed=1)
        compare(to_onnx(model), feed_frame(rows), model, rows)

    def test_inputs_are_columns(self, training):
        exported = to_onnx(MODELS["cart"].fit(*training))
        kinds = {i.name: i.type.tensor_type.elem_type for i in exported.graph.input}
        double, text = onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING
        assert kinds == {"size": double, "colour": text, "town": text, "grade": double, "member": double}

    def test_the_empty_text_may_be_a_category(self):
        frame = pd.DataFrame({"town": ["", "Ulm", "Bonn"] * 20})
        model = CARTClassifier(min_samples_split=2).fit(frame, frame["town"] == "")
        label, _ = predict(to_onnx(model), {"town": frame[["town"]].to_numpy(object)})
        np.testing.assert_array_equal(label, model.predict(frame))

    def test_names_inside_of_the_graph_give_way_to_columns(self):
        frame = pd.DataFrame({"doubles": ["a", "b"] * 20, "scores": [1.0, 2.0] * 20, "X": [1.0, 0.0] * 20})
        model = SAMMEClassifier(n_estimators=3).fit(frame, frame["doubles"])
        feed = {"doubles": frame[["doubles"]].to_numpy(object), **{n: frame[[n]].to_numpy() for n in ("scores", "X")}}
        label, _ = predict(to_onnx(model), feed)
        np.testing.assert_array_equal(label, model.predict(frame))

    def test_a_column_with_the_name_of_an_output(self):
        frame = pd.DataFrame({"label": ["a", "b"] * 20})
        model = CARTClassifier().fit(frame, frame["label"])
        with pytest.raises(ValueError, match="Feature 'label' has the name of an output"):
            to_onnx(model)

    def test_categories_that_onnx_does_not_have(self):
        frame = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"] * 20))})
        model = CARTClassifier().fit(frame, np.arange(40) % 2)
        with pytest.raises(TypeError, match="Feature 'day' has categories that are neither text nor numbers"):
            to_onnx(model)

    def test_categories_in_too_many_stretches(self, monkeypatch, training):
        monkeypatch.setattr("fuselearn.io.onnx_trees.LONGEST_CHAIN", 3)
        model = CARTClassifier().fit(*training)
        with pytest.raises(TypeError, match="CARTClassifier cannot be exported to ONNX: feature 'town' has too many"):
            to_onnx(model)


class TestPipelines:
    def test_of_arrays(self):
        X, y, rows = make_numbers(True)
        model = make_pipeline(StandardScaler(), MODELS["kfhe"]).fit(X, y)
        compare(to_onnx(model), {"X": rows}, model, rows)

    def test_of_frames(self):
        frame = (
            make_frame(500, 10, seed=0)
            .fillna({"size": 0.0, "colour": "red", "town": "town 1"})
            .astype({"colour": object})
        )
        frame = frame[["size", "colour", "town"]]
        target = np.where((frame["size"] > 0) ^ (frame["colour"] == "red"), "yes", "no")
        encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = make_column_transformer((encode, ["colour", "town"]), (StandardScaler(), ["size"]))
        model = make_pipeline(columns, MODELS["bagging"]).fit(frame, target)
        feed = {name: frame[[name]].to_numpy() for name in frame}
        compare(to_onnx(model, frame), feed, model, frame)
        with pytest.raises(ValueError, match="Pass X, some samples"):
            to_onnx(model)

    def test_of_codes(self):
        X, y, rows = make_numbers(True)
        model = make_pipeline(StandardScaler(), MODELS["code"]).fit(X, y)
        compare(to_onnx(model), {"X": rows}, model, rows)

    def test_through_skl2onnx_itself(self):
        import skl2onnx

        X, y, rows = make_numbers(False)
        model = make_pipeline(StandardScaler(), MODELS["samme"]).fit(X, y)
        register_converters()
        exported = skl2onnx.to_onnx(model, X, options={"zipmap": False})
        compare(exported, {"X": rows}, model, rows)

    def test_category_columns_are_for_the_model_itself(self):
        frame = pd.DataFrame({"town": pd.Categorical(["Ulm", "Bonn"] * 20)})
        model = make_pipeline(CARTClassifier()).fit(frame, np.arange(40) % 2)
        with pytest.raises(TypeError, match="CARTClassifier with categorical features"):
            to_onnx(model, frame.astype(object))

    def test_a_step_that_onnx_does_not_have_is_named(self):
        X, y, _ = make_numbers(False)
        model = make_pipeline(FunctionTransformer(np.tanh), CARTClassifier()).fit(X, y)
        with pytest.raises((TypeError, RuntimeError), match="FunctionTransformer"):
            to_onnx(model)


class TestSearches:
    X, y, rows = make_numbers(False)

    @pytest.mark.parametrize(
        "search",
        [
            GridSearchCV(MODELS["kfhe"], {"n_estimators": [2, 3]}, cv=2),
            RandomizedSearchCV(MODELS["bagging"], {"n_estimators": [2, 3]}, n_iter=1, cv=2, random_state=0),
            HalvingGridSearchCV(MODELS["samme"], {"n_estimators": [2, 3]}, cv=2, random_state=0),
            GridSearchCV(make_pipeline(StandardScaler(), MODELS["cart"]), {"cartclassifier__max_depth": [2, 3]}, cv=2),
            GridSearchCV(GridSearchCV(MODELS["cart"], {"max_depth": [3]}, cv=2), {"cv": [2]}, cv=2),
        ],
        ids=["grid", "random", "halving", "over a pipeline", "over a search"],
    )
    @pytest.mark.parametrize("is_last_step", [False, True])
    def test_the_best_estimator_is_taken(self, search, is_last_step):
        model = make_pipeline(StandardScaler(), clone(search)) if is_last_step else clone(search)
        model.fit(self.X, self.y)
        compare(to_onnx(model), {"X": self.rows}, model, self.rows)

    def test_of_several_labels(self):
        labels = np.column_stack([self.y > 0, self.y % 2]).astype(int)
        model = GridSearchCV(PCTForestClassifier(4, random_state=0), {"max_depth": [2, 3]}, cv=2).fit(self.X, labels)
        np.testing.assert_array_equal(predict(to_onnx(model), {"X": self.rows})[0], model.predict(self.rows))

    def test_without_a_best_estimator(self):
        model = GridSearchCV(MODELS["cart"], {"max_depth": [3]}, cv=2, refit=False).fit(self.X, self.y)
        with pytest.raises(TypeError, match="GridSearchCV has no best estimator; set refit=True"):
            to_onnx(model)

    def test_estimators_of_others_are_named(self):
        model = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2).fit(self.X, self.y)
        with pytest.raises(TypeError, match="GaussianNB cannot be exported to ONNX by fuselearn"):
            to_onnx(model)


class TestRefusals:
    X, y = load_wine(return_X_y=True)

    @pytest.mark.parametrize("kind", [KFHEClassifier, SAMMEClassifier, BaggedClassifier, ErrorCorrectingCodeClassifier])
    def test_other_base_learners_are_named(self, kind):
        base = make_pipeline(StandardScaler(), LogisticRegression())
        model = (
            kind(base)
            .set_params(**({"n_estimators": 2} if hasattr(kind(), "n_estimators") else {}))
            .fit(self.X, self.y)
        )
        with pytest.raises(TypeError, match=f"{kind.__name__} over Pipeline cannot be exported to ONNX"):
            to_onnx(model)
        with pytest.raises(TypeError, match=f"{kind.__name__} over Pipeline cannot be exported to ONNX"):
            to_onnx(make_pipeline(StandardScaler(), model).fit(self.X, self.y))

    def test_other_estimators_are_named(self):
        with pytest.raises(TypeError, match="GaussianNB cannot be exported to ONNX by fuselearn"):
            to_onnx(GaussianNB().fit(self.X, self.y))

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
        np.testing.assert_array_equal(predict(exported, {"X": self.X})[0], model.predict(self.X))

    @pytest.mark.parametrize("opset", [13, 21])
    def test_codes_with_other_opsets(self, opset):
        model = ErrorCorrectingCodeClassifier(random_state=0).fit(self.X, self.y)
        compare(to_onnx(model, target_opset=opset), {"X": self.X}, model, self.X)

    def test_without_onnx_a_sentence_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnx", None)
        with pytest.raises(ImportError, match=r"fuselearn\[onnx\]"):
            to_onnx(CARTClassifier().fit(self.X, self.y))
