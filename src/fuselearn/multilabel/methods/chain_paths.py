"""Probabilistic classifier chains: which paths through a chain are followed, and what follows from them.

A path is a beginning of a label set, in the order of the chain. Each label continues every path with 0 and with 1; then
the most probable paths of each sample are kept (beam search), or random ones (Monte Carlo).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.learners import LabelModel
from fuselearn.learners.target import Indices
from fuselearn.multilabel.base import Labels, Scores


class PathSearch(NamedTuple):
    """Which paths are followed: the most probable ones, or random ones by given random numbers."""

    n_paths: int
    """Paths per sample."""
    uniforms: Scores | None
    """Uniform random numbers of shape (n_paths, n_labels), or None for the most probable paths."""


class Paths(NamedTuple):
    """Paths of samples, in the order of the samples."""

    samples: Indices
    """The sample of each path."""
    labels: Labels
    """The values of the labels so far, in the order of the chain, of shape (n_paths, n_labels_so_far)."""
    logs: npt.NDArray[np.float64]
    """Logarithm of the probability of each path."""
    weights: npt.NDArray[np.float64]
    """Weight of each path in the marginals; those of a sample sum to one."""


def follow_paths(models: list[LabelModel], search: PathSearch, X: Any, only: Indices | None) -> tuple[Scores, Paths]:
    """Return the marginals of all labels, in the order of the chain, and the paths at its end."""
    p = models[0].scores(X, only=only)[:, 0]
    n_samples = len(p)
    marginals = np.empty((n_samples, len(models)))
    paths = Paths(
        np.arange(n_samples), np.empty((n_samples, 0), dtype=np.int8), np.zeros(n_samples), np.ones(n_samples)
    )
    path_of_draw = np.repeat(np.arange(n_samples)[:, None], search.n_paths, axis=1)
    for place, model in enumerate(models):
        if place:
            p = _score_paths(model, paths, X, only, n_samples)
        marginals[:, place] = np.bincount(paths.samples, paths.weights * p)
        with np.errstate(divide="ignore"):
            steps = np.log(np.column_stack([1.0 - p, p]))
        logs = (paths.logs[:, None] + steps).ravel()
        if search.uniforms is None:
            kept, weights = keep_most_probable(np.repeat(paths.samples, 2), logs, search.n_paths)
        else:  # equal paths of a sample are followed once
            is_one = search.uniforms[:, place] < p[path_of_draw]
            kept, found = np.unique(2 * path_of_draw + is_one, return_inverse=True)
            path_of_draw = found.reshape(is_one.shape)
            weights = np.bincount(found.ravel()) / search.n_paths
        parents, values = np.divmod(kept, 2)
        labels = np.column_stack([paths.labels[parents], values.astype(np.int8)])
        paths = Paths(paths.samples[parents], labels, logs[kept], weights)
    return marginals, paths


def keep_most_probable(owners: Indices, logs: Scores, n_paths: int) -> tuple[Indices, Scores]:
    """Return the most probable paths of each sample, of equal ones those with 0, and their weights.

    Parameters
    ----------
    owners : int array
        The sample of each path, in ascending order.
    logs : array
        Logarithms of the paths' probabilities; impossible paths are left out.
    n_paths : int
        Maximum number of paths per sample.

    Examples
    --------
    >>> kept, weights = keep_most_probable(np.array([0, 0, 0, 1]), np.log([0.2, 0.6, 0.2, 1.0]), 2)
    >>> kept, weights.round(2)
    (array([1, 0, 3]), array([0.75, 0.25, 1.  ]))
    """
    order = np.lexsort((-logs, owners))
    order = order[logs[order] > -np.inf]
    first = np.searchsorted(owners[order], owners[order])
    is_kept = np.arange(len(order)) - first < n_paths
    kept, best = order[is_kept], order[first[is_kept]]
    weights = np.exp(logs[kept] - logs[best])
    return kept, weights / np.bincount(owners[kept], weights)[owners[kept]]


def find_best_sets(paths: Paths) -> Labels:
    """Return the labels of the most probable path of each sample, in the order of the chain."""
    order = np.lexsort((-paths.logs, paths.samples))
    best = order[np.searchsorted(paths.samples[order], np.arange(paths.samples[-1] + 1))]
    return paths.labels[best]


def _score_paths(
    model: LabelModel, paths: Paths, X: Any, only: Indices | None, batch_size: int
) -> npt.NDArray[np.float64]:
    """Return the probability of the next label after each path, in batches of as many paths as there are samples.

    The kernel values of all paths at once could take many times the memory of those of the samples.
    """
    samples = paths.samples if only is None else only[paths.samples]
    parts = [slice(start, start + batch_size) for start in range(0, len(samples), batch_size)]
    return np.concatenate([model.scores(X, appended=paths.labels[part], only=samples[part])[:, 0] for part in parts])
