"""EPS: an ensemble of pruned sets."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Weights
from fuselearn.multilabel.learning.resampling import check_resampling, fit_resampled
from fuselearn.multilabel.methods.powerset import Counts, SetModel
from fuselearn.multilabel.methods.pruned_sets import check_pruning, train_pruned_sets
from fuselearn.sensors import Learner


def train_sampled_sets(
    learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator, *, min_count: int, n_subsets: int
) -> SetModel:
    """Train a model over the frequent label sets of a sample."""
    # Copies of a drawn row must not make its set frequent.
    drawn_once = np.minimum(counts, 1)
    seed = int(rng.integers(2**31))
    return train_pruned_sets(learner, Y, drawn_once, seed, min_count=min_count, n_subsets=n_subsets)


class EnsembleOfPrunedSetsClassifier(MultilabelClassifier):
    """Equal votes of pruned sets, each on random rows (EPS).

    With v_tj(x) the vote of the t-th of T models for label j, 0 or 1 or a probability,

        p_j(x) = (v_1j(x) + ... + v_Tj(x)) / T.

    Models prune different sets, so that together they can predict label sets that no training row has.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``; these and others of their kind share
        one bound table. Any other scikit-learn classifier is trained on the numbers of the sets.
    n_estimators : int, default=10
        Number of members.
    min_count : int, default=2
        Rows of a sample that a label set needs to be kept. If no set has as many, the most frequent ones are kept.
    n_subsets : int, default=2
        Most subsets that a row with a rare set stands for; 0 leaves such rows out.
    max_samples : int or float, default=1.0
        Draws of rows for each member, with replacement, as a number or as a share of all rows. A row that is drawn more
        than once counts once, so that with 1.0 a member learns from 63 % of the rows, the authors' choice.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Columns that each member sees, as a number, a share, or a root or logarithm of their number; None means all.
    vote : {"class", "probability"}, default="class"
        Whether members vote with the labels of their most probable set or with their probabilities.
    decision : float, str or rule, default=0.5
        How shares of votes become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`. Rules
        that are fitted get the out-of-bag votes.
    random_state : int, RandomState or None, default=None
        Seed of the samples and the base learners.
    n_jobs : int or None, default=None
        Members trained at the same time. Results do not depend on it.

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
    Read, J., Pfahringer, B. and Holmes, G. (2008). Multi-label classification using ensembles of pruned sets. IEEE
    International Conference on Data Mining, 995-1000.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import EnsembleOfPrunedSetsClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = EnsembleOfPrunedSetsClassifier("tree", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict_proba(X[150:152])
    array([[0.5, 0.4, 0.5, 0.9],
           [0.4, 0.2, 0.2, 0.6]])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        min_count: int = 2,
        n_subsets: int = 2,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        vote: str = "class",
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.min_count = min_count
        self.n_subsets = n_subsets
        self.max_samples = max_samples
        self.max_features = max_features
        self.vote = vote
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_resampling(self)
        check_pruning(self.min_count, self.n_subsets)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        train = partial(train_sampled_sets, min_count=self.min_count, n_subsets=self.n_subsets)
        fit_resampled(self, train, X, Y, weights, rng)
