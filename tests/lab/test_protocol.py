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

from fuselearn.datasets import Dataset, load, make_digit_pairs
from fuselearn.lab.running.methods import make_contenders
from fuselearn.lab.running.protocol import corrupted, deal_folds, fit_tasks, quietly, run_fit
from fuselearn.lab.running.store import Cell
from fuselearn.lab.running.suites import Suite, derive_seed

SUITE = Suite("mine", ["iris"], ["Bayes"], noise=[0, 0.2], repeats=2, folds=5)
Y = np.repeat([0, 1, 2], [50, 30, 20])
X = pd.DataFrame({"place": np.arange(100.0)})


class Memoriser(ClassifierMixin, BaseEstimator):
    """Predicts the label that a row had in training, by its number; else the one it was told."""

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


def numbered(y):
    y = pd.Series(y).map("class {}".format)
    return Dataset(pd.DataFrame({"row": np.arange(len(y))}), y, "numbered", "", "")


def tasks_of(suite, estimators, finished=frozenset(), *, data=None, **more):
    data = data or {name: load(name) for name in suite.datasets}
    contenders, _ = make_contenders(estimators, estimators)
    return list(fit_tasks(suite, data, contenders, finished, **more))


def test_folds_are_stratified_and_cover_every_row_once():
    folds = deal_folds(SUITE, "iris", Y, repeat=0)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(100))
    assert all(np.bincount(Y[fold]).tolist() == [10, 6, 4] for fold in folds)


def test_noise_is_drawn_once_for_all_repeats_or_anew_in_each():
    def drawn(suite, repeat, noise=0.2):
        return corrupted(suite, "iris", X, Y, noise, repeat).tolist()

    once = dataclasses.replace(SUITE, noise_draw="once")
    assert drawn(once, 0) == drawn(once, 1) != drawn(once, 0, noise=0.3)
    assert drawn(SUITE, 0) != drawn(SUITE, 1)
    with pytest.raises(ValueError, match="noise_draw must be"):
        dataclasses.replace(SUITE, noise_draw="twice")


def test_folds_differ_between_repeats_datasets_and_seeds_only():
    def dealt(suite=SUITE, dataset="iris", repeat=0):
        return [fold.tolist() for fold in deal_folds(suite, dataset, Y, repeat)]

    other_noise = Suite("else", ["iris"], ["X"], noise=[0.3], repeats=7, folds=5)
    assert dealt() == dealt() == dealt(other_noise)
    assert dealt() != dealt(repeat=1)
    assert dealt() != dealt(dataset="wine")
    assert dealt() != dealt(Suite("mine", ["iris"], ["Bayes"], folds=5, seed=1))


def test_noise_changes_the_exact_number_of_labels_and_differs_between_repeats():
    labels = corrupted(SUITE, "iris", X, Y, 0.2, repeat=0)
    assert (labels != Y).sum() == 20
    assert np.array_equal(labels, corrupted(SUITE, "iris", X, Y, 0.2, repeat=0))
    assert not np.array_equal(labels, corrupted(SUITE, "iris", X, Y, 0.2, repeat=1))
    assert np.array_equal(corrupted(SUITE, "iris", X, Y, 0.0, repeat=0), Y)


def test_the_kind_of_noise_is_the_suite_s():
    suite = Suite("mine", ["iris"], ["Bayes"], noise_kind="pair")
    labels = corrupted(suite, "iris", X, Y, 0.3, repeat=0)
    changed = labels != Y
    assert np.array_equal(labels[changed], (Y[changed] + 1) % 3)


def test_noise_may_depend_on_the_features():
    suite = Suite("mine", ["iris"], ["Bayes"], noise_kind="boundary")
    labels = corrupted(suite, "iris", X, Y, 0.04, repeat=0)
    assert np.flatnonzero(labels != Y).tolist() == [49, 50, 79, 80]


def test_tasks_cover_the_suite_and_share_folds_and_noise():
    tasks = tasks_of(SUITE, {"Bayes": GaussianNB(), "Guess": DummyClassifier()})
    assert {(task.noise, task.repeat, task.fold) for task in tasks} == {
        (noise, repeat, fold) for noise in (0, 0.2) for repeat in (0, 1) for fold in range(5)
    }
    assert len(tasks) == 40
    for task in tasks:
        (method,) = task.contenders
        fold = deal_folds(SUITE, "iris", task.truth, task.repeat)[task.fold]
        assert np.array_equal(task.test, fold)
        assert np.array_equal(task.labels, corrupted(SUITE, "iris", task.X, task.truth, task.noise, task.repeat))
        assert task.seed == derive_seed(0, "iris", task.noise, task.repeat, task.fold, method)


def test_finished_cells_are_left_out():
    estimators = {"Bayes": GaussianNB(), "Guess": DummyClassifier()}
    finished = {Cell("iris", 0.2, 1, fold, method) for fold in range(5) for method in estimators}
    finished.remove(Cell("iris", 0.2, 1, 3, "Guess"))
    tasks = tasks_of(SUITE, estimators, finished)
    assert len(tasks) == 31
    [left] = [task for task in tasks if (task.noise, task.repeat) == (0.2, 1)]
    assert (left.fold, list(left.contenders)) == (3, ["Guess"])


def test_costly_datasets_come_first():
    suite = Suite("mine", ["iris", "breast_cancer", "wine"], ["Bayes"], repeats=1, folds=2)
    order = [task.dataset for task in tasks_of(suite, {"Bayes": GaussianNB()})]
    assert order == ["breast_cancer"] * 2 + ["wine"] * 2 + ["iris"] * 2


def test_training_sees_corrupted_labels_of_other_rows_and_scoring_clean_ones():
    suite = Suite("mine", ["numbered"], ["Memory"], noise=[0.2], repeats=1, folds=5)
    [task, *_] = tasks_of(suite, {"Memory": Memoriser(otherwise=1)}, data={"numbered": numbered(Y)})
    [result] = run_fit(task)
    # A row of the training part would be remembered, with a wrong label in a fifth of the cases.
    truth = Y[task.test]
    assert result.scores.accuracy == np.mean(truth == 1)
    assert result.scores.macro_f1 == pytest.approx((0 + 2 * 6 / (6 + 20) + 0) / 3)


def test_methods_train_on_the_corrupted_labels():
    suite = Suite("mine", ["numbered"], ["Memory"], noise=[0.2], repeats=1, folds=5)
    seen = []

    class Spy(Memoriser):
        def fit(self, X, y):
            seen.append((X["row"].to_numpy(), np.array(y)))
            return super().fit(X, y)

    for task in tasks_of(suite, {"Memory": Spy()}, data={"numbered": numbered(Y)}):
        run_fit(task)
        rows, labels = seen.pop()
        assert not set(rows) & set(task.test)
        assert len(rows) + len(task.test) == len(Y)
        assert np.array_equal(labels, task.labels[rows])
        assert (labels != Y[rows]).any()


def test_what_a_method_raises_is_its_result():
    [task, *_] = tasks_of(SUITE, {"Bad": Failing()})
    [bad] = run_fit(task)
    assert bad.cell.method == "Bad"
    assert bad.error.startswith("RuntimeError: no luck xxx")
    assert len(bad.error) == 2000
    assert bad.scores is None


def test_a_prediction_that_is_no_class_is_a_failure():
    suite = Suite("mine", ["numbered"], ["Memory"], repeats=1, folds=5)
    for nonsense in (99, -1, "class 1"):
        estimators = {"Memory": Memoriser(otherwise=nonsense)}
        [task, *_] = tasks_of(suite, estimators, data={"numbered": numbered(Y)})
        [result] = run_fit(task)
        assert result.error is not None


def test_results_carry_times_seeds_versions_and_predictions():
    [task, *_] = tasks_of(SUITE, {"Bayes": GaussianNB()}, keep_predictions=True)
    [result] = run_fit(task)
    assert result.fit_seconds > 0
    assert result.predict_seconds > 0
    assert result.seed == derive_seed(0, "iris", 0.0, 0, 0, "Bayes")
    assert set(result.versions) == {"fuselearn", "numpy", "scikit_learn", "python"}
    assert result.predictions.rows == task.test.tolist()
    hits = load("iris").y.to_numpy()[task.test] == np.array(result.predictions.predicted)
    assert hits.mean() == pytest.approx(result.scores.accuracy)
    [plain, *_] = tasks_of(SUITE, {"Bayes": GaussianNB()})
    assert run_fit(plain)[0].predictions is None


def test_log_loss_needs_probabilities():
    [[ridge], [bayes]] = map(run_fit, tasks_of(SUITE, {"Ridge": RidgeClassifier(), "Bayes": GaussianNB()})[:2])
    assert ridge.scores.log_loss is None
    assert 0 < bayes.scores.log_loss < 1


def test_a_class_that_training_never_saw_gets_probability_zero():
    y = np.repeat([0, 1, 2], [10, 1, 10])
    suite = Suite("mine", ["numbered"], ["Bayes"], repeats=1, folds=2)
    with quietly():
        tasks = tasks_of(suite, {"Bayes": GaussianNB()}, data={"numbered": numbered(y)})
    [task] = [task for task in tasks if 10 in task.test]
    [result] = run_fit(task)
    assert result.error is None
    assert result.scores.log_loss >= 36 / len(task.test)


def test_the_same_task_gives_the_same_result():
    estimators = {"Guess": DummyClassifier(strategy="stratified")}
    first, second = (tasks_of(SUITE, estimators) for _ in range(2))
    assert [run_fit(task)[0].scores for task in first] == [run_fit(task)[0].scores for task in reversed(second)][::-1]


def test_the_seed_of_a_result_repeats_it():
    [task, *_] = tasks_of(SUITE, {"Guess": DummyClassifier(strategy="stratified")}, keep_predictions=True)
    [result] = run_fit(task)
    train = np.delete(np.arange(150), task.test)
    again = DummyClassifier(strategy="stratified", random_state=result.seed)
    again.fit(task.X.iloc[train], task.labels[train])
    predicted = task.classes[again.predict(task.X.iloc[task.test])]
    assert predicted.tolist() == result.predictions.predicted


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


class TestLabels:
    """Rows with any number of labels."""

    SUITE = Suite("labels", ["pairs"], ["RF", "RF (cardinality)"], repeats=1, folds=3, task="multilabel")

    @staticmethod
    def data():
        pairs = make_digit_pairs(120, random_state=0)
        return {"pairs": Dataset(pairs.X, pairs.y, "pairs", "", "")}

    def tasks(self, names=("RF", "RF (cardinality)"), own=None, **more):
        contenders, _ = make_contenders(names, own)
        return list(fit_tasks(self.SUITE, self.data(), contenders, **more))

    def test_folds_spread_every_label(self):
        Y = self.data()["pairs"].y.to_numpy()
        folds = deal_folds(self.SUITE, "pairs", Y, 0)
        assert sorted(np.concatenate(folds)) == list(range(120))
        counts = np.array([Y[test].sum(axis=0) for test in folds])
        assert np.ptp(counts, axis=0).mean() <= 2

    def test_a_fold_is_scored_by_labels(self):
        [task, *_] = self.tasks(keep_predictions=True)
        plain, matched = run_fit(task)
        assert plain.error is None
        assert matched.error is None
        assert 0 < plain.scores.hamming_loss < 0.3
        assert plain.scores.macro_f1 != matched.scores.macro_f1
        assert 0.5 < plain.scores.auc == matched.scores.auc
        assert plain.label_scores.index.tolist() == task.classes.tolist()
        assert plain.label_scores["f1"].mean() == pytest.approx(plain.scores.macro_f1)
        assert plain.label_scores["auc"].mean() == pytest.approx(plain.scores.auc)
        assert plain.predictions.rows == task.test.tolist()
        assert all(set(labels) <= set(task.classes) for labels in plain.predictions.predicted)

    def test_methods_that_share_a_fit_have_its_seed_and_time(self, monkeypatch):
        fits = []
        fit = RandomForestClassifier.fit

        def timed_fit(forest, *args, **more):
            start = time.perf_counter()
            fitted = fit(forest, *args, **more)
            fits.append(time.perf_counter() - start)
            return fitted

        monkeypatch.setattr(RandomForestClassifier, "fit", timed_fit)
        [task, *_] = self.tasks()
        plain, matched = run_fit(task)
        assert len(fits) == 1
        assert plain.seed == matched.seed
        assert min(plain.fit_seconds, matched.fit_seconds) > fits[0]

    def test_a_shared_fit_gives_what_a_fit_of_its_own_gives(self):
        shared, alone = self.tasks()[0], self.tasks(["RF (cardinality)"])[0]
        assert run_fit(alone)[0].scores == run_fit(shared)[1].scores

    def test_a_fit_that_fails_fails_for_all_that_share_it(self, monkeypatch):
        monkeypatch.setattr(RandomForestClassifier, "fit", Failing.fit)
        plain, matched = run_fit(self.tasks()[0])
        assert plain.error == matched.error
        assert (plain.cell.method, matched.cell.method) == ("RF", "RF (cardinality)")

    @pytest.mark.parametrize("name", ["RF", "RF (label thresholds)", "E-HOMER"])
    def test_one_s_own_estimator_runs_though_a_method_has_its_name(self, name):
        everything = DummyClassifier(strategy="constant", constant=np.ones(10, dtype=int))
        [task, *_] = self.tasks([name], {name: everything}, keep_predictions=True)
        [result] = run_fit(task)
        assert all(set(labels) == set(task.classes) for labels in result.predictions.predicted)
        assert result.components is None

    def test_a_method_does_not_share_the_fit_of_one_s_own_estimator(self):
        nothing = DummyClassifier(strategy="constant", constant=np.zeros(10, dtype=int))
        names = ["RF (label thresholds)", "RF"]
        guess, forest, *_ = self.tasks(names, {"RF (label thresholds)": nothing}, keep_predictions=True)
        assert (list(guess.contenders), list(forest.contenders)) == (names[:1], names[1:])
        assert not any(run_fit(guess)[0].predictions.predicted)
        assert any(run_fit(forest)[0].predictions.predicted)
