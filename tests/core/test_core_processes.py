"""The core in threads and processes: equal results, Ctrl-C, forks, and copies for other processes."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from operator import methodcaller

import numpy as np
import pytest

from fuselearn import _core

posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has neither forks nor signals between processes")

SETTING = """
import os, signal, sys, threading, time
import numpy as np
from fuselearn import _core

def make(n_samples, n_features, n_codes=200, n_classes=4):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_codes, (n_samples, n_features)).astype(np.uint8)
    bounds = np.tile(np.arange(n_codes, dtype=float), n_features)
    table = _core.Table(codes, np.full(n_features, n_codes, np.int32), bounds, bounds)
    target = _core.ClassTarget(rng.integers(0, n_classes, n_samples).astype(np.int32), n_classes)
    return table, target, np.ones(n_samples, np.int32), _core.TreeSettings(min_split=2, min_leaf=1, complexity=0)
"""
exec(SETTING)


@pytest.fixture(scope="module")
def small():
    return make(20_000, 8)  # noqa: F821 - as the programs below


def run(program, *options):
    return subprocess.Popen(
        [sys.executable, *options, "-c", SETTING + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@posix_only
@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_ends_a_long_call(n_threads):
    program = f"""
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores interrupts
        table, target, counts, settings = make(1_000_000, 30)
        print("growing", flush=True)
        try:
            while True:  # or a fast machine would be done before the signal comes
                _core.grow_class_tree(table, target, counts, settings, n_threads={n_threads})
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
    """
    with run(program) as process:
        assert process.stdout.readline() == "growing\n", process.stderr.read()
        time.sleep(0.5)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        answered = float(process.stdout.readline() or "inf")
    assert process.returncode == 0
    assert answered - sent < 0.5


@posix_only
@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="a child may inherit a lock of the sanitizer's allocator")
@pytest.mark.parametrize("n_threads", [1, 3])
def test_forks_before_after_and_during_calls(n_threads):
    """No thread and no lock of the core outlives a call, so that a child can do what its parent can."""
    program = f"""
        arguments = make(20_000, 8)

        def grow():
            return _core.grow_class_tree(*arguments, n_threads={n_threads}).nodes.tobytes()

        def fork():
            child = os.fork()
            if child == 0:
                os._exit(0 if grow() == expected else 1)
            return os.waitpid(child, 0)[1]

        child = os.fork()  # before the first call
        if child == 0:
            os._exit(0 if grow() else 1)
        statuses = [os.waitpid(child, 0)[1]]
        expected = grow()
        statuses.append(fork())
        done = threading.Event()
        def keep_growing():
            while not done.is_set():
                grow()
        thread = threading.Thread(target=keep_growing)
        thread.start()
        statuses += [fork() for _ in range(10)]
        done.set()
        thread.join()
        print(statuses)
    """
    with run(program, "-W", "ignore::DeprecationWarning") as process:
        output, errors = process.communicate(timeout=120)
    assert output.strip() == str([0] * 12), errors


def test_results_do_not_depend_on_the_number_of_threads(small):
    trees = [_core.grow_class_tree(*small, n_threads=n) for n in (1, 2, 5, 64)]
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.nodes, trees[0].nodes)
        np.testing.assert_array_equal(tree.values, trees[0].values)


def test_calls_in_several_threads_run_at_once_and_agree(small):
    expected, found = _core.grow_class_tree(*small).nodes, []
    threads = [
        threading.Thread(target=lambda: found.append(_core.grow_class_tree(*small, n_threads=2).nodes))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for nodes in found:
        np.testing.assert_array_equal(nodes, expected)


def test_the_lock_of_the_interpreter_is_released(small):
    """While a call runs in another thread, this one goes on."""
    table, target, counts, settings = make(300_000, 20)  # noqa: F821
    thread = threading.Thread(target=_core.grow_class_tree, args=(table, target, counts, settings))
    thread.start()
    longest, before = 0.0, time.perf_counter()
    while thread.is_alive():
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    thread.join()
    assert longest < 0.5


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_objects_survive_a_pickle(small, protocol):
    table, target, counts, settings = small
    copied = pickle.loads(pickle.dumps((table, settings), protocol))
    assert copied[1] == settings
    tree = _core.grow_class_tree(table, target, counts, settings)
    again = _core.grow_class_tree(copied[0], target, counts, copied[1])
    through = pickle.loads(pickle.dumps(tree, protocol))
    for other in (again, through):
        np.testing.assert_array_equal(other.nodes, tree.nodes)
        np.testing.assert_array_equal(other.values, tree.values)
        np.testing.assert_array_equal(other.subsets, tree.subsets)


def test_objects_are_sent_to_spawned_processes(small):
    """As on Windows and macOS."""
    tree = _core.grow_class_tree(*small)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(methodcaller("shares"), (tree,)), tree.shares())
