"""Wrong input and lost clusters end in a sentence, within seconds."""

import pickle
import signal
import subprocess
import sys
import threading
import time

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from dask.distributed import Client
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from fuselearn import BaggedClassifier, CARTClassifier
from fuselearn.ensembles import MadaBoostClassifier
from fuselearn.scale import DaskEnsemble

RNG = np.random.default_rng(0)
BAGS = BaggedClassifier(n_estimators=3, sampling="poisson", random_state=0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


def divide(values, n_parts=3):
    return [delayed(part) for part in np.array_split(values, n_parts)]


def replaced(values, part, by):
    parts = divide(values)
    parts[part] = delayed(by)
    return parts


def frames(*parts):
    return [delayed(pd.DataFrame(part)) for part in parts], [delayed(np.array([0, 1]))] * 2


def test_without_a_client():  # first: the client of the other tests does not exist yet
    with pytest.raises(ValueError, match="There is no Dask client"):
        DaskEnsemble(BAGS).fit(divide(X), divide(Y))


WEIGHTS = np.ones(60)
OTHER_CHUNKS = da.from_array(X, chunks=20), da.from_array(Y[:50], chunks=20)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ((replaced(X, 2, X[:20, :2]), divide(Y)), "Part 2 of X has 2 features; part 0 has 3"),
        ((replaced(X, 1, X[:5]), divide(Y)), "Part 1: X and y have inconsistent numbers"),
        ((replaced(X, 1, np.full((20, 3), "a")), divide(Y)), "Part 1: .*could not convert string to float"),
        ((replaced(X, 2, np.full((20, 3), np.inf)), divide(Y)), "Part 2: Input X contains infinity"),
        ((divide(X), replaced(Y, 1, np.full(20, "a"))), "Part 1 of y has dtype <U1, part 0 int64"),
        ((divide(X), replaced(Y, 1, np.full(20, np.nan))), "Part 1: Input y contains NaN"),
        ((divide(X), divide(np.zeros(60))), "y has one class only"),
        ((divide(X), divide(Y, 2)), "X has 3 parts and y 2"),
        ((divide(X[:0]), divide(Y[:0])), "X has no samples"),
        (([], []), "X has no parts"),
        ((X, Y), "X must be a Dask array, .*not ndarray. For data in memory"),
        ((divide(X), Y), "y must be a Dask array"),
        ((divide(X), None), "requires y to be passed"),
        (OTHER_CHUNKS, "X has 60 samples and y 50"),
        ((divide(X), divide(Y), replaced(WEIGHTS, 2, -np.ones(20))), "Part 2: sample_weight has negative entries"),
        ((divide(X), divide(Y), divide(0 * WEIGHTS)), "sample_weight is zero for every sample"),
        ((divide(X), divide(Y), divide(WEIGHTS, 2)), "X has 3 parts and sample_weight 2"),
        (frames({"a": [1.0, 2.0]}, {"b": [1.0, 2.0]}), r"Part 1 .* different feature names .*\['b'\], not \['a'\]"),
        (frames({"a": [1.0, 2.0]}, {"a": ["x", "y"]}), "Feature 'a' has different types in parts 0 and 1 of X"),
        (
            frames({"a": pd.Categorical(["x", "y"])}, {"a": pd.Categorical(["x", "z"])}),
            "Feature 'a' has different categories in part 1 than in part 0.*categorize",
        ),
    ],
)
def test_parts_that_do_not_fit(client, samples, message):
    model = DaskEnsemble(BAGS, client=client)
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(*samples)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"estimator": GaussianNB()}, "estimator of DaskEnsemble must be one of KFHEClassifier, .*, not GaussianNB"),
        ({"estimator": MadaBoostClassifier()}, "must be one of KFHEClassifier, .*, not MadaBoostClassifier"),
        ({"estimator__estimator": [CARTClassifier(), CARTClassifier()]}, "must be a CARTClassifier"),
        ({"estimator__estimator": GaussianNB()}, "supports only trees"),
        ({"estimator__estimator": CARTClassifier(class_weight="balanced")}, "Pass class_weight to BaggedClassifier"),
        ({"estimator__sampling": "multinomial"}, r"pass BaggedClassifier\(sampling='poisson'\)"),
        ({"estimator__oob_score": True}, "does not support oob_score"),
        ({"estimator__warm_start": True}, "does not support warm_start"),
        ({"estimator__bootstrap": False, "estimator__max_samples": 0.5}, "sampling='poisson' draws with replacement"),
        ({"client": "tcp://127.0.0.1:1"}, "client must be a dask.distributed.Client or None, not str"),
    ],
)
def test_what_a_cluster_does_not_do(client, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        clone(DaskEnsemble(BAGS)).set_params(**given).fit(divide(X), divide(Y))


def test_all_samples_need_whole_weights(client):
    with pytest.raises(ValueError, match="weights must be integers"):
        DaskEnsemble(clone(BAGS).set_params(bootstrap=False)).fit(divide(X), divide(Y), divide(np.full(60, 0.5)))


def test_other_numbers_are_numbers(client):
    whole = (10 * X).round()
    parts = replaced(whole, 1, np.array_split(whole, 3)[1].astype(np.int16))
    model = DaskEnsemble(BAGS).fit(parts, divide(Y))
    np.testing.assert_array_equal(model.predict_proba(whole), clone(BAGS).fit(whole, Y).predict_proba(whole))


def test_copies_and_files_have_no_client(client):
    model = DaskEnsemble(BAGS, client=client).fit(divide(X), divide(Y))
    assert clone(model).client is client
    assert not hasattr(clone(model), "classes_")
    restored = pickle.loads(pickle.dumps(model))
    assert restored.client is None
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    assert type(model.estimator_) is BaggedClassifier


def test_a_fit_leaves_no_tasks(client):
    assert len(DaskEnsemble(BAGS, client=client).fit(divide(X), divide(Y)).estimator_) == 3
    wait_until_idle(client)


def test_an_interrupted_fit_leaves_no_tasks(client):
    def slow(part):
        time.sleep(0.2)
        return part

    def interrupt():
        time.sleep(1.0)
        signal.raise_signal(signal.SIGINT)

    tables = [delayed(slow)(part) for part in divide(X, 20)]
    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores interrupts
    started = time.monotonic()
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            DaskEnsemble(BAGS, client=client).fit(tables, divide(Y, 20))
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert caught.tb is not None  # it is kept, as in a notebook, and with it all that fit had in its hands
    assert time.monotonic() - started < 10
    wait_until_idle(client)


def test_a_dead_scheduler_is_an_error_within_seconds():
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        with Client(address, timeout=10) as client:
            threading.Timer(1.0, scheduler.kill).start()
            started = time.monotonic()
            with pytest.raises(ConnectionError, match="connection to the Dask scheduler was lost"):
                DaskEnsemble(BAGS, client=client).fit(divide(X), divide(Y))  # waits for workers, which never come
            assert time.monotonic() - started < 10
    finally:
        scheduler.kill()
        scheduler.wait()


def test_a_closed_client_is_an_error_within_seconds(client):
    def slow(part):
        time.sleep(0.5)
        return part

    own = Client(client.scheduler.address, set_as_default=False)
    threading.Timer(1.0, own.close).start()
    started = time.monotonic()
    with pytest.raises(ConnectionError, match="connection to the Dask scheduler was lost"):
        DaskEnsemble(BAGS, client=own).fit([delayed(slow)(part) for part in divide(X, 20)], divide(Y, 20))
    assert time.monotonic() - started < 10
    with pytest.raises(ConnectionError, match="connection to the Dask scheduler was lost"):
        DaskEnsemble(BAGS, client=own).fit(divide(X), divide(Y))


def wait_until_idle(client):
    deadline = time.monotonic() + 5
    while tasks := client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)):
        assert time.monotonic() < deadline, tasks
        time.sleep(0.05)
