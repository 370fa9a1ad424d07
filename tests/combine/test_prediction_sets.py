"""Prediction sets: thresholds by hand, coverage, and what wrong labels change."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import fuselearn
from fuselearn import FusedClassifier
from fuselearn.combine import PredictionSetClassifier
from fuselearn.combine.prediction_sets import Calibration, find_thresholds, select_classes
from fuselearn.datasets import corrupt_labels

WINE = load_wine(return_X_y=True)


class Given(ClassifierMixin, BaseEstimator):
    """Features are the probabilities of the classes 0, 1, ..."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]


def draw(n_samples, seed, n_classes=3):
    """Draw probabilities, and classes that follow them."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_classes, 0.4), n_samples)
    return probabilities, (rng.random(n_samples)[:, None] > probabilities.cumsum(axis=1)).sum(axis=1)


def coverage_of(sets, y):
    return sets[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_the_threshold_is_the_quantile_of_split_conformal_prediction(coverage):
    p, y = draw(200, 0)
    rank = int(np.ceil(coverage * 201))
    expected = np.sort(p[np.arange(200), y])[::-1][rank - 1]
    assert find_thresholds(Calibration(p, y), coverage, allow_empty=True) == pytest.approx([expected] * 3)


def test_a_class_of_its_own_threshold_is_calibrated_on_its_samples_alone():
    p, y = draw(300, 0)
    thresholds = find_thresholds(Calibration(p, y), 0.8, per_class=True, allow_empty=True)
    for k in range(3):
        alone = Calibration(p[y == k], y[y == k])
        assert thresholds[k] == find_thresholds(alone, 0.8, allow_empty=True)[0]


def test_a_class_with_too_few_samples_is_in_every_set():
    p, y = draw(300, 0)
    kept = np.concatenate([np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:8]])
    thresholds = find_thresholds(Calibration(p[kept], y[kept]), 0.9, per_class=True)
    assert thresholds[1] == 0.0
    assert (thresholds[[0, 2]] > 0).all()
    assert (find_thresholds(Calibration(p[:8], y[:8]), 0.9) == 0).all()


def test_sets_hold_the_most_likely_class_unless_they_may_be_empty():
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    assert select_classes(p, np.full(3, 0.6)).tolist() == [[True, False, False], [False, False, True]]
    assert select_classes(p, np.full(3, 0.6), allow_empty=True).tolist() == [[False] * 3, [False, False, True]]


def test_sets_that_are_never_empty_cover_what_was_asked_for_where_the_most_likely_class_is_not_enough():
    """Below the accuracy all sets have one class; above it the coverage is exact, not more than that."""
    p, y = draw(2_000, 0)
    accuracy = (p.argmax(axis=1) == y).mean()
    test, truth = draw(20_000, 1)
    sizes = {}
    for coverage in (accuracy - 0.1, accuracy + 0.1):
        sets = select_classes(test, find_thresholds(Calibration(p, y), coverage))
        sizes[coverage] = sets.sum(axis=1).mean()
        assert coverage_of(sets, truth) == pytest.approx(max(coverage, accuracy), abs=0.015)
    assert min(sizes.values()) == 1.0 < max(sizes.values())


@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_wrong_as_often_as_they_are_said_to_be_give_the_thresholds_of_the_correct_ones(n_classes):
    """Each sample comes with every label, at a weight that is its probability: noise without chance."""
    p, y = draw(150, 0, n_classes)
    noise = np.full((n_classes, n_classes), 0.3 / (n_classes - 1)) + np.eye(n_classes) * (0.7 - 0.3 / (n_classes - 1))
    noisy = Calibration(p.repeat(n_classes, axis=0), np.tile(np.arange(n_classes), 150), noise[y].ravel())
    clean = Calibration(p.repeat(n_classes, axis=0), y.repeat(n_classes))
    for settings in ({}, {"per_class": True}, {"allow_empty": True}):
        corrected = find_thresholds(noisy, 0.8, noise_rate=0.3, **settings)
        assert corrected == pytest.approx(find_thresholds(clean, 0.8, **settings))
        assert (corrected > find_thresholds(noisy, 0.8, **settings)).any()


def test_samples_without_weight_and_samples_never_held_out_do_not_count():
    p, y = draw(60, 0)
    used = np.arange(60) % 3 > 0
    alone = Calibration(p[used], y[used])
    unknown = Calibration(np.where(used[:, None], p, np.nan), y)
    for other in (unknown, Calibration(p, y, used), Calibration(p, y, used * 0.01)):
        assert find_thresholds(other, 0.8) == pytest.approx(find_thresholds(alone, 0.8))


def test_a_frozen_estimator_is_calibrated_on_the_samples_of_fit():
    """On average over calibrations, the coverage is the one asked for, up to one sample of 101."""
    test, truth = draw(5_000, 0)
    covered = []
    for seed in range(1, 101):
        p, y = draw(100, seed)
        model = PredictionSetClassifier(FrozenEstimator(Given().fit(p, [0, 1, 2] * 33 + [0]))).fit(p, y)
        covered.append(coverage_of(model.predict_set(test, 0.9, allow_empty=True), truth))
    assert 0.9 - 0.006 < np.mean(covered) < 0.9 + 0.01 + 0.006  # two standard errors of the mean


def test_a_frozen_estimator_keeps_classes_that_are_not_among_the_samples_of_fit():
    X, y = WINE
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    model = PredictionSetClassifier(frozen).fit(X[y < 2], y[y < 2])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_set(X).shape == (len(X), 3)


def test_the_wrapper_predicts_like_its_estimator_and_calibrates_on_folds():
    X, y = WINE
    names = np.array(["a", "b", "c"])[y]
    model = PredictionSetClassifier(GaussianNB(), cv=4).fit(X, names)
    held_out = cross_val_predict(GaussianNB(), X, names, cv=4, method="predict_proba")
    assert model.held_out_proba_ == pytest.approx(held_out)
    alone = GaussianNB().fit(X, names)
    assert (model.predict(X) == alone.predict(X)).all()
    assert model.predict_proba(X) == pytest.approx(alone.predict_proba(X))
    expected = select_classes(alone.predict_proba(X), find_thresholds(Calibration(held_out, y), 0.99))
    assert (model.predict_set(X, 0.99) == expected).all()


def test_samples_that_no_split_holds_out_are_not_used():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = PredictionSetClassifier(LogisticRegression(max_iter=500), cv=TimeSeriesSplit(4)).fit(X, y)
    assert np.isnan(model.held_out_proba_[:30]).all()
    assert model.predict_set(X, 0.9).sum(axis=1).mean() < 1.5


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_a_fused_classifier_covers_correct_labels_whatever_the_noise(rate):
    X, y = make_classification(1_200, 10, n_informative=6, n_classes=4, class_sep=1.5, random_state=0)
    noisy = corrupt_labels(y[:600], rate, random_state=0)
    fused = FusedClassifier(n_estimators=20, random_state=0).fit(X[:600], noisy)
    sets = fused.predict_set(X[600:], 0.9)
    assert coverage_of(sets, y[600:]) == pytest.approx(0.9, abs=0.05)
    given = fused.predict_set(X[600:], 0.9, noise_rate=0)
    assert (given >= sets).all()
    assert rate == 0 or given.sum() > 1.1 * sets.sum()
    assert (sets[np.arange(600), fused.predict(X[600:])]).all()


def test_sets_of_a_fused_classifier_are_those_of_the_fit_that_was_held_out():
    """Members fitted again are more certain: with their probabilities, 77 % of these sets hold the correct class."""
    X, y = make_classification(1_500, 10, n_informative=6, n_classes=4, class_sep=0.8, random_state=0)
    fused = FusedClassifier(n_estimators=20, random_state=0).fit(X[:500], corrupt_labels(y[:500], 0.3, random_state=0))
    sets = fused.predict_set(X[500:], 0.9, noise_rate=0.3)
    assert coverage_of(sets, y[500:]) == pytest.approx(0.9, abs=0.04)
    assert (sets[np.arange(1_000), fused.predict(X[500:])]).all()


def test_a_saved_model_predicts_the_same_sets(tmp_path):
    X, y = WINE
    for model in (FusedClassifier(n_estimators=5, cv=2, random_state=0), PredictionSetClassifier(GaussianNB())):
        model.fit(X[:, :2], y, sample_weight=np.arange(len(y)) % 3)
        fuselearn.save(model, tmp_path / "model.fuse")
        same = fuselearn.load(tmp_path / "model.fuse")
        assert (same.predict_set(X[:, :2], 0.8) == model.predict_set(X[:, :2], 0.8)).all()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"coverage": 1.0}, "coverage must be above 0 and below 1"),
        ({"coverage": 90}, "coverage must be above 0 and below 1"),
        ({"coverage": "high"}, "coverage must be a number"),
        ({"per_class": "yes"}, "per_class must be True or False"),
        ({"allow_empty": 1}, "allow_empty must be True or False"),
        ({"noise_rate": 0.7}, "noise_rate must be less than 0.667"),
        ({"noise_rate": "much"}, "noise_rate must be a number"),
    ],
)
def test_what_is_no_coverage_gets_a_sentence(settings, sentence):
    model = PredictionSetClassifier(GaussianNB()).fit(*WINE)
    with pytest.raises((ValueError, TypeError), match=sentence):
        model.predict_set(WINE[0], **settings)


def test_estimators_without_probabilities_and_several_labels_get_a_sentence():
    with pytest.raises(ValueError, match="predict_proba"):
        PredictionSetClassifier(RidgeClassifier()).fit(*WINE)
    with pytest.raises(ValueError, match="does not support multi-label y"):
        PredictionSetClassifier(GaussianNB()).fit(WINE[0], np.eye(3, dtype=int)[WINE[1]])
