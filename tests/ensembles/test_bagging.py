"""Bagging, random subspaces and both, with votes and out-of-bag votes counted by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from fuselearn import BaggedClassifier, BaggedRegressor, CARTClassifier

X, y = load_wine(return_X_y=True)


class TestVotes:
    @pytest.fixture(scope="class")
    @classmethod
    def trees(cls):
        return BaggedClassifier(n_estimators=12, random_state=0).fit(X, y)

    def test_each_classifier_has_one_vote(self, trees):
        votes = np.mean([np.eye(3)[tree.predict(X)] for tree in trees.estimators_], axis=0)
        np.testing.assert_allclose(trees.predict_proba(X), votes, atol=1e-12)
        np.testing.assert_allclose(trees.estimator_weights_, 1 / 12)

    def test_or_its_probabilities(self):
        model = BaggedClassifier(n_estimators=12, vote="probability", random_state=0).fit(X, y)
        mean = np.mean([tree.predict_proba(X) for tree in model.estimators_], axis=0)
        np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)

    @pytest.mark.parametrize(("n_rows", "winner"), [((6, 14), "b"), ((14, 6), "a"), ((10, 10), "a")])
    def test_ties_go_to_the_class_with_most_training_rows(self, scripted, n_rows, winner):
        labels = np.repeat(["a", "b"], n_rows)
        learner = scripted(np.append(labels, "a"), np.append(labels, "b"))
        model = BaggedClassifier(learner, 2, random_state=0).fit(np.arange(20.0)[:, None], labels)
        assert model.predict_proba([[20.0]]).tolist() == [[0.5, 0.5]]
        assert model.predict([[20.0]]).tolist() == [winner]

    def test_the_default_tree_is_pruned_as_rpart_prunes(self, trees):
        assert trees.estimators_[0].complexity == 0.01


class TestOutOfBag:
    """A scripted learner tells which rows each classifier has seen."""

    n = 40
    truth = np.arange(n) % 2
    rows = np.arange(float(n))[:, None]

    def fit(self, scripted, n_estimators, **kwargs):
        rng = np.random.default_rng(0)
        script = [np.where(rng.random(self.n) < 0.7, self.truth, 1 - self.truth) for _ in range(n_estimators)]
        learner = scripted(*script)
        model = BaggedClassifier(learner, n_estimators, oob_score=True, random_state=1, **kwargs)
        return model.fit(self.rows, self.truth), np.array(learner.samples), np.array(script)

    @pytest.mark.parametrize("vote", ["class", "probability"])
    def test_rows_are_judged_by_classifiers_that_have_not_seen_them(self, scripted, vote):
        model, samples, script = self.fit(scripted, 15, vote=vote)
        votes = np.zeros((self.n, 2))
        for counts, answer in zip(samples, script, strict=True):
            for row in np.flatnonzero(counts == 0):
                votes[row, answer[row]] += 1
        assert (votes.sum(axis=1) > 0).all()
        np.testing.assert_allclose(model.oob_decision_function_, votes / votes.sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(model.oob_prediction_, votes.argmax(axis=1))
        assert model.oob_score_ == pytest.approx(np.mean(votes.argmax(axis=1) == self.truth))

    def test_rows_in_every_sample_have_no_votes(self, scripted):
        model, samples, script = self.fit(scripted, 1)
        seen = samples[0] > 0
        assert np.isnan(model.oob_decision_function_[seen]).all()
        assert model.oob_score_ == pytest.approx(np.mean(script[0][~seen] == self.truth[~seen]))

    def test_trees_are_scored_out_of_bag_too(self):
        model = BaggedClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, y)
        assert 0.9 < model.oob_score_ < 1.0
        assert model.oob_score_ == np.mean(model.oob_prediction_ == y)

    def test_needs_rows_to_be_left_out(self):
        with pytest.raises(ValueError, match="oob_score"):
            BaggedClassifier(bootstrap=False, oob_score=True).fit(X, y)


class TestSamples:
    n = 200
    truth = np.arange(n) % 2
    rows = np.arange(float(n))[:, None]

    def samples(self, scripted, n_estimators=20, sample_weight=None, **kwargs):
        learner = scripted(self.truth)
        BaggedClassifier(learner, n_estimators, random_state=3, **kwargs).fit(self.rows, self.truth, sample_weight)
        return np.array(learner.samples)

    def test_one_row_in_e_is_left_out(self, scripted):
        samples = self.samples(scripted)
        assert (samples.sum(axis=1) == self.n).all()
        assert np.mean(samples == 0) == pytest.approx(1 / np.e, abs=0.02)
        assert len(np.unique(samples, axis=0)) == 20

    @pytest.mark.parametrize(("max_samples", "n_draws"), [(0.25, 50), (30, 30), (1.0, 200), (300, 300)])
    def test_max_samples_is_a_share_or_a_number(self, scripted, max_samples, n_draws):
        assert (self.samples(scripted, max_samples=max_samples).sum(axis=1) == n_draws).all()

    def test_without_bootstrap_no_row_is_drawn_twice(self, scripted):
        samples = self.samples(scripted, max_samples=0.5, bootstrap=False)
        assert (samples.sum(axis=1) == 100).all()
        assert samples.max() == 1
        everything = self.samples(scripted, bootstrap=False)
        assert (everything == 1).all()

    @pytest.mark.parametrize("bootstrap", [True, False])
    def test_sample_weight_is_the_chance_to_be_drawn(self, scripted, bootstrap):
        weights = np.repeat([0.0, 1.0, 3.0], [50, 75, 75])
        drawn = self.samples(scripted, 60, weights, max_samples=20, bootstrap=bootstrap).sum(axis=0)
        assert (drawn[:50] == 0).all()
        assert drawn[125:].sum() / drawn[50:125].sum() == pytest.approx(3, rel=0.2)

    @pytest.mark.parametrize(
        "model", [BaggedClassifier(GaussianNB()), BaggedRegressor(LinearRegression())], ids=["classifier", "regressor"]
    )
    def test_a_bad_cell_is_refused_also_where_no_sample_is_drawn(self, model):
        table = X.astype(object)
        table[3, 2] = {"a": "dict"}
        with pytest.raises(TypeError, match="Column 2 of X has a value of type dict"):
            model.fit(table, y, sample_weight=np.arange(len(y)) != 3)

    def test_more_rows_than_there_are_cannot_be_drawn_without_replacement(self):
        with pytest.raises(ValueError, match="max_samples"):
            BaggedClassifier(max_samples=1_000, bootstrap=False).fit(X, y)
        with pytest.raises(ValueError, match="max_samples as a fraction must be above 0 and at most 1,"):
            BaggedClassifier(max_samples=1.5).fit(X, y)
        with pytest.raises(ValueError, match="sample_weight"):
            BaggedClassifier(max_samples=0.9, bootstrap=False).fit(X, y, sample_weight=np.arange(len(y)) % 2)


class TestSubspaces:
    def test_trees_use_their_own_columns_only(self):
        model = BaggedClassifier(n_estimators=10, max_features=3, random_state=0).fit(X, y)
        for tree, features in zip(model.estimators_, model.estimators_features_, strict=True):
            assert len(features) == len(set(features)) == 3
            used = tree.tree_.nodes["feature"]
            assert set(used[used >= 0]) <= set(features)
        votes = np.mean([np.eye(3)[tree.predict(X)] for tree in model.estimators_], axis=0)
        np.testing.assert_allclose(model.predict_proba(X), votes, atol=1e-12)

    def test_other_columns_do_not_matter(self):
        model = BaggedClassifier(n_estimators=1, max_features=3, random_state=0).fit(X, y)
        changed = X.copy()
        changed[:, np.setdiff1d(np.arange(13), model.estimators_features_[0])] = 0.0
        np.testing.assert_array_equal(model.predict_proba(changed), model.predict_proba(X))

    def test_other_classifiers_get_their_columns_only(self):
        model = BaggedClassifier(GaussianNB(), 5, max_features=4, random_state=0).fit(X, y)
        mean = np.mean(
            [
                np.eye(3)[nb.predict(X[:, features])]
                for nb, features in zip(model.estimators_, model.estimators_features_, strict=True)
            ],
            axis=0,
        )
        np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)

    def test_every_column_has_its_turn(self):
        model = BaggedClassifier(n_estimators=60, max_features=3, max_samples=0.3, random_state=0).fit(X, y)
        turns = np.bincount(np.concatenate(model.estimators_features_), minlength=13)
        assert turns.sum() == 180
        assert turns.min() >= 4

    def test_number_of_columns(self):
        for max_features, n_features in [(None, 13), (1.0, 13), (0.5, 6), (2, 2), ("sqrt", 3), ("log2", 3), (99, 13)]:
            model = BaggedClassifier(n_estimators=2, max_features=max_features, random_state=0).fit(X, y)
            assert [len(features) for features in model.estimators_features_] == [n_features] * 2


def test_stages_of_regression_are_ensembles_of_fewer_members():
    settings = {"max_features": 0.5, "random_state": 0}
    stages = list(BaggedRegressor(n_estimators=4, **settings).fit(X, X[:, 0]).staged_predict(X))
    for number, stage in enumerate(stages, start=1):
        fewer = BaggedRegressor(n_estimators=number, **settings).fit(X, X[:, 0])
        np.testing.assert_allclose(stage, fewer.predict(X))
    assert len(stages) == 4


class TestOutOfBagScores:
    def test_metrics_get_the_labels_of_the_user(self):
        def share_of_barolo(y_true, y_pred):
            return np.mean(y_pred == "barolo")

        names = np.array(["barolo", "grignolino", "barbera"])[y]
        model = BaggedClassifier(n_estimators=40, oob_score=share_of_barolo, random_state=0).fit(X, names)
        assert model.oob_score_ == np.mean(model.oob_prediction_ == "barolo")


def test_without_bootstrap_all_classifiers_learn_from_all_samples_by_their_weights():
    counts = np.arange(len(y)) % 4
    bagged = BaggedClassifier(n_estimators=3, bootstrap=False, random_state=0).fit(X, y, sample_weight=counts)
    tree = CARTClassifier().fit(X, y, sample_weight=counts)
    assert [one.export_text() for one in bagged.estimators_] == [tree.export_text()] * 3
