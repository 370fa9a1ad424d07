"""Support vector machines without a Gram matrix: time and peak memory, beside scikit-learn's ``LinearSVC``.

Binary relevance with a linear kernel on 200,000 x 50,000 sparse words and 100 labels, then with a radial kernel on
100,000 x 50 numbers and 10 labels. Each fit is a process of its own. The machines of ``OneVsRestClassifier(LinearSVC)``
have the same loss and cost and the features have the same scale, but no probabilities; so 10 labels are also trained
without Platt's calibration, both on one thread.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import average_precision_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.timing import pick, print_limit, print_ratio
from fuselearn import SVMClassifier
from fuselearn.multilabel import BinaryRelevanceClassifier

N_WORDS, WORDS_PER_SAMPLE = pick((50_000, 75), (300, 9))
WORDS_OF_LABEL, WORDS_SHOWN = pick((60, 6), (10, 2))
N_SAMPLES, N_LABELS, N_TEST = pick((200_000, 100, 20_000), (200, 3, 100))


def make_words(n_samples: int, n_labels: int) -> tuple[Any, Any]:
    """Draw texts with frequencies by Zipf's law, in which each label shows some words of its own; 0.5 % are flipped."""
    rng = np.random.default_rng(0)
    frequencies = np.cumsum(1.0 / np.arange(10, N_WORDS + 10))
    words = np.searchsorted(frequencies / frequencies[-1], rng.random((n_samples, WORDS_PER_SAMPLE)))
    Y = rng.random((n_samples, n_labels)) < np.linspace(*pick((0.01, 0.06), (0.3, 0.5)), n_labels)
    own = rng.integers(N_WORDS // 500, N_WORDS, (n_labels, WORDS_OF_LABEL))
    samples, labels = np.nonzero(Y)
    shown = own[labels[:, None], rng.integers(WORDS_OF_LABEL, size=(len(labels), WORDS_SHOWN))]
    words[samples[:, None], rng.integers(WORDS_PER_SAMPLE, size=shown.shape)] = shown
    starts = np.arange(0, words.size + 1, WORDS_PER_SAMPLE, dtype=np.int32)
    X = sparse.csr_array((np.ones(words.size), words.ravel().astype(np.int32), starts), shape=(n_samples, N_WORDS))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    return X, (Y ^ (rng.random(Y.shape) < 0.005)).astype(np.int8)


def make_numbers(n_samples: int, n_labels: int) -> tuple[Any, Any]:
    """Draw 50 numbers, and labels by hidden layers of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 50))
    hidden = np.tanh(2.0 * X @ rng.normal(size=(50, 40)) / np.sqrt(50))
    scores = hidden @ rng.normal(size=(40, n_labels)) + rng.normal(size=(n_samples, n_labels))
    return X, (scores > np.quantile(scores, 0.8, axis=0)).astype(np.int8)


def make_model(name: str) -> Any:
    if name == "other":
        machine = LinearSVC(C=1.0 / N_WORDS, loss="hinge", tol=1e-3, random_state=0)
        return make_pipeline(StandardScaler(with_mean=False), OneVsRestClassifier(machine))
    if name == "plain":
        return BinaryRelevanceClassifier(SVMClassifier(kernel="linear", probability="logistic"), random_state=0)
    return BinaryRelevanceClassifier(SVMClassifier(kernel=name), random_state=0, n_jobs=2)


def measure(name: str, n_samples: int, n_labels: int) -> None:
    """Fit and predict; print the seconds of both, the processor's for fit, the peak GB, and the average precision."""
    warnings.simplefilter("ignore")
    X, Y = (make_numbers if name == "rbf" else make_words)(n_samples + N_TEST, n_labels)
    model, start, busy = make_model(name), time.perf_counter(), time.process_time()
    model.fit(X[:n_samples], Y[:n_samples])
    fitted, busy = time.perf_counter(), time.process_time() - busy
    answer = model.decision_function if name == "other" else model.predict_proba
    scores = answer(X[n_samples:])
    precision = average_precision_score(Y[n_samples:], scores, average="macro")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(fitted - start, time.perf_counter() - fitted, busy, peak, precision)


def run(name: str, n_samples: int, n_labels: int) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.large_svm", name, str(n_samples), str(n_labels)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    for name, n_samples, n_labels, title in (
        ("linear", N_SAMPLES, N_LABELS, "200,000 x 50,000 sparse, 100 labels, linear"),
        ("rbf", N_SAMPLES // 2, min(N_LABELS, 10), "100,000 x 50, 10 labels, rbf"),
    ):
        fit, predict, busy, peak, precision = run(name, n_samples, n_labels)
        print_limit(f"{title}, fit", fit / 60, 10, "min")
        print_limit(f"{title}, peak memory", peak, 4, "GB")
        print(f"  processor time {busy:.0f} s on 2 threads, average precision on {N_TEST:,} samples {precision:.3f}")
        print(f"  predict_proba of these {predict:.2f} s", flush=True)
    ours, other = (run(name, N_SAMPLES, min(N_LABELS, 10)) for name in ("plain", "other"))
    print_ratio("200,000 x 50,000 sparse, 10 labels, uncalibrated, processor", ours[2], other[2], 1)
    print(f"  peak memory {ours[3]:.2f} and {other[3]:.2f} GB, average precision {ours[4]:.3f} and {other[4]:.3f}")


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 1 else main()
