"""Every method sees the same folds and the same noise, and is scored on clean labels."""

import dataclasses
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from fuselearn.datasets import Dataset, load_dataset, make_digit_pairs
from fuselearn.lab import Suite, Variant
from fuselearn.lab.methods import make_contenders
from fuselearn.lab.protocol import corrupted, fit_tasks, make_folds, quietly, run_fit
from fuselearn.lab.store import Cell
from fuselearn.lab.suites import derive_seed

SUITE = Suite("mine", ["iris"], ["Bayes"], noise=[0, 0.2], repeats=2, folds=5)
NUMBERED = Suite("mine", ["numbered"], ["Memory"], noise=[0.2], repeats=1, folds=5)
Y = np.repeat([0, 1, 2], [50, 30, 20])
X = pd.DataFrame({"place": np.arange(100.0)})


class Memorizer(ClassifierMixin, BaseEstimator):
    """Predicts the label that a sample had in training, by its number; else the one it was given."""

    def __init__(self, otherwise=0):
        self.otherwise = otherwise

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = dict(zip(X["row"], y, strict=True))
        return self

    def predict(self, X):
        return np.array([self.seen_.get(row, self.otherwise) for row in X["row"]])


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no luck " + "x" * 5000)

    def predict(self, X):
        return X


class Nervous(DummyClassifier):
    def fit(self, X, y):
        warnings.warn("careful", stacklevel=1)
        return super().fit(X, y)


def tasks_of(suite, estimators, finished=frozenset(), *, y=None):
    data = {name: load_dataset(name) for name in suite.datasets if name != "numbered"}
    if "numbered" in suite.datasets:
        named = pd.Series(Y if y is None else y).map("class {}".format)
        data["numbered"] = Dataset(pd.DataFrame({"row": np.arange(len(named))}), named, "numbered", "", "")
    return list(fit_tasks(suite, data, make_contenders(estimators, estimators, suite.task), finished))


def test_folds_are_stratified_and_cover_every_sample_once():
    folds = make_folds(SUITE, "iris", Y, repeat=0)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(100))
    assert all(np.bincount(Y[fold]).tolist() == [10, 6, 4] for fold in folds)


def test_folds_differ_between_repeats_datasets_and_seeds_only():
    def made(suite=SUITE, dataset="iris", repeat=0):
        return [fold.tolist() for fold in make_folds(suite, dataset, Y, repeat)]

    other_noise = Suite("else", ["iris"], ["X"], noise=[0.3], repeats=7, folds=5)
    assert made() == made() == made(other_noise)
    assert made() != made(repeat=1)
    assert made() != made(dataset="wine")
    assert made() != made(Suite("mine", ["iris"], ["Bayes"], folds=5, seed=1))


def test_noise_changes_the_exact_number_of_labels_once_or_anew_in_each_repeat():
    def drawn(suite, repeat, noise=0.2):
        return corrupted(suite, "iris", X, Y, noise, repeat).tolist()

    assert (np.array(drawn(SUITE, 0)) != Y).sum() == 20
    assert drawn(SUITE, 0, noise=0.0) == Y.tolist()
    assert drawn(SUITE, 0) == drawn(SUITE, 0) != drawn(SUITE, 1)
    once = dataclasses.replace(SUITE, noise_draw="once")
    assert drawn(once, 0) == drawn(once, 1) != drawn(once, 0, noise=0.3)


def test_the_kind_of_noise_is_the_suite_s():
    pair = corrupted(dataclasses.replace(SUITE, noise_kind="pair"), "iris", X, Y, 0.3, repeat=0)
    changed = pair != Y
    assert np.array_equal(pair[changed], (Y[changed] + 1) % 3)
    boundary = corrupted(dataclasses.replace(SUITE, noise_kind="boundary"), "iris", X, Y, 0.04, repeat=0)
    assert np.flatnonzero(boundary != Y).tolist() == [49, 50, 79, 80]


def test_tasks_cover_the_suite_and_share_folds_and_noise():
    estimators = {"Bayes": GaussianNB(), "Guess": DummyClassifier()}
    tasks = tasks_of(SUITE, estimators)
    assert len(tasks) == 40
    for task in tasks:
        (method,) = task.methods
        fold = make_folds(SUITE, "iris", task.truth, task.repeat)[task.fold]
        assert np.array_equal(task.test, fold)
        assert np.array_equal(task.labels, corrupted(SUITE, "iris", task.X, task.truth, task.noise, task.repeat))
        assert task.seed == derive_seed(0, "iris", task.noise, task.repeat, task.fold, method)
    finished = {Cell("iris", 0.2, 1, fold, method) for fold in range(5) for method in estimators}
    finished.remove(Cell("iris", 0.2, 1, 3, "Guess"))
    tasks = tasks_of(SUITE, estimators, finished)
    assert len(tasks) == 31
    [left] = [task for task in tasks if (task.noise, task.repeat) == (0.2, 1)]
    assert (left.fold, list(left.methods)) == (3, ["Guess"])


def test_costly_datasets_come_first():
    suite = Suite("mine", ["iris", "breast_cancer", "wine"], ["Bayes"], repeats=1, folds=2)
    order = [task.dataset for task in tasks_of(suite, {"Bayes": GaussianNB()})]
    assert order == ["breast_cancer"] * 2 + ["wine"] * 2 + ["iris"] * 2


def test_training_sees_corrupted_labels_of_other_samples_and_scoring_clean_ones():
    [task, *_] = tasks_of(NUMBERED, {"Memory": Memorizer(otherwise=1)})
    [result] = run_fit(task)
    # A training sample would be remembered, with a wrong label in a fifth of the cases.
    truth = Y[task.test]
    assert result.scores["accuracy"] == np.mean(truth == 1)
    assert result.scores["macro_f1"] == pytest.approx((0 + 2 * 6 / (6 + 20) + 0) / 3)


def test_methods_train_on_the_corrupted_labels():
    seen = []

    class Spy(Memorizer):
        def fit(self, X, y):
            seen.append((X["row"].to_numpy(), np.array(y)))
            return super().fit(X, y)

    for task in tasks_of(NUMBERED, {"Memory": Spy()}):
        run_fit(task)
        rows, labels = seen.pop()
        assert not set(rows) & set(task.test)
        assert len(rows) + len(task.test) == len(Y)
        assert np.array_equal(labels, task.labels[rows])
        assert (labels != Y[rows]).any()


def test_what_a_method_raises_is_its_result():
    [bad] = run_fit(tasks_of(SUITE, {"Bad": Failing()})[0])
    assert bad.cell.method == "Bad"
    assert bad.error.startswith("RuntimeError: no luck xxx")
    assert len(bad.error) == 2000
    assert bad.scores is None


@pytest.mark.parametrize("nonsense", [99, -1, "class 1"])
def test_a_prediction_that_is_no_class_is_a_failure(nonsense):
    [result] = run_fit(tasks_of(NUMBERED, {"Memory": Memorizer(otherwise=nonsense)})[0])
    assert result.error is not None


def test_results_carry_times_seeds_and_versions():
    [result] = run_fit(tasks_of(SUITE, {"Bayes": GaussianNB()})[0])
    assert result.fit_seconds > 0
    assert result.predict_seconds > 0
    assert result.seed == derive_seed(0, "iris", 0.0, 0, 0, "Bayes")
    assert set(result.versions) == {"fuselearn", "numpy", "scikit_learn", "python"}


def test_log_loss_needs_probabilities():
    [[ridge], [bayes]] = map(run_fit, tasks_of(SUITE, {"Ridge": RidgeClassifier(), "Bayes": GaussianNB()})[:2])
    assert "log_loss" not in ridge.scores
    assert 0 < bayes.scores["log_loss"] < 1


def test_a_class_that_training_never_saw_gets_probability_zero():
    suite = dataclasses.replace(NUMBERED, noise=[0], folds=2)
    with quietly():
        tasks = tasks_of(suite, {"Bayes": GaussianNB()}, y=np.repeat([0, 1, 2], [10, 1, 10]))
    [task] = [task for task in tasks if 10 in task.test]
    [result] = run_fit(task)
    assert result.error is None
    assert result.scores["log_loss"] >= 36 / len(task.test)


def test_the_seed_of_a_result_repeats_it():
    estimators = {"Guess": DummyClassifier(strategy="stratified")}
    first, second = (tasks_of(SUITE, estimators) for _ in range(2))
    assert [run_fit(task)[0].scores for task in first] == [run_fit(task)[0].scores for task in reversed(second)][::-1]
    task = first[0]
    train = np.delete(np.arange(150), task.test)
    again = DummyClassifier(strategy="stratified", random_state=task.seed)
    predicted = again.fit(task.X.iloc[train], task.labels[train]).predict(task.X.iloc[task.test])
    assert run_fit(task)[0].scores["accuracy"] == np.mean(predicted == task.truth[task.test])


def test_warnings_are_dropped_and_filters_restored(recwarn):
    [task, *_] = tasks_of(SUITE, {"Nervous": Nervous()})
    filters = list(warnings.filters)
    assert run_fit(task)[0].error is None
    thread = threading.Thread(target=run_fit, args=(task,))
    with quietly():
        thread.start()
        thread.join()
    assert not recwarn.list
    assert warnings.filters == filters


def all_labels(fitted, X, Y):
    """Adapt a classifier to one that predicts every label."""
    return DummyClassifier(strategy="constant", constant=np.ones(Y.shape[1], dtype=int)).fit(X, Y)


class NoLabels(ClassifierMixin, BaseEstimator):
    """Predict no label for any sample."""

    def fit(self, X, Y):
        self.n_labels_ = Y.shape[1]
        return self

    def predict(self, X):
        return np.zeros((len(X), self.n_labels_), dtype=int)


class TestLabels:
    """Samples with any number of labels, and methods that share a fit."""

    def tasks(self, names=("RF", "All")):
        own = {"RF": RandomForestClassifier(10), "All": Variant("RF", all_labels)}
        suite = Suite("labels", ["pairs"], names, repeats=1, folds=3, task="multilabel")
        pairs = make_digit_pairs(120, random_state=0)
        data = {"pairs": Dataset(pairs.X, pairs.y, "pairs", "", "")}
        return list(fit_tasks(suite, data, make_contenders(names, own, "multilabel")))

    def test_folds_spread_every_label(self):
        [one, two, three] = (task.test for task in self.tasks())
        truth = self.tasks()[0].truth
        assert sorted([*one, *two, *three]) == list(range(120))
        assert np.ptp([truth[test].sum(axis=0) for test in (one, two, three)], axis=0).mean() <= 2

    def test_a_fold_is_scored_by_labels(self):
        [task, *_] = self.tasks()
        [forest, everything] = run_fit(task)
        assert forest.error is None
        assert everything.error is None
        assert 0 < forest.scores["hamming_loss"] < 0.3
        assert everything.scores["hamming_loss"] == pytest.approx(1 - task.truth[task.test].mean())
        assert forest.label_scores.index.tolist() == task.names.tolist()
        for score, mean in (("f1", "macro_f1"), ("auc", "auc")):
            assert forest.label_scores[score].mean() == pytest.approx(forest.scores[mean])

    @pytest.mark.parametrize("zero_division", [0, 1])
    def test_the_suite_chooses_the_f1_of_a_label_that_never_occurs(self, zero_division):
        own = {"None": NoLabels()}
        suite = Suite("labels", ["d"], ["None"], repeats=1, folds=2, task="multilabel", zero_division=zero_division)
        labels = pd.DataFrame({"often": [0, 1] * 10, "never": [0] * 20})
        data = {"d": Dataset(pd.DataFrame({"x": np.arange(20.0)}), labels, "d", "", "")}
        [result] = run_fit(next(fit_tasks(suite, data, make_contenders(["None"], own, "multilabel"))))
        assert result.label_scores["f1"].to_dict() == {"often": 0, "never": zero_division}
        assert result.scores["macro_f1"] == zero_division / 2

    def test_methods_that_share_a_fit_have_its_seed_and_time(self, monkeypatch):
        fits = []
        fit = RandomForestClassifier.fit

        def timed_fit(forest, *args, **more):
            start = time.perf_counter()
            fitted = fit(forest, *args, **more)
            fits.append(time.perf_counter() - start)
            return fitted

        monkeypatch.setattr(RandomForestClassifier, "fit", timed_fit)
        forest, everything = run_fit(self.tasks()[0])
        assert len(fits) == 1
        assert forest.seed == everything.seed == derive_seed(0, "pairs", 0.0, 0, 0, "RF")
        assert everything.fit_seconds > forest.fit_seconds > fits[0]
        assert run_fit(self.tasks(["All"])[0])[0].scores == everything.scores

    def test_a_fit_that_fails_fails_for_all_that_share_it(self, monkeypatch):
        monkeypatch.setattr(RandomForestClassifier, "fit", Failing.fit)
        forest, everything = run_fit(self.tasks()[0])
        assert forest.error == everything.error
        assert (forest.cell.method, everything.cell.method) == ("RF", "All")
