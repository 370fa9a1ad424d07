"""One table, many questions: what ensembles expect of a learner and of the components that it trains."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.class_weight import compute_sample_weight

Counts = npt.NDArray[np.int32]
Indices = npt.NDArray[np.integer]
Labels = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class Classes(NamedTuple):
    """A target of classes.

    Examples
    --------
    >>> target = Classes(np.array([0, 1, 1], dtype=np.int32), 2, names=np.array(["no", "yes"]))
    >>> target.names[target.numbers].tolist()
    ['no', 'yes', 'yes']
    """

    numbers: npt.NDArray[np.int32]
    """Number of the class of each sample, from 0 on."""
    n_classes: int
    names: npt.NDArray[Any] | None = None
    """The sorted classes as the user gave them, so that ``class_weight`` and the like mean what they say."""
    samples: Indices | None = None
    """The sample that each number is about; all samples in their order by default. A sample of several classes is
    there several times."""
    labels: Labels | None = None
    """Which labels each class stands for, of shape (n_classes, n_labels), if what matters is that labels are right."""


class Values(NamedTuple):
    """A target of numbers, for regression.

    Examples
    --------
    >>> from fuselearn.ensembles import CARTRegressor
    >>> from fuselearn.learners import Values, bind_regressor
    >>> learner = bind_regressor(CARTRegressor(max_depth=1), np.arange(4.0)[:, None])
    >>> learner.train(Values(np.array([1.0, 3.0, 8.0, 8.0])), np.ones(4, dtype=np.int32), seed=0).scores()
    array([[2.],
           [2.],
           [8.],
           [8.]])
    """

    numbers: npt.NDArray[np.float64]
    """One for each sample."""


Target = Classes | Values | Labels
"""Classes, numbers, or labels as an array of 0 and 1 of shape (n_samples, n_labels)."""


class Component(Protocol):
    """One trained model, or one model per label.

    Without ``rows`` the methods answer for the samples that the learner is bound to, from prepared data.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import Classes, bind
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> target = Classes(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> component = learner.train(target, np.ones(4, dtype=np.int32), seed=0)
    >>> component.votes(learner.prepare(np.array([[0.0], [9.0]])))
    array([0, 1], dtype=int32)
    """

    def scores(self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the probability of each class or label, or the predicted number.

        Parameters
        ----------
        rows : what ``Learner.prepare`` returned, optional
            By default, the training samples.
        extra : array of shape (n_asked, n_appended), optional
            Values of the features that the learner was extended with. By default, and for training samples only,
            those that it was extended with.
        only : int array of shape (n_asked,), optional
            Which of the samples to answer for; all by default.

        Returns
        -------
        array of shape (n_asked, n_classes), (n_asked, n_labels) or, for numbers, (n_asked, 1)
            Probabilities of classes sum to one.
        """
        ...

    def votes(self, rows: Any = None) -> npt.NDArray[np.int32]:
        """Return the number of the class that the component chooses for each sample; only components of classes do."""
        ...

    def unbind(self) -> None:
        """Release the training data."""
        ...


class Learner:
    """A table bound to an estimator; the base of the adapters for trees, support vector machines and any estimator.

    A learner trains any number of components, on any target and any sample, and copies nothing that they can share.
    All labels of a target get the same seed, so that their order does not matter. A label that is constant on the
    samples drawn is learned as that constant.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import Classes, bind
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> counts = np.ones(4, dtype=np.int32)
    >>> for classes in ([0, 0, 1, 1], [0, 1, 1, 1]):  # two targets on the table that was bound once
    ...     print(learner.train(Classes(np.array(classes, dtype=np.int32), 2), counts, seed=0).votes())
    [0 0 1 1]
    [0 1 1 1]
    """

    n_samples: int
    estimator: BaseEstimator
    n_threads: int
    coder: Any = None
    """What turns new samples into rows for the components, by its ``transform``; None if they take samples as they are.
    It is all that an ensemble needs to keep of the learner."""
    counts_copies: bool = True
    """Whether weights that are whole numbers mean copies of samples."""
    prefer: str = "threads"
    """What joblib should train several components in: "processes" for estimators that hold the interpreter's lock."""
    samples_at_once: int = 2**31
    """Most new samples to prepare at once."""
    bound_parameters: tuple[str, ...] = ()
    """Parameters of the estimator that decide how the table is bound."""

    def train(self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None) -> Any:
        """Train a component on the samples drawn.

        Parameters
        ----------
        target : Classes, Values, or array of shape (n_samples, n_labels)
            What to learn: classes, numbers, or labels as 0 and 1, with a model per label.
        counts : int32 array of shape (n_samples,)
            How often each sample was drawn; 0 leaves it out.
        seed : int
            Seed of the component's own random choices.
        weights : array of shape (n_samples,), optional
            Weights of the samples, where they are not simply the counts. An estimator that takes none learns from
            samples drawn by them.

        Returns
        -------
        Component
        """
        raise NotImplementedError

    def with_params(self, **params: Any) -> Self:
        """Return a learner on the same bound table whose estimator has other parameters."""
        for name in params:
            if name in self.bound_parameters:
                raise ValueError(f"{name} cannot vary between models that are trained on one bound table.")
        return self._replaced(estimator=clone(self.estimator).set_params(**params)) if params else self

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a learner on the same samples with features of 0 and 1 appended: all columns, or the first of them.

        The learners of a chain are extended by the first, the first two, ... columns of one array, and may share it.
        """
        raise NotImplementedError

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Return a learner on some features of the table, which has not been extended yet."""
        raise NotImplementedError

    def prepare(self, X: Any) -> Any:
        """Check new samples, with all their features, and return them as the rows that components take."""
        return X if self.coder is None else self.coder.transform(X)

    def adapt(self, rows: Any) -> Any:
        """Turn rows that were prepared before features were chosen into those that this learner's components take.

        So an ensemble whose members see different features prepares new samples once.
        """
        return rows

    def unbind(self) -> None:
        """Release what only training needs.

        Components of an extended learner can still answer for the training samples, given ``extra``, as long as the
        learner that was extended is bound.
        """
        raise NotImplementedError

    def _replaced(self, **changes: Any) -> Self:
        other = copy.copy(self)
        vars(other).update(changes)
        return other

    def _class_factors(self, target: Classes, drawn: Counts | Weights) -> Weights | None:
        """Return the weight of the class of each of the target's numbers, as ``class_weight`` says; None if it is None.

        Only what was drawn is balanced. ``drawn`` says how often, or with which weight, each number is there.
        """
        class_weight = getattr(self.estimator, "class_weight", None)
        if class_weight is None:
            return None
        names = target.numbers if target.names is None else target.names[target.numbers]
        used = np.flatnonzero(drawn > 0) if class_weight == "balanced" else None
        factors: Weights = compute_sample_weight(class_weight, names, indices=used)
        return factors

    def _refuse_class_weight(self) -> None:
        """Refuse class weights where there are no classes."""
        if getattr(self.estimator, "class_weight", None) is not None:
            raise ValueError(
                "class_weight is for classes; the labels of a sample have weights of their own. Set class_weight=None."
            )

    def _check_sample(self, target: Target, counts: Counts) -> None:
        """Refuse a target or a sample that does not fit the bound table, or that is empty."""
        if isinstance(target, Classes):
            shape, samples = target.numbers.shape, target.samples
            fits = shape == ((self.n_samples,) if samples is None else samples.shape)
            if samples is not None and not counts[samples].any():
                raise ValueError("No sample that was drawn is of a class; at least one is needed.")
        elif isinstance(target, Values):
            shape = target.numbers.shape
            fits = shape == (self.n_samples,)
        else:
            shape = target.shape
            fits = len(shape) == 2 and shape[0] == self.n_samples
        if not fits or len(counts) != self.n_samples:
            raise ValueError(
                f"The table has {self.n_samples} samples; the target has shape {shape} and counts {counts.shape}."
            )
        if not np.count_nonzero(counts):  # several times as fast as ``any``
            raise ValueError("No sample was drawn; at least one is needed.")


def list_classes(members: Labels, counts: Counts, labels: Labels | None = None) -> Classes:
    """Make a target of the classes that each drawn sample stands for, which may be none or several.

    Parameters
    ----------
    members : array of shape (n_samples, n_classes)
        1 where a sample is of a class, else 0.
    counts : int32 array of shape (n_samples,)
    labels : array of shape (n_classes, n_labels), optional

    Examples
    --------
    >>> target = list_classes(np.array([[0, 1], [1, 1], [0, 0], [1, 0]]), np.array([2, 1, 1, 0], dtype=np.int32))
    >>> target.samples, target.numbers
    (array([0, 1, 1]), array([1, 0, 1], dtype=int32))
    """
    samples, numbers = np.nonzero((members > 0) & (counts > 0)[:, None])
    return Classes(numbers.astype(np.int32), members.shape[1], samples=samples, labels=labels)
