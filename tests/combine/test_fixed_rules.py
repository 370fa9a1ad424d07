"""The fixed combiner: rules applied to members that say what they are told, and what it promises about labels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import TimeSeriesSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn.combine import FixedRuleClassifier, combine_scores
from fuselearn.combine.rules import PROBABILITY_RULES, RULES, TWO_CLASS_RULES, UNWEIGHTED_RULES

ROWS = np.arange(4.0)[:, None]


def fit_said(says, tables, y, **settings):
    members = [(f"m{k}", says(table)) for k, table in enumerate(tables)]
    return FixedRuleClassifier(members, **settings).fit(np.arange(len(y), dtype=float)[:, None], y)


class TestTwoClasses:
    """Rows with 0, 1, 2 and 3 votes for "yes", the second class."""

    y = np.array(["no", "yes", "yes", "no"])
    tables = [np.eye(2)[[0, 1, 1, 1]], np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[0, 0, 0, 1]]]  # noqa: RUF012

    @pytest.mark.parametrize(
        ("settings", "n_yes"),
        [
            ({"rule": "and"}, 1),
            ({"rule": "or"}, 3),
            ({"rule": "k_of_n", "k": 2}, 2),
            ({"rule": "k_of_n", "k": 4, "weights": [1, 2, 3]}, 1),
            ({"rule": "k_of_n", "k": 3, "weights": [1, 2, 3]}, 2),
            ({"rule": "and", "positive_class": "no"}, 3),
            ({"rule": "or", "positive_class": "no"}, 1),
            ({"rule": "k_of_n", "k": 1, "positive_class": "no"}, 1),
            ({"rule": "majority"}, 2),
            ({"rule": "majority", "weights": [3, 1, 1]}, 3),
            (
                {"rule": "majority", "weights": [2, 1, 1]},
                2,
            ),  # row 1 has as much for "no", the first class, as for "yes"
        ],
    )
    def test_by_hand(self, says, settings, n_yes):
        model = fit_said(says, self.tables, self.y, **settings)
        assert model.predict(ROWS).tolist() == ["no"] * (4 - n_yes) + ["yes"] * n_yes

    @pytest.mark.parametrize("rule", TWO_CLASS_RULES)
    def test_three_classes_are_refused(self, rule):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ValueError, match=f"Only binary classification is supported by rule='{rule}'"):
            FixedRuleClassifier([("nb", GaussianNB())], rule, k=1).fit(X, y)

    def test_two_lines_make_a_corner(self):
        """The lecture's picture: neither line suffices, but their AND does."""
        X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
        y = (X > 0).all(axis=1)
        for rule, columns in (("and", ([0], [1])), ("and", None)):
            members = [(f"line{k}", LogisticRegression(C=1e6), columns[k] if columns else None) for k in (0, 1)]
            combined = FixedRuleClassifier(members, rule)
            if columns is None:
                assert combined.fit(X, y).score(X, y) < 0.95
            else:
                # Each line learns its own half of the condition.
                fitted = [
                    (n, clone(m).fit(X[:, c], X[:, c[0]] > 0), c) for (n, m, _), c in zip(members, columns, strict=True)
                ]
                assert FixedRuleClassifier(fitted, rule, prefit=True).fit(X, y).score(X, y) > 0.99


class TestRules:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])

    @pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in TWO_CLASS_RULES])
    def test_combine_what_members_say(self, says, rule):
        rng = np.random.default_rng(0)
        tables = rng.dirichlet(np.ones(3), size=(4, 30))
        y = self.names[np.arange(30) % 3]
        weights = None if rule in UNWEIGHTED_RULES else [1, 2, 0.5, 1]
        model = fit_said(says, tables, y, rule=rule, weights=weights)
        expected = combine_scores(tables, rule, weights=weights)
        assert model.predict(np.arange(30)[:, None]).tolist() == self.names[expected.argmax(axis=1)].tolist()
        if rule != "borda":
            probabilities = model.predict_proba(np.arange(30)[:, None])
            np.testing.assert_allclose(probabilities, expected / expected.sum(axis=1, keepdims=True))

    @pytest.mark.parametrize(("rule", "voting"), [("majority", "hard"), ("mean", "soft")])
    @pytest.mark.parametrize("weights", [None, [1, 2, 2]])
    def test_agree_with_scikit_learn(self, rule, voting, weights):
        members = [
            ("nb", GaussianNB()),
            ("tree", DecisionTreeClassifier(max_depth=2)),
            ("near", KNeighborsClassifier(3)),
        ]
        ours = FixedRuleClassifier(members, rule, weights=weights).fit(self.X, self.names[self.y])
        other = VotingClassifier(members, voting=voting, weights=weights).fit(self.X, self.names[self.y])
        np.testing.assert_array_equal(ours.predict(self.X), other.predict(self.X))

    @pytest.mark.parametrize("rule", ["and", "or", "k_of_n", "borda"])
    def test_decisions_have_no_probabilities(self, rule):
        model = FixedRuleClassifier([("nb", GaussianNB())], rule)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
            _ = model.predict_proba
        assert f"rule='{rule}' has no probabilities" in str(caught.value.__cause__)

    def test_members_that_exclude_all_classes_leave_a_tie(self, says):
        model = fit_said(says, [np.eye(2)[[0, 1]], np.eye(2)[[1, 0]]], np.array(["a", "b"]), rule="product")
        assert model.predict_proba(ROWS[:2]).tolist() == [[0.5, 0.5], [0.5, 0.5]]
        assert model.predict(ROWS[:2]).tolist() == ["a", "a"]

    def test_borda_takes_decision_functions(self):
        members = [("svc", LinearSVC()), ("ridge", RidgeClassifier()), ("nb", GaussianNB())]
        model = FixedRuleClassifier(members, "borda").fit(self.X, self.y)
        scores = [m.decision_function(self.X) for m in model.estimators_[:2]] + [
            model.estimators_[2].predict_proba(self.X)
        ]
        np.testing.assert_array_equal(model.decision_function(self.X), combine_scores(scores, "borda"))

    def test_borda_of_two_classes(self):
        X, y = self.X[:100], self.y[:100]
        model = FixedRuleClassifier([("svc", LinearSVC()), ("nb", GaussianNB())], "borda").fit(X, y)
        decision = model.decision_function(X)
        assert decision.shape == (100,)
        np.testing.assert_array_equal(decision > 0, model.predict(X) == 1)
        assert get_scorer("roc_auc")(model, X, y) > 0.99
        assert not hasattr(FixedRuleClassifier([("nb", GaussianNB())], "mean"), "decision_function")

    @pytest.mark.parametrize("rule", PROBABILITY_RULES)
    def test_members_need_probabilities(self, rule):
        with pytest.raises(ValueError, match=f"'svc' has no predict_proba, which rule='{rule}' needs"):
            FixedRuleClassifier([("nb", GaussianNB()), ("svc", LinearSVC())], rule).fit(self.X, self.y)


class TestLabels:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])

    def test_reach_members_as_they_are(self, says):
        model = fit_said(says, [np.eye(2)[[0, 1]]], ["no", "yes"])
        assert model.estimators_[0].y_.tolist() == ["no", "yes"]

    def test_class_weights_mean_what_they_say(self):
        heavy = {"setosa": 1, "versicolor": 1, "virginica": 50}
        member = LogisticRegression(class_weight=heavy, max_iter=300)
        model = FixedRuleClassifier([("lr", member)], "mean").fit(self.X, self.names[self.y])
        np.testing.assert_allclose(
            model.predict_proba(self.X), member.fit(self.X, self.names[self.y]).predict_proba(self.X)
        )

    def test_columns_are_aligned_by_label(self, says):
        """A member that lists its classes in another order gets no more than its due."""
        table = [[0.7, 0.2, 0.1]]
        members = [
            ("a", says(table, ["b", "a", "c"]).fit(None, ["x"])),
            ("b", says(table, ["a", "b", "c"]).fit(None, ["x"])),
        ]
        model = FixedRuleClassifier(members, "mean", prefit=True).fit(ROWS[:1])
        assert model.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(model.predict_proba(ROWS[:1]), [[0.45, 0.45, 0.1]])

    def test_fitted_members_that_disagree_are_refused(self, says):
        members = [
            ("a", says([[1, 0]], ["x", "y"]).fit(None, ["x"])),
            ("b", says([[1, 0, 0]], ["x", "y", "z"]).fit(None, ["x"])),
        ]
        with pytest.raises(ValueError, match=r"'a' has \['x', 'y'\] and 'b' has \['x', 'y', 'z'\]"):
            FixedRuleClassifier(members, prefit=True).fit(ROWS[:1])

    def test_fitted_members_that_do_not_know_the_labels_are_refused(self):
        fitted = [("nb", GaussianNB().fit(self.X, self.y))]
        with pytest.raises(
            ValueError, match=r"Members have the classes \[0, 1, 2\], but a prediction contains 'setosa'"
        ):
            FixedRuleClassifier(fitted, prefit=True).fit(self.X, self.names[self.y])
        with pytest.raises(ValueError, match="a prediction contains 7"):
            FixedRuleClassifier(fitted, prefit=True).fit(self.X, np.where(self.y == 1, 7, self.y))


class TestSeveralLabels:
    X, Y = make_multilabel_classification(120, 6, n_classes=4, random_state=0)
    members = [  # noqa: RUF012
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),  # gives a list of arrays
        ("ovr", OneVsRestClassifier(KNeighborsClassifier())),  # gives one array
        ("many", MultiOutputClassifier(GaussianNB())),
    ]

    @pytest.mark.parametrize("rule", RULES)
    def test_are_combined_label_by_label(self, rule):
        model = FixedRuleClassifier(self.members, rule, k=2).fit(self.X, self.Y)
        predicted = model.predict(self.X)
        assert predicted.shape == self.Y.shape
        for label in range(4):
            answers = model.transform(self.X).reshape(120, 3, 4, 2)[:, :, label].transpose(1, 0, 2)
            combined = combine_scores(answers, rule, k=2)
            np.testing.assert_array_equal(predicted[:, label], combined.argmax(axis=1))

    def test_probabilities_are_one_table(self):
        model = FixedRuleClassifier(self.members, "mean").fit(self.X, self.Y)
        tree, ovr, many = model.estimators_
        lists = [np.stack([p[:, 1] for p in m.predict_proba(self.X)], axis=1) for m in (tree, many)]
        np.testing.assert_allclose(model.predict_proba(self.X), (lists[0] + ovr.predict_proba(self.X) + lists[1]) / 3)
        assert [known.tolist() for known in model.classes_] == [[0, 1]] * 4

    def test_constant_labels(self):
        Y = self.Y.copy()
        Y[:, 1], Y[:, 2] = 0, 1
        members = [("tree", DecisionTreeClassifier()), ("forest", RandomForestClassifier(5, random_state=0))]
        model = FixedRuleClassifier(members, "mean").fit(self.X, Y)
        np.testing.assert_allclose(model.predict_proba(self.X)[:, [1, 2]], [[0, 1]] * 120)
        np.testing.assert_array_equal(model.predict(self.X)[:, [1, 2]], [[0, 1]] * 120)

    def test_ties_leave_a_label_away(self):
        """Of two members one gives the label: no majority, and the first of the two classes is 0."""
        always, never = (DecisionTreeClassifier().fit(self.X, np.full_like(self.Y, value)) for value in (1, 0))
        model = FixedRuleClassifier([("always", always), ("never", never)], prefit=True).fit(self.X)
        assert not model.predict(self.X).any()

    def test_fitted_members(self):
        fitted = [(name, clone(member).fit(self.X, self.Y)) for name, member in self.members]
        model = FixedRuleClassifier(fitted, "mean", prefit=True).fit(self.X)
        expected = FixedRuleClassifier(self.members, "mean").fit(self.X, self.Y)
        np.testing.assert_allclose(model.predict_proba(self.X), expected.predict_proba(self.X))
        other = DecisionTreeClassifier().fit(self.X, self.Y[:, :2])
        with pytest.raises(ValueError, match="'tree' has 4 labels and 'few' has 2 labels"):
            FixedRuleClassifier([*fitted, ("few", other)], prefit=True).fit(self.X)
        with pytest.raises(ValueError, match="y must be an indicator matrix of the members' 4 labels"):
            FixedRuleClassifier(fitted, prefit=True).fit(self.X, self.Y[:, :2])

    def test_performance_counts_rows_and_labels(self):
        model = FixedRuleClassifier(self.members, "majority", weights="performance").fit(self.X, self.Y)
        assert model.estimator_weights_.sum() == pytest.approx(3)

    def test_columns_of_classes_are_refused(self):
        with pytest.raises(ValueError, match="y has 4 columns with values other than 0 and 1"):
            FixedRuleClassifier(self.members).fit(self.X, self.Y + 1)


class TestPerformance:
    def test_are_measured_out_of_fold(self):
        """A member that knows the training rows by heart is no better than it is on new rows."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
        members = [("heart", KNeighborsClassifier(1)), ("line", LogisticRegression())]
        assert KNeighborsClassifier(1).fit(X, y).score(X, y) == 1.0
        for settings in ({}, {"cv": 3}, {"cv": TimeSeriesSplit(4)}):
            weights = FixedRuleClassifier(members, weights="performance", **settings).fit(X, y).estimator_weights_
            assert weights[1] > weights[0]
            assert weights.sum() == pytest.approx(2)

    def test_of_fitted_members_on_the_rows_given(self, says):
        y = np.repeat(["a", "b"], 49)
        right, half = np.eye(2)[np.repeat([0, 1], 49)], np.eye(2)[np.zeros(98, dtype=int)]
        rows = np.arange(98.0)[:, None]
        members = [("right", says(right).fit(rows, y)), ("half", says(half).fit(rows, y))]
        model = FixedRuleClassifier(members, weights="performance", prefit=True).fit(rows, y)
        assert model.estimator_weights_.tolist() == [2, 0]
        with pytest.raises(ValueError, match="weights='performance' requires y to be passed"):
            FixedRuleClassifier(members, weights="performance", prefit=True).fit(rows)

    def test_row_weights_count(self, says):
        y = np.tile(["a", "b"], 20)
        always_a = np.eye(2)[np.zeros(40, dtype=int)]
        always_b = np.eye(2)[np.ones(40, dtype=int)]
        rows = np.arange(40.0)[:, None]
        members = [("a", says(always_a)), ("b", says(always_b))]
        model = FixedRuleClassifier(members, weights="performance").fit(
            rows, y, sample_weight=np.where(y == "a", 3.0, 1.0)
        )
        assert model.estimator_weights_.tolist() == [2, 0]

    def test_k_of_n_counts_average_members(self):
        X, y = load_iris(return_X_y=True)
        members = [("nb", GaussianNB()), ("near", KNeighborsClassifier()), ("tree", DecisionTreeClassifier())]
        model = FixedRuleClassifier(members, "k_of_n", k=1.5, weights="performance").fit(X[50:], y[50:])
        assert model.score(X[50:], y[50:]) > 0.9
        with pytest.raises(ValueError, match="k must be above 0 and at most the sum of the weights, 3"):
            model.set_params(k=3.5).fit(X[50:], y[50:])


class TestBadInput:
    X, y = load_iris(return_X_y=True)

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"weights": [1, 2, 3]}, "weights must be 2 numbers, one for each member"),
            ({"weights": [0, 0]}, "weights are all zero"),
            ({"weights": [1, -2]}, "weights must be finite numbers of at least 0"),
            ({"rule": "and", "weights": [1, 1]}, "rule='and' does not support weights"),
            ({"rule": "max", "weights": "performance"}, "rule='max' does not support weights"),
            ({"rule": "k_of_n"}, "rule='k_of_n' needs k"),
            ({"rule": "k_of_n", "k": 3}, "k must be at most the number of members, 2, not 3"),
            ({"rule": "k_of_n", "k": 0}, "k must be at least 1"),
        ],
    )
    def test_settings_are_refused_before_any_work(self, settings, sentence):
        class Untouched(GaussianNB):
            def fit(self, X, y, sample_weight=None):
                raise RuntimeError("worked in vain")

        model = FixedRuleClassifier([("a", Untouched()), ("b", Untouched())], **settings)
        with pytest.raises(ValueError, match=sentence):
            model.fit(self.X, self.y)
        with pytest.raises(NotFittedError):
            model.predict(self.X)
