"""Many threads may use a model, fits do not disturb each other, Ctrl-C ends a fit at once, and memory does not grow."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

from fuselearn import BaggedClassifier, KFHEClassifier, KFHEHOMERClassifier
from fuselearn.multilabel import PCTForestClassifier
from tests.contract.registry import REGISTRY, answer, entries, predicts

N_THREADS = 16

ENSEMBLES = [KFHEClassifier, BaggedClassifier, KFHEHOMERClassifier, PCTForestClassifier]
four_ensembles = pytest.mark.parametrize("kind", ENSEMBLES, ids=lambda kind: kind.__name__)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def at_once(work, inputs):
    """Do the work for all inputs in threads that start it together."""
    barrier = threading.Barrier(len(inputs))

    def start(given):
        barrier.wait(60)
        return work(given)

    with ThreadPoolExecutor(len(inputs)) as pool:
        return list(pool.map(start, inputs))


@entries(predicts)
def test_one_model_predicts_in_sixteen_threads(entry):
    """Also at its first prediction, for which trees are packed and kernel values computed."""
    X, _ = entry.samples()
    model = entry.fit()
    fresh = pickle.loads(pickle.dumps(model))
    parts = [X[k % 7 :: 1 + k % 3] for k in range(N_THREADS)]
    expected = [answer(model, part) for part in parts]
    for _ in range(3):
        for found, right in zip(at_once(lambda part: answer(fresh, part), parts), expected, strict=True):
            np.testing.assert_array_equal(found, right)


@four_ensembles
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_in_threads_do_not_disturb_each_other(kind, n_jobs):
    seeds = range(4)

    def fit(seed):
        model = kind(n_estimators=6, random_state=seed, n_jobs=n_jobs)
        X, y = REGISTRY[kind.__name__].samples()
        return model.fit(X, y).predict_proba(X)

    expected = [fit(seed) for seed in seeds]
    assert not np.array_equal(expected[0], expected[1])
    for found, right in zip(at_once(fit, seeds), expected, strict=True):
        np.testing.assert_array_equal(found, right)


INTERRUPTED_FIT = """
    import signal, warnings
    import numpy as np, psutil
    from sklearn.datasets import make_classification, make_multilabel_classification
    from sklearn.linear_model import LogisticRegression
    from fuselearn import BaggedClassifier, KFHEClassifier, KFHEHOMERClassifier
    from fuselearn.multilabel import BinaryRelevanceClassifier, EnsembleOfChainsClassifier, PCTForestClassifier

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores interrupts
    warnings.simplefilter("ignore")
    many = 10**6
    model = {model}
    if {labels}:
        X, y = make_multilabel_classification({n_rows}, 20, n_classes=8, random_state=0)
    else:
        X, y = make_classification({n_rows}, 20, n_informative=8, n_classes=3, random_state=0)
    small = type(model)(**{{**model.get_params(deep=False), "n_estimators": 2}}).fit(X, y)  # imports what a fit needs
    model.earlier_ = "what another fit has left"
    if __name__ == "__main__":
        print("fitting", flush=True)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", sorted(name for name in vars(model) if name.endswith("_")), flush=True)
"""

FITS = {
    "KFHE": ("KFHEClassifier(n_estimators=many)", 500),
    "KFHE in threads": ("KFHEClassifier(n_estimators=many, n_jobs=2)", 40_000),
    "bagging": ("BaggedClassifier(n_estimators=many)", 500),
    "bagging in threads": ("BaggedClassifier(n_estimators=many, n_jobs=2)", 500),
    "bagging in processes": ("BaggedClassifier(LogisticRegression(), n_estimators=many, n_jobs=2)", 500),
    "KFHE-HOMER": ("KFHEHOMERClassifier(n_estimators=many)", 300),
    "KFHE-HOMER in threads": ("KFHEHOMERClassifier(n_estimators=many, n_jobs=2)", 300),
    "chains in processes": ("EnsembleOfChainsClassifier(LogisticRegression(), n_estimators=many, n_jobs=2)", 300),
    "PCT forest": ("PCTForestClassifier(n_estimators=many)", 300),
    "PCT forest in threads": ("PCTForestClassifier(n_estimators=many, n_jobs=2)", 300),
}
IN_EVERY_RUN = {"KFHE in threads"}


@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
@pytest.mark.parametrize("name", [n if n in IN_EVERY_RUN else pytest.param(n, marks=pytest.mark.slow) for n in FITS])
def test_ctrl_c_leaves_an_unfitted_model_and_no_processes(name, tmp_path):
    model, n_rows = FITS[name]
    labels = any(word in model for word in ("HOMER", "PCT", "Chains"))
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(INTERRUPTED_FIT).format(model=model, labels=labels, n_rows=n_rows))
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout.readline() == "fitting\n", process.stderr.read()
        time.sleep(3.0 if "processes" in name else 0.3)
        os.killpg(process.pid, signal.SIGINT)  # to all processes of the group, as a terminal does
        output, errors = process.communicate(timeout=60)
        assert output == "interrupted []\n", errors
        assert not wait_until_gone(process.pid)
    finally:
        for pid in group_members(process.pid):
            os.kill(pid, signal.SIGKILL)


def group_members(group):
    """List the processes of a group."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def wait_until_gone(group, seconds=10):
    """Give the processes of a group that are still there after a while."""
    end = time.monotonic() + seconds
    while (left := group_members(group)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def grow_over(kind, n_rounds):
    """Fit and predict again and again; give by how many megabytes the process has grown after the first tenth."""
    process = psutil.Process()
    X, y = REGISTRY[kind.__name__].samples()
    for k in range(n_rounds):
        if k == n_rounds // 10:
            gc.collect()
            before = process.memory_info().rss
        kind(n_estimators=5, random_state=k).fit(X, y).predict(X)
    gc.collect()
    return (process.memory_info().rss - before) / 1e6


def test_memory_does_not_grow_over_a_hundred_fits():
    assert grow_over(KFHEClassifier, 100) < 30


@pytest.mark.slow
@four_ensembles
def test_memory_does_not_grow_over_a_thousand_fits(kind):
    grown = grow_over(kind, 1000)
    print(f"{kind.__name__} {grown:.1f} MB")
    assert grown < 20
