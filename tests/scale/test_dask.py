"""The model does not depend on how samples are divided, or on what happens to workers; the local fit gives it, too."""

import os
import pickle
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
from dask import delayed
from dask.distributed import Client, LocalCluster

import fuselearn
from fuselearn import CARTClassifier
from fuselearn.dask import DaskBaggedClassifier, DaskForestClassifier, DaskKFHEClassifier, DaskSAMMEClassifier
from fuselearn.dask.session import DaskSession
from fuselearn.parts import bagging, table

N_SAMPLES = 250
SETTINGS = [
    (DaskBaggedClassifier, {}),
    (DaskBaggedClassifier, {"max_features": 3, "vote": "probability", "max_samples": 0.7}),
    (DaskBaggedClassifier, {"estimator": CARTClassifier(max_bins=7, max_features=2), "class_weight": "balanced"}),
    (DaskForestClassifier, {}),
    (DaskForestClassifier, {"splitter": "random", "class_weight": {"a": 2, "b": 1, "c": 3}}),
    (DaskSAMMEClassifier, {}),
    (DaskSAMMEClassifier, {"estimator": CARTClassifier(max_depth=2), "class_weight": "balanced"}),
    (DaskKFHEClassifier, {}),
    (DaskKFHEClassifier, {"weighting": "linear", "vote": "probability"}),
    (DaskKFHEClassifier, {"weighting": "symmetric"}),
    (DaskKFHEClassifier, {"estimator": CARTClassifier(max_depth=1), "class_weight": {"a": 3, "b": 1, "c": 1}}),
]
NAMES = [f"{kind.__name__}-{'-'.join(given)}" for kind, given in SETTINGS]
STAYS = {
    "code_part", "Group", "begin_trees", "advance_trees", "make_truth", "begin_states", "compare_part", "update_states",
}  # fmt: skip
BOUNDS = {1: [], 2: [150], 7: [3, 3, 90, 91, 200, 248]}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, 5)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.array(["a", "b", "c"])[(np.nan_to_num(X[:, 0]) > 0).astype(int) + (rng.random(N_SAMPLES) < 0.3)]
    return X, y, rng.random(N_SAMPLES)


def local_class(kind):
    return getattr(fuselearn, kind.__name__.removeprefix("Dask"))


def fit_local(kind, X, y, weights=None, **given):
    return local_class(kind)(n_estimators=3, random_state=3, sampling="poisson", **given).fit(X, y, weights)


def divide(values, n_parts):
    """Divide samples into delayed parts of very different sizes."""
    return [delayed(part) for part in np.split(values, BOUNDS[n_parts])]


def as_array(values, n_parts):
    edges = [0, *BOUNDS[n_parts], len(values)]
    chunks = (tuple(np.diff(edges).tolist()), *values.shape[1:])
    return da.from_array(values, chunks=chunks)


@pytest.mark.parametrize("n_parts", BOUNDS)
@pytest.mark.parametrize(("kind", "given"), SETTINGS, ids=NAMES)
def test_any_partitioning_gives_the_local_model(client, samples, kind, given, n_parts):
    X, y, weights = samples
    if "class_weight" in given:
        weights = np.rint(3 * weights)
    local = fit_local(kind, X, y, weights, **given)
    model = kind(n_estimators=3, random_state=3, client=client, **given)
    model.fit(*(as_array(values, n_parts) for values in (X, y, weights)))
    assert joblib.hash(model.to_local()) == joblib.hash(local)
    assert model.client_ is client


@pytest.mark.parametrize("n_parts", BOUNDS)
def test_lists_of_delayed_parts(client, samples, n_parts):
    X, y, _ = samples
    model = DaskForestClassifier(3, random_state=3).fit(divide(X, n_parts), divide(y, n_parts))
    assert joblib.hash(model.to_local()) == joblib.hash(fit_local(DaskForestClassifier, X, y))
    predicted = model.predict(divide(X, n_parts))
    assert len(predicted) == n_parts
    np.testing.assert_array_equal(np.concatenate([part.compute() for part in predicted]), model.to_local().predict(X))


@pytest.mark.parametrize("n_parts", [1, 3])
def test_frames_with_categories_texts_and_missing_values(client, samples, n_parts):
    X, y, weights = samples
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    frame["kind"] = pd.Categorical(rng.choice(["low", "high", "odd"], N_SAMPLES), categories=["odd", "low", "high"])
    frame.loc[frame.index % 9 == 0, "kind"] = None
    frame["text"] = np.where(y == "b", rng.choice(["p", "q"], N_SAMPLES), rng.choice(["q", "r", "s"], N_SAMPLES))
    local = fit_local(DaskBaggedClassifier, frame, pd.Series(y), weights)
    collection = dd.from_pandas(frame, npartitions=n_parts)
    model = DaskBaggedClassifier(n_estimators=3, random_state=3)
    model.fit(*(dd.from_pandas(v, npartitions=n_parts) for v in (frame, pd.Series(y), pd.Series(weights))))
    assert joblib.hash(model.to_local()) == joblib.hash(local)
    assert list(model.feature_names_in_) == [*"vwxyz", "kind", "text"]
    np.testing.assert_array_equal(model.predict(collection).compute(), local.predict(frame))
    np.testing.assert_array_equal(model.predict_proba(collection).compute(), local.predict_proba(frame))


def test_files_of_which_y_is_a_column(client, samples, tmp_path):
    X, y, _ = samples
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(label=y)
    dd.from_pandas(frame, npartitions=6).to_parquet(tmp_path)
    table = dd.read_parquet(tmp_path)
    model = DaskForestClassifier(3, random_state=3).fit(table.drop(columns="label"), table["label"])
    local = fit_local(DaskForestClassifier, frame.drop(columns="label"), frame["label"])
    assert joblib.hash(model.to_local()) == joblib.hash(local)


def test_a_part_without_any_text_says_nothing_about_the_texts(client):
    text = pd.Series(["x", "y"] * 10 + [None] * 10 + ["z", "x"] * 10, dtype=object)
    frame, y = pd.DataFrame({"text": text, "number": np.arange(50)}), np.arange(50) % 2
    parts = [[delayed(values[start : start + 10]) for start in range(0, 50, 10)] for values in (frame, y)]
    model = DaskForestClassifier(3, random_state=3).fit(*parts)
    assert joblib.hash(model.to_local()) == joblib.hash(fit_local(DaskForestClassifier, frame, y))


def test_predictions_of_arrays_are_lazy_and_those_of_ordinary_arrays_are_not(client, samples):
    X, y, _ = samples
    model = DaskForestClassifier(3, random_state=3).fit(as_array(X, 2), as_array(y, 2))
    lazy = model.predict_proba(as_array(X, 2))
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((150, 100), (3,))
    np.testing.assert_array_equal(model.predict_proba(as_array(X, 7)).compute(), lazy.compute())
    np.testing.assert_array_equal(lazy.compute(), model.predict_proba(X))
    assert model.predict(as_array(X, 2)).dtype == model.classes_.dtype


def test_other_chunks_and_chunks_of_unknown_sizes(client, samples):
    X, y, _ = samples
    expected = joblib.hash(fit_local(DaskBaggedClassifier, X[y != "c"], y[y != "c"]))
    X, y = da.from_array(X, chunks=(130, 2)), da.from_array(y, chunks=90)
    known = DaskBaggedClassifier(n_estimators=3, random_state=3).fit(X, y)
    assert joblib.hash(known.to_local()) == joblib.hash(fit_local(DaskBaggedClassifier, *samples[:2]))
    X, y = X[(y != "c").rechunk(130)], y.rechunk(130)[(y != "c").rechunk(130)]
    unknown = DaskBaggedClassifier(n_estimators=3, random_state=3).fit(X, y)
    assert joblib.hash(unknown.to_local()) == expected
    np.testing.assert_array_equal(unknown.predict(X).compute(), unknown.predict(X.compute()))


def test_edges_of_a_sample_do_not_depend_on_the_partitioning(client, samples, monkeypatch):
    X, y, _ = samples
    monkeypatch.setattr(table, "EDGE_VALUES", 500)
    models = [
        DaskBaggedClassifier(n_estimators=3, random_state=3).fit(as_array(X, n_parts), as_array(y, n_parts))
        for n_parts in BOUNDS
    ]
    hashes = {joblib.hash(model.to_local()) for model in models}
    assert len(hashes) == 1
    assert hashes != {joblib.hash(fit_local(DaskBaggedClassifier, X, y))}
    # Values that are not among the sampled ones must be cut as their codes were.
    tree = DaskBaggedClassifier(CARTClassifier(complexity=-1), 1, bootstrap=False, random_state=0)
    tree = tree.fit(as_array(X, 2), as_array(y, 2)).to_local()[0]
    np.testing.assert_array_equal(
        np.bincount(tree.apply(X), minlength=len(tree.tree_.nodes))[tree.tree_.nodes["feature"] < 0],
        tree.tree_.nodes["count"][tree.tree_.nodes["feature"] < 0],
    )


def test_a_skew_of_100_to_1_and_a_part_of_one_class(client, samples):
    X, y, _ = (np.tile(values, (5, 1)) if values.ndim > 1 else np.tile(values, 5) for values in samples)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    divided = [[delayed(values[:12]), delayed(values[12:])] for values in (X, y)]
    assert len(X) - 12 > 100 * 12
    assert len(set(y[:12])) == 1
    for kind in (DaskForestClassifier, DaskKFHEClassifier):
        model = kind(n_estimators=3, random_state=3).fit(*divided)
        assert joblib.hash(model.to_local()) == joblib.hash(fit_local(kind, X, y))


@pytest.mark.parametrize("n_workers", [1, 3])
def test_any_number_of_workers(samples, n_workers):
    X, y, weights = samples
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as own,
    ):
        model = DaskKFHEClassifier(n_estimators=3, random_state=3, client=own)
        model.fit(*(as_array(values, 7) for values in (X, y, weights)))
    assert joblib.hash(model.to_local()) == joblib.hash(fit_local(DaskKFHEClassifier, X, y, weights))


def test_a_fit_is_resumed_on_another_cluster(client, samples, tmp_path):
    X, y, weights = samples
    given = {"n_estimators": 3, "random_state": 3, "checkpoint": tmp_path / "trees"}
    lost = Client(client.scheduler.address, set_as_default=False)

    def lose(number, tree):
        if number == 2:
            lost.close()

    model = DaskKFHEClassifier(**given, client=lost, callback=lose)
    with pytest.raises(ConnectionError, match="connection to the Dask scheduler was lost"):
        model.fit(*(as_array(values, 7) for values in (X, y, weights)))
    n_saved = len(list((tmp_path / "trees").glob("*.npz")))
    assert n_saved >= 3
    resumed = DaskKFHEClassifier(**given, client=client)
    resumed.fit(*(as_array(values, 2) for values in (X, y, weights)))
    assert joblib.hash(resumed.to_local()) == joblib.hash(fit_local(DaskKFHEClassifier, X, y, weights))
    assert len(list((tmp_path / "trees").glob("*.npz"))) == 4


def test_two_fits_at_once_on_one_client(client, samples):
    X, y, _ = samples
    fitted = {}

    def fit(kind):
        fitted[kind] = kind(n_estimators=3, random_state=3, client=client).fit(as_array(X, 7), as_array(y, 7))

    threads = [threading.Thread(target=fit, args=(kind,)) for kind in (DaskForestClassifier, DaskBaggedClassifier)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for kind, model in fitted.items():
        assert joblib.hash(model.to_local()) == joblib.hash(fit_local(kind, X, y))


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
    per_iteration = []
    for n_samples in (1_000, 10_000):
        X = np.random.default_rng(0).integers(0, 20, (n_samples, 3))
        y = (X[:, 0] + X[:, 1] > 20) ^ (X[:, 2] > 15)
        for n_estimators in (1, 3):
            n_bytes.append(0)
            model = DaskKFHEClassifier(CARTClassifier(max_depth=3, complexity=-1), n_estimators, random_state=0)
            model.fit(da.from_array(X, chunks=(n_samples // 4, 3)), da.from_array(y, chunks=n_samples // 4))
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
        X, y = da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50)
        model = DaskKFHEClassifier(CARTClassifier(max_depth=3, complexity=-1), 4, random_state=0, client=client)
        model.fit(X.persist(), y.persist())
        moved = {name for names in client.run(received).values() for name in names}
        assert moved.isdisjoint(STAYS)


@pytest.mark.parametrize("kind", [DaskKFHEClassifier, pytest.param(DaskBaggedClassifier, marks=pytest.mark.slow)])
def test_a_killed_worker_does_not_change_the_model(processes, samples, monkeypatch, kind):
    X, y, weights = samples
    monkeypatch.setattr(bagging, "TREES_AT_ONCE", 2)
    victim = next(iter(processes.run(os.getpid).values()))

    def kill(number, tree):
        if number == 2:
            psutil.Process(victim).kill()

    model = kind(n_estimators=3, random_state=3, callback=kill)
    model.fit(*(as_array(values, 7) for values in (X, y, weights))).set_params(callback=None)
    assert joblib.hash(model.to_local()) == joblib.hash(fit_local(kind, X, y, weights))
    assert victim not in processes.run(os.getpid).values()
