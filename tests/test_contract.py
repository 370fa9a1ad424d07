"""What scikit-learn and its users do with any estimator: look at it, copy it, and put others around it."""

import copy
import inspect
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import (
    BaggedClassifier,
    CARTClassifier,
    FixedRuleClassifier,
    ForestClassifier,
    KFHEClassifier,
    LinearStackingClassifier,
    SAMMEClassifier,
    load,
    save,
)
from fuselearn.combine import ErrorCorrectingCodeClassifier
from fuselearn.combine.output_codes import class_probabilities
from fuselearn.multilabel import BinaryRelevanceClassifier, ChainClassifier, EnsembleHOMERClassifier

WINE, CLASSES = load_wine(return_X_y=True)
ROWS, LABELS = make_multilabel_classification(60, 6, n_classes=5, random_state=0)


def every_name(model):
    """List the names of a class and of an object, also those that ``dir`` hides because they are not available."""
    return sorted({name for kind in type(model).__mro__ for name in vars(kind)} | set(vars(model)))


def touch_everything(model):
    for name in every_name(model):
        try:
            getattr(model, name)
        except AttributeError:
            pass  # NotFittedError is one
        except Exception as error:
            raise AssertionError(f"{type(model).__name__}.{name} raises {error!r}") from error
    assert "fit" in dir(model)
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in repr(model)


class TestLookingAtAnEstimator:
    def test_before_and_after_fit(self, public_estimator, make_small, data_for):
        model = make_small(public_estimator)
        touch_everything(model)
        touch_everything(model.fit(*data_for(model)))

    @pytest.mark.parametrize(
        "kind",
        [KFHEClassifier, SAMMEClassifier, BaggedClassifier, ErrorCorrectingCodeClassifier],
        ids=lambda k: k.__name__,
    )
    def test_over_another_base_learner(self, kind, make_small):
        model = make_small(kind, estimator=GaussianNB()).fit(WINE, CLASSES)
        touch_everything(model)
        assert kind.__name__ in make_pipeline(StandardScaler(), model)._repr_html_()


@pytest.mark.parametrize("value", [np.float64(-2.5), np.int64(-3), np.str_("nonsense")], ids=lambda v: type(v).__name__)
def test_messages_write_numpys_values_as_python_does(
    public_estimator, make_small, data_for, value, tmp_path, monkeypatch
):
    """9 instead of np.int64(9)."""
    monkeypatch.chdir(tmp_path)  # some parameters are folders
    others = {"random_state", "n_jobs", "estimator", "estimators", "scoring"}  # which scikit-learn reads
    for name in set(inspect.signature(public_estimator).parameters) - others:
        model = make_small(public_estimator, 2).set_params(**{name: value})
        said = ""
        try:
            model.fit(*data_for(model))
        except (ValueError, TypeError) as error:
            said = str(error)
        assert "np." not in said


def check_probabilities(scores, *, sum_to_one):
    assert scores.min() >= 0
    assert scores.max() <= 1
    if sum_to_one:
        np.testing.assert_allclose(scores.sum(axis=-1), 1, atol=1e-14)


class TestProbabilities:
    """Values above 1, be it by 2e-16, make scikit-learn's log loss and Brier score NaN."""

    def test_of_every_estimator(self, public_estimator, make_small, data_for):
        parameters = inspect.signature(public_estimator).parameters
        votes = ("class", "probability") if "vote" in parameters else (None,)
        sizes = (5, 20) if "n_estimators" in parameters else (5,)
        for n_estimators, vote in itertools.product(sizes, votes):
            model = make_small(public_estimator, n_estimators, vote=vote)
            X, y = data_for(model)
            model.fit(X, y)
            if is_regressor(model):
                assert not hasattr(model, "predict_proba")
                continue
            check_probabilities(model.predict_proba(X), sum_to_one=np.ndim(y) == 1)
            for stage in getattr(model, "staged_predict_proba", lambda X: ())(X):
                check_probabilities(stage, sum_to_one=np.ndim(y) == 1)

    @pytest.mark.parametrize(
        "model",
        [
            KFHEClassifier(n_estimators=20, random_state=0),
            SAMMEClassifier(n_estimators=30, random_state=0),
            BaggedClassifier(n_estimators=20, random_state=0),
            BaggedClassifier(GaussianNB(), n_estimators=20, random_state=0),
        ],
        ids=["KFHE", "SAMME", "bagging", "bagging of others"],
    )
    def test_can_be_scored_by_log_loss(self, model, tmp_path):
        X, y = load_breast_cancer(return_X_y=True)
        model = clone(model).fit(X, y)
        probabilities = model.predict_proba(X)
        check_probabilities(probabilities, sum_to_one=True)
        assert probabilities.max() == 1.0, "the sum of all weights, which was above 1"
        save(model, tmp_path / "model.fuse")
        check_probabilities(load(tmp_path / "model.fuse").predict_proba(X), sum_to_one=True)
        for scoring in ("neg_log_loss", "neg_brier_score"):
            assert np.isfinite(get_scorer(scoring)(model, X, y))

    def test_of_single_bits_by_a_learner_that_rounds(self):
        distances = np.array([[-2e-16, 1.0000000000000002]])
        np.testing.assert_array_equal(class_probabilities(distances, 1), [[1.0, 0.0]])

    def test_of_members_that_round(self):
        class Rounding(GaussianNB):
            def predict_proba(self, X):
                return np.tile([1.0000000000000002, -2e-16, 0.0], (len(X), 1))

        members = [("a", Rounding()), ("b", Rounding())]
        rules = [FixedRuleClassifier(members, rule) for rule in ("mean", "max")]
        for model in (*rules, LinearStackingClassifier(members)):
            check_probabilities(model.fit(WINE, CLASSES).predict_proba(WINE), sum_to_one=True)
        model = KFHEClassifier(Rounding(), n_estimators=3, vote="probability", random_state=0).fit(WINE, CLASSES)
        check_probabilities(model.predict_proba(WINE), sum_to_one=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tools_of_scikit_learn_around_every_estimator(public_estimator, make_small, data_for):
    model = make_small(public_estimator, 2)
    X, y = data_for(model)
    frame = pd.DataFrame(X, columns=[f"feature {f}" for f in range(X.shape[1])])
    folds = KFold(2, shuffle=True, random_state=0)
    steps = make_pipeline(StandardScaler(), clone(model)).set_output(transform="pandas")
    steps.fit(frame, y)
    assert steps[-1].feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(steps)).predict(frame), steps.predict(frame))
    assert np.isfinite(cross_val_score(clone(model), frame, y, cv=folds, error_score="raise")).all()
    importances = permutation_importance(steps, frame, y, n_repeats=1, random_state=0).importances_mean
    assert importances.shape == (X.shape[1],)
    if np.ndim(y) == 1 and hasattr(model, "predict_proba"):
        calibrated = CalibratedClassifierCV(clone(model), cv=2).fit(frame, y)
        check_probabilities(calibrated.predict_proba(frame), sum_to_one=True)


MADE_OF_TREES = {
    "kfhe": (KFHEClassifier(n_estimators=4, random_state=0), WINE, CLASSES),
    "samme": (SAMMEClassifier(n_estimators=4, random_state=0), WINE, CLASSES),
    "forest": (ForestClassifier(n_estimators=4, random_state=0), WINE, CLASSES),
    "bagging": (BaggedClassifier(n_estimators=4, random_state=0), WINE, CLASSES),
    "codes": (ErrorCorrectingCodeClassifier(random_state=0), WINE, CLASSES),
    "binary relevance": (BinaryRelevanceClassifier("tree", random_state=0), ROWS, LABELS),
    "chain": (ChainClassifier("tree", random_state=0), ROWS, LABELS),
    "e-homer": (EnsembleHOMERClassifier("tree", n_estimators=4, random_state=0), ROWS, LABELS),
}


@pytest.fixture(params=MADE_OF_TREES)
def made_of_trees(request):
    model, X, y = MADE_OF_TREES[request.param]
    return clone(model).fit(X, y), X, y


class TestMembersOfAnEnsemble:
    def test_are_the_same_at_each_access(self, made_of_trees):
        model, X, _ = made_of_trees
        before = model.estimators_
        model.predict(X)
        assert model.estimators_[0] is before[0]

    def test_are_new_after_another_fit(self, made_of_trees):
        model, X, y = made_of_trees
        before = model.estimators_
        assert model.fit(X, y).estimators_[0] is not before[0]

    def test_are_not_laid_out_for_prediction_before_they_predict(self):
        """Packing takes longer than growing, and few of them are ever asked."""
        model = BaggedClassifier(n_estimators=4, random_state=0).fit(WINE, CLASSES)
        first, second, *_ = model.estimators_
        assert first._fused_.packed is None
        first.predict(WINE)
        assert first._fused_.packed is not None
        assert second._fused_.packed is None

    def test_share_their_trees_with_the_ensemble(self):
        model = BaggedClassifier(n_estimators=2, random_state=0).fit(WINE, CLASSES)
        assert model.estimators_[1].tree_ is model._components_[1].tree

    def test_are_made_again_in_copies_and_files(self, made_of_trees, tmp_path):
        model, X, _ = made_of_trees
        size = len(pickle.dumps(model))
        expected = model.estimators_[0].predict(X)
        assert len(pickle.dumps(model)) == size, "a copy keeps nothing that can be made again"
        save(model, tmp_path / "model.fuse")
        copies = [
            pickle.loads(pickle.dumps(model)),
            copy.copy(model),
            copy.deepcopy(model),
            load(tmp_path / "model.fuse"),
        ]
        for other in copies:
            assert other.estimators_[0] is other.estimators_[0]
            assert other.estimators_[0] is not model.estimators_[0]
            np.testing.assert_array_equal(other.estimators_[0].predict(X), expected)

    def test_are_not_there_before_fit(self, made_of_trees):
        model, _, _ = made_of_trees
        with pytest.raises(NotFittedError):
            clone(model).estimators_  # noqa: B018

    def test_can_be_saved_on_their_own(self, tmp_path):
        tree = BaggedClassifier(n_estimators=2, random_state=0).fit(WINE, CLASSES).estimators_[1]
        save(tree, tmp_path / "tree.fuse")
        for other in (load(tmp_path / "tree.fuse"), pickle.loads(pickle.dumps(tree))):
            assert isinstance(other, CARTClassifier)
            assert other.export_text() == tree.export_text()
            np.testing.assert_array_equal(other.predict_proba(WINE), tree.predict_proba(WINE))
