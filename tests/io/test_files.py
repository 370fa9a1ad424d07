"""A model comes back from its file as it was, or not at all."""

import importlib
import json
import os
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine, make_multilabel_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fuselearn
from fuselearn import BaggedClassifier, CARTClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.datasets import read_table
from fuselearn.io import ModelFileError, files, load, read_header, save
from fuselearn.io.flattening import flatten
from fuselearn.io.trust import walk_parts
from fuselearn.learners import Bound
from fuselearn.multilabel import (
    BinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    HOMERClassifier,
    KFHEHOMERClassifier,
    LabelPowersetClassifier,
)

X, y = load_wine(return_X_y=True)
LABELED, LABELS = make_multilabel_classification(60, 6, n_classes=5, random_state=0)
NAMES = np.array(["barolo", "grignolino", "barbera"])


def make_frame(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows)),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n_rows)),
            "town": rng.choice([f"town {k}" for k in range(40)], n_rows),
        }
    )
    target = np.where((frame["colour"] == "red") | (frame["size"] > 0.5), "yes", "no")
    return frame, target


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fuse"


MODELS = {
    "kfhe of logistic regressions": KFHEClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), n_estimators=3, random_state=0
    ),
    "samme of scikit-learn's trees": SAMMEClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3),
    "bagged neighbors": BaggedClassifier(KNeighborsClassifier(), n_estimators=3, max_features=4, random_state=0),
    "pipeline": make_pipeline(
        StandardScaler(), FunctionTransformer(np.tanh), SelectKBest(k=5), KFHEClassifier(n_estimators=5, random_state=0)
    ),
    "search": GridSearchCV(KFHEClassifier(n_estimators=5, random_state=0), {"vote": ["class", "probability"]}, cv=2),
}


class TestRoundTrip:
    @pytest.mark.parametrize("name", MODELS)
    def test_a_loaded_model_predicts_the_same(self, name, path):
        model = MODELS[name].fit(X, NAMES[y])
        expected = model.predict_proba(X)
        save(model, path)
        loaded = load(path)
        np.testing.assert_array_equal(loaded.predict_proba(X), expected)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    def test_frames_with_categories_and_missing_values(self, path):
        frame, target = make_frame()
        model = KFHEClassifier(n_estimators=10, random_state=0).fit(frame, target)
        save(model, path)
        new_rows, _ = make_frame(seed=1)
        new_rows["town"] = "never seen"
        np.testing.assert_array_equal(load(path).predict_proba(new_rows), model.predict_proba(new_rows))

    def test_a_pipeline_over_columns(self, path):
        frame, target = make_frame()
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["colour", "town"]), remainder="passthrough"
        )
        model = make_pipeline(encode, BaggedClassifier(n_estimators=5, random_state=0)).fit(frame, target)
        save(model, path)
        np.testing.assert_array_equal(load(path).predict_proba(frame), model.predict_proba(frame))

    @pytest.mark.parametrize("base", [None, LogisticRegression()], ids=repr)
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_multilabel_models_over_any_base_estimator(self, base, path):
        for model in (
            BinaryRelevanceClassifier(base, random_state=0),
            HOMERClassifier(base, random_state=0),
            KFHEHOMERClassifier(base, n_estimators=4, random_state=0),
            LabelPowersetClassifier(base, random_state=0),
            EnsembleOfChainsClassifier(base, n_estimators=3, max_features=0.5, random_state=0),
        ):
            expected = model.fit(LABELED, LABELS).predict_proba(LABELED)
            save(model, path)
            loaded = load(path)
            np.testing.assert_array_equal(loaded.predict_proba(LABELED), expected)
            bound = [part for part in walk_parts(loaded) if isinstance(part, Bound)]
            assert all(vars(part) == vars(Bound()) for part in bound)

    def test_an_unfitted_model_comes_back_unfitted(self, path):
        save(KFHEClassifier(CARTClassifier(max_depth=3), n_estimators=7), path)
        loaded = load(path)
        assert loaded.estimator.max_depth == 3
        assert loaded.fit(X, y).n_iter_ <= 7


class TestSize:
    @pytest.mark.parametrize("n_rows", [150, 3000])
    def test_at_most_twice_the_node_arrays(self, n_rows, path):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(n_rows, 8))
        target = (rows[:, 0] * rows[:, 1] + rng.normal(scale=0.5, size=n_rows) > 0).astype(int)
        model = KFHEClassifier(n_estimators=100, random_state=0).fit(rows, target)
        model.predict(rows)
        save(model, path)
        trees = [estimator.tree_ for estimator in model.estimators_]
        raw = sum(part.nbytes for tree in trees for part in (tree.nodes, tree.values, tree.subsets))
        assert path.stat().st_size <= 2 * raw

    def test_ensembles_of_hierarchies_stay_small(self, path):
        """Hundreds of small SVMs share the description of one table."""
        save(KFHEHOMERClassifier(n_estimators=20, random_state=0).fit(LABELED, LABELS), path)
        assert path.stat().st_size < 100_000

    def test_the_packed_forest_is_not_saved(self, path):
        model = KFHEClassifier(n_estimators=20, random_state=0).fit(X, y)
        save(model, path)
        before = path.stat().st_size
        model.predict(X)
        save(model, path)
        assert path.stat().st_size == pytest.approx(before, rel=0.02)


class TestHeader:
    def test_what_it_says(self, path):
        frame, target = make_frame()
        save(KFHEClassifier(n_estimators=3, random_state=0).fit(frame, target), path)
        header = read_header(path)
        assert header["format"] == 2
        assert header["fuselearn"] == fuselearn.__version__
        assert header["model"] == "KFHEClassifier"
        assert header["classes"] == ["no", "yes"]
        assert header["training_shape"] == [120, 3]
        assert header["columns"] == [
            {"name": "size", "type": "number"},
            {"name": "colour", "type": "category", "categories": 3},
            {"name": "town", "type": "category", "categories": frame["town"].nunique()},
        ]
        assert header["date"].endswith("+00:00")
        assert set(header["versions"]) == {"python", "numpy", "scipy", "scikit-learn", "skops"}

    def test_of_several_labels(self, path):
        frame = pd.DataFrame(LABELED, columns=list("abcdef")).assign(town=["Ulm", "Bonn", "Jena"] * 20)
        names = [f"label {k}" for k in range(5)]
        save(BinaryRelevanceClassifier("tree").fit(frame, pd.DataFrame(LABELS, columns=names)), path)
        header = read_header(path)
        assert header["labels"] == names
        assert header["columns"][0] == {"name": "a", "type": "number"}
        assert header["columns"][6] == {"name": "town", "type": "category", "categories": 3}

    def test_of_a_pipeline(self, path):
        save(make_pipeline(StandardScaler(), CARTClassifier()).fit(X, y), path)
        header = read_header(path)
        assert header["model"] == "StandardScaler > CARTClassifier"
        assert header["training_shape"] == [178, 13]
        assert header["classes"] == [0, 1, 2]
        assert header["columns"][0] == {"name": 0}

    def test_of_an_unfitted_model(self, path):
        save(KFHEClassifier(), path)
        assert not {"columns", "classes", "training_shape"} & set(read_header(path))

    def test_is_read_without_the_model(self, path, forge):
        save(CARTClassifier().fit(X, y), path)
        forge(path, {files.MODEL: b"no model"})
        assert read_header(path)["model"] == "CARTClassifier"


class TestWriting:
    def test_a_crash_leaves_the_old_file_and_nothing_else(self, path, monkeypatch):
        save(CARTClassifier(max_depth=1).fit(X, y), path)
        old = path.read_bytes()

        def crash(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", crash)
        with pytest.raises(KeyboardInterrupt):
            save(KFHEClassifier(n_estimators=3).fit(X, y), path)
        assert path.read_bytes() == old
        assert os.listdir(path.parent) == [path.name]

    def test_the_file_has_the_usual_permissions(self, path):
        save(CARTClassifier(), path)
        (path.parent / "plain").touch()
        assert path.stat().st_mode == (path.parent / "plain").stat().st_mode

    def test_a_missing_folder_is_the_systems_error(self, path):
        with pytest.raises(FileNotFoundError):
            save(CARTClassifier(), path.parent / "nowhere" / "model.fuse")


FOREIGN = """
from collections import OrderedDict
from sklearn.naive_bayes import GaussianNB

class Booster(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        self.options_ = OrderedDict(rounds=3)
        return super().fit(X, y, sample_weight)
"""


class TestRefusals:
    def test_a_function_of_ones_own_is_refused_before_writing(self, path):
        model = make_pipeline(FunctionTransformer(lambda rows: rows), CARTClassifier()).fit(X, y)
        with pytest.raises(ModelFileError, match=r"Pipeline cannot be saved\. It contains .*<lambda>"):
            save(model, path)
        assert not path.exists()

    def test_estimators_of_other_packages_are_named_not_what_is_in_them(self, path, monkeypatch):
        (path.parent / "boosters.py").write_text(FOREIGN)
        monkeypatch.syspath_prepend(path.parent)
        booster = importlib.import_module("boosters").Booster()
        for model in (booster, KFHEClassifier(booster, 2), make_pipeline(StandardScaler(), booster)):
            with pytest.raises(ModelFileError) as refused:
                save(model.fit(X, y), path)
            assert f"{type(model).__name__} cannot be saved. It contains boosters.Booster, and" in str(refused.value)
            assert "joblib.dump saves any model" in str(refused.value)
            copied = path.parent / "model.joblib"
            joblib.dump(model, copied)
            np.testing.assert_array_equal(joblib.load(copied).predict(X), model.predict(X))

    def test_a_class_of_ones_own_is_refused_by_name(self, path):
        class Own(CARTClassifier):
            pass

        with pytest.raises(ModelFileError, match=r"It contains .*test_files.*Own"):
            save(Own(), path)

    def test_no_model_file(self, path):
        path.write_bytes(b"PK, but not really")
        for read in (load, read_header):
            with pytest.raises(ModelFileError, match=r"model\.fuse cannot be (loaded|read)\. It is not a model file"):
                read(path)

    def test_another_zip_archive(self, path):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("letter.txt", "Dear reader")
        with pytest.raises(ModelFileError, match="It is not a model file"):
            load(path)

    def test_a_missing_file_is_named_in_the_words_of_read_table(self, path):
        for read in (load, read_header, read_table):
            with pytest.raises(FileNotFoundError, match=rf"^There is no file {path}\.$"):
                read(path)

    def test_a_newer_format(self, path, forge):
        save(CARTClassifier(), path)
        forge(path, {files.HEADER: json.dumps({"format": 3, "fuselearn": "7.1"}).encode()})
        with pytest.raises(ModelFileError, match=r"fuselearn 7\.1 in format 3; this version reads format 2"):
            load(path)

    def test_files_of_earlier_versions(self, path, forge):
        save(CARTClassifier(), path)
        forge(path, {files.HEADER: json.dumps({"format": 1, "fuselearn": "0.2.0"}).encode()})
        with pytest.raises(ModelFileError, match=r"by fuselearn 0\.2\.0, whose files this version does not read"):
            load(path)

    def test_types_that_only_another_version_has(self, path, forge):
        save(CARTClassifier(), path)
        flat = flatten(CARTClassifier())
        flat["parts"] = flat["parts"].replace(b"CARTClassifier", b"OaksClassifier")
        header = json.dumps({"format": 2, "fuselearn": "0.9"}).encode()
        forge(path, {files.HEADER: header, files.MODEL: skops.io.dumps(flat)})
        with pytest.raises(ModelFileError, match=r"OaksClassifier.* It was written by fuselearn 0\.9; this is"):
            load(path)

    @pytest.mark.parametrize("header", [b"[1]", b"{}", b'{"format": "1"}', b'{"format": 0}', b"{", b"\xff\xfe"])
    def test_a_header_that_is_none(self, header, path, forge):
        save(CARTClassifier(), path)
        forge(path, {files.HEADER: header})
        with pytest.raises(ModelFileError):
            load(path)

    def test_a_wrong_digest(self, path, forge):
        save(CARTClassifier(), path)
        forge(path, {files.DIGEST: b"0" * 64})
        with pytest.raises(ModelFileError, match="does not match its digest"):
            load(path)

    def test_deflated_entries(self, path, forge):
        save(CARTClassifier(), path)
        forge(path, {}, zipfile.ZIP_DEFLATED)
        with pytest.raises(ModelFileError, match="its entries are compressed"):
            load(path)
