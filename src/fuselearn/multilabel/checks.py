"""Checks for multi-label classifiers, of this library or any other.

Each check is a function of an estimator, which it clones, and raises an AssertionError with a message if the estimator
fails it. In a test suite::

    @pytest.mark.parametrize("check", yield_checks(), ids=lambda check: check.__name__)
    def test_my_classifier(check):
        check(MyClassifier())
"""

from __future__ import annotations

import functools
import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from fuselearn.multilabel.check_tools import Rows, Subject, as_frames, describe, give_scores, make_rows, predict, seeded

__all__ = ["check_multilabel_estimator", "yield_checks"]

Check = Callable[[Any], None]

CHECKS: list[Check] = []


def _as_check(function: Callable[[Subject], None]) -> Check:
    """Register a check, and turn any error of the estimator into an AssertionError."""

    @functools.wraps(function, assigned=("__name__", "__qualname__", "__doc__"))
    def check(estimator: Any) -> None:
        try:
            function(Subject(estimator))
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(
                f"{type(estimator).__name__} raised {type(error).__name__} in {function.__name__}: {error}"
            ) from error

    del check.__wrapped__  # which takes a Subject
    CHECKS.append(check)
    return check


def check_multilabel_estimator(estimator: Any, expected_failed_checks: Mapping[str, str] | None = None) -> None:
    """Check that a multi-label classifier follows the conventions of this library.

    It must not modify its inputs, must return one (n_samples, n_labels) array of probabilities, accept labels that are
    constant or have a single positive sample and samples without labels, treat sparse matrices and DataFrames like
    arrays, support categorical features and, if its tags say so, missing values, return the same result for the same
    seed and any number of jobs, work in pipelines and grid searches, and refuse bad input with a clear message.

    Parameters
    ----------
    estimator : classifier
        Only clones of it are fitted. Choose cheap settings: it is fitted about fifty times, on sixty samples or fewer.
    expected_failed_checks : dict, optional
        For each check that the estimator is known to fail, by name, the reason. Such a check is not run.

    Raises
    ------
    AssertionError
        After all checks, with a message for each that failed. Its cause is a group of their errors.

    Examples
    --------
    >>> from fuselearn.multilabel import BinaryRelevanceClassifier
    >>> check_multilabel_estimator(BinaryRelevanceClassifier("tree"))
    """
    checks = list(yield_checks(expected_failed_checks))
    failures = []
    for check in checks:
        try:
            check(estimator)
        except AssertionError as failure:
            failures.append((check.__name__, failure))
    if failures:
        sentences = "".join(f"\n- {name}: {failure}" for name, failure in failures)
        raise AssertionError(
            f"{type(estimator).__name__} fails {len(failures)} of {len(checks)} checks:{sentences}"
        ) from ExceptionGroup("failed checks", [failure for _, failure in failures])


def yield_checks(expected_failed_checks: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Yield the checks one by one, for test suites that run each separately.

    Parameters
    ----------
    expected_failed_checks : dict, optional
        Checks to skip, by name, and the reason.

    Examples
    --------
    >>> [check.__name__ for check in yield_checks()][:3]
    ['check_tables_are_left_alone', 'check_probabilities', 'check_labels_are_zero_or_one']
    """
    known = {check.__name__ for check in CHECKS}
    left_out = set(expected_failed_checks or ())
    if unknown := left_out - known:
        raise ValueError(f"expected_failed_checks has unknown names {sorted(unknown)}; the checks are {sorted(known)}.")
    yield from (check for check in CHECKS if check.__name__ not in left_out)


@_as_check
def check_tables_are_left_alone(subject: Subject) -> None:
    """Check that fitting and predicting modify neither X nor Y, whatever their type."""
    rows = make_rows()
    forms: list[tuple[Any, Any]] = [(rows.X.copy(), rows.Y.copy()), as_frames(rows), (rows.X, sparse.csr_array(rows.Y))]
    if get_tags(subject.estimator).input_tags.sparse:
        forms.append((sparse.csr_array(rows.X), sparse.csr_array(rows.Y)))
    for X, Y in forms:
        X_before, Y_before = pickle.dumps(X), pickle.dumps(Y)
        kind = f"{type(X).__name__} and {type(Y).__name__}"
        with subject.expecting(f"learn from {kind}"):
            model = subject.fit(X, Y)
            give_scores(model, X)
            model.predict(X)
        subject.require(pickle.dumps(X) == X_before, f"modified X, passed as {kind}")
        subject.require(pickle.dumps(Y) == Y_before, f"modified Y, passed as {kind}")


@_as_check
def check_probabilities(subject: Subject) -> None:
    """Check that ``predict_proba`` returns one array of shape (n_samples, n_labels) with values from 0 to 1."""
    rows = make_rows()
    model = subject.fit(*rows)
    subject.require(hasattr(model, "predict_proba"), "has no predict_proba")
    scores = model.predict_proba(rows.X[:7])
    subject.require(
        isinstance(scores, np.ndarray) and scores.shape == (7, 4),
        f"must return probabilities of shape (7, 4) for 7 samples and 4 labels, not {describe(scores)}",
    )
    subject.require(bool(((scores >= 0) & (scores <= 1)).all()), "returns probabilities outside of [0, 1]")
    subject.require(bool(np.ptp(scores, axis=0).any()), "returns the same probabilities for all samples")


@_as_check
def check_labels_are_zero_or_one(subject: Subject) -> None:
    """Check that ``predict`` returns integers 0 and 1 in an array of shape (n_samples, n_labels)."""
    rows = make_rows()
    labels = subject.fit(*rows).predict(rows.X[:7])
    labels = labels.toarray() if sparse.issparse(labels) else labels
    subject.require(
        isinstance(labels, np.ndarray) and labels.shape == (7, 4),
        f"must predict an array of shape (7, 4) for 7 samples and 4 labels, not {describe(labels)}",
    )
    subject.require(labels.dtype.kind in "iub", f"predicts {labels.dtype} instead of integers")
    subject.require(bool(np.isin(labels, (0, 1)).all()), "predicts values other than 0 and 1")


@_as_check
def check_constant_labels(subject: Subject) -> None:
    """Check that labels that no sample or every sample has are predicted as constant."""
    X, Y = make_rows()
    Y[:, 1] = 0
    Y[:, 3] = 1
    with subject.expecting("learn labels that no sample has and that every sample has"):
        model = subject.fit(X, Y)
        labels, scores = predict(model, X), give_scores(model, X)
    subject.require(not labels[:, 1].any(), "predicts a label that no training sample has")
    subject.require(bool(labels[:, 3].all()), "does not predict a label that every training sample has")
    subject.require(
        bool((scores[:, 1] <= scores[:, 3]).all()),
        "returns a larger probability for a label that no sample has than for one that all have",
    )


@_as_check
def check_rows_without_labels(subject: Subject) -> None:
    """Check that samples without labels are accepted, even if they are the majority."""
    X, Y = make_rows()
    Y[::2] = 0
    with subject.expecting("learn from samples without labels"):
        predict(subject.fit(X, Y), X)
    Y[3:] = 0
    with subject.expecting("learn from data in which almost no sample has a label"):
        predict(subject.fit(X, Y), X)


@_as_check
def check_single_positive_row(subject: Subject) -> None:
    """Check that a label with a single positive sample is learned without an error."""
    X, Y = make_rows()
    Y[:, 2] = 0
    Y[11, 2] = 1
    with subject.expecting("learn a label with a single positive sample"):
        labels = predict(subject.fit(X, Y), X)
    subject.require(labels[:, 2].mean() < 0.5, "predicts a label with a single positive sample for most samples")


@_as_check
def check_single_label(subject: Subject) -> None:
    """Check that predictions of a single label have two dimensions."""
    X, Y = make_rows()
    with subject.expecting("learn a single label of shape (n_samples, 1)"):
        labels = predict(subject.fit(X, Y[:, :1]), X)
    subject.require(
        labels.shape == (len(X), 1), f"predicts {describe(labels)} for a single label of shape (n_samples, 1)"
    )


@_as_check
def check_refit(subject: Subject) -> None:
    """Check that a second fit does not depend on the first one."""
    X, Y = make_rows()
    model = subject.fit(X, Y)
    again = model.fit(X[:, :3], Y[:, 1:])
    with subject.expecting("be fitted again on other features and labels"):
        actual = give_scores(again, X[:, :3])
    subject.require_equal(actual, give_scores(subject.fit(X[:, :3], Y[:, 1:]), X[:, :3]), "depends on an earlier fit")


@_as_check
def check_rows_are_independent(subject: Subject) -> None:
    """Check that predictions for a sample do not depend on the other samples."""
    X, Y = make_rows()
    model = subject.fit(X, Y)
    together = give_scores(model, X)
    alone = np.vstack([give_scores(model, X[[i]]) for i in range(5)])
    subject.require_equal(alone, together[:5], "returns other probabilities for a single sample than for a batch")
    alone = np.vstack([predict(model, X[[i]]) for i in range(5)])
    subject.require_equal(alone, predict(model, X)[:5], "predicts other labels for a single sample than for a batch")


@_as_check
def check_sparse_equals_dense(subject: Subject) -> None:
    """Check that sparse matrices are treated like dense arrays: Y always, X if the estimator's tags allow it."""
    X, Y = make_rows()
    X[np.abs(X) < 0.5] = 0.0
    expected = give_scores(subject.fit(X, Y), X)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        with subject.expecting(f"learn from Y as {form.__name__}"):
            scores = give_scores(subject.fit(X, form(Y)), X)
        subject.require_equal(scores, expected, f"learns a different model from Y as {form.__name__}")
        if get_tags(subject.estimator).input_tags.sparse:
            with subject.expecting(f"learn from X as {form.__name__}, as its tags say"):
                scores = give_scores(subject.fit(form(X), Y), form(X))
            subject.require_equal(scores, expected, f"learns a different model from X as {form.__name__}", 5e-3)


@_as_check
def check_permuted_labels(subject: Subject) -> None:
    """Check that permuting the labels permutes the probabilities.

    Not every classifier passes: in a chain, the order of the labels is part of the model.
    """
    X, Y = make_rows()
    order = np.array([3, 2, 1, 0])
    straight = give_scores(subject.fit(X, Y), X)
    permuted = give_scores(subject.fit(X, Y[:, order]), X)
    subject.require_equal(permuted, straight[:, order], "depends on the order of the labels")


@_as_check
def check_clone(subject: Subject) -> None:
    """Check that a clone has the same parameters, is not fitted, and learns the same."""
    rows = make_rows()
    model = subject.fit(*rows)
    copy = clone(model)
    subject.require(repr(copy) == repr(model), "has clones with different parameters")
    with subject.refusing("predict with a clone that is not fitted", NotFittedError):
        copy.predict(rows.X)
    subject.require_equal(
        give_scores(seeded(copy).fit(*rows), rows.X), give_scores(model, rows.X), "learns a different model in a clone"
    )


@_as_check
def check_pickle(subject: Subject) -> None:
    """Check that a fitted model can be pickled."""
    rows = make_rows()
    model = subject.fit(*rows)
    before = give_scores(model, rows.X)
    with subject.expecting("be pickled after a prediction"):
        again = pickle.loads(pickle.dumps(model))
    subject.require_equal(give_scores(again, rows.X), before, "predicts other probabilities after pickling")
    subject.require_equal(predict(again, rows.X), predict(model, rows.X), "predicts other labels after pickling")


@_as_check
def check_pipeline(subject: Subject) -> None:
    """Check that the estimator learns the same model as the last step of a pipeline."""
    X, Y = make_rows()
    with subject.expecting("work in a pipeline"):
        pipeline = make_pipeline(StandardScaler(), subject.seeded()).fit(X, Y)
        labels = predict(pipeline, X)
    scaled = StandardScaler().fit_transform(X)
    expected = predict(subject.fit(scaled, Y), scaled)
    subject.require_equal(labels, expected, "predicts other labels in a pipeline")


@_as_check
def check_grid_search(subject: Subject) -> None:
    """Check that a grid search works and predicts with the best model."""
    rows = make_rows()
    model = subject.seeded()
    name, value = next(iter(sorted(model.get_params(deep=False).items())))
    with subject.expecting("work in a grid search"):
        search = GridSearchCV(model, {name: [value]}, scoring="f1_macro", cv=2, error_score="raise").fit(*rows)
        labels = predict(search, rows.X)
    subject.require_equal(labels, predict(subject.fit(*rows), rows.X), "predicts other labels in a grid search")


@_as_check
def check_seeds_and_jobs(subject: Subject) -> None:
    """Check that the same seed leads to the same model, whatever the number of jobs."""
    rows = make_rows()
    parameters = subject.estimator.get_params()
    jobs: list[dict[str, Any]] = [{"n_jobs": 1}, {"n_jobs": 2}] if "n_jobs" in parameters else [{}]
    seeds = [0, 1] if "random_state" in parameters else [None]
    for seed in seeds:
        first = give_scores(subject.fit(*rows, seed=seed), rows.X)
        for setting in jobs:
            with subject.expecting(f"learn with {setting}"):
                scores = give_scores(subject.seeded(seed).set_params(**setting).fit(*rows), rows.X)
            subject.require_equal(scores, first, f"learns a different model from the same seed with {setting}", 0.0)


@_as_check
def check_frames(subject: Subject) -> None:
    """Check that DataFrames are treated like arrays, and that feature names are kept and validated."""
    rows = make_rows()
    X, Y = as_frames(rows)
    with subject.expecting("learn from DataFrames"):
        model = subject.fit(X, Y)
        scores = give_scores(model, X)
    subject.require_equal(
        scores, give_scores(subject.fit(*rows), rows.X), "learns a different model from DataFrames than from arrays"
    )
    names = list(getattr(model, "feature_names_in_", ()))
    subject.require(names == list(X.columns), "does not keep the feature names in feature_names_in_")
    with subject.refusing("predict for features in another order", ValueError):
        model.predict(X[X.columns[::-1]])


@_as_check
def check_categories(subject: Subject) -> None:
    """Check that categorical features of a DataFrame are used, and that new and missing categories are accepted."""
    rows = make_rows()
    X, Y = as_frames(rows)
    colours = np.array(["red", "green", "blue"])[np.arange(len(X)) % 3]
    X["shape"] = np.repeat(["round", "square", None], 20)
    X["colour"] = pd.Categorical(colours)
    X.loc[7, "colour"] = None
    Y["a"] = (colours == "red").astype(int)
    with subject.expecting("learn from categorical and text features"):
        model = subject.fit(X, Y)
    scores = []
    for colour in ("red", "blue", "violet"):
        with subject.expecting(f"predict for samples of the category {colour!r}"):
            scores.append(give_scores(model, X.assign(colour=pd.Categorical([colour] * len(X))))[:, 0])
    subject.require(scores[0].mean() > scores[1].mean(), "does not learn from a categorical feature")


@_as_check
def check_missing_values(subject: Subject) -> None:
    """Check that missing values are accepted, if the estimator's tags allow them, in arrays and DataFrames."""
    if not get_tags(subject.estimator).input_tags.allow_nan:
        return
    X, Y = make_rows()
    X[::7, 0] = np.nan
    X[3] = np.nan
    with subject.expecting("learn from missing values, as its tags say"):
        scores = give_scores(subject.fit(X, Y), X)
    frame, _ = as_frames(Rows(X, Y))
    with subject.expecting("learn from DataFrames with missing values"):
        others = give_scores(subject.fit(frame, Y), frame)
    subject.require_equal(others, scores, "learns a different model from missing values in DataFrames than in arrays")


@_as_check
def check_label_names(subject: Subject) -> None:
    """Check that the names of the labels, the columns of a DataFrame Y, are kept in ``labels_``."""
    X, Y = as_frames(make_rows())
    names = list(getattr(subject.fit(X, Y), "labels_", ()))
    subject.require(names == list(Y.columns), f"must keep the names of the labels in labels_, but has {names}")


@_as_check
def check_sample_weight(subject: Subject) -> None:
    """Check that weights of 1 have no effect, and that samples of weight 0 are ignored."""
    X, Y = make_rows()
    if "sample_weight" not in inspect.signature(subject.estimator.fit).parameters:
        return
    plain = give_scores(subject.fit(X, Y), X)
    with subject.expecting("learn from weighted samples"):
        equal = give_scores(subject.seeded().fit(X, Y, sample_weight=np.ones(len(X))), X)
    subject.require_equal(equal, plain, "learns a different model from weights that are all 1")
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    changed = np.where(weights[:, None] > 0, Y, 1 - Y)
    first, second = (give_scores(subject.seeded().fit(X, labels, sample_weight=weights), X) for labels in (Y, changed))
    subject.require_equal(first, second, "learns from samples of weight 0")


@_as_check
def check_unknown_labels(subject: Subject) -> None:
    """Check that NaN in Y is refused with a message, or means that a label is not known, which is not that it is 0."""
    X, labels = make_rows()
    Y = labels.astype(float)
    Y[:, 3] = 1.0
    Y[::3, 0] = Y[1::3, 3] = Y[2::3, 3] = np.nan
    model = subject.seeded()
    try:
        model.fit(X, Y)
    except ValueError:
        with subject.refusing("learn from labels with NaN", ValueError):
            model.fit(X, Y)
        with subject.refusing("predict after it refused labels with NaN", NotFittedError):
            model.predict(X)
        return
    scores = give_scores(model, X)
    subject.require(bool(((scores >= 0) & (scores <= 1)).all()), "returns probabilities outside of [0, 1]")
    subject.require(bool(np.ptp(scores[:, 0]) > 0), "does not learn a label that is known of some samples")
    subject.require(
        bool(predict(model, X)[:, 3].all()), "does not predict a label that every sample has of which it is known"
    )


@_as_check
def check_bad_labels(subject: Subject) -> None:
    """Check that invalid labels are refused with a message, and leave an unfitted estimator."""
    X, Y = make_rows()
    bad = {
        "labels of 0, 1 and 2": Y + (Y * Y[:, :1]),
        "no labels": Y[:, :0],
        "fewer samples in Y than in X": Y[:-1],
        "labels with one dimension": Y[:, 0],
        "labels of text": np.full(Y.shape, "yes"),
    }
    for what, labels in bad.items():
        model = subject.seeded()
        with subject.refusing(f"learn from {what}", (ValueError, TypeError)):
            model.fit(X, labels)
        with subject.refusing(f"predict after it refused {what}", NotFittedError):
            model.predict(X)


@_as_check
def check_bad_tables(subject: Subject) -> None:
    """Check that X without samples or features, with another number of features or infinite values is refused."""
    X, Y = make_rows()
    infinite = X.copy()
    infinite[3, 1] = np.inf
    for what, table, labels in (
        ("no samples", X[:0], Y[:0]),
        ("no features", X[:, :0], Y),
        ("infinite values", infinite, Y),
    ):
        with subject.refusing(f"learn from X with {what}", (ValueError, TypeError)):
            subject.fit(table, labels)
    model = subject.fit(X, Y)
    for what, table in (
        ("fewer features", X[:, :-1]),
        ("more features", np.hstack([X, X])),
        ("infinite values", infinite),
    ):
        with subject.refusing(f"predict for X with {what}", (ValueError, TypeError)):
            model.predict(table)
    with subject.refusing("predict before it is fitted", NotFittedError):
        subject.seeded().predict(X)
