"""Probabilistic classifier chains: which paths through a chain are followed, and what follows from them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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
    """Beginnings of label sets, one path after the other, in the order of the samples."""

    samples: Indices
    """The sample of each path."""
    labels: Labels
    """The values of the labels so far, in the order of the chain, of shape (n_paths, n_labels_so_far)."""
    logs: npt.NDArray[np.float64]
    """Logarithm of the probability of each path."""
    shares: npt.NDArray[np.float64]
    """Weight of each path in the marginals; those of a sample sum to one."""


class Search(Protocol):
    """Which paths are followed."""

    def choose(self, samples: Indices, chances: Scores, logs: Scores) -> tuple[Indices, Scores]:
        """Choose among the paths with one more label.

        Parameters
        ----------
        samples : int array of shape (n_paths,)
        chances : array of shape (n_paths,)
            The probability that the next label is 1 after each path.
        logs : array of shape (2 * n_paths,)
            The logarithms of the probabilities of the continued paths: each path with 0 and with 1.

        Returns
        -------
        kept : int array
            Numbers of the continued paths, in the order of the samples.
        shares : array
            Their weights in the marginals.
        """
        ...


class BeamSearch:
    """The most probable paths of each sample; of equal ones, those with 0."""

    def __init__(self, width: int) -> None:
        self.width = width

    def choose(self, samples: Indices, chances: Scores, logs: Scores) -> tuple[Indices, Scores]:
        """Keep at most ``width`` paths of each sample, without those that are impossible."""
        owners = np.repeat(samples, 2)
        order = np.lexsort((-logs, owners))
        order = order[logs[order] > -np.inf]
        first = np.searchsorted(owners[order], owners[order])
        is_kept = np.arange(len(order)) - first < self.width
        kept, best = order[is_kept], order[first[is_kept]]
        shares = np.exp(logs[kept] - logs[best])
        return kept, shares / np.bincount(owners[kept], shares)[owners[kept]]


class MonteCarloSearch:
    """Random paths: the next label of each is drawn by its probability. Equal paths of a sample are followed once."""

    def __init__(self, uniforms: Scores) -> None:
        self.uniforms = uniforms
        self.place = 0
        self.path_of_draw: Indices | None = None

    def choose(self, samples: Indices, chances: Scores, logs: Scores) -> tuple[Indices, Scores]:
        """Draw the next label of all paths."""
        n_draws = len(self.uniforms)
        path = np.repeat(samples[:, None], n_draws, axis=1) if self.path_of_draw is None else self.path_of_draw
        is_one = self.uniforms[:, self.place] < chances[path]
        kept, found = np.unique(2 * path + is_one, return_inverse=True)
        self.path_of_draw = found.reshape(path.shape)
        self.place += 1
        return kept, np.bincount(found.ravel()) / n_draws


def follow_paths(models: list[LabelModel], search: PathSearch, X: Any, only: Indices | None) -> tuple[Scores, Paths]:
    """Return the marginals of all labels, in the order of the chain, and the paths at its end."""
    strategy: Search = BeamSearch(search.n_paths) if search.uniforms is None else MonteCarloSearch(search.uniforms)
    chances = models[0].scores(X, only=only)[:, 0]
    n_samples = len(chances)
    marginals = np.empty((n_samples, len(models)))
    paths = Paths(
        np.arange(n_samples), np.empty((n_samples, 0), dtype=np.int8), np.zeros(n_samples), np.ones(n_samples)
    )
    for place, model in enumerate(models):
        if place:
            chances = _score_paths(model, paths, X, only, n_samples)
        marginals[:, place] = np.bincount(paths.samples, paths.shares * chances)
        paths = _continue_paths(paths, chances, strategy)
    return marginals, paths


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


def _continue_paths(paths: Paths, chances: npt.NDArray[np.float64], search: Search) -> Paths:
    """Append a label to all paths, with 0 or 1 or both."""
    with np.errstate(divide="ignore"):
        steps = np.log(np.column_stack([1.0 - chances, chances]))
    logs = (paths.logs[:, None] + steps).ravel()
    kept, shares = search.choose(paths.samples, chances, logs)
    parents, values = np.divmod(kept, 2)
    labels = np.column_stack([paths.labels[parents], values.astype(np.int8)])
    return Paths(paths.samples[parents], labels, logs[kept], shares)
