"""ECC: an ensemble of classifier chains in random orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Weights
from fuselearn.multilabel.learning.resampling import Counts, check_resampling, fit_resampled
from fuselearn.multilabel.methods.chain import Chain, train_chain
from fuselearn.sensors import Learner


def train_random_chain(learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator) -> Chain:
    """Train a chain in a random order of the labels."""
    order = rng.permutation(Y.shape[1])
    return train_chain(learner, Y, order, counts, int(rng.integers(2**31)))


class EnsembleOfChainsClassifier(MultilabelClassifier):
    """Equal votes of classifier chains, each in a random order of the labels and on random rows (ECC).

    With v_tj(x) the vote of the t-th of T chains for label j, 0 or 1 or a probability,

        p_j(x) = (v_1j(x) + ... + v_Tj(x)) / T.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``; these and others of their kind share
        one bound table. Any other scikit-learn classifier is cloned for each label of each chain.
    n_estimators : int, default=10
        Number of chains.
    max_samples : int or float, default=1.0
        Rows drawn for each chain, with replacement, as a number or as a share of all rows. It may exceed 1: with 2.0
        a chain sees 86 % of the rows instead of 63 %.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Columns that each chain sees, as a number, a share, or a root or logarithm of their number; None means all.
    vote : {"class", "probability"}, default="class"
        Whether chains vote with the labels that they choose or with their probabilities.
    decision : float, str or rule, default=0.5
        How shares of votes become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`. Rules
        that are fitted get the out-of-bag votes. The authors' choice is "cardinality".
    random_state : int, RandomState or None, default=None
        Seed of the samples, the orders and the base learners.
    n_jobs : int or None, default=None
        Chains trained at the same time. Results do not depend on it.

    Attributes
    ----------
    oob_decision_function_ : array of shape (n_rows, n_labels)
        Out-of-bag votes, if ``decision`` needs them; NaN for rows that were in every sample.
    labels_ : array of shape (n_labels,)
        Names of the labels: the columns of a frame, otherwise 0, 1, ...
    n_labels_ : int
    classes_ : list of arrays
        For each label its values, 0 and 1, as scikit-learn's tools expect it.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        If fitted on a frame whose column names are text.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G. and Frank, E. (2011). Classifier chains for multi-label classification.
    Machine Learning 85(3), 333-359.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import EnsembleOfChainsClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = EnsembleOfChainsClassifier("tree", decision="cardinality", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict_proba(X[150:152])
    array([[0.7, 0.1, 0.5, 0.9],
           [0.6, 0.6, 0.3, 0.2]])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        vote: str = "class",
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.vote = vote
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_resampling(self)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        fit_resampled(self, train_random_chain, X, Y, weights, rng)
