"""What all four classifiers promise: scikit-learn's contract, frames, and sentences for bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from fuselearn import BaggedClassifier, CARTClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.ensembles import table_estimator
from fuselearn.learners import tree as trees

DRAWN = "a weight of 2 changes which samples are drawn; so do two copies"


def expected_failures(estimator):
    if isinstance(estimator, CARTClassifier) or getattr(estimator, "splitter", "best") == "random":
        return {}
    return dict.fromkeys(
        ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], DRAWN
    )


ENSEMBLES = [KFHEClassifier, SAMMEClassifier, BaggedClassifier]
CLASSIFIERS = [CARTClassifier, *ENSEMBLES]
every_classifier = pytest.mark.parametrize("make", CLASSIFIERS)
every_ensemble = pytest.mark.parametrize("make", ENSEMBLES)
libraries = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def small(make, **kwargs):
    """Make a classifier that is quick to train."""
    if make is CARTClassifier:
        return make(min_samples_split=2, random_state=0, **kwargs)
    kwargs.setdefault("estimator", CARTClassifier(min_samples_split=2))
    return make(n_estimators=4, random_state=0, **kwargs)


@parametrize_with_checks(
    [
        CARTClassifier(),
        CARTClassifier(max_features="sqrt", splitter="random"),
        KFHEClassifier(n_estimators=5),
        KFHEClassifier(n_estimators=5, weighting="linear", vote="probability"),
        SAMMEClassifier(n_estimators=5),
        BaggedClassifier(n_estimators=5),
        BaggedClassifier(n_estimators=5, max_features=0.5, vote="probability"),
        ForestClassifier(n_estimators=5),
        ForestClassifier(n_estimators=5, splitter="random"),
        KFHEClassifier(GaussianNB(), n_estimators=3),
        SAMMEClassifier(GaussianNB(), n_estimators=3),
        BaggedClassifier(GaussianNB(), n_estimators=3),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestFrames:
    """Twelve rows whose class follows from the colour, and one column of every kind beside it."""

    columns = {  # noqa: RUF012
        "size": [1.5, None, 2.5, 2.0, 1.0, 3.0] * 2,
        "colour": ["red", "blue", "green", "red", "blue", "green"] * 2,
        "is_new": [True, False, True, False, True, False] * 2,
        "number": [3, 1, 4, 2, 5, 6] * 2,
    }
    y = np.array(["warm", "cold", "cold", "warm", "cold", "cold"] * 2)

    @libraries
    @every_classifier
    def test_text_booleans_and_gaps(self, make, frame):
        model = small(make).fit(frame(self.columns), self.y)
        assert model.feature_names_in_.tolist() == list(self.columns)
        assert model.predict(frame(self.columns)).tolist() == self.y.tolist()

    @every_classifier
    def test_both_libraries_give_the_same_model(self, make):
        pandas, polars = pd.DataFrame(self.columns), pl.DataFrame(self.columns)
        expected = small(make).fit(pandas, self.y).predict_proba(pandas)
        np.testing.assert_array_equal(small(make).fit(polars, self.y).predict_proba(polars), expected)
        np.testing.assert_array_equal(small(make).fit(polars, self.y).predict_proba(pandas), expected)

    @every_classifier
    def test_categories_and_nullable_types_of_pandas(self, make):
        frame = pd.DataFrame(self.columns).astype({"colour": "category", "number": "Int64", "is_new": "boolean"})
        frame.loc[3, ["number", "is_new"]] = pd.NA
        assert small(make).fit(frame, self.y).score(frame, self.y) == 1.0

    @pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["green", "red", "blue"])])
    @every_classifier
    def test_categories_of_polars(self, make, kind):
        frame = pl.DataFrame(self.columns).with_columns(pl.col("colour").cast(kind))
        assert small(make).fit(frame, self.y).score(frame, self.y) == 1.0

    @libraries
    @every_classifier
    def test_unknown_categories_go_with_the_heavier_child(self, make, frame):
        column = ["red"] * 3 + ["blue"] * 9
        model = small(make).fit(frame({"colour": column}), column)
        assert model.predict(frame({"colour": ["pink", "red", None]})).tolist() == ["blue", "red", "blue"]

    @libraries
    @every_classifier
    def test_other_names_or_another_order_are_refused(self, make, frame):
        model = small(make).fit(frame({"a": [1, 2, 3, 4], "b": [1, 1, 1, 1]}), [0, 0, 1, 1])
        for columns in ({"b": [1], "a": [1]}, {"a": [1], "c": [1]}):
            with pytest.raises(ValueError, match=r"[Ff]eature names"):
                model.predict(frame(columns))
        with pytest.raises(ValueError, match=r"(?i)feature"):
            model.predict(frame({"a": [1]}))

    @every_classifier
    def test_names_missing_at_predict_give_a_warning(self, make):
        model = small(make).fit(pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}), [0, 0, 1, 1])
        with pytest.warns(UserWarning, match="feature names"):
            model.predict(np.array([[1.0]]))

    @every_classifier
    def test_frames_without_names_of_text(self, make):
        frame = pd.DataFrame(np.arange(8.0).reshape(4, 2))
        model = small(make).fit(frame, [0, 0, 1, 1])
        assert not hasattr(model, "feature_names_in_")
        assert model.score(frame, [0, 0, 1, 1]) == 1.0

    @every_classifier
    def test_labels_in_any_container(self, make):
        frame = pd.DataFrame(self.columns)
        expected = small(make).fit(frame, self.y).predict_proba(frame)
        for y in (self.y.tolist(), pd.Series(self.y), pd.Series(self.y, dtype="category"), pl.Series(self.y)):
            np.testing.assert_array_equal(small(make).fit(frame, y).predict_proba(frame), expected)

    @every_ensemble
    def test_pipelines_as_base_learners_get_the_frame(self, make):
        frame = pd.DataFrame(self.columns).drop(columns="size")
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder=StandardScaler()
        )
        model = small(make, estimator=make_pipeline(encode, LogisticRegression())).fit(frame, self.y)
        assert model.score(frame, self.y) == 1.0
        assert model.feature_names_in_.tolist() == ["colour", "is_new", "number"]

    @libraries
    @every_ensemble
    def test_frames_reach_other_base_learners(self, make, frame):
        data = frame({"a": np.arange(20.0), "b": np.arange(20.0) % 3})
        y = np.arange(20) > 9
        model = small(make, estimator=GaussianNB()).fit(data, y)
        assert model.score(data, y) > 0.8
        assert model.estimators_[0].feature_names_in_.tolist() == ["a", "b"]

    @every_classifier
    def test_fitted_trees_keep_the_names(self, make):
        frame = pd.DataFrame(self.columns)
        model = small(make).fit(frame, self.y)
        trees = [model] if make is CARTClassifier else model.estimators_
        for tree in trees:
            assert tree.feature_names_in_.tolist() == list(self.columns)
            assert "colour in {" in tree.export_text()


class TestTools:
    X, y = load_iris(return_X_y=True)

    @every_classifier
    def test_clones_have_the_same_parameters(self, make):
        model = small(make)
        assert clone(model).get_params().keys() == model.get_params().keys()
        assert repr(clone(model)) == repr(model)

    @every_classifier
    def test_pickles_predict_the_same(self, make):
        model = small(make).fit(self.X, self.y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(self.X), model.predict_proba(self.X))
        fresh = pickle.loads(pickle.dumps(small(make).fit(self.X, self.y)))
        np.testing.assert_array_equal(fresh.predict_proba(self.X), model.predict_proba(self.X))

    @every_classifier
    def test_pickles_do_not_carry_the_training_data(self, make):
        few, many = (
            len(pickle.dumps(small(make).fit(np.repeat(self.X, k, axis=0), np.repeat(self.y, k)))) for k in (1, 10)
        )
        per_row = {KFHEClassifier: 8, SAMMEClassifier: 8}.get(make, 0)  # the row weights
        assert many - few < per_row * 9 * 150 + 0.5 * few

    @every_classifier
    def test_cross_validation(self, make):
        assert cross_val_score(small(make), self.X, self.y, cv=3).mean() > 0.85

    @every_classifier
    def test_pipelines_and_grids(self, make):
        name = "max_depth" if make is CARTClassifier else "estimator__max_depth"
        search = GridSearchCV(
            make_pipeline(StandardScaler(), small(make)), {f"{make.__name__.lower()}__{name}": [1, 3]}, cv=3
        )
        search.fit(self.X, self.y)
        assert search.best_score_ > 0.85

    @every_classifier
    def test_the_number_of_jobs_does_not_matter(self, make):
        alone = small(make).fit(self.X, self.y)
        together = small(make, n_jobs=2).fit(self.X, self.y)
        np.testing.assert_array_equal(alone.predict_proba(self.X), together.predict_proba(self.X))

    @every_classifier
    def test_nor_does_it_on_large_data(self, make):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40_000, 3))
        y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=40_000), [-1, 1])
        settings = {} if make is CARTClassifier else {"n_estimators": 2}
        alone, together = (
            make(random_state=0, n_jobs=n_jobs, **settings).fit(X, y).predict_proba(X) for n_jobs in (None, 2)
        )
        np.testing.assert_array_equal(alone, together)

    @every_classifier
    def test_lists_and_other_layouts(self, make):
        expected = small(make).fit(self.X, self.y).predict_proba(self.X)
        for X in (self.X.tolist(), np.asfortranarray(self.X)):
            model = small(make).fit(X, self.y.tolist())
            np.testing.assert_array_equal(model.predict_proba(X), expected)

    @every_classifier
    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
    def test_sparse_tables_give_the_model_of_dense_ones(self, make, kind, monkeypatch):
        """Also if they have gaps, and in parts."""
        X = np.where(np.random.default_rng(0).random(self.X.shape) < 0.5, 0.0, self.X)
        X[::11, 1] = np.nan
        model = small(make)
        assert get_tags(model).input_tags.sparse
        dense = clone(model).fit(X, self.y)
        monkeypatch.setattr(table_estimator, "DENSE_VALUES", 7 * X.shape[1])
        model.fit(kind(X), self.y)
        np.testing.assert_array_equal(model.predict_proba(kind(X)), dense.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X), dense.predict(X))

    @every_ensemble
    def test_sparse_tables_for_base_learners_that_take_them(self, make):
        dense = small(make, estimator=LogisticRegression(solver="newton-cholesky")).fit(self.X, self.y)
        for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_array):
            model = small(make, estimator=LogisticRegression(solver="newton-cholesky")).fit(kind(self.X), self.y)
            np.testing.assert_allclose(model.predict_proba(kind(self.X)), dense.predict_proba(self.X), atol=1e-6)

    @every_ensemble
    def test_gaps_are_a_matter_of_the_base_learner(self, make):
        X = self.X.copy()
        X[::9, 2] = np.nan
        for base, takes_gaps in ((None, True), (DecisionTreeClassifier(), True), (GaussianNB(), False)):
            model = make(base, n_estimators=3, random_state=0)
            assert get_tags(model).input_tags.allow_nan == takes_gaps
            if takes_gaps:
                assert model.fit(X, self.y).score(X, self.y) > 0.9
            else:
                with pytest.raises(ValueError, match="NaN"):
                    model.fit(X, self.y)

    @every_ensemble
    def test_fitting_does_not_touch_the_base_learner(self, make):
        base = CARTClassifier(min_samples_split=2)
        small(make, estimator=base).fit(self.X, self.y)
        assert not hasattr(base, "tree_")
        assert base.random_state is None

    @every_classifier
    def test_labels_of_all_types(self, make):
        rows = np.arange(40.0)[:, None]
        for labels in ([False, True], ["no", "yes"], [-1, 1], [0.0, 2.0], ["é", "ü"], [b"a", b"b"]):
            y = np.repeat(labels, 20)
            model = small(make).fit(rows, y)
            assert model.classes_.tolist() == labels
            assert model.classes_.dtype == y.dtype
            assert model.predict(rows).tolist() == y.tolist()


class TestBadInput:
    X = np.arange(40.0).reshape(20, 2)
    y = np.repeat([0, 1], 10)

    def refuse(self, model, error, match, X=None, y=None, **fit_params):
        """Check that neither an unfitted nor a fitted model survives the attempt."""
        X, y = self.X if X is None else X, self.y if y is None else y
        params = model.get_params(deep=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=match):
                model.fit(X, y, **fit_params)
            with pytest.raises(NotFittedError):
                model.predict(self.X)
            fitted = small(type(model)).fit(self.X, self.y)
            fitted.set_params(**params)
            with pytest.raises(error, match=match):
                fitted.fit(X, y, **fit_params)
            for method in ("predict", "predict_proba"):
                with pytest.raises(NotFittedError):
                    getattr(fitted, method)(self.X)

    @pytest.mark.parametrize("value", [0, -3, 2.0, "10", None, True])
    @every_ensemble
    def test_n_estimators(self, make, value):
        self.refuse(make(n_estimators=value), (ValueError, TypeError), "n_estimators must be")

    @pytest.mark.parametrize("value", ["quadratic", None, 1])
    def test_weighting(self, value):
        self.refuse(KFHEClassifier(weighting=value), ValueError, "weighting must be 'exponential' or 'linear'")

    @pytest.mark.parametrize("make", [KFHEClassifier, BaggedClassifier])
    def test_vote(self, make):
        self.refuse(make(vote="hard"), ValueError, "vote must be 'class' or 'probability'")

    @pytest.mark.parametrize("value", ["tree", LinearRegression(), CARTClassifier, 3, StandardScaler()])
    @every_ensemble
    def test_estimator(self, make, value):
        model = make()
        model.estimator = value
        with pytest.raises(TypeError, match="estimator"):
            model.fit(self.X, self.y)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("max_samples", 0), ("max_samples", 0.0), ("max_samples", 1.5), ("max_samples", "all"),
            ("max_features", 0), ("max_features", 1.5), ("max_features", "half"), ("max_features", -1),
        ],
    )  # fmt: skip
    def test_sizes_of_bags(self, name, value):
        self.refuse(BaggedClassifier(**{name: value}), (ValueError, TypeError), name)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("min_samples_split", 1), ("min_samples_split", 0.1), ("min_samples_leaf", 0), ("min_samples_leaf", 2.5),
            ("max_depth", 0), ("max_depth", "deep"), ("complexity", "high"), ("complexity", np.nan),
            ("max_features", 0), ("max_features", 1.5), ("max_features", "half"), ("splitter", "worst"),
            ("max_bins", 1), ("max_bins", 10**6), ("max_bins", 2.5),
        ],
    )  # fmt: skip
    def test_trees(self, name, value):
        self.refuse(CARTClassifier(**{name: value}), (ValueError, TypeError), name)
        self.refuse(KFHEClassifier(CARTClassifier(**{name: value})), (ValueError, TypeError), name)

    @pytest.mark.parametrize("labels", [np.array([0.0, 1.0, np.nan]), np.array(["a", "b", None], dtype=object)])
    @every_classifier
    def test_missing_labels(self, make, labels):
        self.refuse(small(make), ValueError, "y contains NaN", self.X[:3], labels)

    @every_classifier
    def test_missing_labels_of_pandas(self, make):
        for labels in (pd.Series([1, 2, None], dtype="Int64"), pd.Series(["a", "b", None]), np.array([1, 2, pd.NA])):
            self.refuse(small(make), ValueError, "y contains NaN", self.X[:3], labels)

    @pytest.mark.parametrize("label", [0, "a", 1.0])
    @every_classifier
    def test_a_single_class(self, make, label):
        self.refuse(small(make), ValueError, "y has one class only", self.X, np.array([label] * 20))

    @every_classifier
    def test_labels_that_are_no_classes(self, make):
        self.refuse(small(make), ValueError, r"(?i)unknown label type: continuous", self.X, np.linspace(0, 1, 20))
        self.refuse(small(make), (ValueError, TypeError), "y", self.X[:2], np.array(["a", 1], dtype=object))
        self.refuse(small(make), ValueError, "y", self.X, np.eye(2)[self.y])

    @every_classifier
    def test_lengths_that_differ(self, make):
        self.refuse(small(make), ValueError, "inconsistent numbers of samples: 20 and 19", self.X, self.y[:-1])

    @every_classifier
    def test_no_rows_or_no_columns(self, make):
        self.refuse(small(make), ValueError, r"0 sample\(s\)", np.empty((0, 2)), np.empty(0))
        self.refuse(small(make), ValueError, r"0 feature\(s\)", np.empty((20, 0)))
        self.refuse(small(make), ValueError, r"0 sample\(s\)", pd.DataFrame({"a": []}), np.empty(0))

    @every_ensemble
    def test_no_rows_for_another_base_learner(self, make):
        model = make(GaussianNB())
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            model.fit(np.empty((0, 2)), np.empty(0))

    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    @every_classifier
    def test_infinite_values_of_arrays(self, make, bad):
        X = self.X.copy()
        X[3, 1] = bad
        self.refuse(small(make), ValueError, "Input X contains infinity", X)
        model = small(make).fit(self.X, self.y)
        with pytest.raises(ValueError, match="Input X contains infinity"):
            model.predict(X)

    @libraries
    @every_classifier
    def test_infinite_values_of_frames(self, make, frame):
        good = frame({"a": np.arange(20.0), "b": np.arange(20.0)})
        bad = frame({"a": np.arange(20.0), "b": np.append(np.arange(19.0), np.inf)})
        with pytest.raises(ValueError, match="'b' has infinite values"):
            small(make).fit(bad, self.y)
        with pytest.raises(ValueError, match="'b' has infinite values"):
            small(make).fit(good, self.y).predict(bad)

    @every_classifier
    def test_another_number_of_columns_at_predict(self, make):
        model = small(make).fit(self.X, self.y)
        for X in (self.X[:, :1], np.hstack([self.X, self.X])):
            with pytest.raises(ValueError, match="2 features"):
                model.predict(X)

    @every_ensemble
    def test_another_number_of_columns_for_another_base_learner(self, make):
        model = small(make, estimator=GaussianNB()).fit(self.X, self.y)
        with pytest.raises(ValueError, match="2 features"):
            model.predict(self.X[:, :1])

    @pytest.mark.parametrize(
        "weights", [np.zeros(20), -np.ones(20), np.full(20, np.nan), np.ones(19), np.append(np.ones(19), -0.1)]
    )
    @every_classifier
    def test_sample_weight(self, make, weights):
        self.refuse(small(make), ValueError, r"(?i)sample.weight", sample_weight=weights)

    @every_classifier
    def test_text_in_arrays(self, make):
        with pytest.raises(ValueError, match="convert string to float"):
            small(make).fit(np.array([["a"], ["b"]], dtype=object), [0, 1])

    @every_classifier
    def test_sparse_tables_too_wide_for_trees(self, make, monkeypatch):
        monkeypatch.setattr(trees, "LARGEST_CODES", 1)
        with pytest.raises(ValueError, match=r"X is sparse, and trees .* select features, or use SVMClassifier"):
            small(make).fit(sparse.csr_array(self.X), self.y)

    @every_classifier
    def test_infinite_values_in_sparse_tables(self, make):
        X = np.where(self.X.max() - 1e-9 < self.X, np.inf, self.X)
        with pytest.raises(ValueError, match="infinity"):
            small(make).fit(sparse.csr_array(X), self.y)

    @every_classifier
    def test_columns_of_the_same_name(self, make):
        with pytest.raises(ValueError, match=r"(?i)column names"):
            small(make).fit(pd.DataFrame(self.X, columns=["a", "a"]), self.y)

    @every_classifier
    def test_an_array_where_categories_were(self, make):
        model = small(make).fit(pd.DataFrame({"a": ["x", "y"] * 10}), np.arange(20) % 2)
        with pytest.raises(TypeError, match="category column"), pytest.warns(UserWarning, match="feature names"):
            model.predict(np.zeros((1, 1)))

    @every_classifier
    def test_an_interrupted_fit_leaves_an_unfitted_model(self, make, monkeypatch):
        model = small(make).fit(self.X, self.y)

        def interrupt(*args, **kwargs):
            raise KeyboardInterrupt

        for name in ("measure", "measure_sample"):
            monkeypatch.setattr(f"fuselearn.learners.Sensor.{name}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(self.X, self.y)
        with pytest.raises(NotFittedError):
            model.predict(self.X)
