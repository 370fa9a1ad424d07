"""Checks for multi-label classifiers, of this library or any other.

They complement those of scikit-learn, which fit a single label and test clones, pickling, pipelines and invalid X.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from fuselearn._parameters import seed_estimator

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Finding = tuple[bool | np.bool_, str]
"""Whether the estimator passes, and the message if it does not."""


def check_multilabel_estimator(estimator: Any, expected_failed_checks: Mapping[str, str] | None = None) -> None:
    """Check that a multi-label classifier follows the conventions of this library.

    It must return one (n_samples, n_labels) array of probabilities, accept labels that are constant or have a single
    positive sample and samples without labels, treat sparse matrices and DataFrames like arrays, support categorical
    features and, if its tags say so, missing values, ignore samples of weight 0, return the same result for the same
    seed and any number of jobs, and raise a meaningful error for invalid labels. It must use unknown labels (NaN) or
    raise an error, too.

    Run scikit-learn's ``check_estimator`` as well, for the conventions of all estimators. Some of its checks use a
    label with values other than 0 and 1, and fail for a classifier that raises an error for them.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier
        Only clones are fitted, about thirty times, to at most sixty samples; choose settings that are fast.
    expected_failed_checks : dict, optional
        Names of checks to skip, and the reason for each.

    Raises
    ------
    AssertionError
        Raised after all checks, with a message for each failed check. Its cause is the group of their errors.

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
    """Run one check; an error raised by the estimator is a failure.

    Parameters
    ----------
    name : str
        A key of `CHECKS`.
    estimator : classifier
        An instance, fitted or not; clones of it are fitted.
    """
    kind = type(estimator).__name__
    try:
        complaint = next((complaint for fact, complaint in CHECKS[name](estimator) if not fact), None)
    except Exception as error:
        raise AssertionError(f"{kind} raised {type(error).__name__} in {name}: {error}") from error
    if complaint is not None:
        raise AssertionError(f"{kind} {complaint}.")


def check_probabilities(estimator: Any) -> Iterator[Finding]:
    """Check that probabilities are an array of shape (n_samples, n_labels), in [0, 1], and vary between samples."""
    X, Y = _make_data()
    model = _fit(estimator, X, Y)
    yield hasattr(model, "predict_proba"), "has no predict_proba"
    scores = model.predict_proba(X[:7])
    is_table = isinstance(scores, np.ndarray) and scores.shape == (7, 4)
    yield is_table, f"must return probabilities of shape (7, 4) for 7 samples and 4 labels, not {_describe(scores)}"
    yield ((scores >= 0) & (scores <= 1)).all(), "returns probabilities outside of [0, 1]"
    yield bool(np.ptp(scores, axis=0).any()), "returns the same probabilities for all samples"


def check_predictions(estimator: Any) -> Iterator[Finding]:
    """Check that predictions are an array of zeros and ones with one column per label, also for a single label."""
    X, Y = _make_data()
    for n_labels in (4, 1):
        labels = _fit(estimator, X, Y[:, :n_labels]).predict(X[:7])
        labels = labels.toarray() if sparse.issparse(labels) else labels
        is_table = isinstance(labels, np.ndarray) and labels.shape == (7, n_labels)
        yield is_table, f"must predict an array of shape (7, {n_labels}) for 7 samples, not {_describe(labels)}"
        yield labels.dtype.kind in "iub", f"predicts {labels.dtype} instead of integers"
        yield np.isin(labels, (0, 1)).all(), "predicts values other than 0 and 1"


def check_constant_labels(estimator: Any) -> Iterator[Finding]:
    """Check that a label that no or every training sample has is predicted for no or every sample."""
    X, Y = _make_data()
    Y[:, 1], Y[:, 3] = 0, 1
    model = _fit(estimator, X, Y)
    labels, scores = _predict(model, X), _score(model, X)
    yield not labels[:, 1].any(), "predicts a label that no training sample has"
    yield labels[:, 3].all(), "does not predict a label that every training sample has"
    complaint = "returns a larger probability for a label that no sample has than for one that all have"
    yield (scores[:, 1] <= scores[:, 3]).all(), complaint


def check_rare_labels(estimator: Any) -> Iterator[Finding]:
    """Check that samples without labels are accepted, and a label with a single positive sample."""
    X, Y = _make_data()
    Y[:, 2] = np.arange(len(Y)) == 11
    labels = _predict(_fit(estimator, X, Y), X)
    yield labels[:, 2].mean() < 0.5, "predicts a label with a single positive sample for most samples"
    for first, step in ((0, 2), (3, 1)):
        Y[first::step] = 0
        _predict(_fit(estimator, X, Y), X)


def check_sparse_equals_dense(estimator: Any) -> Iterator[Finding]:
    """Check that sparse matrices are treated like dense arrays: Y always, X if the estimator's tags allow it."""
    X, Y = _make_data()
    X[np.abs(X) < 0.5] = 0.0
    expected = _score(_fit(estimator, X, Y), X)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        complaint = f"learns a different model from {{}} as {form.__name__}"
        yield _compare(_score(_fit(estimator, X, form(Y)), X), expected, complaint.format("Y"))
        if get_tags(estimator).input_tags.sparse:
            scores = _score(_fit(estimator, form(X), Y), form(X))
            yield _compare(scores, expected, complaint.format("X"), tolerance=5e-3)


def check_permuted_labels(estimator: Any) -> Iterator[Finding]:
    """Check that permuting the labels permutes the probabilities.

    Not every classifier passes: in a chain, the order of the labels is part of the model.
    """
    X, Y = _make_data()
    permuted = _score(_fit(estimator, X, Y[:, ::-1]), X)
    yield _compare(permuted, _score(_fit(estimator, X, Y), X)[:, ::-1], "depends on the order of the labels")


def check_seeds_and_jobs(estimator: Any) -> Iterator[Finding]:
    """Check that the same seed leads to the same model, whatever the number of jobs."""
    X, Y = _make_data()
    expected = _score(_fit(estimator, X, Y), X)
    for setting in [{"n_jobs": 1}, {"n_jobs": 2}] if "n_jobs" in estimator.get_params() else [{}]:
        scores = _score(_fit(clone(estimator).set_params(**setting), X, Y), X)
        yield _compare(scores, expected, f"learns a different model from the same seed with {setting}", tolerance=0.0)


def check_data_frames(estimator: Any) -> Iterator[Finding]:
    """Check that DataFrames are treated like arrays, and that names of features and labels are kept.

    If the estimator's tags allow missing values, there are some.
    """
    X, Y = _make_data()
    if get_tags(estimator).input_tags.allow_nan:
        X[::7, 0] = X[3] = np.nan
    frame, labels = _as_frames(X, Y)
    model, expected = _fit(estimator, frame, labels), _score(_fit(estimator, X, Y), X)
    yield _compare(_score(model, frame), expected, "learns a different model from DataFrames than from arrays")
    for attribute, table in (("feature_names_in_", frame), ("labels_", labels)):
        names = list(getattr(model, attribute, ()))
        yield names == list(table), f"must keep the names {list(table)} in {attribute}, but has {names}"


def check_categories(estimator: Any) -> Iterator[Finding]:
    """Check that categorical features of a DataFrame are used, and that new and missing categories are accepted."""
    import pandas as pd

    X, Y = _as_frames(*_make_data())
    colors = np.array(["red", "green", "blue"])[np.arange(len(X)) % 3]
    X["shape"] = np.repeat(["round", "square", None], 20)
    X["color"] = pd.Categorical(colors)
    X.loc[7, "color"] = None
    Y["a"] = (colors == "red").astype(int)
    model = _fit(estimator, X, Y)
    painted = [X.assign(color=pd.Categorical([color] * len(X))) for color in ("red", "blue", "violet")]
    red, blue = (_score(model, table)[:, 0] for table in painted[:2])
    yield red.mean() > blue.mean(), "does not learn from a categorical feature"
    _predict(model, painted[2])  # new categories must not raise an error


def check_sample_weight(estimator: Any) -> Iterator[Finding]:
    """Check that weights of 1 have no effect, and that samples of weight 0 are ignored."""
    if "sample_weight" not in inspect.signature(estimator.fit).parameters:
        return
    X, Y = _make_data()
    equal = _score(_fit(estimator, X, Y, sample_weight=np.ones(len(X))), X)
    yield _compare(equal, _score(_fit(estimator, X, Y), X), "learns a different model from weights that are all 1")
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    changed = np.where(weights[:, None] > 0, Y, 1 - Y)
    first, second = (_score(_fit(estimator, X, labels, sample_weight=weights), X) for labels in (Y, changed))
    yield _compare(first, second, "learns from samples of weight 0")


def check_labels(estimator: Any) -> Iterator[Finding]:
    """Check that invalid labels raise an error with a message; NaN may also be supported as an unknown label."""
    X, Y = _make_data()
    unknown = Y.astype(float)
    unknown[:, 3] = 1.0
    unknown[::3, 0] = unknown[1::3, 3] = unknown[2::3, 3] = np.nan
    bad = {
        "labels of 0, 1 and 2": Y + Y * Y[:, :1],
        "no labels": Y[:, :0],
        "fewer samples in Y than in X": Y[:-1],
        "labels with one dimension": Y[:, 0],
        "labels of text": np.full(Y.shape, "yes"),
        "labels with NaN": unknown,
    }
    for what, labels in bad.items():
        try:
            model = _fit(estimator, X, labels)
        except (ValueError, TypeError) as error:
            yield len(str(error).split()) >= 3, f"raises an error for {what} without a message that explains it"
            continue
        yield labels is unknown, f"must raise ValueError or TypeError for {what}"
        yield np.ptp(_score(model, X)[:, 0]) > 0, "does not learn a label that is known for some samples"
        yield _predict(model, X)[:, 3].all(), "does not predict a label that is 1 wherever it is known"


CHECKS: dict[str, Callable[[Any], Iterator[Finding]]] = {
    check.__name__: check
    for check in (
        check_probabilities,
        check_predictions,
        check_constant_labels,
        check_rare_labels,
        check_sparse_equals_dense,
        check_permuted_labels,
        check_seeds_and_jobs,
        check_data_frames,
        check_categories,
        check_sample_weight,
        check_labels,
    )
}
"""The checks by name."""


def _fit(estimator: Any, X: Any, Y: Any, **fit_parameters: Any) -> Any:
    return seed_estimator(clone(estimator), 0, same=True).fit(X, Y, **fit_parameters)


def _compare(actual: Floats, expected: Floats, complaint: str, tolerance: float = 1e-6) -> Finding:
    if actual.shape != expected.shape:
        return False, f"{complaint} (shape {actual.shape}, not {expected.shape})"
    largest = float(np.abs(actual - expected).max(initial=0.0))
    return largest <= tolerance, f"{complaint} (differences up to {largest:.2g})"


def _make_data() -> tuple[Floats, npt.NDArray[np.int64]]:
    """Make samples with five features and four labels; the last label is nearly the first one."""
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


def _score(model: Any, X: Any) -> Floats:
    """Return the probabilities of the labels, or the predicted labels of a classifier without probabilities."""
    if not hasattr(model, "predict_proba"):
        return _predict(model, X).astype(np.float64)
    output = model.predict_proba(X)
    if isinstance(output, list):  # scikit-learn's form, without the column of a class that no sample has
        return np.column_stack([part @ np.asarray(values) for part, values in zip(output, model.classes_, strict=True)])
    return np.asarray(output.toarray() if sparse.issparse(output) else output, dtype=np.float64)


def _describe(output: Any) -> str:
    return type(output).__name__ + (f" of shape {output.shape}" if hasattr(output, "shape") else "")
