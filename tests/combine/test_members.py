"""Named members: the list, parameters by name, columns, weights of rows, and members that are fitted already."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn.combine import FixedRuleClassifier
from fuselearn.combine.members import Member, read_members, resolve_columns, weight_argument


def two():
    return FixedRuleClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2), [0])])


class TestList:
    @pytest.mark.parametrize("estimators", [[], None, "trees", {"nb": GaussianNB()}, GaussianNB()])
    def test_is_a_list(self, estimators):
        with pytest.raises(ValueError, match="estimators must be a list of"):
            read_members(estimators, set())

    @pytest.mark.parametrize("entry", [GaussianNB(), ("nb",), ("nb", GaussianNB(), [0], 1), (1, GaussianNB()), ["nb"]])
    def test_of_pairs_or_triples(self, entry):
        with pytest.raises(ValueError, match="one of its entries is"):
            read_members([("a", GaussianNB()), entry], set())

    def test_names_differ(self):
        with pytest.raises(ValueError, match="'a' is repeated"):
            read_members([("a", GaussianNB()), ("b", GaussianNB()), ("a", GaussianNB())], set())

    def test_names_do_not_look_like_parameters(self):
        with pytest.raises(ValueError, match="two consecutive underscores, as in 'a__b'"):
            read_members([("a__b", GaussianNB())], set())
        with pytest.raises(ValueError, match="that of a parameter of the ensemble, as in 'rule'"):
            FixedRuleClassifier([("rule", GaussianNB())]).fit([[0.0], [1.0]], [0, 1])

    def test_members_are_of_the_right_kind(self):
        for wrong, error in (
            (LinearRegression(), ValueError),
            (StandardScaler(), ValueError),
            ("tree", TypeError),
            (GaussianNB, TypeError),
        ):
            with pytest.raises(error, match="estimators: 'odd' must be a classifier"):
                FixedRuleClassifier([("nb", GaussianNB()), ("odd", wrong)]).fit([[0.0], [1.0]], [0, 1])

    def test_dropped_members_are_left_out(self):
        X, y = load_iris(return_X_y=True)
        model = two().set_params(bayes="drop").fit(X, y)
        assert list(model.named_estimators_) == ["tree"]
        np.testing.assert_array_equal(model.predict(X), model.estimators_[0].predict(X[:, :1]))
        weighted = two().set_params(bayes="drop", weights=[0.2, 0.8]).fit(X, y)
        assert weighted.estimator_weights_.tolist() == [0.8]
        with pytest.raises(ValueError, match="all members are dropped"):
            two().set_params(bayes="drop", tree="drop").fit(X, y)

    def test_fitted_members_by_name(self):
        model = two().fit(*load_iris(return_X_y=True))
        assert model.named_estimators_.tree is model.estimators_[1]
        assert model.named_estimators_["bayes"] is model.estimators_[0]
        with pytest.raises(NotFittedError):
            _ = two().named_estimators_


class TestParameters:
    def test_members_and_their_parameters_have_names(self):
        model = two()
        params = model.get_params()
        assert params["tree__max_depth"] == 2
        assert params["bayes"] is model.estimators[0][1]
        assert params["rule"] == "majority"
        assert "tree" not in model.get_params(deep=False)

    def test_setting_a_parameter_of_a_member(self):
        assert two().set_params(tree__max_depth=5, rule="mean").get_params()["tree__max_depth"] == 5

    def test_replacing_a_member_keeps_its_columns(self):
        model = two().set_params(tree=GaussianNB())
        assert [one[0] for one in model.estimators] == ["bayes", "tree"]
        assert model.estimators[1][2] == [0]
        assert isinstance(model.estimators[1][1], GaussianNB)

    def test_replacing_the_list_and_a_parameter_at_once(self):
        model = two().set_params(estimators=[("near", KNeighborsClassifier())], near__n_neighbors=3)
        assert model.estimators[0][1].n_neighbors == 3

    def test_grid_search_over_members(self):
        X, y = load_iris(return_X_y=True)
        grid = {"tree__max_depth": [1, 3], "bayes": ["drop", GaussianNB()], "rule": ["mean", "median"]}
        search = GridSearchCV(two(), grid, cv=3).fit(X, y)
        assert search.best_params_["bayes"] != "drop"

    def test_fitting_does_not_touch_the_given_members(self):
        model = two().fit(*load_iris(return_X_y=True))
        assert not hasattr(model.estimators[0][1], "classes_")


class TestColumns:
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [5, 6], "c": ["x", "y"]})

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            (None, None),
            (["b", "a"], [1, 0]),
            ("c", [2]),
            ([0, -1], [0, 2]),
            (1, [1]),
            (slice(1, None), [1, 2]),
            ([True, False, True], [0, 2]),
            (make_column_selector(dtype_include="number"), [0, 1]),
            (lambda X: [len(X.columns) - 1], [2]),
            (np.array([2, 1]), [2, 1]),
            (pd.Index(["a"]), [0]),
        ],
    )
    def test_ways_to_choose(self, columns, expected):
        found = resolve_columns(Member("m", None, columns), self.frame)
        assert (found if found is None else found.tolist()) == expected

    @pytest.mark.parametrize(
        ("columns", "sentence"),
        [
            (["d"], "'m' selects columns that X, with 3 columns, does not have .*'d'"),
            ([3], "'m' selects columns that X, with 3 columns, does not have .*index 3"),
            ([-4], "'m' selects columns that X, with 3 columns, does not have .*index -4"),
            ([True, False], "'m' selects columns that X, with 3 columns, does not have .*boolean"),
            ([], "'m' selects no columns"),
            (slice(5, None), "'m' selects no columns"),
        ],
    )
    def test_columns_that_are_not_there(self, columns, sentence):
        with pytest.raises(ValueError, match=sentence):
            resolve_columns(Member("m", None, columns), self.frame)

    def test_names_need_a_frame(self):
        with pytest.raises(ValueError, match="names need a DataFrame"):
            resolve_columns(Member("m", None, ["a"]), np.ones((2, 3)))

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_members_see_their_columns_of_a_frame(self, make):
        X, y = load_iris(return_X_y=True)
        frame = make({f"c{i}": X[:, i] for i in range(4)})
        model = FixedRuleClassifier([("one", GaussianNB(), ["c3", "c0"]), ("all", GaussianNB())], "mean").fit(frame, y)
        assert model.feature_names_in_.tolist() == ["c0", "c1", "c2", "c3"]
        assert model.estimators_[0].feature_names_in_.tolist() == ["c3", "c0"]
        expected = (
            GaussianNB().fit(X[:, [3, 0]], y).predict_proba(X[:, [3, 0]]) + GaussianNB().fit(X, y).predict_proba(X)
        ) / 2
        np.testing.assert_allclose(model.predict_proba(frame), expected)

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
    def test_members_see_their_columns_of_an_array(self, make):
        X, y = load_iris(return_X_y=True)
        model = FixedRuleClassifier([("one", DecisionTreeClassifier(random_state=0), [2, 3])]).fit(make(X), y)
        assert model.estimators_[0].n_features_in_ == 2
        np.testing.assert_array_equal(
            model.predict(make(X)), DecisionTreeClassifier(random_state=0).fit(X[:, 2:], y).predict(X[:, 2:])
        )


class TestRowWeights:
    def test_names_of_the_argument(self):
        logistic = LogisticRegression()
        assert weight_argument(logistic) == "sample_weight"
        assert weight_argument(KNeighborsClassifier()) is None
        assert weight_argument(make_pipeline(StandardScaler(), logistic)) == "logisticregression__sample_weight"
        assert weight_argument(make_pipeline(StandardScaler(), "passthrough")) is None
        nested = make_pipeline(StandardScaler(), make_pipeline(logistic))
        assert weight_argument(nested) == "pipeline__logisticregression__sample_weight"
        assert weight_argument(GridSearchCV(logistic, {})) == "sample_weight"
        assert weight_argument(RandomizedSearchCV(KNeighborsClassifier(), {})) is None

    def test_reach_the_members_that_take_them(self):
        X, y = load_iris(return_X_y=True)
        weights = np.random.default_rng(0).uniform(0.1, 3, len(y))
        scale = make_pipeline(StandardScaler(), LogisticRegression())
        search = GridSearchCV(LogisticRegression(max_iter=300), {"C": [1.0]}, cv=3)
        members = [("plain", GaussianNB()), ("scaled", scale), ("near", KNeighborsClassifier()), ("searched", search)]
        model = FixedRuleClassifier(members, "mean").fit(X, y, sample_weight=weights)
        alone = [
            GaussianNB().fit(X, y, sample_weight=weights),
            clone(scale).fit(X, y, logisticregression__sample_weight=weights),
            KNeighborsClassifier().fit(X, y),
            LogisticRegression(max_iter=300).fit(X, y, sample_weight=weights),
        ]
        for found, expected in zip(model.estimators_, alone, strict=True):
            np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X))

    def test_metadata_routing_decides_if_it_is_on(self):
        X, y = load_iris(return_X_y=True)
        weights = np.random.default_rng(0).uniform(0.1, 3, len(y))
        with sklearn.config_context(enable_metadata_routing=True):
            for request in (True, False):
                last = LogisticRegression(max_iter=300).set_fit_request(sample_weight=request)
                member = make_pipeline(last)
                model = FixedRuleClassifier([("lr", member)], "mean").fit(X, y, sample_weight=weights)
                alone = LogisticRegression(max_iter=300).fit(X, y, sample_weight=weights if request else None)
                np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X))


class TestFittedMembers:
    X, y = load_iris(return_X_y=True)

    def fitted(self):
        return [
            ("nb", GaussianNB().fit(self.X[::2], self.y[::2])),
            ("tree", DecisionTreeClassifier().fit(self.X[::2, :1], self.y[::2]), [0]),
        ]

    def test_are_used_as_they_are(self):
        members = self.fitted()
        model = FixedRuleClassifier(members, "mean", prefit=True).fit(self.X)
        assert model.estimators_[0] is members[0][1]
        expected = (members[0][1].predict_proba(self.X) + members[1][1].predict_proba(self.X[:, :1])) / 2
        np.testing.assert_allclose(model.predict_proba(self.X), expected)

    def test_stay_fitted_in_clones(self):
        model = FixedRuleClassifier(self.fitted(), prefit=True, n_jobs=2)
        twin = clone(model)
        assert twin.estimators is model.estimators
        assert twin.n_jobs == 2
        assert clone(twin.set_params(prefit=False)).estimators is not model.estimators

    def test_must_be_fitted(self):
        with pytest.raises(
            NotFittedError, match="estimators: 'new' is not fitted yet; fit it first or leave prefit=False"
        ):
            FixedRuleClassifier([*self.fitted(), ("new", GaussianNB())], prefit=True).fit(self.X)


class TestTexts:
    texts = ("good good", "bad", "good day", "bad bad day", "good", "so bad")
    y = np.array([1, 0, 1, 0, 1, 0])

    @pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pl.Series])
    def test_reach_pipelines_that_take_them(self, make):
        members = [("words", make_pipeline(CountVectorizer(), MultinomialNB()))]
        model = FixedRuleClassifier(members, "mean", weights="performance", cv=2).fit(make(list(self.texts)), self.y)
        assert model.predict(make(["good", "bad"])).tolist() == [1, 0]

    def test_have_no_columns(self):
        members = [("words", make_pipeline(CountVectorizer(), MultinomialNB()), [0])]
        with pytest.raises(ValueError, match="'words' selects columns, but X is a list of strings"):
            FixedRuleClassifier(members).fit(list(self.texts), self.y)


class TestTransform:
    def test_gives_the_answers_side_by_side(self):
        X, y = load_iris(return_X_y=True)
        model = FixedRuleClassifier([("nb", GaussianNB()), ("tree", DecisionTreeClassifier())], "mean").fit(X, y)
        columns = model.transform(X)
        assert columns.shape == (150, 6)
        np.testing.assert_array_equal(columns[:, :3], model.estimators_[0].predict_proba(X))
        expected = ["nb_0", "nb_1", "nb_2", "tree_0", "tree_1", "tree_2"]
        assert model.get_feature_names_out().tolist() == expected
        assert model.set_output(transform="pandas").transform(X).columns.tolist() == expected

    def test_gives_votes_if_votes_are_combined(self):
        X, y = load_iris(return_X_y=True)
        model = FixedRuleClassifier([("nb", GaussianNB())], "majority").fit(X, y)
        np.testing.assert_array_equal(model.transform(X).argmax(axis=1), model.predict(X))
        assert set(np.unique(model.transform(X))) == {0.0, 1.0}
