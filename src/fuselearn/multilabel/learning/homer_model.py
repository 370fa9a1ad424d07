"""A trained HOMER: a hierarchy of labels with a block of models at each node.

All hierarchies of an ensemble are trained by one learner: they share its table and, for support vector machines, one
Gram matrix per kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.learners import Component, Learner
from fuselearn.multilabel.learning.hierarchy import LEAF, Hierarchy, grow_hierarchy, mark_meta_labels
from fuselearn.multilabel.learning.label_clustering import CLUSTERINGS, count_co_occurrences

Counts = npt.NDArray[np.int32]
Indices = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class HOMERSettings(NamedTuple):
    """The settings that may differ between hierarchies."""

    clustering: str
    n_clusters: int
    any_label: bool
    """Whether a model distinguishes samples with any label from those without."""
    params: Mapping[str, Any]
    """Parameters of the base learner."""


def train_homer(
    learner: Learner,
    Y: npt.NDArray[np.int8],
    counts: Counts,
    seed: int,
    settings: HOMERSettings,
    *,
    weights: Weights | None = None,
    n_threads: int = 1,
) -> HOMERModel:
    """Grow a hierarchy of labels on the samples drawn, and train a block of models at each of its nodes.

    A node is trained on the samples that have at least one of its meta-labels. A separate model distinguishes samples
    with any label from those without, if there are any. Only if the root would have nothing to learn, as with a single
    label, it is trained on all samples instead.

    Parameters
    ----------
    learner : Learner
        It is not modified.
    Y : array of shape (n_samples, n_labels)
        Zeros and ones.
    counts, seed, weights
        As in ``Learner.train``.
    settings : HOMERSettings
    n_threads : int
        Nodes trained at the same time.
    """
    learner = learner.with_params(**settings.params)
    rng = np.random.default_rng(seed)
    columns = np.ascontiguousarray(Y.T)
    hierarchy = grow_hierarchy(
        count_co_occurrences(Y, counts if weights is None else np.where(counts > 0, weights, 0.0)),
        order_by_content(columns[:, counts > 0]),
        CLUSTERINGS[settings.clustering],
        settings.n_clusters,
        rng,
    )
    marked = mark_meta_labels(hierarchy, columns)
    samples = [counts * marks.max(axis=0) for marks in marked]
    if are_constant(marked[0][:, samples[0] > 0]):
        samples[0] = counts
    if settings.any_label and (samples[0] < counts).any():
        marked.append(marked[0].max(axis=0, keepdims=True))
        samples.append(counts)
    seeds = rng.integers(2**31, size=len(samples)).tolist()

    def train(number: int) -> Component:
        component: Component = learner.train(marked[number].T, samples[number], seeds[number], weights=weights)
        return component

    if n_threads > 1 and len(samples) > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            blocks = list(pool.map(train, range(len(samples))))
    else:
        blocks = [train(number) for number in range(len(samples))]
    return HOMERModel(hierarchy, blocks, settings, counts)


def order_by_content(columns: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """Order labels by their values, so that random choices depend neither on their positions nor on repeated samples.

    Examples
    --------
    >>> order_by_content(np.array([[1, 0], [0, 1], [0, 0]], dtype=np.int8))
    array([2, 1, 0])
    """
    return np.array(sorted(range(len(columns)), key=[column.tobytes() for column in columns].__getitem__))


def are_constant(columns: npt.NDArray[np.int8]) -> bool:
    """Return whether all columns are constant."""
    return columns.shape[1] == 0 or bool((columns == columns[:, :1]).all())


class HOMERModel:
    """A hierarchy of labels with a block of models at each node.

    A node predicts the probability of every meta-label among the samples with any of the node's labels.

    Parameters
    ----------
    hierarchy : list of Node
    blocks : list of Component
        One for each node, and one more for whether a sample has any label, if there were samples without.
    settings : HOMERSettings
    counts : int32 array of shape (n_samples,)
        How often each bound sample was drawn.
    """

    def __init__(self, hierarchy: Hierarchy, blocks: list[Component], settings: HOMERSettings, counts: Counts) -> None:
        self.hierarchy = hierarchy
        self.blocks = blocks
        self.settings = settings
        self.n_labels = sum(len(group) for group in hierarchy[0].groups)
        self.counts: Counts | None = counts

    @property
    def labelled(self) -> Component | None:
        """The model of whether a sample has any label; None if all have."""
        return self.blocks[-1] if len(self.blocks) > len(self.hierarchy) else None

    def probabilities(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return the probabilities of the labels: the product of the probabilities on the path to each label.

        Parameters
        ----------
        rows : what ``Learner.prepare`` returned, optional
            The training samples by default.
        only : int array, optional
            Indices of the samples to predict; all by default.

        Returns
        -------
        array of shape (n_asked, n_labels)
        """
        if only is None:
            only = np.arange(len(self._sample) if rows is None else rows.shape[0])
        labelled = self.labelled
        reached = {0: np.ones((len(only), 1)) if labelled is None else labelled.scores(rows, only=only)}
        probabilities = np.empty((len(only), self.n_labels))
        for number, (groups, children) in enumerate(self.hierarchy):
            chances = reached.pop(number) * self.blocks[number].scores(rows, only=only)
            for g, (group, child) in enumerate(zip(groups, children, strict=True)):
                if child == LEAF:
                    probabilities[:, group[0]] = chances[:, g]
                else:
                    reached[child] = chances[:, [g]]
        return probabilities

    def scores(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return HOMER's decision scores: above 0.5 for the labels that it chooses.

        A sample that probably has any label descends from the root to the groups whose probability is above 0.5, at
        each node at least to the most probable one. The score of a label is the conditional probability of the smallest
        group with the label that the descent has reached.

        Parameters
        ----------
        rows, only
            As for ``probabilities``.

        Returns
        -------
        array of shape (n_asked, n_labels)
        """
        if only is None:
            only = np.arange(len(self._sample) if rows is None else rows.shape[0])
        scores = np.empty((self.n_labels, len(only)))
        going = np.ones(len(only), dtype=np.bool_)
        if self.labelled is not None:
            any_label = self.labelled.scores(rows, only=only)[:, 0]
            going = any_label > 0.5
            scores[:, ~going] = any_label[~going]
        waiting = [(0, np.flatnonzero(going))] if going.any() else []
        while waiting:
            number, reached = waiting.pop()
            groups, children = self.hierarchy[number]
            chances = self.blocks[number].scores(rows, only=only[reached])
            has = chances > 0.5
            has[np.arange(len(reached)), chances.argmax(axis=1)] = True
            for g, (group, child) in enumerate(zip(groups, children, strict=True)):
                if child == LEAF:
                    scores[group[0], reached] = chances[:, g]
                    continue
                going = has[:, g]
                scores[group[:, None], reached[~going]] = chances[~going, g]
                if going.any():
                    waiting.append((child, reached[going]))
        return scores.T

    @property
    def n_models(self) -> int:
        """Number of binary models: one for each meta-label of each node, and that of samples with any label."""
        return sum(len(node.groups) for node in self.hierarchy) + (self.labelled is not None)

    @property
    def left_out(self) -> Indices:
        """The bound samples that the component has not been trained on."""
        return np.flatnonzero(self._sample == 0)

    @property
    def _sample(self) -> Counts:
        if self.counts is None:
            raise RuntimeError("The component no longer has its training data; pass prepared samples.")
        return self.counts

    def unbind(self) -> None:
        """Release the training data."""
        self.counts = None
        for block in self.blocks:
            block.unbind()
