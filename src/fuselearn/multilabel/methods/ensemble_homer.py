"""E-HOMER: HOMERs of random shape on bootstrap samples."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_choice, check_verbose, check_whole_number, count_draws
from fuselearn._progress import ProgressLines
from fuselearn.learners import draw_counts
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Weights
from fuselearn.multilabel.learning.fusion import LabelSum
from fuselearn.multilabel.learning.homer_model import HOMERModel, train_homer
from fuselearn.multilabel.methods.homer import bind_for_nodes
from fuselearn.multilabel.methods.homer_ensemble import HOMEREnsemble


class EnsembleHOMERClassifier(HOMEREnsemble, MultilabelClassifier):
    """Equal votes of HOMERs of random shape, each trained on a bootstrap sample.

    Each HOMER chooses its clustering, its number of clusters, from 2 to the root of the number of labels, and its
    kernel at random. The probability of a label is the mean of the HOMERs' probabilities, or the share of HOMERs that
    choose it. With s_t(x) the scores of the t-th HOMER, above 0.5 for the labels that it chooses (see
    :class:`HOMERClassifier`), a sample gets the labels with

        mean over t of s_t(x) > 0.5,         or with votes        mean over t of [s_t(x) > 0.5] > 0.5.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=100
        Number of HOMERs.
    vote : {"class", "probability"}, default="probability"
        Whether HOMERs vote with the labels that they choose or with their probabilities.
    clusterings : sequence of {"balanced", "kmeans", "random"}, default=("balanced", "kmeans", "random")
        The clusterings to choose from; see :class:`HOMERClassifier`.
    any_label : bool, default=True
        Whether each HOMER has a model that tells samples with any label from those without. Otherwise samples without
        labels are not used, as in the paper.
    varied : dict, list of dict or None, default=None
        Parameters of the base learner that differ between HOMERs, with the values to choose from, as for scikit-learn's
        ``ParameterGrid``: each HOMER takes one of the combinations at random. None means
        ``{"kernel": ["rbf", "linear"]}`` if ``estimator`` is None, and nothing otherwise.
    max_samples : int or float, default=2.0
        Samples drawn for each HOMER, as a number or as a multiple of all samples.
    decision : float, str or rule, default="path"
        How samples get labels: "path" means those whose mean score, or share of votes, is above 0.5; or probabilities
        become labels by a threshold or another rule of :mod:`fuselearn.multilabel.decisions`. Rules that are fitted use
        out-of-bag probabilities.
    verbose : int, default=0
        1 prints ten lines of progress with the time left, more if the fit is long; 2 a line per HOMER.
    random_state : int, RandomState or None, default=None
        Seed of the samples, the random choices and the base learners.
    n_jobs : int or None, default=None
        HOMERs trained at the same time. Results do not depend on it.

    Attributes
    ----------
    n_models_ : int
        Two-class models that were trained, those for calibration not counted.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Probabilities of the training samples by the HOMERs that have not seen them, NaN if all have; if ``decision`` is
        a rule that is fitted.
    estimators_ : list of HOMERClassifier
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    HOMERClassifier : A single HOMER.
    KFHEHOMERClassifier : A Kalman filter instead of equal votes.

    References
    ----------
    Pakrashi, A. and Mac Namee, B. (2019), as for :class:`KFHEHOMERClassifier`.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import EnsembleHOMERClassifier
    >>> X, Y = make_digit_pairs(n_samples=400, random_state=0)
    >>> model = EnsembleHOMERClassifier(n_estimators=5, random_state=0).fit(X[:300], Y[:300])
    >>> round(f1_score(Y[300:], model.predict(X[300:]), average="macro"), 1)
    0.8
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        vote: str = "probability",
        clusterings: Sequence[str] = ("balanced", "kmeans", "random"),
        any_label: bool = True,
        varied: Any = None,
        max_samples: int | float = 2.0,
        decision: Any = "path",
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.vote = vote
        self.clusterings = clusterings
        self.any_label = any_label
        self.varied = varied
        self.max_samples = max_samples
        self.decision = decision
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        self._check_variety()
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_choice("vote", self.vote, ("class", "probability"))
        count_draws(self.max_samples, 1)
        check_verbose(self.verbose)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        learner, n_threads = bind_for_nodes(self, X)
        variety = self._make_variety()
        chances = np.ones(len(Y)) if weights is None else weights
        n_draws = count_draws(self.max_samples, len(Y))

        def train(seed: int) -> HOMERModel:
            return train_homer(learner, Y, draw_counts(seed, chances, n_draws), seed, variety.choose(seed))

        seeds = rng.integers(2**62, size=self.n_estimators).tolist()
        progress = ProgressLines(type(self).__name__, self.verbose, self.n_estimators)
        with ThreadPoolExecutor(n_threads) as pool:  # HOMERs are trained side by side, rather than their nodes
            members = list(progress.follow(pool.map(train, seeds)))
        self.n_models_ = sum(member.n_models for member in members)
        fused = LabelSum(members, np.full(len(members), 1.0 / len(members)), learner, self.vote)
        if self._wants_honest_scores():
            self.oob_decision_function_ = fused.left_out_scores(Y.shape)
        self._adopt(fused)

    def with_vote(self, vote: str) -> Self:
        """Return a copy that combines the same trained HOMERs in another way.

        Parameters
        ----------
        vote : {"probability", "class"}

        Returns
        -------
        EnsembleHOMERClassifier
            Fitted. A decision rule that was learned is taken over as it is.
        """
        check_is_fitted(self)
        check_choice("vote", vote, ("class", "probability"))
        other = copy.copy(self).set_params(vote=vote)
        other._fused_ = self._fused_.voting(vote)
        return other
