"""A sound multi-label classifier passes all checks, and each check finds its fault."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier

from fuselearn.multilabel import BinaryRelevanceClassifier, check_multilabel_estimator
from fuselearn.multilabel.checks import CHECKS, run_check


class Sound(BinaryRelevanceClassifier):
    """A classifier without faults."""

    def __init__(self, estimator="tree", decision=0.5, random_state=None, n_jobs=None):
        super().__init__(estimator, decision=decision, random_state=random_state, n_jobs=n_jobs)


def on_fit(change):
    """Make a ``fit`` that changes X, y and the weights."""
    return {"fit": lambda self, X, y, sample_weight=None: Sound.fit(self, *change(X, y, sample_weight))}


def on_scores(change):
    """Make a ``predict_proba`` that changes its result."""
    return {"predict_proba": lambda self, X: change(Sound.predict_proba(self, X))}


def on_labels(change):
    """Make a ``predict`` that changes its result."""
    return {"predict": lambda self, X: change(Sound.predict(self, X))}


def on_table(change):
    """Make a ``fit`` and a ``predict_proba`` that change X."""
    return on_fit(lambda X, y, w: (change(X), y, w)) | {
        "predict_proba": lambda self, X: Sound.predict_proba(self, change(X))
    }


def refuse(table, is_refused, error):
    """Raise an error for some tables, and return others."""
    if is_refused(table):
        raise error
    return table


def change_if(kind, change):
    """Make a function that changes tables of one type."""
    return lambda table: change(table) if isinstance(table, kind) else table


def fit_and_set(name, value):
    """Make a ``fit`` that sets an attribute."""

    def fit(self, X, y, sample_weight=None):
        setattr(Sound.fit(self, X, y, sample_weight), name, value)
        return self

    return {"fit": fit}


def fit_without_reasons(self, X, y, sample_weight=None):
    try:
        return Sound.fit(self, X, y, sample_weight)
    except ValueError:
        raise ValueError("bad") from None


NOISE = np.random.default_rng(0)
FRAME, SPARSE = pd.DataFrame, sparse.sparray | sparse.spmatrix
# The methods of a classifier with one fault, the check that finds it, and what it says.
FAULTS = [
    ({"predict_proba": property(lambda self: self.missing)}, "check_probabilities", "has no predict_proba."),
    (on_scores(lambda scores: [np.column_stack([1 - p, p]) for p in scores.T]), "check_probabilities",
     "must return probabilities of shape (7, 4) for 7 samples and 4 labels, not list."),
    (on_scores(lambda scores: scores[:, :3]), "check_probabilities",
     "must return probabilities of shape (7, 4) for 7 samples and 4 labels, not ndarray of shape (7, 3)."),
    (on_scores(lambda scores: 2 * scores), "check_probabilities", "returns probabilities outside of [0, 1]."),
    (on_scores(lambda scores: np.where(scores > 0.5, np.nan, scores)),
     "check_probabilities", "returns probabilities outside of [0, 1]."),
    (on_scores(lambda scores: np.full_like(scores, 0.3)),
     "check_probabilities", "returns the same probabilities for all samples."),
    (on_labels(lambda labels: labels.astype(float)), "check_predictions", "predicts float64 instead of integers."),
    (on_labels(lambda labels: 2 * labels), "check_predictions", "predicts values other than 0 and 1."),
    (on_labels(lambda labels: labels[:, 0]), "check_predictions",
     "must predict an array of shape (7, 4) for 7 samples, not ndarray of shape (7,)."),
    (on_labels(np.squeeze), "check_predictions",
     "must predict an array of shape (7, 1) for 7 samples, not ndarray of shape (7,)."),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: not np.ptp(y, axis=0).all(), ValueError("one class")), w)),
     "check_constant_labels", "raised ValueError in check_constant_labels: one class"),
    (on_labels(lambda labels: labels | ~labels.any(axis=0)),
     "check_constant_labels", "predicts a label that no training sample has."),
    (on_labels(lambda labels: labels & ~labels.all(axis=0)),
     "check_constant_labels", "does not predict a label that every training sample has."),
    (on_scores(lambda scores: 1 - scores) | on_labels(lambda labels: 1 - labels), "check_constant_labels",
     "returns a larger probability for a label that no sample has than for one that all have."),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: y[::2].max() == 0, KeyError(0)), w)),
     "check_rare_labels", "raised KeyError in check_rare_labels: 0"),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: (y.sum(axis=0) == 1).any(), ValueError("one member")), w)),
     "check_rare_labels", "raised ValueError in check_rare_labels: one member"),
    (on_labels(lambda labels: labels | (labels.mean(axis=0) < 0.1)), "check_rare_labels",
     "predicts a label with a single positive sample for most samples."),
    (on_fit(lambda X, y, w: (X, np.asarray(y), w)),
     "check_sparse_equals_dense", "raised ValueError in check_sparse_equals_dense: y has 0 dimension(s)"),
    (on_fit(lambda X, y, w: (X, change_if(SPARSE, lambda y: 1 - y.toarray())(y), w)),
     "check_sparse_equals_dense", "learns a different model from Y as csr_matrix"),
    (on_fit(lambda X, y, w: (change_if(SPARSE, lambda X: -X)(X), y, w)),
     "check_sparse_equals_dense", "learns a different model from X as csr_matrix"),
    (on_scores(lambda scores: scores * [1.0, *[0.9] * (scores.shape[1] - 1)]),
     "check_permuted_labels", "depends on the order of the labels"),
    ({"predict_proba": lambda self, X: Sound.predict_proba(self, X) / (self.n_jobs or 1)}, "check_seeds_and_jobs",
     "learns a different model from the same seed with {'n_jobs': 2}"),
    (on_scores(lambda scores: scores * NOISE.random(scores.shape)),
     "check_seeds_and_jobs", "learns a different model from the same seed with {'n_jobs': 1}"),
    (on_table(change_if(FRAME, lambda X: X.fillna(9.0))),
     "check_data_frames", "learns a different model from DataFrames than from arrays"),
    (on_table(change_if(FRAME, np.asarray)), "check_data_frames",
     "must keep the names ['feature 0', 'feature 1', 'feature 2', 'feature 3', 'feature 4'] in feature_names_in_, but"),
    (fit_and_set("labels_", range(4)), "check_data_frames",
     "must keep the names ['a', 'b', 'c', 'd'] in labels_, but has [0, 1, 2, 3]."),
    (on_fit(lambda X, y, w: (refuse(X, lambda X: np.isnan(X).any(axis=None), ValueError("it has NaN")), y, w)),
     "check_data_frames", "raised ValueError in check_data_frames: it has NaN"),
    (on_fit(lambda X, y, w: (X.astype(float), y, w)),
     "check_categories", "raised ValueError in check_categories: could not convert string to float"),
    (on_table(lambda X: X.assign(color=0.0)), "check_categories", "does not learn from a categorical feature."),
    ({"predict": lambda self, X: Sound.predict(self, refuse(X, lambda X: "violet" in [*X["color"]], KeyError("new")))},
     "check_categories", "raised KeyError in check_categories: 'new'"),
    (on_fit(lambda X, y, w: (X, y, None if w is None else 9 * w)),
     "check_sample_weight", "learns a different model from weights that are all 1"),
    (on_fit(lambda X, y, w: (X, y, None if w is None else w**0)),
     "check_sample_weight", "learns from samples of weight 0"),
    (on_scores(lambda scores: np.full_like(scores, 0.7)),
     "check_labels", "does not learn a label that is known for some samples."),
    (on_fit(lambda X, y, w: (X, np.nan_to_num(y), w)),
     "check_labels", "does not predict a label that is 1 wherever it is known."),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: np.isnan(y).any(), ValueError("NaN")), w)),
     "check_labels", "raises an error for labels with NaN without a message that explains it."),
    (on_fit(lambda X, y, w: (X, (y > 0).astype(int), w)),
     "check_labels", "must raise ValueError or TypeError for labels of 0, 1 and 2."),
    ({"fit": fit_without_reasons},
     "check_labels", "raises an error for labels of 0, 1 and 2 without a message that explains it."),
]  # fmt: skip


def test_a_sound_classifier_passes():
    check_multilabel_estimator(Sound())


@pytest.mark.parametrize(("methods", "check", "complaint"), FAULTS, ids=[f"{fault[1]}-{fault[2]}" for fault in FAULTS])
def test_a_fault_is_found(methods, check, complaint):
    faulty = type("Faulty", (Sound,), methods)
    with pytest.raises(AssertionError, match=f"^Faulty {re.escape(complaint)}"):
        run_check(check, faulty())


def test_every_check_is_seen_failing():
    assert {check for _, check, _ in FAULTS} == set(CHECKS)


def test_all_failures_are_reported():
    refusing = on_fit(lambda X, y, w: (change_if(FRAME, lambda X: X.astype(float))(X), y, w))
    twice = type("Twice", (Sound,), refusing | on_labels(lambda labels: labels.astype(float)))()
    with pytest.raises(AssertionError) as caught:
        check_multilabel_estimator(twice)
    first, *sentences = str(caught.value).splitlines()
    assert first == f"Twice fails 2 of {len(CHECKS)} checks:"
    assert sentences[0] == "- check_predictions: Twice predicts float64 instead of integers."
    assert sentences[1].startswith("- check_categories: Twice raised ValueError in check_categories: could not convert")
    causes = [str(error) for error in caught.value.__cause__.exceptions]
    assert causes == [sentence.split(": ", 1)[1] for sentence in sentences]
    with pytest.raises(AssertionError, match=rf"^Twice fails 1 of {len(CHECKS) - 1} checks"):
        check_multilabel_estimator(twice, {"check_categories": "it takes numbers only"})
    with pytest.raises(ValueError, match=r"unknown names \['check_everything'\]"):
        check_multilabel_estimator(twice, {"check_everything": "it is too much"})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_classifiers_of_scikit_learn_can_be_checked():
    failures = {
        "check_sparse_equals_dense": "raised ValueError in check_sparse_equals_dense: sparse multilabel-indicator",
        "check_probabilities": "must return probabilities of shape (7, 4) for 7 samples and 4 labels, not list.",
        "check_predictions": "must predict an array of shape (7, 1) for 7 samples, not ndarray of shape (7,).",
        "check_data_frames": "must keep the names ['a', 'b', 'c', 'd'] in labels_, but has [].",
        "check_labels": "must raise ValueError or TypeError for labels of 0, 1 and 2.",
        "check_sample_weight": "learns ",
        "check_categories": "raised ValueError in check_categories: could not convert string to float",
    }
    forest = RandomForestClassifier(n_estimators=4)
    check_multilabel_estimator(forest, failures)
    for check, complaint in failures.items():
        with pytest.raises(AssertionError, match=f"^RandomForestClassifier {re.escape(complaint)}"):
            run_check(check, forest)
