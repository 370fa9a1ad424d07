"""The outputs of any fitted classifiers, aligned by class, as arrays.

An output has the shape (n_samples, n_classes) or, for a multi-label classifier, (n_samples, n_labels, 2): the last axis
always contains classes, so the same code combines each label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, column_or_1d

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn.base import read_classes
from fuselearn.combine.members import Member, resolve_columns, take_columns
from fuselearn.learners.learner import Scores


@dataclass(frozen=True)
class Classes:
    """The classes of a target, or the values 0 and 1 of several labels.

    Parameters
    ----------
    values : array of shape (n_classes,)
        The sorted classes; 0 and 1 for labels.
    n_labels : int or None
        Number of labels; None if the target is one column of classes.
    """

    values: npt.NDArray[Any]
    n_labels: int | None = None

    @property
    def attribute(self) -> Any:
        """What scikit-learn expects in ``classes_``."""
        return self.values if self.n_labels is None else [self.values] * self.n_labels

    @property
    def endings(self) -> list[str]:
        """Endings for the names of outputs: the classes, or the labels with their values."""
        if self.n_labels is None:
            return [f"_{value}" for value in self.values]
        return [f"_{label}_{value}" for label in range(self.n_labels) for value in self.values]

    def votes(self, model: Any, X: Any) -> Scores:
        """Return the predictions of a model, one-hot encoded."""
        predicted = model.predict(X)
        predicted = predicted.toarray() if sparse.issparse(predicted) else np.asarray(predicted)
        return np.eye(len(self.values))[self.encode(predicted)]

    def probabilities(self, model: Any, X: Any) -> Scores:
        """Return the class probabilities of a model; 0 for classes missing from its training samples."""
        if self.n_labels is None:
            return self._align(model, np.asarray(model.predict_proba(X), dtype=np.float64))
        present = label_probabilities(model, X)
        return np.stack([1 - present, present], axis=2)

    def rankings(self, model: Any, X: Any) -> Scores:
        """Return scores that rank the classes: probabilities or, without them, the decision function."""
        if hasattr(model, "predict_proba"):
            return self.probabilities(model, X)
        decision = np.asarray(model.decision_function(X), dtype=np.float64)
        if self.n_labels is not None:
            return np.stack([-decision, decision], axis=2)
        return self._align(model, np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision)

    def encode(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """Convert classes to indices."""
        try:
            indices = np.searchsorted(self.values, labels).clip(max=len(self.values) - 1)
            unknown = self.values[indices] != labels
        except TypeError:  # numbers and strings cannot be compared
            unknown = np.ones(labels.shape, dtype=bool)
        if unknown.any():
            found = labels[unknown][:1].tolist()[0]
            raise ValueError(
                f"Members have the classes {self.values.tolist()}, but a prediction contains {show(found)}."
            )
        return indices

    def as_table(self, probabilities: Scores) -> Scores:
        """Return probabilities as ``predict_proba`` does: of all classes, or of each label."""
        return probabilities if self.n_labels is None else probabilities[:, :, 1]

    def decode(self, indices: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """Convert indices to classes."""
        return self.values[indices]

    def _align(self, model: Any, scores: Scores) -> Scores:
        """Reorder the columns of a model's scores to the order of the classes."""
        known = np.asarray(getattr(model, "classes_", self.values))
        if scores.shape[1] != len(known):
            raise ValueError(
                f"{type(model).__name__} returns {scores.shape[1]} scores per sample for its {len(known)} classes."
            )
        aligned = np.zeros((len(scores), len(self.values)))
        aligned[:, self.encode(known)] = scores
        return aligned


def label_probabilities(model: Any, X: Any) -> Scores:
    """Return the probability of each label, from one (n_samples, n_labels) array or scikit-learn's list of arrays."""
    given = model.predict_proba(X)
    if not isinstance(given, list):
        return np.asarray(given, dtype=np.float64)
    # The array of a label that was constant in training has a single column.
    columns = [one[:, np.asarray(known) == 1].sum(axis=1) for one, known in zip(given, model.classes_, strict=True)]
    return np.stack(columns, axis=1)


def read_classes_of(
    members: Sequence[Member], X: Any, y: Any, *, prefit: bool
) -> tuple[Classes, npt.NDArray[Any] | None]:
    """Return the classes, and the target for the members.

    Classes are those of the target or, if the members are already fitted, those of the members; then the target may be
    None.
    """
    if not prefit:
        return read_class_target(y, X.shape[0])
    found = [_classes_of(member, X) for member in members]
    classes = found[0]
    for member, other in zip(members, found, strict=True):
        if other.n_labels != classes.n_labels or set(other.values) != set(classes.values):
            raise ValueError(
                f"estimators: members must have the same classes, but {members[0].name!r} has {_describe(classes)} "
                f"and {member.name!r} has {_describe(other)}."
            )
    if y is None:
        return classes, None
    labels = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if classes.n_labels is None:
        labels = column_or_1d(labels, warn=True)
    elif labels.ndim != 2 or labels.shape[1] != classes.n_labels:
        raise ValueError(
            f"y must be an indicator matrix of the members' {classes.n_labels} labels; its shape is {labels.shape}."
        )
    check_consistent_length(X, labels)
    classes.encode(labels)
    return classes, labels


def read_class_target(y: Any, n_samples: int) -> tuple[Classes, npt.NDArray[Any]]:
    """Validate a column of classes or an indicator matrix; return the classes, and the target for the members.

    Examples
    --------
    >>> read_class_target(["no", "yes", "no"], 3)[0].values.tolist()
    ['no', 'yes']
    >>> read_class_target([[1, 0], [0, 0], [1, 1]], 3)[0].n_labels
    2
    """
    target = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if target.ndim == 2 and target.shape[1] > 1:
        if len(target) != n_samples:
            raise ValueError(f"X and y have inconsistent numbers of samples: {n_samples} and {len(target)}.")
        if not np.isin(target, (0, 1)).all():
            raise ValueError(
                f"y has {target.shape[1]} columns with values other than 0 and 1; expected one column of classes "
                f"or an indicator matrix of labels."
            )
        return Classes(np.array([0, 1]), target.shape[1]), target.astype(np.int64)
    classes, indices = read_classes(target, n_samples)
    return Classes(classes), classes[indices]


def _classes_of(member: Member, X: Any) -> Classes:
    """Return the classes of a fitted member; one prediction shows whether it predicts classes or labels."""
    predicted = member.estimator.predict(take_columns(take_rows(X, [0]), resolve_columns(member, X)))
    if predicted.ndim == 2:
        return Classes(np.array([0, 1]), predicted.shape[1])
    if not hasattr(member.estimator, "classes_"):
        raise ValueError(f"estimators: {member.name!r} has no classes_, so its predictions cannot be combined.")
    return Classes(np.unique(member.estimator.classes_))


def _describe(classes: Classes) -> str:
    return str(classes.values.tolist()) if classes.n_labels is None else f"{classes.n_labels} labels"


def require_method(members: Sequence[Member], methods: tuple[str, ...], purpose: str) -> None:
    """Raise an error for members without the required methods."""
    for member in members:
        if not any(hasattr(member.estimator, method) for method in methods):
            raise ValueError(
                f"estimators: {member.name!r} has no {' or '.join(methods)}, which {purpose} needs; scikit-learn's "
                "CalibratedClassifierCV adds probabilities to any classifier."
            )
