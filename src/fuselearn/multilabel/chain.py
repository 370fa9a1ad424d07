"""Classifier chains: each label's model sees the labels before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_choice
from fuselearn.multilabel.base import Labels, ReductionClassifier, Scores, Weights
from fuselearn.multilabel.learners import Block, Learner

Counts = npt.NDArray[np.int32]
Indices = npt.NDArray[np.intp]


class ChainClassifier(ReductionClassifier):
    """Two-class models in a chain, in which each label is learned from the row and the labels before it.

    With the labels in the order 1, ..., L of the chain,

        p_j(x) = P(y_j = 1 | x, y_1, ..., y_{j-1}).

    In training, the y_1, ..., y_{j-1} are the true labels. In prediction they are those that the chain has predicted:
    1 where the probability is above 0.5, else 0, whatever ``decision`` makes of the probabilities afterwards.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner. None means the SVM engine, "tree" the CART engine with the settings of ``CARTClassifier()``; any
        scikit-learn classifier is cloned for each label.
    order : None, "random" or sequence, default=None
        Order of the labels in the chain: their order in ``Y``, a random one, or a list of their numbers or, if ``Y``
        is a frame, of their names. Results are in the order of ``Y`` in any case.
    C : float, default=1.0
        Cost of the SVM engine, as are the next four.
    kernel : {"rbf", "linear"}, default="rbf"
    gamma : float or None, default=None
        None means one over the number of columns, labels not counted.
    probability : {"platt", "logistic", "sign"}, default="platt"
        Probabilities by Platt's method on cross-validated margins, by a logistic of the margin, or 0 and 1.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether columns are divided by their standard deviation, by their range, or not at all. Labels that serve as
        columns are -1 and 1 beside standardised columns, and 0 and 1 beside others.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the order and of the base learners.
    n_jobs : int or None, default=None
        Threads that a model may use; the models of a chain are trained one after the other.

    Attributes
    ----------
    order_ : array of shape (n_labels,)
        Numbers of the labels in the order of the chain.
    estimators_ : list of classifiers
        The models in the order of the chain, unless they are machines of the SVM engine. Each expects the labels before
        it as further columns. A label that was constant has scikit-learn's ``DummyClassifier``, or a tree without
        splits.
    labels_ : array of shape (n_labels,)
        Names of the labels: the columns of a frame, otherwise 0, 1, ...
    n_labels_ : int
    classes_ : list of arrays
        For each label its values, 0 and 1, as scikit-learn's tools expect it.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        If fitted on a frame whose column names are text.

    Notes
    -----
    Support vector machines need no new Gram matrix for a label that joins the columns. With g = ``gamma``, a linear
    value grows by the product of the two rows' entries, and a radial one shrinks by the factor exp(-g d^2), d being
    the difference of the entries.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G. and Frank, E. (2011). Classifier chains for multi-label classification.
    Machine Learning 85(3), 333-359.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = ChainClassifier("tree", order=[3, 1, 0, 2]).fit(X[:150], Y[:150])
    >>> model.predict(X[150:153])
    array([[0, 0, 0, 1],
           [1, 1, 0, 0],
           [0, 0, 1, 0]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: str | Sequence[Any] | None = None,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | None = None,
        probability: str = "platt",
        scaling: str | None = "standard",
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.probability = probability
        self.scaling = scaling
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.order, str):
            check_choice("order", self.order, ("random",))

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        self.order_ = self._read_order(rng)
        counts, weights = self._count_rows(weights, len(Y))
        self._learner_ = self._bind(X)
        seed = int(rng.integers(2**31))
        self._chain_ = train_chain(self._learner_, Y, self.order_, counts, seed, weights=weights, **self._settings())
        self._chain_.unbind()
        self._learner_.unbind()

    def _read_order(self, rng: np.random.Generator) -> Indices:
        """Give the numbers of the labels in the order of the chain."""
        numbers = np.arange(self.n_labels_)
        if self.order is None:
            return numbers
        if isinstance(self.order, str):
            return rng.permutation(self.n_labels_)
        given = list(self.order) if isinstance(self.order, Iterable) else []
        for names in (self.labels_.tolist(), numbers.tolist()):
            if len(given) == len(names) and set(given) == set(names):
                return np.array([names.index(label) for label in given])
        raise ValueError(f"order must name each of the {self.n_labels_} labels once, not {show(self.order)}.")

    def _label_scores(self, X: Any) -> Scores:
        return self._chain_.probabilities(self._learner_.prepare(X))

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted models in the order of the chain, as estimators of their own."""
        check_is_fitted(self)
        names: list[Any] | None = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        found = []
        for label, block in zip(self.order_, self._chain_.blocks, strict=True):
            found += self._learner_.estimators(block, None if names is None else np.array(names, dtype=object))
            if names is not None:
                names.append(f"label {self.labels_[label]}")
        return found


class Chain:
    """The trained models of a chain, in its order."""

    def __init__(self, order: Indices, blocks: list[Block]) -> None:
        self.order = order
        self.blocks = blocks

    def probabilities(self, rows: Any = None, *, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Give the probability of each label, in the order of the training labels.

        Parameters
        ----------
        rows : what ``Learner.prepare`` gave, optional
            By default, the training rows that the learner is bound to.
        only : int array of shape (n_asked,), optional
            Which of the rows to answer for; all by default.

        Returns
        -------
        array of shape (n_asked, n_labels)
        """
        found: list[npt.NDArray[np.float64]] = []
        for block in self.blocks:
            extra = (np.column_stack(found) > 0.5).astype(np.int8) if found else None
            found.append(block.probabilities(rows, extra, only)[:, 0])
        scores = np.empty((len(found[0]), len(found)))
        scores[:, self.order] = np.column_stack(found)
        return scores

    def unbind(self) -> None:
        """Let go of the training rows."""
        for block in self.blocks:
            block.unbind()


def train_chain(
    learner: Learner,
    Y: Labels,
    order: Indices,
    counts: Counts,
    seed: int,
    *,
    weights: Weights | None = None,
    **settings: Any,
) -> Chain:
    """Train the models of a chain, each on the table and the true labels before it.

    Parameters
    ----------
    learner : Learner
        It stays as it is.
    Y : array of shape (n_rows, n_labels)
    order : int array of shape (n_labels,)
        Numbers of the labels in the order of the chain.
    counts, seed, weights, settings
        As in ``Learner.train``.
    """
    blocks: list[Block] = []
    extended = learner
    for place, label in enumerate(order):
        if place:
            longer = extended.extend(Y[:, [order[place - 1]]])
            if extended is not learner:
                extended.unbind()
            extended = longer
        blocks.append(extended.train(Y[:, [label]], counts, seed, weights=weights, **settings))
    if extended is not learner:
        extended.unbind()
    return Chain(order, blocks)
