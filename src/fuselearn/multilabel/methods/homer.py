"""HOMER: a hierarchy of labels (hierarchy.py), with a block of two-class models at each node."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_choice, check_flag, check_whole_number, count_threads
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import LabelModel, Learner
from fuselearn.learners.learner import Counts, Indices
from fuselearn.learners.svm import PackedMachines
from fuselearn.multilabel.base import MultilabelBase, Scores, Weights, train_labels, train_method
from fuselearn.multilabel.methods.hierarchy import (
    CLUSTERINGS,
    LEAF,
    Clusters,
    Group,
    Matrix,
    are_constant,
    count_co_occurrences,
    deal,
    describe_hierarchy,
    draw_hierarchy,
    mark_meta_labels,
    order_by_content,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Node(NamedTuple):
    """A set of labels, divided into groups."""

    groups: list[Group]
    """The labels of each meta-label."""
    children: list[int]
    """The child node of each meta-label, or ``LEAF``."""


def grow_hierarchy(
    co_occurrences: Matrix,
    labels: Group,
    cluster: Callable[[Matrix, int, np.random.Generator], Clusters],
    n_clusters: int,
    rng: np.random.Generator,
) -> list[Node]:
    """Grow a hierarchy: divide labels into at most ``n_clusters`` groups, and each group of several labels again.

    A group without samples is divided into single labels, since no model can be trained for it. If a clustering puts
    all labels of a node into one cluster, they are divided at random instead.

    Parameters
    ----------
    co_occurrences : array of shape (n_labels, n_labels)
        As returned by :func:`~fuselearn.multilabel.methods.hierarchy.count_co_occurrences`.
    labels : int array of shape (n_labels,)
        The labels, in the order used for random choices.
    cluster : callable
        One of :data:`~fuselearn.multilabel.methods.hierarchy.CLUSTERINGS`.
    n_clusters : int
        At least 2.
    rng : numpy.random.Generator

    Examples
    --------
    >>> from fuselearn.multilabel.methods.hierarchy import balanced_kmeans
    >>> together = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    >>> for node in grow_hierarchy(together, np.arange(3), balanced_kmeans, 2, np.random.default_rng(0)):
    ...     print([group.tolist() for group in node.groups], node.children)
    [[0, 1], [2]] [1, -1]
    [[0], [1]] [-1, -1]
    """
    occurs = co_occurrences.diagonal() > 0
    hierarchy: list[Node] = []
    waiting = [(labels, LEAF, 0)]
    while waiting:
        labels, parent, position = waiting.pop()
        if parent != LEAF:
            hierarchy[parent].children[position] = len(hierarchy)
        between = co_occurrences[labels[:, None], labels]
        clusters = cluster(between, n_clusters, rng)
        if (clusters == clusters[0]).all():
            clusters = deal(between, n_clusters, rng)
        groups = list(_gather(labels, clusters, occurs))
        branching = (g for g in reversed(range(len(groups))) if len(groups[g]) > 1)
        waiting.extend((groups[g], len(hierarchy), g) for g in branching)
        hierarchy.append(Node(groups, [LEAF] * len(groups)))
    return hierarchy


def _gather(labels: Group, clusters: Clusters, occurs: npt.NDArray[np.bool_]) -> Iterator[Group]:
    """Yield the labels of each cluster; labels of a cluster without samples are separate groups."""
    for cluster in range(clusters.max() + 1):
        group = labels[clusters == cluster]
        if len(group) > 1 and not occurs[group].any():
            yield from group[:, None]
        elif len(group):
            yield group


class HOMERSettings(NamedTuple):
    """Settings of a hierarchy that may differ between members."""

    clustering: str
    n_clusters: int
    any_label: bool
    """Whether a model distinguishes samples with any label from those without."""
    params: Mapping[str, Any]
    """Parameters of the base estimator."""


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
    """Grow a hierarchy of labels on the samples drawn, and train a block of models at each node.

    A node is trained on the samples that have at least one of its meta-labels. A separate model distinguishes samples
    with any label from samples without labels, if there are any. The root is trained on all samples if its meta-labels
    are constant otherwise, as with a single label.

    Parameters
    ----------
    learner : Learner
    Y : array of shape (n_samples, n_labels)
        Zeros and ones.
    counts, seed, weights
        As in ``Learner.train``.
    settings : HOMERSettings
    n_threads : int
        Number of nodes trained in parallel.
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

    def train(number: int) -> LabelModel:
        return train_labels(learner, marked[number].T, samples[number], seeds[number], weights=weights)

    if n_threads > 1 and len(samples) > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            blocks = list(pool.map(train, range(len(samples))))
    else:
        blocks = [train(number) for number in range(len(samples))]
    return HOMERModel(hierarchy, blocks, settings, learner.n_samples)


class HOMERModel(LabelModel):
    """A hierarchy of labels with a block of models at each node.

    Each node predicts the conditional probabilities of its meta-labels, given that a sample has any label of the node.

    Parameters
    ----------
    hierarchy : list of Node
    blocks : list of LabelModel
        One for each node and, if there are samples without labels, one more for whether a sample has any label.
    settings : HOMERSettings
    n_samples : int
        Number of bound samples.
    """

    def __init__(
        self, hierarchy: list[Node], blocks: list[LabelModel], settings: HOMERSettings, n_samples: int
    ) -> None:
        self.hierarchy = hierarchy
        self.blocks = blocks
        self.settings = settings
        self.n_samples = n_samples
        self.n_labels = sum(len(group) for group in hierarchy[0].groups)

    @classmethod
    def pack(
        cls, models: Sequence[Any], coefficients: Weights, output: str = "scores"
    ) -> Callable[[Any], Scores] | None:
        """Return a function for the weighted sum of an output of HOMERs of SVMs, which is fast for few samples."""
        if not PackedMachines.can_pack([block for model in models for block in model.blocks]):
            return None
        packed = PackedHOMERs(models, coefficients)
        return packed.scores if output == "scores" else packed.decisions

    def list_paths(self, first: int) -> list[list[int]]:
        """Return the indices of the models on the path to each label, counted from ``first``."""
        last = first + self.n_models - 1
        reached, paths = {0: [] if self.labeled is None else [last]}, [[0]] * self.n_labels
        for number, (groups, children) in enumerate(self.hierarchy):
            for group, child in zip(groups, children, strict=True):
                path = [*reached[number], first]
                first += 1
                if child == LEAF:
                    paths[group[0]] = path
                else:
                    reached[child] = path
        return paths

    def list_parts(self) -> list[tuple[int, bool]]:
        """Return the number of models of each block, and whether it is that of a node."""
        parts = [(len(node.groups), True) for node in self.hierarchy]
        return parts if self.labeled is None else [*parts, (1, False)]

    @property
    def labeled(self) -> LabelModel | None:
        """The model of whether a sample has any label; None if all training samples have one."""
        return self.blocks[-1] if len(self.blocks) > len(self.hierarchy) else None

    @property
    def n_models(self) -> int:
        """Number of binary models: one for each meta-label of each node, and one for samples with any label."""
        return sum(len(node.groups) for node in self.hierarchy) + (self.labeled is not None)

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label: the product of the conditional probabilities on its path."""
        only = self._list_samples(X, only)
        labeled = self.labeled
        reached = {0: np.ones((len(only), 1)) if labeled is None else labeled.scores(X, only=only)}
        probabilities = np.empty((len(only), self.n_labels))
        for number, (groups, children) in enumerate(self.hierarchy):
            path = reached.pop(number) * self.blocks[number].scores(X, only=only)
            for g, (group, child) in enumerate(zip(groups, children, strict=True)):
                if child == LEAF:
                    probabilities[:, group[0]] = path[:, g]
                else:
                    reached[child] = path[:, [g]]
        return probabilities

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return HOMER's decision scores, above 0.5 for the predicted labels.

        A sample that probably has any label descends from the root to all groups with a probability above 0.5, and at
        each node at least to the most probable group. The score of a label is the conditional probability of the
        smallest group reached that contains the label.
        """
        only = self._list_samples(X, only)
        scores = np.empty((self.n_labels, len(only)))
        going = np.ones(len(only), dtype=np.bool_)
        if self.labeled is not None:
            any_label = self.labeled.scores(X, only=only)[:, 0]
            going = any_label > 0.5
            scores[:, ~going] = any_label[~going]
        waiting = [(0, np.flatnonzero(going))] if going.any() else []
        while waiting:
            number, reached = waiting.pop()
            groups, children = self.hierarchy[number]
            probabilities = self.blocks[number].scores(X, only=only[reached])
            has = probabilities > 0.5
            has[np.arange(len(reached)), probabilities.argmax(axis=1)] = True
            for g, (group, child) in enumerate(zip(groups, children, strict=True)):
                if child == LEAF:
                    scores[group[0], reached] = probabilities[:, g]
                    continue
                going = has[:, g]
                scores[group[:, None], reached[~going]] = probabilities[~going, g]
                if going.any():
                    waiting.append((child, reached[going]))
        return scores.T

    def _list_samples(self, X: Any, only: Indices | None) -> Indices:
        return np.arange(self.n_samples if X is None else X.shape[0]) if only is None else only


class PackedHOMERs:
    """The SVMs of several HOMERs as matrices, and the paths to their labels: fast for few samples.

    Parameters
    ----------
    models : list of HOMERModel
        Of blocks that can be packed.
    coefficients : array of shape (n_models,)
    """

    def __init__(self, models: Sequence[Any], coefficients: Weights) -> None:
        self.coefficients = coefficients
        self.svms = PackedMachines([block for model in models for block in model.blocks])
        ends = np.cumsum([model.n_models for model in models]).tolist()
        paths = [model.list_paths(end - model.n_models) for model, end in zip(models, ends, strict=True)]
        self.lengths = np.array([[len(path) for path in own] for own in paths])
        # Shorter paths are padded with the index of an additional column.
        depth = self.lengths.max()
        self.paths = np.array([[[*path, *[ends[-1]] * (depth - len(path))] for path in own] for own in paths])
        sizes, are_nodes = zip(*(part for model in models for part in model.list_parts()), strict=True)
        self.sizes, self.are_nodes = np.array(sizes), np.array(are_nodes)

    def scores(self, rows: Any) -> Scores:
        """Return the weighted sum of the models' scores."""
        probabilities = np.column_stack([self.svms.scores(rows), np.ones(rows.n_rows)])
        return np.einsum("h,nhl->nl", self.coefficients, probabilities[:, self.paths].prod(axis=-1))

    def decisions(self, rows: Any) -> Scores:
        """Return the weighted sum of the models' decision scores."""
        probabilities = self.svms.scores(rows)
        descends = np.column_stack([probabilities > 0.5, np.ones(rows.n_rows, dtype=np.bool_)])
        starts = np.cumsum(self.sizes) - self.sizes
        largest = np.repeat(np.maximum.reduceat(probabilities, starts, axis=1), self.sizes, axis=1)
        numbers = np.where(probabilities == largest, np.arange(len(largest[0])), len(largest[0]))
        most_probable = np.minimum.reduceat(numbers, starts, axis=1)[:, self.are_nodes]
        np.put_along_axis(descends, most_probable, True, axis=1)
        n_reached = np.logical_and.accumulate(descends[:, self.paths], axis=-1).sum(axis=-1)
        last = np.take_along_axis(self.paths[None], np.minimum(n_reached, self.lengths - 1)[..., None], axis=-1)
        chosen = np.take_along_axis(probabilities, last.reshape(rows.n_rows, -1), axis=1).reshape(last.shape[:-1])
        return np.einsum("h,nhl->nl", self.coefficients, chosen)


class HOMERClassifier(MultilabelBase):
    """HOMER: a hierarchy of label groups, with one binary model per group.

    The root contains all labels. Each node divides its labels into ``n_clusters`` groups of labels that occur together,
    down to single labels. A sample has the *meta-label* of a group if it has any of its labels. A node is trained on
    the samples with at least one of its meta-labels, ::

        meta-label of sample i:  m_i = max over labels j in the group of y_ij.

    The probability of a label is the product of the conditional probabilities of its groups, ::

        P(label j | x) = P(any label | x) * product over the groups G around j of P(G | x, the group above G).

    ``predict`` decides at each node. A sample whose probability of any label is above 0.5 descends from the root to all
    groups with a probability above 0.5, and at each node at least to the most probable group. The labels reached with a
    conditional probability above 0.5 are predicted. This is HOMER's rule, ``decision="path"``. It predicts more labels
    than ``decision=0.5``, a threshold on ``predict_proba``, and usually has a higher macro F1.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    clustering : {"balanced", "kmeans", "random"}, default="balanced"
        How labels are clustered: by balanced k-means with a maximum cluster size, by k-means with one random start, or
        at random. The points are the columns of Y.
    n_clusters : int, default=3
        Number of groups at each node; a node with at most this many labels is divided into single labels.
    any_label : bool, default=True
        Whether a model distinguishes samples with any label from those without. Otherwise samples without labels are
        not used, as in utiml, and probabilities are those of samples that have labels.
    decision : float, str or rule, default="path"
        How labels are predicted: "path" means the labels reached in the hierarchy; otherwise a threshold of the
        probabilities, or a rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings and of the base estimators.
    n_jobs : int or None, default=None
        Number of nodes trained in parallel. Results do not depend on it.

    Attributes
    ----------
    n_models_ : int
        Number of binary models trained, without the models for calibration.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    EnsembleHOMERClassifier : Equal votes of HOMERs of random shape.
    KFHEHOMERClassifier : A Kalman filter fuses HOMERs of random shape.

    Notes
    -----
    Details follow the R package utiml, with two corrections. A meta-label of all training samples of a node has the
    probability 1, in utiml 0. If fewer label columns than clusters are distinct, the number of groups is reduced and
    identical labels are divided at random; in utiml, k-means fails. A group without training samples is divided into
    single labels. Samples without labels are used at the root only if its meta-labels are constant otherwise, as with a
    single label. In utiml, the probability of a label is that of the smallest group reached, without the product. With
    ``any_label=False`` its decisions equal those of this class, but its probabilities are much larger.

    References
    ----------
    Tsoumakas, G., Katakis, I. and Vlahavas, I. (2008). Effective and efficient multilabel classification in domains
    with large number of labels. ECML/PKDD Workshop on Mining Multidimensional Data.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import HOMERClassifier
    >>> X, Y = make_digit_pairs(n_samples=400, random_state=0)
    >>> model = HOMERClassifier(random_state=0).fit(X[:300], Y[:300])
    >>> round(f1_score(Y[300:], model.predict(X[300:]), average="macro"), 1)
    0.8
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        clustering: str = "balanced",
        n_clusters: int = 3,
        any_label: bool = True,
        decision: Any = "path",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.clustering = clustering
        self.n_clusters = n_clusters
        self.any_label = any_label
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    _own_decision = "path"
    n_models_: int

    def _check_parameters(self) -> None:
        check_flag("any_label", self.any_label)
        check_choice("clustering", self.clustering, tuple(CLUSTERINGS))
        check_whole_number("n_clusters", self.n_clusters, 2)

    def _train(self, problem: Problem) -> Trained:
        n_labels = problem.target.n_columns
        if self.n_clusters > n_labels:
            warnings.warn(
                f"n_clusters={self.n_clusters} exceeds the number of labels, {n_labels}; every label is a separate "
                "group, as in binary relevance.",
                stacklevel=5,
            )
        settings = HOMERSettings(self.clustering, self.n_clusters, self.any_label, {})
        method = partial(train_homer, settings=settings, n_threads=share_nodes(problem))
        trained = train_method(problem, method, int(problem.rng.integers(2**62)))
        trained.trace["n_models_"] = trained.fused.models[0].n_models
        return trained

    def export_text(self) -> str:
        """Return the label hierarchy as text, one line per group.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from fuselearn.multilabel import HOMERClassifier
        >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
        >>> Y = pd.DataFrame({"sea": [1, 1, 0, 0], "field": [0, 0, 1, 1], "beach": [1, 1, 0, 0]})
        >>> model = HOMERClassifier("tree", n_clusters=2, random_state=0).fit(X, Y)
        >>> print(model.export_text())
        3 labels
        ├── 2 labels
        │   ├── sea
        │   └── beach
        └── field
        """
        return describe_hierarchy(self._hierarchy(), self.labels_)

    def plot(self) -> Figure:
        """Plot the hierarchy of labels from its root to the names of the labels.

        Returns
        -------
        matplotlib.figure.Figure
            Display it in a notebook, or save it with ``savefig``.
        """
        return draw_hierarchy(self._hierarchy(), self.labels_)

    def _hierarchy(self) -> Any:
        check_is_fitted(self)
        return self._fused_.models[0].hierarchy


def share_nodes(problem: Problem) -> int:
    """Return the number of HOMER nodes to train in parallel, each with one thread.

    Scikit-learn's classifiers hold the interpreter's lock, so for them the labels of a node are trained in parallel
    processes instead.
    """
    if problem.learner.prefer == "processes":
        return 1
    problem.learner.n_threads = 1
    return count_threads(problem.n_jobs)
