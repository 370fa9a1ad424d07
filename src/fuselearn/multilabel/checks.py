"""Checks for multi-label classifiers, of this library or any other.

They complement those of scikit-learn, which send one label and cover clones, pickling, pipelines and invalid X.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from fuselearn._random import seed_estimator
from fuselearn.multilabel.data.labels import read_probabilities

if TYPE_CHECKING:
    import pandas as pd

CHECKS: dict[str, Callable[[_Subject], None]] = {}
"""The checks by name."""


def check_multilabel_estimator(estimator: Any, expected_failed_checks: Mapping[str, str] | None = None) -> None:
    """Check that a multi-label classifier follows the conventions of this library.

    It must not modify its inputs, must return one (n_samples, n_labels) array of probabilities, accept labels that are
    constant or have a single positive sample and samples without labels, treat sparse matrices and DataFrames like
    arrays, support categorical features and, if its tags say so, missing values, ignore samples of weight 0, return the
    same result for the same seed and any number of jobs, and raise a meaningful error for invalid labels. It must use
    unknown labels (NaN) or raise an error, too.

    Run scikit-learn's ``check_estimator`` as well, for what all estimators have in common. Some of its checks send a
    label with other values than 0 and 1, and fail for a classifier that raises an error for them.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier
        Only clones of it are fitted. Choose cheap settings: it is fitted about forty times, to sixty samples or fewer.
    expected_failed_checks : dict, optional
        Checks that are not run, by name, and the reason.

    Raises
    ------
    AssertionError
        After all checks, with a message for each that failed. Its cause is a group of their errors.

    Examples
    --------
    >>> from fuselearn.multilabel import BinaryRelevanceClassifier, check_multilabel_estimator
    >>> check_multilabel_estimator(BinaryRelevanceClassifier("tree"))
    """
    skipped = set(expected_failed_checks or ())
    if unknown := skipped - set(CHECKS):
        raise ValueError(f"expected_failed_checks has unknown names {sorted(unknown)}; the checks are {[*CHECKS]}.")
    failures = {}
    for name in [name for name in CHECKS if name not in skipped]:
        try:
            run_check(name, estimator)
        except AssertionError as failure:
            failures[name] = failure
    if failures:
        sentences = "".join(f"\n- {name}: {failure}" for name, failure in failures.items())
        raise AssertionError(
            f"{type(estimator).__name__} fails {len(failures)} of {len(CHECKS) - len(skipped)} checks:{sentences}"
        ) from ExceptionGroup("failed checks", list(failures.values()))


def run_check(name: str, estimator: Any) -> None:
    """Run one check, and turn any error of the estimator into an AssertionError."""
    try:
        CHECKS[name](_Subject(estimator))
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{type(estimator).__name__} raised {type(error).__name__} in {name}: {error}") from error


class _Subject:
    """An estimator that is checked: clones of it, and complaints about it."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.name = type(estimator).__name__
        self.input_tags = get_tags(estimator).input_tags

    def clone(self, seed: int = 0, **parameters: Any) -> Any:
        """Return a clone, with a seed if it takes one."""
        return seed_estimator(clone(self.estimator), seed, same=True).set_params(**parameters)

    def fit(self, X: Any, Y: Any, **fit_parameters: Any) -> Any:
        """Fit a seeded clone."""
        return self.clone().fit(X, Y, **fit_parameters)

    def require(self, fact: Any, complaint: str) -> None:
        """Raise an AssertionError about the estimator unless the fact holds."""
        if not fact:
            raise AssertionError(f"{self.name} {complaint}.")

    def require_equal(
        self, actual: npt.NDArray[Any], expected: npt.NDArray[Any], complaint: str, tolerance: float = 1e-6
    ) -> None:
        """Raise an AssertionError about the estimator unless two outputs are equal."""
        self.require(actual.shape == expected.shape, f"{complaint} (shape {actual.shape}, not {expected.shape})")
        largest = float(np.abs(actual - expected).max(initial=0.0))
        self.require(largest <= tolerance, f"{complaint} (differences up to {largest:.2g})")

    @contextmanager
    def raising(self, when: str, *errors: type[Exception]) -> Iterator[None]:
        """Require an error with a meaningful message."""
        try:
            yield
        except errors as error:
            self.require(len(str(error).split()) >= 3, f"raises an error {when} without a message that says why")
        else:
            self.require(False, f"must raise {' or '.join(error.__name__ for error in errors)} {when}")


def _as_check(function: Callable[[_Subject], None]) -> Callable[[_Subject], None]:
    CHECKS[function.__name__] = function
    return function


def _make_data() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return sixty samples with five features and four labels; three depend on the features, one on the first label."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 5)).round(3)
    Y = (X @ rng.normal(size=(5, 4)) + 0.5 * rng.normal(size=(60, 4)) > [0.0, 0.5, 1.0, 0.0]).astype(np.int64)
    Y[:, 3] = Y[:, 0] ^ (rng.random(60) < 0.1)
    return X, Y


def _as_frames(X: npt.NDArray[Any], Y: npt.NDArray[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])]), pd.DataFrame(Y, columns=list("abcd"))


def _predict(model: Any, X: Any) -> npt.NDArray[Any]:
    labels = model.predict(X)
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def _score(model: Any, X: Any) -> npt.NDArray[np.float64]:
    """Return a model's probabilities in any form, or its labels if it has none."""
    labels = _predict(model, X).astype(np.float64)
    if not hasattr(model, "predict_proba"):
        return labels
    output = model.predict_proba(X)
    if isinstance(output, list):  # scikit-learn's form, without the column of a class that no sample has
        return np.column_stack([part @ np.asarray(values) for part, values in zip(output, model.classes_, strict=True)])
    return read_probabilities(output.toarray() if sparse.issparse(output) else output, labels.shape[1])


def _describe(output: Any) -> str:
    return type(output).__name__ + (f" of shape {output.shape}" if hasattr(output, "shape") else "")


@_as_check
def check_inputs_are_not_modified(subject: _Subject) -> None:
    """Check that fitting and predicting modify neither X nor Y, whatever their type."""
    X, Y = _make_data()
    forms: list[tuple[Any, Any]] = [(X, Y), _as_frames(X, Y), (X, sparse.csr_array(Y))]
    if subject.input_tags.sparse:
        forms.append((sparse.csr_array(X), Y))
    for inputs in forms:
        before = [pickle.dumps(table) for table in inputs]
        _score(subject.fit(*inputs), inputs[0])
        for name, table, state in zip("XY", inputs, before, strict=True):
            subject.require(pickle.dumps(table) == state, f"modified {name}, passed as {type(table).__name__}")


@_as_check
def check_probabilities(subject: _Subject) -> None:
    """Check that ``predict_proba`` returns one array of shape (n_samples, n_labels) with values from 0 to 1."""
    X, Y = _make_data()
    model = subject.fit(X, Y)
    subject.require(hasattr(model, "predict_proba"), "has no predict_proba")
    scores = model.predict_proba(X[:7])
    subject.require(
        isinstance(scores, np.ndarray) and scores.shape == (7, 4),
        f"must return probabilities of shape (7, 4) for 7 samples and 4 labels, not {_describe(scores)}",
    )
    subject.require(((scores >= 0) & (scores <= 1)).all(), "returns probabilities outside of [0, 1]")
    subject.require(np.ptp(scores, axis=0).any(), "returns the same probabilities for all samples")


@_as_check
def check_predictions(subject: _Subject) -> None:
    """Check that ``predict`` returns integers 0 and 1 of shape (n_samples, n_labels), also for a single label."""
    X, Y = _make_data()
    for n_labels in (4, 1):
        labels = subject.fit(X, Y[:, :n_labels]).predict(X[:7])
        labels = labels.toarray() if sparse.issparse(labels) else labels
        subject.require(
            isinstance(labels, np.ndarray) and labels.shape == (7, n_labels),
            f"must predict an array of shape (7, {n_labels}) for 7 samples, not {_describe(labels)}",
        )
        subject.require(labels.dtype.kind in "iub", f"predicts {labels.dtype} instead of integers")
        subject.require(np.isin(labels, (0, 1)).all(), "predicts values other than 0 and 1")


@_as_check
def check_constant_labels(subject: _Subject) -> None:
    """Check that labels that no sample or every sample has are predicted as constant."""
    X, Y = _make_data()
    Y[:, 1], Y[:, 3] = 0, 1
    model = subject.fit(X, Y)
    labels, scores = _predict(model, X), _score(model, X)
    subject.require(not labels[:, 1].any(), "predicts a label that no training sample has")
    subject.require(labels[:, 3].all(), "does not predict a label that every training sample has")
    subject.require(
        (scores[:, 1] <= scores[:, 3]).all(),
        "returns a larger probability for a label that no sample has than for one that all have",
    )


@_as_check
def check_samples_without_labels(subject: _Subject) -> None:
    """Check that samples without labels are accepted, even if nearly all are."""
    X, Y = _make_data()
    Y[::2] = 0
    _predict(subject.fit(X, Y), X)
    Y[3:] = 0
    _predict(subject.fit(X, Y), X)


@_as_check
def check_single_positive_sample(subject: _Subject) -> None:
    """Check that a label with a single positive sample is accepted, and not predicted for most samples."""
    X, Y = _make_data()
    Y[:, 2] = np.arange(len(Y)) == 11
    labels = _predict(subject.fit(X, Y), X)
    subject.require(labels[:, 2].mean() < 0.5, "predicts a label with a single positive sample for most samples")


@_as_check
def check_refit(subject: _Subject) -> None:
    """Check that a second fit, to other features and labels, does not depend on the first one."""
    X, Y = _make_data()
    again = subject.fit(X, Y).fit(X[:, :3], Y[:, 1:])
    expected = subject.fit(X[:, :3], Y[:, 1:])
    subject.require_equal(_score(again, X[:, :3]), _score(expected, X[:, :3]), "depends on an earlier fit")


@_as_check
def check_samples_are_independent(subject: _Subject) -> None:
    """Check that predictions for a sample do not depend on the other samples."""
    X, Y = _make_data()
    model = subject.fit(X, Y)
    for output, function in (("probabilities", _score), ("labels", _predict)):
        alone = np.vstack([function(model, X[[i]]) for i in range(5)])
        subject.require_equal(alone, function(model, X)[:5], f"predicts other {output} for one sample than for many")


@_as_check
def check_sparse_equals_dense(subject: _Subject) -> None:
    """Check that sparse matrices are treated like dense arrays: Y always, X if the estimator's tags allow it."""
    X, Y = _make_data()
    X[np.abs(X) < 0.5] = 0.0
    expected = _score(subject.fit(X, Y), X)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        complaint = f"learns a different model from {{}} as {form.__name__}"
        subject.require_equal(_score(subject.fit(X, form(Y)), X), expected, complaint.format("Y"))
        if subject.input_tags.sparse:
            subject.require_equal(
                _score(subject.fit(form(X), Y), form(X)), expected, complaint.format("X"), tolerance=5e-3
            )


@_as_check
def check_permuted_labels(subject: _Subject) -> None:
    """Check that permuting the labels permutes the probabilities.

    Not every classifier passes: in a chain, the order of the labels is part of the model.
    """
    X, Y = _make_data()
    permuted = _score(subject.fit(X, Y[:, ::-1]), X)
    subject.require_equal(permuted, _score(subject.fit(X, Y), X)[:, ::-1], "depends on the order of the labels")


@_as_check
def check_seeds_and_jobs(subject: _Subject) -> None:
    """Check that the same seed leads to the same model, whatever the number of jobs."""
    X, Y = _make_data()
    has_jobs = "n_jobs" in subject.estimator.get_params()
    for seed in (0, 1):
        first = _score(subject.clone(seed).fit(X, Y), X)
        for setting in [{"n_jobs": 1}, {"n_jobs": 2}] if has_jobs else [{}]:
            scores = _score(subject.clone(seed, **setting).fit(X, Y), X)
            subject.require_equal(scores, first, f"learns a different model from the same seed with {setting}", 0.0)


@_as_check
def check_data_frames(subject: _Subject) -> None:
    """Check that DataFrames are treated like arrays, and that names of features and labels are kept and validated.

    If the estimator's tags allow missing values, there are some.
    """
    X, Y = _make_data()
    if subject.input_tags.allow_nan:
        X[::7, 0] = X[3] = np.nan
    frame, labels = _as_frames(X, Y)
    model = subject.fit(frame, labels)
    subject.require_equal(
        _score(model, frame), _score(subject.fit(X, Y), X), "learns a different model from DataFrames than from arrays"
    )
    for attribute, table in (("feature_names_in_", frame), ("labels_", labels)):
        names = list(getattr(model, attribute, ()))
        subject.require(names == list(table), f"must keep the names {list(table)} in {attribute}, but has {names}")
    with subject.raising("for features in another order", ValueError):
        model.predict(frame[frame.columns[::-1]])


@_as_check
def check_categories(subject: _Subject) -> None:
    """Check that categorical features of a DataFrame are used, and that new and missing categories are accepted."""
    import pandas as pd

    X, Y = _as_frames(*_make_data())
    colors = np.array(["red", "green", "blue"])[np.arange(len(X)) % 3]
    X["shape"] = np.repeat(["round", "square", None], 20)
    X["color"] = pd.Categorical(colors)
    X.loc[7, "color"] = None
    Y["a"] = (colors == "red").astype(int)
    model = subject.fit(X, Y)
    red, blue, _ = (
        _score(model, X.assign(color=pd.Categorical([color] * len(X))))[:, 0] for color in ("red", "blue", "violet")
    )
    subject.require(red.mean() > blue.mean(), "does not learn from a categorical feature")


@_as_check
def check_sample_weight(subject: _Subject) -> None:
    """Check that weights of 1 have no effect, and that samples of weight 0 are ignored."""
    if "sample_weight" not in inspect.signature(subject.estimator.fit).parameters:
        return
    X, Y = _make_data()
    equal = _score(subject.fit(X, Y, sample_weight=np.ones(len(X))), X)
    subject.require_equal(equal, _score(subject.fit(X, Y), X), "learns a different model from weights that are all 1")
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    changed = np.where(weights[:, None] > 0, Y, 1 - Y)
    first, second = (_score(subject.fit(X, labels, sample_weight=weights), X) for labels in (Y, changed))
    subject.require_equal(first, second, "learns from samples of weight 0")


@_as_check
def check_unknown_labels(subject: _Subject) -> None:
    """Check that NaN in Y raises an error with a message, or means that a label is unknown rather than 0."""
    X, labels = _make_data()
    Y = labels.astype(float)
    Y[:, 3] = 1.0
    Y[::3, 0] = Y[1::3, 3] = Y[2::3, 3] = np.nan
    try:
        model = subject.fit(X, Y)
    except ValueError:
        _require_error(subject, X, Y, "labels with NaN")
        return
    scores = _score(model, X)
    subject.require(((scores >= 0) & (scores <= 1)).all(), "returns probabilities outside of [0, 1]")
    subject.require(np.ptp(scores[:, 0]) > 0, "does not learn a label that is known for some samples")
    subject.require(_predict(model, X)[:, 3].all(), "does not predict a label that is 1 wherever it is known")


@_as_check
def check_bad_labels(subject: _Subject) -> None:
    """Check that invalid labels raise an error with a message, and leave an unfitted estimator."""
    X, Y = _make_data()
    _require_error(subject, X, Y + Y * Y[:, :1], "labels of 0, 1 and 2")
    _require_error(subject, X, Y[:, :0], "no labels")
    _require_error(subject, X, Y[:-1], "fewer samples in Y than in X")
    _require_error(subject, X, Y[:, 0], "labels with one dimension")
    _require_error(subject, X, np.full(Y.shape, "yes"), "labels of text")


def _require_error(subject: _Subject, X: Any, Y: Any, what: str) -> None:
    model = subject.clone()
    with subject.raising(f"for {what}", ValueError, TypeError):
        model.fit(X, Y)
    with subject.raising(f"in predict after an error in fit, for {what}", NotFittedError):
        model.predict(X)
