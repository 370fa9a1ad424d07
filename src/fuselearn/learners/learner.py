"""One table, many questions: targets, and what ensembles expect of a learner and of the models that it trains."""

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
    """A question about the samples of a table, with as many columns of scores as an answer has.

    Make one by :func:`class_target`, :func:`label_target`, :func:`value_target` or :func:`class_list_target`.
    """

    task: Literal["classes", "labels", "values"]
    values: npt.NDArray[Any]
    """Class indices (n,), an indicator matrix (n, K), or numbers (n,)."""
    n_columns: int
    """K: the number of classes or labels, 1 for values."""
    names: npt.NDArray[Any] | None = None
    """The sorted classes as the user passed them, which ``class_weight`` refers to."""
    samples: Indices | None = None
    """The sample that each class index is about; by default, all samples in their order. A sample of several classes
    appears several times."""
    label_sets: Labels | None = None
    """The labels that each class stands for, of shape (n_classes, n_labels), if single labels are to be right."""

    def regroup(self, groups: npt.NDArray[np.int8]) -> Target:
        """Ask to which of two groups the class of a sample belongs.

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
    """Make a target of labels from an indicator matrix; the learner trains one model per label.

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
    """Make a target of the classes of each drawn sample, which may have none or several.

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

    Without ``X`` its methods predict for the samples that the learner is bound to, from prepared data, as long as they
    are bound. In copies and files a model has no training data.

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
    def pack(cls, models: Sequence[Any], coefficients: Weights) -> Callable[[Any], Scores] | None:
        """Return a function that sums up the scores of models for a few new samples at once; None if there is none."""
        return None

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the probability of each class or label, or the predicted value.

        Parameters
        ----------
        X : what ``Learner.prepare`` returned, optional
            By default, the training samples.
        appended : array of shape (n_predicted, n_appended), optional
            Values of the features that the learner was extended with. By default, and for training samples only,
            those that it was extended with.
        only : int array of shape (n_predicted,), optional
            Indices of the samples to predict; all by default.

        Returns
        -------
        array of shape (n_predicted, n_columns)
            Probabilities of classes sum to one.
        """
        raise NotImplementedError

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Return the index of the class that a model of classes chooses, the first of equally probable ones."""
        return self.scores(X).argmax(axis=1).astype(np.int32)

    def choices(self, n_columns: int, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return 1 for the class that a model of classes chooses, and 0 for others."""
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
        """Return scores above 0.5 for the labels that the model chooses; by default, their probabilities."""
        return self.scores(X, only=only)

    def choices(self, n_columns: int, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return 1 for the labels that the model chooses, and 0 for others."""
        return (self.decisions(X, only=only) > 0.5).astype(np.float64)


class Bound:
    """What a learner and its models share of the training data, until the learner releases it.

    Parameters
    ----------
    table : object
        The table as the learner has prepared it.
    appended : array of shape (n_samples, n_appended)
        Features of 0 and 1 that the learner was extended with, none at first.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(Bound(np.zeros((1000, 3))))).table
    Traceback (most recent call last):
    RuntimeError: The training data are no longer bound; pass the samples.
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
            raise RuntimeError("The training data are no longer bound; pass the samples.")
        return table

    @property
    def appended(self) -> npt.NDArray[np.integer]:
        """The appended features."""
        if self._appended is None:
            raise RuntimeError("The training data are no longer bound; pass the samples.")
        return self._appended

    def extend(self, columns: npt.NDArray[np.integer]) -> Bound:
        """Append features to the same table, which is released with this one."""
        return Bound(None, np.hstack([self.appended, columns]), self if self._root is None else self._root)

    def release(self) -> None:
        """Let go of the table, for all that share it, or only of the features that were appended to it."""
        self._table = self._appended = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the training data out of copies and files."""
        return Bound, ()


class Learner:
    """A table bound to a way of learning; the base of the learners of trees, SVMs and clones of any estimator.

    A learner trains any number of models, on any target and any sample, and copies nothing that they can share.
    All labels of a target get the same seed, so that their order does not matter. A label that is constant on the
    samples drawn is learned as that constant.

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
    """What prepares new samples for the models, by its ``transform``; None if they take samples as they are.
    An ensemble keeps nothing else of the learner."""
    counts_copies: bool = True
    """Whether weights that are whole numbers mean copies of samples."""
    prefer: str = "threads"
    """What joblib should train several models in: "processes" for estimators that hold the interpreter's lock."""
    batch_size: int = 2**31
    """Maximum number of new samples to prepare at once."""
    bound_parameters: tuple[str, ...] = ()
    """Parameters of the estimator that decide how the table is bound."""

    def train(self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None) -> Any:
        """Train a model on the samples drawn.

        Parameters
        ----------
        target : Target
            For labels, the model consists of one model per label.
        counts : int32 array of shape (n_samples,)
            How often each sample was drawn; 0 leaves it out.
        seed : int
            Seed of the model's own random choices.
        weights : array of shape (n_samples,), optional
            Weights of the samples, where they are not simply the counts. An estimator that takes none learns from
            samples drawn by them.

        Returns
        -------
        Model
            For labels, a LabelModel.
        """
        raise NotImplementedError

    def with_params(self, **params: Any) -> Self:
        """Return a learner on the same bound table whose estimator has other parameters."""
        for name in params:
            if name in self.bound_parameters:
                raise ValueError(f"{name} cannot vary between models that are trained on one bound table.")
        return self.with_estimator(clone(self.estimator).set_params(**params)) if params else self

    def fits(self, estimator: BaseEstimator) -> bool:
        """Return whether an estimator would bind the table in the same way."""
        return type(estimator) is type(self.estimator) and all(
            getattr(estimator, name) == getattr(self.estimator, name) for name in self.bound_parameters
        )

    def with_estimator(self, estimator: BaseEstimator) -> Self:
        """Return a learner on the same bound table for an estimator that binds tables in the same way."""
        return self._replaced(estimator=estimator)

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a learner on the same samples with features of 0 and 1 appended: all columns, or the first of them.

        The learners of a chain are extended by the first, the first two, ... columns of one array, and may share it.
        """
        raise NotImplementedError

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Return a learner on some features of the table, which has not been extended yet."""
        raise NotImplementedError

    def prepare(self, X: Any) -> Any:
        """Check new samples, with all their features, and return them as the models take them."""
        return X if self.coder is None else self.coder.transform(X)

    def adapt(self, X: Any) -> Any:
        """Turn samples that were prepared before features were chosen into those that this learner's models take.

        So an ensemble whose members see different features prepares new samples once.
        """
        return X

    def training_samples(self, X: Any) -> Any:
        """Return the samples of the bound table ``X`` as models take new ones, by what is bound if that is faster."""
        return self.prepare(X)

    def release(self) -> None:
        """Release what only training needs, also for all models and learners that share it.

        Models of an extended learner can still predict for the training samples, given ``appended``, as long as the
        learner that was extended is bound.
        """
        raise NotImplementedError

    def _replaced(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    def _class_factors(self, target: Target, drawn: Counts | Weights) -> Weights | None:
        """Return the weight of the class of each of the target's values by ``class_weight``; None if that is None.

        Only what was drawn is balanced. ``drawn`` is the number of times, or the weight, with which each value counts.
        """
        class_weight = getattr(self.estimator, "class_weight", None)
        if class_weight is None:
            return None
        names = target.values if target.names is None else target.names[target.values]
        used = np.flatnonzero(drawn > 0) if class_weight == "balanced" else None
        return compute_sample_weight(class_weight, names, indices=used)

    def _refuse_class_weight(self) -> None:
        """Refuse class weights where there are no classes."""
        if getattr(self.estimator, "class_weight", None) is not None:
            raise ValueError(
                "class_weight is for classes; the labels of a sample have weights of their own. Set class_weight=None."
            )

    def _check_sample(self, target: Target, counts: Counts) -> None:
        """Refuse a target or a sample that does not fit the bound table, or that is empty."""
        shape, samples = target.values.shape, target.samples
        if samples is not None and not counts[samples].any():
            raise ValueError("No sample that was drawn is of a class; at least one is needed.")
        n_values = self.n_samples if samples is None else len(samples)
        if shape[0] != n_values or len(shape) != 1 + (target.task == "labels") or len(counts) != self.n_samples:
            raise ValueError(
                f"The table has {self.n_samples} samples; the target has shape {shape} and counts {counts.shape}."
            )
        if not np.count_nonzero(counts):  # several times as fast as ``any``
            raise ValueError("No sample was drawn; at least one is needed.")


def count_all_samples(weights: Weights | None, n_samples: int, *, copies: bool = True) -> tuple[Counts, Weights | None]:
    """Turn sample weights into counts, and into weights where whole numbers cannot express them.

    Parameters
    ----------
    weights : array of shape (n_samples,), optional
    n_samples : int
    copies : bool
        Whether weights that are whole numbers mean copies of samples.

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
    """Return whether weights are whole numbers, and so the number of copies of each sample.

    Examples
    --------
    >>> are_counts(np.array([0.0, 3.0])), are_counts(np.array([0.5, 3.0]))
    (True, False)
    """
    return bool((weights == np.rint(weights)).all() and weights.sum() < 2**31)


class BoundLearner(Learner):
    """A learner whose models share its table as a :class:`Bound`; it travels with the learner, but not with models."""

    bound: Bound

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to a worker process, where models are trained."""
        return {**vars(self), "bound": (self.bound.table, self.bound.appended)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Bind the table in a worker process."""
        vars(self).update(state, bound=Bound(*state["bound"]))


def bind(estimator: Any, X: Any, n_threads: int = 1) -> Learner:
    """Bind a table to an estimator, of which any number of models are then trained.

    Parameters
    ----------
    estimator : classifier or regressor
        A ``CARTClassifier`` or ``CARTRegressor`` means the compiled trees, an ``SVMClassifier`` the compiled SVMs: they
        bind tables by themselves. Any other scikit-learn estimator is cloned for each model.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Checked for its shape already.
    n_threads : int, default=1
        Threads (processes for other classifiers) that train and predict labels side by side.

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
    from fuselearn.learners.clones import CloneLearner  # which derives from the classes of this module

    return CloneLearner(X, estimator, n_threads)
