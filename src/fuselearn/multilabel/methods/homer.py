"""HOMER: a hierarchy of multi-label classifiers, with a block of two-class models at each node."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
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
from fuselearn.multilabel.base import MultilabelBase, Scores, Weights, train_labels, train_method
from fuselearn.multilabel.methods.hierarchy import (
    CLUSTERINGS,
    LEAF,
    Hierarchy,
    count_co_occurrences,
    describe_hierarchy,
    draw_hierarchy,
    grow_hierarchy,
    mark_meta_labels,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class HOMERSettings(NamedTuple):
    """The settings that may differ between hierarchies."""

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
    """Grow a hierarchy of labels on the samples drawn, and train a block of models at each of its nodes.

    A node is trained on the samples that have at least one of its meta-labels. A separate model distinguishes samples
    with any label from those without, if there are any. Only if the root would have nothing to learn, as with a single
    label, it is trained on all samples instead.

    Parameters
    ----------
    learner : Learner
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

    def train(number: int) -> LabelModel:
        return train_labels(learner, marked[number].T, samples[number], seeds[number], weights=weights)

    if n_threads > 1 and len(samples) > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            blocks = list(pool.map(train, range(len(samples))))
    else:
        blocks = [train(number) for number in range(len(samples))]
    return HOMERModel(hierarchy, blocks, settings, learner.n_samples)


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


class HOMERModel(LabelModel):
    """A hierarchy of labels with a block of models at each node.

    A node predicts the probability of every meta-label among the samples with any of the node's labels.

    Parameters
    ----------
    hierarchy : list of Node
    blocks : list of LabelModel
        One for each node, and one more for whether a sample has any label, if there were samples without.
    settings : HOMERSettings
    n_samples : int
        Number of bound samples.
    """

    def __init__(self, hierarchy: Hierarchy, blocks: list[LabelModel], settings: HOMERSettings, n_samples: int) -> None:
        self.hierarchy = hierarchy
        self.blocks = blocks
        self.settings = settings
        self.n_samples = n_samples
        self.n_labels = sum(len(group) for group in hierarchy[0].groups)

    @property
    def labelled(self) -> LabelModel | None:
        """The model of whether a sample has any label; None if all have."""
        return self.blocks[-1] if len(self.blocks) > len(self.hierarchy) else None

    @property
    def n_models(self) -> int:
        """Number of binary models: one for each meta-label of each node, and that of samples with any label."""
        return sum(len(node.groups) for node in self.hierarchy) + (self.labelled is not None)

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probabilities of the labels: the product of the probabilities on the path to each label."""
        only = self._list_samples(X, only)
        labelled = self.labelled
        reached = {0: np.ones((len(only), 1)) if labelled is None else labelled.scores(X, only=only)}
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
        """Return HOMER's decision scores: above 0.5 for the labels that it chooses.

        A sample that probably has any label descends from the root to the groups whose probability is above 0.5, at
        each node at least to the most probable one. The score of a label is the conditional probability of the smallest
        group with the label that the descent has reached.
        """
        only = self._list_samples(X, only)
        scores = np.empty((self.n_labels, len(only)))
        going = np.ones(len(only), dtype=np.bool_)
        if self.labelled is not None:
            any_label = self.labelled.scores(X, only=only)[:, 0]
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


class HOMERClassifier(MultilabelBase):
    """A tree of label groups with a two-class model for each group.

    The root holds all labels. Each node divides its labels into ``n_clusters`` groups, so that labels which occur
    together are together, and down to single labels. A sample has a group, a *meta-label*, if it has any of its labels;
    a node learns its meta-labels from the samples that have at least one of them, ::

        meta-label of sample i:  m_i = max over labels j in the group of y_ij.

    The probability of a label is the product of the probabilities of the groups around it, each given the one above, ::

        P(label j | x) = P(any label | x) * product over the groups G around j of P(G | x, the group above G).

    ``predict`` decides at each node anew: a sample that probably has any label goes down from the root to the groups
    that are more probable than not, at each node at least to the most probable one, and gets the labels where it ends
    up if they are more probable than not, given that it has come so far. That is HOMER's own rule, ``decision="path"``.
    It chooses more labels than a threshold of 0.5 on ``predict_proba`` does, which is ``decision=0.5``, and usually has
    the larger macro F1.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    clustering : {"balanced", "kmeans", "random"}, default="balanced"
        How labels are divided: by k-means into clusters of at most the same size, by k-means from one random start, or
        by chance. Points are the columns of Y.
    n_clusters : int, default=3
        Groups at each node; a node with no more labels than that is divided into single labels.
    any_label : bool, default=True
        Whether a model distinguishes samples with any label from those without. Otherwise samples without labels are
        not used, as in utiml, and probabilities are those of samples that have labels.
    decision : float, str or rule, default="path"
        How samples get labels: "path" means those to which they go down the hierarchy; or probabilities become labels
        by a threshold or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings and of the base estimators.
    n_jobs : int or None, default=None
        Nodes trained at the same time. Results do not depend on it.

    Attributes
    ----------
    n_models_ : int
        Two-class models that were trained, those for calibration not counted.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    EnsembleHOMERClassifier : Equal votes of HOMERs of random shape.
    KFHEHOMERClassifier : A Kalman filter fuses HOMERs of random shape.

    Notes
    -----
    Details follow the R package utiml, with two corrections. There a meta-label that every training sample of a node
    has gets probability 0; here it gets 1. There k-means fails if fewer label columns than clusters differ; here there
    are fewer groups then, and labels that cannot be told apart at all are dealt to groups at random. A group that no
    training sample has is divided into single labels at once. Samples without any label are used by the root only if
    the others leave nothing to learn, as with a single label. What utiml takes for the probability of a label is that
    of the smallest group around it that a sample has reached, whatever those above were. With ``any_label=False`` it
    decides as here, but its probabilities add up to far more labels than samples have.

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
                f"n_clusters={self.n_clusters} is more than the {n_labels} label(s); every label becomes a group of "
                "its own, as in binary relevance.",
                stacklevel=5,
            )
        settings = HOMERSettings(self.clustering, self.n_clusters, self.any_label, {})
        method = partial(train_homer, settings=settings, n_threads=share_nodes(problem))
        trained = train_method(problem, method, int(problem.rng.integers(2**62)))
        trained.trace["n_models_"] = trained.fused.models[0].n_models
        return trained

    def export_text(self) -> str:
        """Write the hierarchy of labels as text, a line per group.

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
        """Draw the hierarchy of labels from its root to the names of the labels.

        Returns
        -------
        matplotlib.figure.Figure
            Show it in a notebook, or write it with ``savefig``.
        """
        return draw_hierarchy(self._hierarchy(), self.labels_)

    def _hierarchy(self) -> Any:
        check_is_fitted(self)
        return self._fused_.models[0].hierarchy


def share_nodes(problem: Problem) -> int:
    """Return how many nodes of a HOMER are trained at the same time; then a node has one thread.

    Classifiers of scikit-learn hold the interpreter's lock: of those, the labels of a node are trained side by side, in
    processes.
    """
    if problem.learner.prefer == "processes":
        return 1
    problem.learner.n_threads = 1
    return count_threads(problem.n_jobs)
