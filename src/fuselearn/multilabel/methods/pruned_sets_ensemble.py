"""EPS: an ensemble of pruned sets."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fuselearn.learners import Learner
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier
from fuselearn.multilabel.learning.resampling import ResampledEnsemble, TrainMember
from fuselearn.multilabel.methods.powerset import Counts, SetModel
from fuselearn.multilabel.methods.pruned_sets import check_pruning, train_pruned_sets


def train_sampled_sets(
    learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator, *, min_count: int, n_subsets: int
) -> SetModel:
    """Train a model over the frequent label sets of a sample."""
    # Copies of a drawn sample must not make its set frequent.
    drawn_once = np.minimum(counts, 1)
    seed = int(rng.integers(2**31))
    return train_pruned_sets(learner, Y, drawn_once, seed, min_count=min_count, n_subsets=n_subsets)


class EnsembleOfPrunedSetsClassifier(ResampledEnsemble, MultilabelClassifier):
    """Equal votes of pruned sets, each on random samples (EPS).

    With v_tj(x) the vote of the t-th of T models for label j, 0 or 1 or a probability, ::

        p_j(x) = (v_1j(x) + ... + v_Tj(x)) / T.

    Models prune different sets, so that together they can predict label sets that no training sample has.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=10
        Number of members.
    min_count : int, default=2
        Drawn samples that a label set needs to be kept. If no set has as many, the most frequent ones are kept.
    n_subsets : int, default=2
        Most subsets that a sample with a rare set stands for; 0 leaves such samples out.
    max_samples : int or float, default=1.0
        Draws of samples for each member, with replacement, as a number or as a share of all samples. A sample that is
        drawn more than once counts once, so that with 1.0 a member learns from 63 % of the samples, the authors'
        choice.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features drawn for each member: a number, a share, or a root or logarithm of their number; None means all.
    vote : {"class", "probability"}, default="class"
        Whether members vote with the labels of their most probable set or with their probabilities.
    decision : float, str or rule, default=0.5
        Threshold of the shares of votes, or rule of :mod:`fuselearn.multilabel.decisions`, fitted to out-of-bag votes.
    verbose : int, default=0
        1 prints ten lines of progress with the time left, more if the fit is long; 2 a line per member.
    random_state : int, RandomState or None, default=None
        Seed of the samples and the base learners.
    n_jobs : int or None, default=None
        Members trained at the same time. Results do not depend on it.

    Attributes
    ----------
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag votes, if ``decision`` needs them; NaN for samples that every member has seen.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    PrunedSetsClassifier : A single member, on all samples.
    RAkELClassifier : Votes of models that know a few labels each.

    References
    ----------
    Read, J., Pfahringer, B. and Holmes, G. (2008), as for :class:`PrunedSetsClassifier`.

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
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator, n_estimators, max_samples=max_samples, max_features=max_features, vote=vote,
            decision=decision, verbose=verbose, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.min_count = min_count
        self.n_subsets = n_subsets

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_pruning(self.min_count, self.n_subsets)

    def _member_trainer(self) -> TrainMember:
        return partial(train_sampled_sets, min_count=self.min_count, n_subsets=self.n_subsets)
