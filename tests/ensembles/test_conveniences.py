"""What users of scikit-learn's ensembles expect: importances, out-of-bag scores, class weights, warm starts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fuselearn
from fuselearn import BaggedClassifier, CARTClassifier, KFHEClassifier, SAMMEClassifier, base
from fuselearn.combine import ErrorCorrectingCodeClassifier, FixedRuleClassifier, LinearStackingClassifier
from fuselearn.fusion.problem import OutOfBag

X, y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
noisy = np.where(rng.random(len(y)) < 0.2, rng.integers(0, 3, len(y)), y)
TREE = CARTClassifier(min_samples_split=5)
ENSEMBLES = [KFHEClassifier, SAMMEClassifier, BaggedClassifier]
every_ensemble = pytest.mark.parametrize("make", ENSEMBLES)
bases = pytest.mark.parametrize("base", [None, GaussianNB()], ids=["tree", "bayes"])


class TestBaseLearners:
    """Classifiers that take no weights, have no probabilities, or are several steps."""

    @pytest.mark.parametrize("vote", ["class", "probability"])
    @pytest.mark.parametrize(
        "base", [KNeighborsClassifier(), RidgeClassifier(), make_pipeline(StandardScaler(), LogisticRegression())]
    )
    @every_ensemble
    def test_any_classifier_will_do(self, make, base, vote):
        votes = {} if make is SAMMEClassifier else {"vote": vote}
        labels = np.array(["setosa", "versicolor", "virginica"])[y]
        model = make(base, n_estimators=3, random_state=0, **votes).fit(X, labels)
        assert model.score(X, labels) > 0.8
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert all(type(fitted) is type(base) for fitted in model.estimators_)

    @every_ensemble
    def test_samples_without_a_rare_class(self, make):
        rows = np.arange(30.0)[:, None]
        model = make(LogisticRegression(), 5, random_state=0).fit(rows, rows.ravel() == 0)
        assert model.predict_proba(rows).shape == (30, 2)

    @pytest.mark.parametrize("make", [SAMMEClassifier, BaggedClassifier])
    def test_trees_have_a_split_if_any_sample_allows_one(self, make):
        """Half of the samples have fewer than six of the rare class, too few to make a leaf of."""
        rare = np.repeat([0.0, 1.0], [94, 6])[:, None]
        model = make(CARTClassifier(min_samples_leaf=6), 20, random_state=0).fit(rare, rare.ravel())
        assert all(tree.get_n_leaves() == 2 for tree in model.estimators_)


class TestImportances:
    @pytest.mark.parametrize("make", [*ENSEMBLES, ErrorCorrectingCodeClassifier])
    def test_they_are_the_weighted_mean_of_the_members(self, make):
        model = make(TREE, random_state=0).fit(X, noisy)
        weights = getattr(model, "estimator_weights_", None)
        members = np.array([member.feature_importances_ for member in model])
        np.testing.assert_allclose(model.feature_importances_, np.average(members, axis=0, weights=weights), atol=1e-12)

    @every_ensemble
    def test_trees_of_scikit_learn_have_them(self, make):
        model = make(DecisionTreeClassifier(max_depth=2), n_estimators=5, random_state=0).fit(X, y)
        members = np.array([member.feature_importances_ for member in model.estimators_])
        expected = np.average(members, axis=0, weights=model.estimator_weights_)
        np.testing.assert_allclose(model.feature_importances_, expected, atol=1e-12)

    def test_random_subspaces_put_them_where_they_belong(self):
        base = DecisionTreeClassifier(max_depth=2)
        model = BaggedClassifier(base, 6, max_features=1, random_state=0).fit(X, y)
        counts = np.bincount(np.concatenate(model.estimators_features_), minlength=4)
        np.testing.assert_allclose(model.feature_importances_, counts / 6)

    @every_ensemble
    def test_selectors_of_scikit_learn_work(self, make):
        wide = np.hstack([X, rng.normal(size=(len(X), 3))])
        model = make(n_estimators=5, random_state=0)
        assert SelectFromModel(model).fit(wide, y).get_support()[4:].sum() == 0
        assert RFE(clone(model), n_features_to_select=2).fit(wide, y).support_[2:4].all()

    def test_members_without_importances_give_none(self):
        assert not hasattr(KFHEClassifier(GaussianNB(), 2).fit(X, y), "feature_importances_")


class TestDecisionFunction:
    @pytest.mark.parametrize("make", [KFHEClassifier, SAMMEClassifier, ErrorCorrectingCodeClassifier])
    def test_its_largest_entry_is_the_prediction(self, make):
        model = make(TREE, random_state=0).fit(X, noisy)
        scores = model.decision_function(X)
        assert scores.shape == (len(X), 3)
        np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X))

    @pytest.mark.parametrize("make", [KFHEClassifier, SAMMEClassifier, ErrorCorrectingCodeClassifier])
    def test_for_two_classes_its_sign_decides(self, make):
        two = noisy > 0
        model = make(TREE, random_state=0).fit(X, two)
        scores = model.decision_function(X)
        assert scores.shape == (len(X),)
        np.testing.assert_array_equal(scores > 0, model.predict(X))

    def test_of_bagging_is_the_share_of_votes(self):
        model = BaggedClassifier(TREE, 5, random_state=0).fit(X, noisy)
        np.testing.assert_array_equal(model.decision_function(X), model.predict_proba(X))


@pytest.fixture
def left_out(monkeypatch):
    """Record the samples that each member was not trained on."""
    recorded, add = [], OutOfBag.add

    def spy(self, samples, scores, weight=1.0):
        recorded.append(samples)
        add(self, samples, scores, weight)

    monkeypatch.setattr(OutOfBag, "add", spy)
    return recorded


class TestOutOfBag:
    @pytest.mark.parametrize("make", [KFHEClassifier, SAMMEClassifier])
    @bases
    def test_shares_are_those_of_the_members_that_have_not_seen_a_sample(self, make, base, left_out):
        model = make(base, n_estimators=8, oob_score=True, random_state=0).fit(X, noisy)
        total = np.zeros((len(X), 3))
        members = list(zip(model.estimators_, model.estimator_weights_, strict=True))
        first = 1 if make is KFHEClassifier else 0  # h_0 of KFHE has seen all
        for (member, weight), outside in zip(members[first:], left_out, strict=True):
            total[outside] += weight * np.eye(3)[member.predict(X)][outside]
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(model.oob_decision_function_, total / total.sum(axis=1, keepdims=True))
        covered = total.any(axis=1)
        assert model.oob_score_ == accuracy_score(noisy[covered], model.oob_prediction_[covered])

    @pytest.mark.parametrize("make", [KFHEClassifier, SAMMEClassifier])
    def test_members_have_indeed_not_seen_them(self, make, left_out):
        """A nearest neighbor knows what it has seen, and nothing else if labels are random."""
        labels = rng.integers(0, 2, len(X))
        unique = X + rng.normal(scale=1e-3, size=X.shape)
        base = CARTClassifier(min_samples_split=2, complexity=None)
        model = make(base, n_estimators=10, oob_score=True, random_state=0).fit(unique, labels)
        for member, outside in zip(model.estimators_[-len(left_out) :], left_out, strict=True):
            inside = np.setdiff1d(np.arange(len(X)), outside)
            assert (member.predict(unique)[inside] == labels[inside]).all()
            assert (member.predict(unique)[outside] != labels[outside]).any()

    @every_ensemble
    def test_any_metric(self, make):
        model = make(n_estimators=30, oob_score=balanced_accuracy_score, random_state=0).fit(X, noisy)
        covered = ~np.isnan(model.oob_decision_function_[:, 0])
        assert model.oob_score_ == balanced_accuracy_score(noisy[covered], model.oob_prediction_[covered])

    @every_ensemble
    def test_it_changes_nothing_else(self, make):
        plain, scored = (make(TREE, 8, oob_score=flag, random_state=0).fit(X, noisy) for flag in (False, True))
        np.testing.assert_array_equal(plain.predict_proba(X), scored.predict_proba(X))
        assert not hasattr(plain, "oob_score_")


class TestClassWeight:
    @every_ensemble
    @bases
    def test_it_is_a_sample_weight(self, make, base):
        weights = {0: 1.0, 1: 5.0, 2: 0.5}
        by_class = make(base, 6, class_weight=weights, random_state=0).fit(X, noisy)
        by_sample = make(base, 6, random_state=0).fit(X, noisy, sample_weight=[weights[label] for label in noisy])
        np.testing.assert_array_equal(by_class.predict_proba(X), by_sample.predict_proba(X))

    @every_ensemble
    def test_it_is_multiplied_by_sample_weights(self, make):
        given, balanced = rng.random(len(X)), len(noisy) / (3 * np.bincount(noisy))
        by_class = make(n_estimators=4, class_weight="balanced", random_state=0).fit(X, noisy, given)
        by_sample = make(n_estimators=4, random_state=0).fit(X, noisy, given * balanced[noisy])
        np.testing.assert_array_equal(by_class.predict_proba(X), by_sample.predict_proba(X))


class TestWarmStart:
    @every_ensemble
    @bases
    def test_two_fits_are_one(self, make, base):
        settings = {"oob_score": True, "random_state": 0}
        whole = make(base, 12, **settings).fit(X, noisy)
        parts = make(base, 5, warm_start=True, **settings).fit(X, noisy)
        first = parts[1]
        parts.set_params(n_estimators=12).fit(X, noisy)
        np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))
        np.testing.assert_array_equal(whole.estimator_weights_, parts.estimator_weights_)
        np.testing.assert_allclose(whole.oob_decision_function_, parts.oob_decision_function_)
        assert len(parts) == len(whole) == len(list(parts))
        np.testing.assert_array_equal(parts[1].predict(X), first.predict(X))

    def test_the_trace_of_a_kalman_filter_goes_on(self):
        whole = KFHEClassifier(n_estimators=30, random_state=0).fit(X, noisy)
        parts = KFHEClassifier(n_estimators=10, warm_start=True, random_state=0).fit(X, noisy)
        parts.set_params(n_estimators=30).fit(X, noisy)
        for name in ("gains_", "variances_", "measurement_errors_", "train_errors_", "resets_", "sample_weights_"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))

    def test_a_certain_filter_learns_nothing_more(self):
        Xw, yw = load_wine(return_X_y=True)
        base = CARTClassifier(min_samples_split=2, complexity=None)
        model = KFHEClassifier(base, warm_start=True, random_state=0).fit(Xw, yw)
        n_members = len(model)
        assert n_members < 101
        assert len(model.set_params(n_estimators=200).fit(Xw, yw)) == n_members

    @every_ensemble
    def test_fewer_members_are_refused(self, make):
        model = make(n_estimators=5, warm_start=True, random_state=0).fit(X, noisy)
        with pytest.raises(ValueError, match="members already"):
            model.set_params(n_estimators=2).fit(X, noisy)

    @every_ensemble
    def test_other_data_are_refused(self, make):
        def fitted():
            return make(n_estimators=3, warm_start=True, oob_score=True, random_state=0).fit(X, noisy)

        with pytest.raises(ValueError, match="features and classes"):
            fitted().set_params(n_estimators=6).fit(X[:, :2], noisy)
        with pytest.raises(ValueError, match="features and classes"):
            fitted().set_params(n_estimators=6).fit(X, noisy + 1)
        with pytest.raises(ValueError, match="150 samples"):
            fitted().set_params(n_estimators=6).fit(X[:140], noisy[:140])

    @pytest.mark.parametrize("make", [KFHEClassifier, SAMMEClassifier])
    def test_it_has_to_be_set_before_the_first_fit(self, make):
        model = make(n_estimators=3, random_state=0).fit(X, noisy)
        with pytest.raises(ValueError, match="before the first fit"):
            model.set_params(warm_start=True, n_estimators=6).fit(X, noisy)

    @every_ensemble
    def test_a_saved_fit_can_be_continued(self, make, tmp_path):
        model = make(n_estimators=4, warm_start=True, random_state=0).fit(X, noisy)
        fuselearn.save(model, tmp_path / "model")
        loaded = fuselearn.load(tmp_path / "model").set_params(n_estimators=8).fit(X, noisy)
        whole = make(n_estimators=8, random_state=0).fit(X, noisy)
        np.testing.assert_array_equal(loaded.predict_proba(X), whole.predict_proba(X))


class TestMembers:
    @pytest.mark.parametrize("make", [*ENSEMBLES, ErrorCorrectingCodeClassifier])
    def test_length_and_iteration(self, make):
        model = make(TREE, random_state=0).fit(X, noisy)
        assert len(model) == len(model.estimators_)
        assert list(model) == model.estimators_
        assert model[0] is model.estimators_[0]

    @every_ensemble
    def test_trees_keep_the_names_of_features(self, make):
        frame = pd.DataFrame({"colour": ["red", "blue", "green"] * 8, "size": np.arange(24.0) % 5})
        model = make(TREE, 3, random_state=0).fit(frame, ["warm", "cold", "cold"] * 8)
        for tree in model:
            assert tree.feature_names_in_.tolist() == ["colour", "size"]
            assert "colour in {" in tree.export_text()

    def test_trees_are_laid_out_for_prediction_when_they_predict(self):
        """Packing takes longer than growing, and few of them are ever asked."""
        first, second, *_ = BaggedClassifier(n_estimators=4, random_state=0).fit(X, y)
        first.predict(X)
        assert first._fused_.packed is not None
        assert second._fused_.packed is None

    def test_a_tree_can_be_saved_on_its_own(self, tmp_path):
        tree = BaggedClassifier(n_estimators=2, random_state=0).fit(X, y)[1]
        fuselearn.save(tree, tmp_path / "tree.fuse")
        loaded = fuselearn.load(tmp_path / "tree.fuse")
        assert loaded.export_text() == tree.export_text()
        np.testing.assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))

    @pytest.mark.parametrize("make", [CARTClassifier, *ENSEMBLES])
    def test_pickles_do_not_carry_the_training_samples(self, make):
        given = {} if make is CARTClassifier else {"n_estimators": 4, "random_state": 0}
        few, many = (len(pickle.dumps(make(**given).fit(np.repeat(X, k, 0), np.repeat(y, k)))) for k in (1, 10))
        weight_of_a_sample = 8 if make in (KFHEClassifier, SAMMEClassifier) else 0
        assert many - few < weight_of_a_sample * 9 * len(y) + 0.5 * few


@pytest.mark.parametrize("make", [KFHEClassifier, BaggedClassifier])
def test_sparse_tables_are_predicted_in_parts(make, monkeypatch):
    """Also if they have gaps."""
    table = np.where(np.random.default_rng(0).random(X.shape) < 0.5, 0.0, X)
    table[::11, 1] = np.nan
    dense = make(n_estimators=3, random_state=0).fit(table, y)
    monkeypatch.setattr(base, "DENSE_VALUES", 7 * X.shape[1])
    model = make(n_estimators=3, random_state=0).fit(sparse.csr_array(table), y)
    np.testing.assert_array_equal(model.predict_proba(sparse.csr_array(table)), dense.predict_proba(table))


def test_parameters_of_the_base_learner_can_be_searched():
    steps = make_pipeline(StandardScaler(), KFHEClassifier(TREE, n_estimators=3, random_state=0))
    search = GridSearchCV(steps, {"kfheclassifier__estimator__max_depth": [1, 3]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85


class TestLogLoss:
    """The sum of all weights, or of all votes, may be above 1 by rounding, and is exactly 1 nevertheless."""

    def test_members_that_round(self):
        class Rounding(GaussianNB):
            def predict_proba(self, X):
                return np.tile([1.0000000000000002, -2e-16, 0.0], (len(X), 1))

        members = [("a", Rounding()), ("b", Rounding())]
        models = [
            FixedRuleClassifier(members, "mean"),
            FixedRuleClassifier(members, "max"),
            LinearStackingClassifier(members),
        ]
        for model in (*models, KFHEClassifier(Rounding(), n_estimators=3, vote="probability", random_state=0)):
            scores = model.fit(X, y).predict_proba(X)
            assert scores.min() >= 0
            assert scores.max() <= 1


class TestProgress:
    @every_ensemble
    def test_the_callback_gets_every_member(self, make):
        seen = []
        model = make(TREE, 5, callback=lambda number, member: seen.append((number, member)), random_state=0)
        model.fit(X, noisy)
        assert [number for number, _ in seen] == [1, 2, 3, 4, 5]
        for (_, member), own in zip(seen, model.estimators_[-5:], strict=True):
            np.testing.assert_array_equal(member.predict_proba(X), own.predict_proba(X))

    @every_ensemble
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_training_ends_if_it_returns_true(self, make, n_jobs):
        model = make(TREE, 50, callback=lambda number, member: np.int64(number) == 4, random_state=0, n_jobs=n_jobs)
        model.fit(X, noisy)
        whole = make(TREE, 4, random_state=0).fit(X, noisy)
        np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))

    @every_ensemble
    @pytest.mark.parametrize(("verbose", "n_lines"), [(0, 0), (1, 10), (2, 20)])
    def test_verbose_prints_lines(self, make, verbose, n_lines, capsys):
        make(TREE, 20, verbose=verbose, random_state=0).fit(X, noisy)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == n_lines
        if lines:
            assert lines[-1].startswith(f"[{make.__name__}] 20 of 20 members")
            assert lines[-1].endswith(" s.")
            assert lines[0].endswith("left.")
            assert ("error" in lines[0]) == (make in (KFHEClassifier, SAMMEClassifier))
