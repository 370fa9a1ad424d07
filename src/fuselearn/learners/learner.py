"""Targets, and the interfaces of learners and of the models that they train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.class_weight import compute_sample_weight

Counts = npt.NDArray[np.int32]
Indices = npt.NDArray[np.integer]
Labels = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Target:
    """The target of training: classes, labels or values of the samples of a table.

    Create one with :func:`class_target`, :func:`label_target`, :func:`value_target` or :func:`class_list_target`.
    """

    task: Literal["classes", "labels", "values"]
    values: npt.NDArray[Any]
    """Class indices (n,), an indicator matrix (n, K), or numbers (n,)."""
    n_columns: int
    """K: the number of classes or labels, 1 for values."""
    names: npt.NDArray[Any] | None = None
    """The sorted class labels of the user, which are the keys of ``class_weight``."""
    samples: Indices | None = None
    """The sample of each class index; by default, all samples in order. A sample of several classes is repeated."""
    label_sets: Labels | None = None
    """The labels of each class, of shape (n_classes, n_labels), if probabilities are calibrated for labels."""

    def regroup(self, groups: npt.NDArray[np.int8]) -> Target:
        """Return the binary target that distinguishes two groups of classes.

        Parameters
        ----------
        groups : int8 array of shape (n_classes,)
            0 or 1 for each class.

        Examples
        --------
        >>> class_target(np.array([0, 1, 2], dtype=np.int32), 3).regroup(np.array([0, 1, 0], dtype=np.int8)).values
        array([0, 1, 0], dtype=int32)
        """
        return replace(self, values=groups[self.values].astype(np.int32), n_columns=2, names=None)


def class_target(indices: npt.NDArray[np.int32], n_classes: int, names: npt.NDArray[Any] | None = None) -> Target:
    """Make a target of one class per sample.

    Examples
    --------
    >>> class_target(np.array([0, 2, 1], dtype=np.int32), 3).n_columns
    3
    """
    return Target("classes", indices, n_classes, names)


def label_target(Y: Labels) -> Target:
    """Make a target of labels from an indicator matrix. The learner trains one model per label.

    Examples
    --------
    >>> label_target(np.array([[1, 0], [1, 1], [0, 0]], dtype=np.int8)).n_columns
    2
    """
    return Target("labels", Y, Y.shape[1])


def value_target(numbers: npt.NDArray[np.float64]) -> Target:
    """Make a target of numbers, for regression.

    Examples
    --------
    >>> value_target(np.array([0.5, 2.0])).task
    'values'
    """
    return Target("values", numbers, 1)


def class_list_target(members: Labels, counts: Counts, label_sets: Labels | None = None) -> Target:
    """Make a target in which each drawn sample may have no class, one, or several.

    Parameters
    ----------
    members : array of shape (n_samples, n_classes)
        1 where a sample belongs to a class, else 0.
    counts : int32 array of shape (n_samples,)
    label_sets : array of shape (n_classes, n_labels), optional

    Examples
    --------
    >>> members, counts = np.array([[0, 1], [1, 1], [0, 0], [1, 0]]), np.array([2, 1, 1, 0], dtype=np.int32)
    >>> target = class_list_target(members, counts)
    >>> target.samples, target.values
    (array([0, 1, 1]), array([1, 0, 1], dtype=int32))
    """
    samples, indices = np.nonzero((members > 0) & (counts > 0)[:, None])
    return Target("classes", indices.astype(np.int32), members.shape[1], samples=samples, label_sets=label_sets)


class Model:
    """A trained model.

    Without ``X``, its methods predict for the training samples, which are already prepared, until the learner releases
    them. Copies and files of a model contain no training data.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind, class_target
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> target = class_target(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> model = learner.train(target, np.ones(4, dtype=np.int32), seed=0)
    >>> model.votes(learner.prepare(np.array([[0.0], [9.0]])))
    array([0, 1], dtype=int32)
    """

    __slots__ = ()

    @classmethod
    def pack(
        cls, models: Sequence[Any], coefficients: Weights, output: str = "scores"
    ) -> Callable[[Any], Scores] | None:
        """Return a function for the weighted sum of an output of models, fast for few samples; None if there is none.

        The function takes samples returned by ``Learner.prepare``. The output is "scores" or "decisions".
        """
        return None

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the probability of each class or label, or the predicted value.

        Parameters
        ----------
        X : samples returned by ``Learner.prepare``, optional
            By default, the training samples.
        appended : array of shape (n_predicted, n_appended), optional
            Values of the features appended by ``Learner.extend``. May only be omitted for training samples.
        only : int array of shape (n_predicted,), optional
            Indices of the samples to predict; all by default.

        Returns
        -------
        array of shape (n_predicted, n_columns)
            Probabilities of classes sum to one.
        """
        raise NotImplementedError

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Return the index of the most probable class; ties go to the first class."""
        return self.scores(X).argmax(axis=1).astype(np.int32)

    def choices(self, n_columns: int, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return the predicted classes as an indicator matrix."""
        votes = self.votes(X)
        return np.eye(n_columns)[votes if only is None else votes[only]]


class LabelModel(Model):
    """A trained multi-label model, such as a chain, a label powerset or a hierarchy.

    Examples
    --------
    >>> class Prior(LabelModel):
    ...     def scores(self, X=None, *, appended=None, only=None):
    ...         return np.tile([0.2, 0.7], (len(X), 1))
    >>> Prior().choices(2, np.zeros((1, 4)))
    array([[0., 1.]])
    """

    __slots__ = ()

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return scores above 0.5 for the predicted labels; by default, the probabilities."""
        return self.scores(X, only=only)

    def choices(self, n_columns: int, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return the predicted labels as an indicator matrix."""
        return (self.decisions(X, only=only) > 0.5).astype(np.float64)


class Bound:
    """Training data shared by a learner and its models until the learner releases them.

    Parameters
    ----------
    table : object
        The table as prepared by the learner.
    appended : array of shape (n_samples, n_appended)
        Binary features appended by ``Learner.extend``; initially none.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(Bound(np.zeros((1000, 3))))).table
    Traceback (most recent call last):
    RuntimeError: The training data have been released; pass X.
    """

    def __init__(
        self, table: Any = None, appended: npt.NDArray[np.integer] | None = None, root: Bound | None = None
    ) -> None:
        self._table = table
        self._appended = appended
        self._root = root

    @property
    def table(self) -> Any:
        """The table, without appended features."""
        table = self._table if self._root is None else self._root._table
        if table is None:
            raise RuntimeError("The training data have been released; pass X.")
        return table

    @property
    def appended(self) -> npt.NDArray[np.integer]:
        """The appended features."""
        if self._appended is None:
            raise RuntimeError("The training data have been released; pass X.")
        return self._appended

    def extend(self, columns: npt.NDArray[np.integer]) -> Bound:
        """Return the same table with appended features, which is released together with this one."""
        return Bound(None, np.hstack([self.appended, columns]), self if self._root is None else self._root)

    def release(self) -> None:
        """Release the table for all models that share it; for an extended table, only the appended features."""
        self._table = self._appended = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Exclude the training data from copies and files."""
        return Bound, ()


class Learner:
    """Base class of learners, which prepare a table once and train any number of models on it.

    Models may differ in their target and in the samples drawn; data that they can share are not copied. All labels of a
    target have the same seed, so the order of labels does not matter. The model of a label that is constant on the
    samples drawn predicts this constant.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind, class_target
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> counts = np.ones(4, dtype=np.int32)
    >>> for classes in ([0, 0, 1, 1], [0, 1, 1, 1]):  # two targets on the table that was bound once
    ...     print(learner.train(class_target(np.array(classes, dtype=np.int32), 2), counts, seed=0).votes())
    [0 0 1 1]
    [0 1 1 1]
    """

    n_samples: int
    estimator: BaseEstimator
    n_threads: int
    coder: Any = None
    """Its ``transform`` prepares new samples for the models; None if no preparation is needed. An ensemble stores
    only this attribute of the learner."""
    counts_copies: bool = True
    """Whether integer weights are treated as copies of samples."""
    prefer: str = "threads"
    """How joblib trains models in parallel: "processes" for estimators that hold the interpreter's lock."""
    batch_size: int = 2**31
    """Maximum number of new samples to prepare at once."""
    bound_parameters: tuple[str, ...] = ()
    """Parameters of the estimator that determine how the table is prepared."""

    def train(self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None) -> Any:
        """Train a model on the samples drawn.

        Parameters
        ----------
        target : Target
            For labels, the model consists of one model per label.
        counts : int32 array of shape (n_samples,)
            How often each sample was drawn; samples with 0 are ignored.
        seed : int
            Seed of the model's random choices.
        weights : array of shape (n_samples,), optional
            Sample weights, if they differ from the counts. An estimator that does not support sample weights is
            trained on samples drawn in proportion to them.

        Returns
        -------
        Model
            For labels, a LabelModel.
        """
        raise NotImplementedError

    def with_params(self, **params: Any) -> Self:
        """Return a learner for the same table whose estimator has other parameters."""
        for name in params:
            if name in self.bound_parameters:
                raise ValueError(f"{name} cannot differ between models, because all are trained on one prepared table.")
        return self.with_estimator(clone(self.estimator).set_params(**params)) if params else self

    def fits(self, estimator: BaseEstimator) -> bool:
        """Return whether an estimator would prepare the table in the same way."""
        return type(estimator) is type(self.estimator) and all(
            getattr(estimator, name) == getattr(self.estimator, name) for name in self.bound_parameters
        )

    def with_estimator(self, estimator: BaseEstimator) -> Self:
        """Return a learner for the same table and an estimator that prepares tables in the same way."""
        return self._replaced(estimator=estimator)

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a learner for the same samples with binary features appended: all of ``columns``, or the first ones.

        The learners of a chain are extended by the first, the first two, ... columns of one shared array.
        """
        raise NotImplementedError

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Return a learner for some features of a table without appended features."""
        raise NotImplementedError

    def prepare(self, X: Any) -> Any:
        """Convert new samples, with all features, to the input of the models."""
        return X if self.coder is None else self.coder.transform(X)

    def adapt(self, X: Any) -> Any:
        """Select the features of this learner from samples prepared with all features.

        An ensemble whose members use different features thus prepares new samples once.
        """
        return X

    def training_samples(self, X: Any) -> Any:
        """Return the training samples ``X`` as input of the models, from the prepared table if that is faster."""
        return self.prepare(X)

    def release(self) -> None:
        """Release data that are only needed for training, for all models and learners that share them.

        Models of an extended learner can still predict for the training samples, given ``appended``, until the original
        learner is released.
        """
        raise NotImplementedError

    def _replaced(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    def _class_factors(self, target: Target, drawn: Counts | Weights) -> Weights | None:
        """Return the class weight of each value of the target; None if ``class_weight`` is None.

        "balanced" refers to the samples drawn; ``drawn`` are their counts or weights.
        """
        class_weight = getattr(self.estimator, "class_weight", None)
        if class_weight is None:
            return None
        names = target.values if target.names is None else target.names[target.values]
        used = np.flatnonzero(drawn > 0) if class_weight == "balanced" else None
        return compute_sample_weight(class_weight, names, indices=used)

    def _refuse_class_weight(self) -> None:
        """Raise an error for class weights if the target has no classes."""
        if getattr(self.estimator, "class_weight", None) is not None:
            raise ValueError("class_weight is not supported for multi-label targets; set class_weight=None.")

    def _check_sample(self, target: Target, counts: Counts) -> None:
        """Raise an error for a target or counts that do not match the table, or if no sample was drawn."""
        shape, samples = target.values.shape, target.samples
        if samples is not None and not counts[samples].any():
            raise ValueError("No drawn sample has a class; at least one is required.")
        n_values = self.n_samples if samples is None else len(samples)
        if shape[0] != n_values or len(shape) != 1 + (target.task == "labels") or len(counts) != self.n_samples:
            raise ValueError(
                f"The table has {self.n_samples} samples; the target has shape {shape} and counts {counts.shape}."
            )
        if not np.count_nonzero(counts):  # several times faster than ``any``
            raise ValueError("No sample was drawn; at least one is required.")


def count_all_samples(weights: Weights | None, n_samples: int, *, copies: bool = True) -> tuple[Counts, Weights | None]:
    """Convert sample weights to counts if they are integers, else to counts of 0 and 1 and weights.

    Parameters
    ----------
    weights : array of shape (n_samples,), optional
    n_samples : int
    copies : bool
        Whether integer weights are treated as copies of samples.

    Examples
    --------
    >>> count_all_samples(np.array([0.0, 3.0, 1.0]), 3)
    (array([0, 3, 1], dtype=int32), None)
    >>> count_all_samples(np.array([0.0, 0.5, 1.0]), 3)
    (array([0, 1, 1], dtype=int32), array([0. , 0.5, 1. ]))
    """
    if weights is None:
        return np.ones(n_samples, dtype=np.int32), None
    if copies and are_counts(weights):
        return weights.astype(np.int32), None
    return (weights > 0).astype(np.int32), weights


def are_counts(weights: Weights) -> bool:
    """Return whether weights are integers, and can be treated as numbers of copies.

    Examples
    --------
    >>> are_counts(np.array([0.0, 3.0])), are_counts(np.array([0.5, 3.0]))
    (True, False)
    """
    return bool((weights == np.rint(weights)).all() and weights.sum() < 2**31)


class BoundLearner(Learner):
    """A learner that shares its table with its models as a :class:`Bound`, pickled with the learner only."""

    bound: Bound

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a worker process."""
        return {**vars(self), "bound": (self.bound.table, self.bound.appended)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the table in a worker process."""
        vars(self).update(state, bound=Bound(*state["bound"]))


def bind(estimator: Any, X: Any, n_threads: int = 1) -> Learner:
    """Prepare a table for an estimator, and return the learner that trains models on it.

    Parameters
    ----------
    estimator : classifier or regressor
        ``CARTClassifier`` and ``CARTRegressor`` have a compiled learner of trees, ``SVMClassifier`` one of SVMs. Any
        other scikit-learn estimator is cloned for each model.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        A table with validated shape.
    n_threads : int, default=1
        Number of threads (processes for clones) for training and predicting labels in parallel.

    Returns
    -------
    Learner

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import label_target
    >>> X, Y = np.arange(40.0)[:, None], np.repeat([[0, 1], [1, 1]], 20, axis=0)
    >>> learner = bind(CARTClassifier(), X)
    >>> model = learner.train(label_target(Y), np.ones(40, dtype=np.int32), seed=0)
    >>> model.scores(learner.prepare(np.array([[5.0], [35.0]])))
    array([[0., 1.],
           [1., 1.]])
    """
    if hasattr(estimator, "_bind_table"):
        return estimator._bind_table(X, n_threads)
    from fuselearn.learners.clones import CloneLearner  # imports this module

    return CloneLearner(X, estimator, n_threads)
