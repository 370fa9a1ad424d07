"""Trees on sparse features: 1,000 samples of 11,519 TF-IDF weights, against scikit-learn's ``RandomForestClassifier``.

The samples are made: each has about 60 words, drawn by its topics from a vocabulary with a long tail, and 45 labels
follow the topics. A forest of 100 trees and 100 rounds of AdaBoost.MH are fitted to the sparse matrix with as many
threads as scikit-learn's 100 trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.timing import best_of_turns, pick, print_ratio
from fuselearn.multilabel import AdaBoostMHClassifier, PCTForestClassifier

N_SAMPLES, N_WORDS, WORDS_PER_SAMPLE, N_LABELS, N_TOPICS = pick((1_000, 11_519, 60, 45, 30), (80, 200, 10, 3, 5))
TURNS = 2
AT_LEAST = 1


def make_documents() -> tuple[Any, np.ndarray]:
    """Draw documents with topics, and labels that follow the topics."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(N_TOPICS, 0.08), N_SAMPLES)
    words = np.exp(1.5 * rng.normal(size=(N_TOPICS, N_WORDS))) * rng.permutation(1.0 / (np.arange(N_WORDS) + 20.0))
    chances = topics @ (words / words.sum(axis=1, keepdims=True))
    lengths = np.maximum(5, rng.poisson(WORDS_PER_SAMPLE, N_SAMPLES))
    drawn = [rng.choice(N_WORDS, n, replace=False, p=p / p.sum()) for n, p in zip(lengths, chances, strict=True)]
    rows, columns = np.repeat(np.arange(N_SAMPLES), lengths), np.concatenate(drawn)
    counts = rng.geometric(0.6, len(rows)).astype(float)
    X = TfidfTransformer().fit_transform(sparse.csr_array((counts, (rows, columns)), shape=(N_SAMPLES, N_WORDS)))
    scores = 3.0 * topics @ rng.normal(size=(N_TOPICS, N_LABELS)) + rng.normal(size=(N_SAMPLES, N_LABELS))
    cuts = [
        np.quantile(scores[:, j], 1.0 - share)
        for j, share in enumerate(rng.uniform(*pick((0.01, 0.06), (0.2, 0.4)), N_LABELS))
    ]
    return X, (scores > cuts).astype(int)


def main() -> None:
    X, Y = make_documents()
    for ours in (PCTForestClassifier(2, random_state=0), AdaBoostMHClassifier(2)):
        ours.fit(X[:50], Y[:50]).predict(X[:50])
    for n_jobs in (1, 2):
        for name, ours in (
            ("PCT forest", PCTForestClassifier(random_state=0)),
            ("AdaBoost.MH", AdaBoostMHClassifier()),
        ):
            ours.set_params(n_jobs=n_jobs)
            times = best_of_turns(
                lambda: ours.fit(X, Y),  # noqa: B023
                lambda: RandomForestClassifier(random_state=0, n_jobs=n_jobs).fit(X, Y),  # noqa: B023
                TURNS,
            )
            print_ratio(f"{name}, 1,000 x 11,519 sparse, n_jobs={n_jobs}, fit", *times, AT_LEAST)


if __name__ == "__main__":
    main()
