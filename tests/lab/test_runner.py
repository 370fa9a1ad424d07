"""A run fills the store with what is missing, whatever spreads the work."""

import os
import warnings

import joblib
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fuselearn.datasets import DatasetError
from fuselearn.lab import ResultStore, RunError, StoreError, Suite, run_suite, table_suite
from fuselearn.lab.suites import derive_seed

SUITE = Suite("mine", ["iris", "wine"], ["Tree", "Guess"], noise=[0, 0.1], repeats=2, folds=3, seed=4)
MODELS = {
    "Tree": DecisionTreeClassifier(max_features=1),
    "Guess": DummyClassifier(strategy="stratified"),
}
MEASURED = ["fit_seconds", "predict_seconds", "finished"]


class Moody(ClassifierMixin, BaseEstimator):
    """Fails on wine's 13 columns until it is cured."""

    cured = False

    def fit(self, X, y):
        if len(X.columns) == 13 and not Moody.cured:
            raise ArithmeticError("13 columns bring no luck")
        self.model_ = GaussianNB().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


class Killer(ClassifierMixin, BaseEstimator):
    """Takes its process with it."""

    def fit(self, X, y):
        os._exit(1)

    def predict(self, X):
        return X


def run(path, suite=SUITE, backend="loky", **options):
    with joblib.parallel_config(backend=backend):
        return run_suite(suite, path, **{"estimators": MODELS, "progress": None, **options})


def table(path):
    with ResultStore(path, create=False) as store:
        return store.results().drop(columns=MEASURED)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "results.db"
    outcome = run(path, backend="sequential")
    assert (outcome.added, outcome.kept, outcome.failures) == (48, 0, 0)
    return table(path)


def test_a_run_fills_the_whole_suite(reference):
    assert len(reference) == SUITE.n_results == 48
    assert reference["error"].isna().all()
    assert reference.groupby("method")["macro_f1"].mean()["Tree"] > 0.75


def test_every_fit_has_the_seed_of_its_cell(reference):
    row = reference.iloc[17]
    parts = [row[key].item() if hasattr(row[key], "item") else row[key]
             for key in ("dataset", "noise", "repeat", "fold", "method")]  # fmt: skip
    assert row["seed"] == derive_seed(4, *parts)
    assert reference["seed"].nunique() == 48


@pytest.mark.parametrize("options", [
    {"backend": "threading", "n_jobs": 2},
    {"n_jobs": 2},
], ids=["threads", "processes"])  # fmt: skip
def test_results_do_not_depend_on_what_spreads_the_work(tmp_path, reference, options):
    path = tmp_path / "results.db"
    run(path, **options)
    assert table(path).equals(reference)
    with ResultStore(path) as store:
        assert store.runs()["jobs"].tolist() == [2]


def test_a_backend_chosen_around_the_call_is_used(tmp_path, reference):
    path = tmp_path / "results.db"
    with joblib.parallel_config(backend="threading", n_jobs=3):
        run_suite(SUITE, path, estimators=MODELS, progress=None)
    assert table(path).equals(reference)
    with ResultStore(path) as store:
        assert store.runs()["jobs"].tolist() == [3]


def test_a_second_run_adds_nothing_and_loads_no_data(tmp_path, monkeypatch):
    path = tmp_path / "results.db"
    run(path)
    monkeypatch.setattr(Suite, "load", lambda *_: pytest.fail("loaded finished data"))
    outcome = run(path)
    assert (outcome.added, outcome.kept) == (0, 48)


def test_a_run_goes_on_where_another_stopped(tmp_path, reference):
    path = tmp_path / "results.db"

    def stop(progress):
        if progress.done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(path, progress=stop)
    with ResultStore(path) as store:
        before = store.results()
    assert 10 <= len(before) < 48
    told = []
    outcome = run(path, n_jobs=2, backend="threading", progress=told.append)
    assert (outcome.added, outcome.kept) == (48 - len(before), len(before))
    assert told[-1].done == told[-1].total == outcome.added
    assert table(path).equals(reference)
    with ResultStore(path) as store:
        keys = ["dataset", "noise", "repeat", "fold", "method"]
        after = store.results().merge(before[keys], on=keys)
        assert after.sort_values(keys, ignore_index=True).equals(before)


def test_results_are_in_the_store_when_progress_is_told(tmp_path):
    path = tmp_path / "results.db"
    seen = []

    def look(progress):
        with ResultStore(path) as store:
            seen.append((progress.done, len(store.results())))

    run(path, progress=look)
    assert seen == [(done, done) for done in range(1, 49)]


def test_progress_ends_with_everything(tmp_path):
    told = []
    run(tmp_path / "results.db", progress=told.append)
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    assert (told[-1].done, told[-1].total) == (48, 48)
    assert told[-1].share == pytest.approx(1)
    assert told[-1].remaining == pytest.approx(0, abs=1e-6)
    # Wine has more columns than iris: half of the results are more than half of the work.
    assert told[23].dataset == "wine"
    assert told[23].share > 0.55


def test_a_failing_method_is_recorded_and_tried_again_on_request(tmp_path):
    path = tmp_path / "results.db"
    suite = Suite("moody", ["iris", "wine"], ["Moody", "Guess"], repeats=1, folds=3)
    models = {"Moody": Moody(), **MODELS}
    outcome = run(path, suite, estimators=models)
    assert (outcome.added, outcome.failures) == (12, 3)
    failed = table(path).query("error.notna()")
    assert set(failed["dataset"]) == {"wine"}
    assert set(failed["method"]) == {"Moody"}
    assert set(failed["error"]) == {"ArithmeticError: 13 columns bring no luck"}
    assert run(path, suite, estimators=models).added == 0
    Moody.cured = True
    try:
        outcome = run(path, suite, estimators=models, retry_failures=True)
    finally:
        Moody.cured = False
    assert (outcome.added, outcome.kept, outcome.failures) == (3, 9, 0)
    assert table(path)["error"].isna().all()


def test_a_method_that_always_fails_is_named_at_the_end(tmp_path):
    suite = Suite("moody", ["wine"], ["Moody", "Guess"], repeats=1, folds=3)
    with pytest.warns(UserWarning, match="Every fit of the method Moody failed: ArithmeticError: 13 columns"):
        outcome = run(tmp_path / "results.db", suite, estimators={"Moody": Moody(), **MODELS})
    assert list(outcome.failed_methods) == ["Moody"]


def test_a_dying_worker_is_told_in_a_sentence(tmp_path):
    path = tmp_path / "results.db"
    suite = Suite("deadly", ["iris"], ["Killer"], repeats=1, folds=2)
    with pytest.raises(RunError, match="A worker process died"):
        run(path, suite, estimators={"Killer": Killer()}, n_jobs=2)
    assert len(table(path)) == 0


def test_an_unknown_method_is_refused_before_the_store_is_made(tmp_path):
    path = tmp_path / "results.db"
    with pytest.raises(ValueError, match=r"A method must be kfhe, .* got 'Three'"):
        run(path, Suite("mine", ["iris"], ["Three"]))
    assert not path.exists()


def test_data_that_are_not_at_hand_are_refused_before_any_fit(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSELEARN_CACHE", str(tmp_path))
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)
    suite = Suite("mine", ["iris", "tvowel"], ["Guess"], repeats=1, folds=2)
    with pytest.raises(DatasetError, match="'tvowel' is not available"):
        run(tmp_path / "results.db", suite)
    assert len(table(tmp_path / "results.db")) == 0


def test_a_changed_suite_or_method_is_refused(tmp_path):
    path = tmp_path / "results.db"
    suite = Suite("mine", ["iris"], ["Guess"], repeats=1, folds=2)
    run(path, suite)
    with pytest.raises(StoreError, match="seed was 0 and is 9"):
        run(path, Suite("mine", ["iris"], ["Guess"], repeats=1, folds=2, seed=9))
    with pytest.raises(StoreError, match="for the method 'Guess': settings was Dummy"):
        run(path, suite, estimators={"Guess": DummyClassifier()})


def test_a_table_with_categories_and_gaps_runs_in_processes(tmp_path):
    path = tmp_path / "fruit.csv"
    rows = [f"{w},{c},{k}" for w, c, k in [(1, "red", "apple"), ("", "green", "pear"),
                                           (3, "", "fig"), (4, "red", "apple")]] * 6  # fmt: skip
    path.write_text("\n".join(["width [cm],colour,kind", *rows]) + "\n")
    suite = table_suite(path, "kind", methods=["random-forest", "hist-gradient-boosting"], folds=2, repeats=1)
    outcome = run_suite(suite, tmp_path / "results.db", n_jobs=2, progress=None)
    assert (outcome.added, outcome.failures) == (4, 0)
    results = table(tmp_path / "results.db")
    assert results.loc[results["method"] == "random-forest", "macro_f1"].tolist() == [1.0, 1.0]


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_results(tmp_path, reference):
    distributed = pytest.importorskip("dask.distributed")
    path = tmp_path / "results.db"
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster):
        run(path, backend="dask")
    assert table(path).equals(reference)


def test_warnings_of_methods_are_not_shown(tmp_path):
    class Loud(DummyClassifier):
        def fit(self, X, y):
            warnings.warn("careful", stacklevel=1)
            return super().fit(X, y)

    suite = Suite("loud", ["iris"], ["Loud"], repeats=1, folds=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for backend in ("sequential", "threading"):
            path = tmp_path / f"{backend}.db"
            outcome = run(path, suite, estimators={"Loud": Loud()}, backend=backend, n_jobs=2)
            assert outcome.failures == 0


def test_only_the_folds_that_are_tested_are_fitted(tmp_path):
    path = tmp_path / "results.db"
    suite = Suite("few", ["iris"], ["Guess"], repeats=1, folds=5, test_folds=2)
    assert run(path, suite, estimators={"Guess": DummyClassifier()}).added == 2
    assert table(path)["fold"].tolist() == [0, 1]
    assert run(path, suite, estimators={"Guess": DummyClassifier()}).added == 0
