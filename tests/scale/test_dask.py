"""The model does not depend on how samples are divided, or on what happens to workers; the local fit gives it, too."""

import os
import pickle
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
import pytest
from dask import delayed
from dask.distributed import Client, LocalCluster
from joblib import hash as digest
from sklearn.base import clone

from fuselearn import BaggedClassifier, CARTClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.scale import DaskEnsemble, table, training
from fuselearn.scale.dask_session import DaskSession

SMALL = {"n_estimators": 3, "random_state": 3, "sampling": "poisson"}
BAGS, FOREST, KFHE = BaggedClassifier(**SMALL), ForestClassifier(**SMALL), KFHEClassifier(**SMALL)
BY_CLASS = {"a": 3, "b": 1, "c": 1}
ESTIMATORS = [
    BaggedClassifier(max_features=3, vote="probability", max_samples=0.7, **SMALL),
    BaggedClassifier(CARTClassifier(max_bins=7, max_features=2), class_weight="balanced", **SMALL),
    ForestClassifier(splitter="random", vote="class", class_weight=BY_CLASS, **SMALL),
    SAMMEClassifier(CARTClassifier(max_depth=2), class_weight="balanced", **SMALL),
    KFHEClassifier(weighting="linear", vote="probability", **SMALL),
    KFHEClassifier(weighting="symmetric", **SMALL),
    KFHEClassifier(CARTClassifier(max_depth=1), class_weight=BY_CLASS, **SMALL),
]
BOUNDS = {1: [], 2: [150], 7: [3, 3, 90, 91, 200, 248]}  # of parts of very different sizes, one of which is empty
CASES = [(model, n_parts) for model in (BAGS, FOREST, SAMMEClassifier(**SMALL), KFHE) for n_parts in BOUNDS]
CASES += [(model, 7) for model in ESTIMATORS]
STAYS = {"code_part", "Group", "begin_trees", "advance_trees", "make_truth", "begin_estimate", "measure_part"}
STAYS |= {"update_estimate"}


def divide(n_parts, *arrays):
    """Divide samples into delayed parts."""
    return [[delayed(part) for part in np.split(values, BOUNDS[n_parts])] for values in arrays]


def as_arrays(n_parts, *arrays):
    for values in arrays:
        edges = [0, *BOUNDS[n_parts], len(values)]
        yield da.from_array(values, chunks=(tuple(np.diff(edges).tolist()), *values.shape[1:]))


def assert_same(model, *samples):
    """Check that a model is the one that is fitted in memory, to the last bit."""
    local = clone(model.estimator).set_params(callback=None).fit(*samples)
    assert digest(model.estimator_.set_params(callback=None)) == digest(local)


@pytest.mark.parametrize("given", [True, False])
def test_the_score_takes_what_fit_takes(client, samples, given):
    model = DaskEnsemble(KFHE, client=client if given else None).fit(*divide(7, *samples))
    expected = model.estimator_.score(*samples)
    assert expected != model.estimator_.score(*samples[:2])
    for parts in (divide(7, *samples), as_arrays(7, *samples)):
        assert model.score(*parts) == pytest.approx(expected)
    assert model.score(*samples) == expected


@pytest.mark.parametrize(("estimator", "n_parts"), CASES)
def test_any_partitioning_gives_the_local_model(client, samples, estimator, n_parts):
    X, y, weights = samples
    if estimator.class_weight is not None:
        weights = np.rint(3 * weights)
    model = DaskEnsemble(estimator, client=client).fit(*as_arrays(n_parts, X, y, weights))
    assert_same(model, X, y, weights)


def test_lists_of_delayed_parts(client, samples):
    X, y, _ = samples
    model = DaskEnsemble(FOREST).fit(*divide(7, X, y))
    assert_same(model, X, y)
    tables = divide(7, X)[0]
    np.testing.assert_array_equal(np.concatenate(dask.compute(*model.predict(tables))), model.predict(X))
    np.testing.assert_array_equal(np.vstack(dask.compute(*model.predict_proba(tables))), model.predict_proba(X))


@pytest.mark.parametrize("n_parts", [1, 3])
def test_frames_with_categories_texts_and_missing_values(client, samples, n_parts):
    X, y, weights = samples
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    frame["kind"] = pd.Categorical(rng.choice(["low", "high", "odd"], len(y)), categories=["odd", "low", "high"])
    frame.loc[frame.index % 9 == 0, "kind"] = None
    frame["text"] = np.where(y == "b", rng.choice(["p", "q"], len(y)), rng.choice(["q", "r", "s"], len(y)))
    given = frame, pd.Series(y), pd.Series(weights)
    collections = [dd.from_pandas(values, npartitions=n_parts) for values in given]
    model = DaskEnsemble(BAGS).fit(*collections)
    assert_same(model, *given)
    assert list(model.feature_names_in_) == [*"vwxyz", "kind", "text"]
    np.testing.assert_array_equal(model.predict(collections[0]).compute(), model.predict(frame))
    np.testing.assert_array_equal(model.predict_proba(collections[0]).compute(), model.predict_proba(frame))


def test_files_of_which_y_is_a_column(client, samples, tmp_path):
    frame = pd.DataFrame(samples[0], columns=list("vwxyz")).assign(label=samples[1])
    dd.from_pandas(frame, npartitions=6).to_parquet(tmp_path)
    collection = dd.read_parquet(tmp_path)
    model = DaskEnsemble(FOREST).fit(collection.drop(columns="label"), collection["label"])
    assert_same(model, frame.drop(columns="label"), frame["label"])


def test_a_part_without_any_text_says_nothing_about_the_texts(client):
    text = pd.Series(["x", "y"] * 10 + [None] * 10 + ["z", "x"] * 10, dtype=object)
    frame, y = pd.DataFrame({"text": text, "number": np.arange(50)}), np.arange(50) % 2
    parts = [[delayed(values[start : start + 10]) for start in range(0, 50, 10)] for values in (frame, y)]
    assert_same(DaskEnsemble(FOREST).fit(*parts), frame, y)


def test_predictions_of_arrays_are_lazy_and_those_of_ordinary_arrays_are_not(client, samples):
    X, y, _ = samples
    model = DaskEnsemble(FOREST).fit(*as_arrays(2, X, y))
    (halves,), (parts,) = as_arrays(2, X), as_arrays(7, X)
    lazy = model.predict_proba(halves)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((150, 100), (3,))
    np.testing.assert_array_equal(model.predict_proba(parts).compute(), lazy.compute())
    np.testing.assert_array_equal(lazy.compute(), model.predict_proba(X))
    assert model.predict(halves).dtype == model.classes_.dtype


def test_other_chunks_and_chunks_of_unknown_sizes(client, samples):
    X, y = da.from_array(samples[0], chunks=(130, 2)), da.from_array(samples[1], chunks=90)
    assert_same(DaskEnsemble(BAGS).fit(X, y), *samples[:2])
    wanted = (y != "c").rechunk(130)
    X, y = X[wanted], y.rechunk(130)[wanted]
    unknown = DaskEnsemble(BAGS).fit(X, y)
    assert_same(unknown, X.compute(), y.compute())
    np.testing.assert_array_equal(unknown.predict(X).compute(), unknown.predict(X.compute()))


def test_edges_of_a_sample_do_not_depend_on_the_partitioning(client, samples, monkeypatch):
    X, y, _ = samples
    monkeypatch.setattr(table, "EDGE_VALUES", 500)
    models = [DaskEnsemble(BAGS).fit(*as_arrays(n_parts, X, y)).estimator_ for n_parts in BOUNDS]
    assert len({digest(model) for model in models}) == 1
    assert digest(models[0]) != digest(clone(BAGS).fit(X, y))
    # Values that are not among the sampled ones must be cut as their codes were.
    one = BaggedClassifier(CARTClassifier(complexity=None), 1, bootstrap=False, sampling="poisson", random_state=0)
    tree = DaskEnsemble(one).fit(*as_arrays(2, X, y)).estimator_[0]
    is_leaf = tree.tree_.nodes["feature"] < 0
    n_reached = np.bincount(tree.apply(X), minlength=len(is_leaf))
    np.testing.assert_array_equal(n_reached[is_leaf], tree.tree_.nodes["count"][is_leaf])


def test_a_skew_of_100_to_1_and_a_part_of_one_class(client, samples):
    order = np.argsort(np.tile(samples[1], 5), kind="stable")
    X, y = np.tile(samples[0], (5, 1))[order], np.tile(samples[1], 5)[order]
    assert len(X) - 12 > 100 * 12
    assert len(set(y[:12])) == 1
    parts = [[delayed(values[:12]), delayed(values[12:])] for values in (X, y)]
    for estimator in (FOREST, KFHE):
        assert_same(DaskEnsemble(estimator).fit(*parts), X, y)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_any_number_of_workers(samples, n_workers):
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as own,
    ):
        assert_same(DaskEnsemble(KFHE, client=own).fit(*as_arrays(7, *samples)), *samples)


def test_a_fit_is_resumed_on_another_cluster(client, samples, tmp_path):
    lost = Client(client.scheduler.address, set_as_default=False)

    def lose(number, tree):
        if number == 2:
            lost.close()

    model = DaskEnsemble(clone(KFHE).set_params(callback=lose), checkpoint=tmp_path, client=lost)
    with pytest.raises(ConnectionError, match="connection to the Dask scheduler was lost"):
        model.fit(*as_arrays(7, *samples))
    assert len(list(tmp_path.glob("*.npz"))) >= 3
    resumed = DaskEnsemble(KFHE, checkpoint=tmp_path, client=client).fit(*as_arrays(2, *samples))
    assert_same(resumed, *samples)
    assert len(list(tmp_path.glob("*.npz"))) == 4


def test_two_fits_at_once_on_one_client(client, samples):
    models = [DaskEnsemble(FOREST, client=client), DaskEnsemble(BAGS, client=client)]
    threads = [threading.Thread(target=model.fit, args=as_arrays(7, *samples[:2])) for model in models]
    for thread in threads:
        thread.start()
    for thread, model in zip(threads, models, strict=True):
        thread.join(60)
        assert_same(model, *samples[:2])


def test_what_travels_in_an_iteration_does_not_grow_with_the_samples(client, monkeypatch):
    n_bytes = []

    def counted(method):
        def call(self, values):
            result = method(self, values)
            n_bytes[-1] += len(pickle.dumps(values if method is hold else result))
            return result

        return call

    hold, fetch = DaskSession._hold, DaskSession.fetch
    monkeypatch.setattr(DaskSession, "_hold", counted(hold))
    monkeypatch.setattr(DaskSession, "fetch", counted(fetch))
    monkeypatch.setattr(table, "EDGE_VALUES", 1_000)
    stump, per_iteration = CARTClassifier(max_depth=3, complexity=None), []
    for n_samples in (1_000, 10_000):
        X = np.random.default_rng(0).integers(0, 20, (n_samples, 3))
        y = (X[:, 0] + X[:, 1] > 20) ^ (X[:, 2] > 15)
        for n_estimators in (1, 3):
            n_bytes.append(0)
            model = DaskEnsemble(KFHEClassifier(stump, n_estimators, sampling="poisson", random_state=0))
            model.fit(*(da.from_array(values, chunks=(n_samples // 4, *values.shape[1:])) for values in (X, y)))
        per_iteration.append((n_bytes[-1] - n_bytes[-2]) / 2)
    assert per_iteration[1] < 1.2 * per_iteration[0] < 100_000


def test_parts_and_their_states_stay_where_they_are():
    def received(dask_worker):
        return [str(key).split("-")[0] for entry in dask_worker.transfer_incoming_log for key in entry["keys"]]

    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X = np.random.default_rng(0).integers(0, 20, (2_000, 3)).astype(float)
        y = (X[:, 0] + X[:, 1] > 20) ^ (X[:, 2] > 15)
        X, y = da.from_array(X, chunks=(50, 3)).persist(), da.from_array(y, chunks=50).persist()
        tree = CARTClassifier(max_depth=3, complexity=None)
        DaskEnsemble(KFHEClassifier(tree, 4, sampling="poisson", random_state=0), client=client).fit(X, y)
        performed = {name.split("-")[0] for name in client.run_on_scheduler(names_of_tasks)}
        assert performed >= STAYS, "a task has another name"
        moved = {name for names in client.run(received).values() for name in names}
        assert moved.isdisjoint(STAYS)


def names_of_tasks(dask_scheduler):
    return [str(key) for entry in dask_scheduler.transition_log for key in entry[:1]]


@pytest.mark.parametrize("estimator", [KFHE, BAGS])
def test_a_lost_worker_does_not_change_the_model(samples, monkeypatch, estimator):
    monkeypatch.setattr(training, "TREES_AT_ONCE", 2)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):

        def lose(number, tree):
            if number == 2:
                cluster.sync(cluster.workers[0].close)

        estimator = clone(estimator).set_params(callback=lose)
        assert_same(DaskEnsemble(estimator, client=client).fit(*as_arrays(7, *samples)), *samples)
        assert len(client.nthreads()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [KFHE, BAGS])
def test_a_killed_process_does_not_change_the_model(processes, samples, monkeypatch, estimator):
    monkeypatch.setattr(training, "TREES_AT_ONCE", 2)
    victim = next(iter(processes.run(os.getpid).values()))

    def kill(number, tree):
        if number == 2:
            psutil.Process(victim).kill()

    model = DaskEnsemble(clone(estimator).set_params(callback=kill)).fit(*as_arrays(7, *samples))
    assert_same(model, *samples)
    assert victim not in processes.run(os.getpid).values()
