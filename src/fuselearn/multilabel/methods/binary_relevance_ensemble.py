"""EBR: an ensemble of binary relevance."""

from __future__ import annotations

import numpy as np

from fuselearn.learners import Learner
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier
from fuselearn.multilabel.learning.resampling import ResampledEnsemble, TrainMember
from fuselearn.multilabel.methods.binary_relevance import Counts, Relevance, train_relevance


def train_sampled_relevance(learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator) -> Relevance:
    """Train a model per label, all on the same samples and features."""
    return train_relevance(learner, Y, counts, int(rng.integers(2**31)))


class EnsembleOfBinaryRelevanceClassifier(ResampledEnsemble, MultilabelClassifier):
    """Equal votes of binary relevance models, each on random samples (EBR).

    With v_tj(x) the vote of the t-th of T models of label j, 0 or 1 or a probability, ::

        p_j(x) = (v_1j(x) + ... + v_Tj(x)) / T.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=25
        Number of members, each with a model per label.
    max_samples : int or float, default=1.0
        Samples drawn for each member, with replacement, as a number or as a share of all samples. It may exceed 1: with
        2.0 a member sees 86 % of the samples instead of 63 %.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features drawn for each member: a number, a share, or a root or logarithm of their number; None means all.
    vote : {"class", "probability"}, default="probability"
        Whether members vote with the labels that they choose or with their probabilities.
    decision : float, str or rule, default="cardinality"
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
    BinaryRelevanceClassifier : A single member, on all samples.
    EnsembleOfChainsClassifier : Members in which labels learn from each other.

    Notes
    -----
    Number, vote and decision are those that suit :class:`EnsembleOfChainsClassifier`.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G. and Frank, E. (2011), as for :class:`ChainClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import EnsembleOfBinaryRelevanceClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = EnsembleOfBinaryRelevanceClassifier("tree", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict_proba(X[150:152]).round(2)
    array([[0.57, 0.19, 0.4 , 0.85],
           [0.6 , 0.67, 0.41, 0.19]])
    """

    _accepts_unknown = True

    def _member_trainer(self) -> TrainMember:
        return train_sampled_relevance
