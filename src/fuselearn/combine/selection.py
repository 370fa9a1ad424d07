"""Ensemble selection: greedy selection of members from a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils import ClassifierTags, RegressorTags

from fuselearn._messages import show
from fuselearn._parameters import check_number, check_whole_number, make_generator
from fuselearn.combine.candidates import Candidates, candidates_for_classes, candidates_for_numbers
from fuselearn.combine.classes import require_method
from fuselearn.combine.ensemble import MemberEnsemble, TrainingData
from fuselearn.combine.members import Member
from fuselearn.learners.learner import Weights


class Selection(NamedTuple):
    """How often each member was chosen up to the best round, and the scores of the first members and of each round."""

    counts: npt.NDArray[np.intp]
    path: npt.NDArray[np.float64]


def select_greedily(
    candidates: Candidates, n_rounds: int, n_initial: int = 1, library: npt.NDArray[np.intp] | None = None
) -> Selection:
    """Start with the best members, and add in each round the member that maximizes the score of the mean.

    Parameters
    ----------
    candidates : Candidates
    n_rounds : int
        Final number of members; a member can be chosen several times.
    n_initial : int, default=1
        Number of best single members at the start.
    library : array of int, optional
        The members to choose from; None means all.

    Returns
    -------
    Selection
        The counts of the round with the best score; ties go to the first round.
    """
    library = np.arange(len(candidates.values)) if library is None else library
    alone = candidates.scores(np.zeros(candidates.values.shape[1:]), 0, library)
    first = library[np.argsort(-alone, kind="stable")[:n_initial]]
    counts = np.bincount(first, minlength=len(candidates.values))
    total = candidates.values[first[:-1]].sum(axis=0)
    path = [candidates.scores(total, len(first) - 1, first[-1:])[0]]
    total += candidates.values[first[-1]]
    best = counts.copy()
    for size in range(len(first), n_rounds):
        scores = candidates.scores(total, size, library)
        chosen = library[scores.argmax()]
        total += candidates.values[chosen]
        counts[chosen] += 1
        if scores.max() > max(path):
            best = counts.copy()
        path.append(scores.max())
    return Selection(best, np.array(path))


class EnsembleSelection(MemberEnsemble):
    """Ensemble selection: the mean of members chosen greedily from a library, on held-out samples.

    The selection starts with the best single members. Each round adds the member that maximizes the score of the mean
    of all selected members, until ``n_rounds`` members are selected. A member can be selected repeatedly, which
    increases its weight. The ensemble of the best round is kept::

        E_0 = the n_initial best members alone
        E_t = E_(t-1) + argmax_k  score(mean of E_(t-1) and f_k)

    With ``n_bags``, the selection is repeated in random subsets of the library and the ensembles are averaged, which
    reduces overfitting to the held-out samples. Members are classifiers, with averaged probabilities, or regressors.

    Parameters
    ----------
    estimators : list of (name, estimator) or (name, estimator, columns)
        The library: classifiers with ``predict_proba``, or regressors; otherwise as for :class:`FixedRuleClassifier`.
    scoring : str, callable or None, default=None
        The metric: the name of a scikit-learn scorer, or a scorer. None means the negative log loss (over all labels
        for multi-label data), or the negative mean squared error.
    n_rounds : int, default=50
        Number of members to select, with repetitions.
    n_initial : int, default=1
        Number of best single members at the start. Larger values make the start less random.
    n_bags : int, default=1
        Number of random subsets of the library; 1 means one selection from the whole library.
    bag_fraction : float, default=0.5
        Fraction of the library in each subset, if ``n_bags`` is above 1.
    cv : int, splitter or iterable of splits, default=None
        Cross-validation for held-out outputs; None means five stratified folds. Samples that are never held out do not
        influence the selection.
    prefit : bool, default=False
        Whether the members are already fitted. They are then used without refitting, and selected on the samples passed
        to ``fit``, which should not be training samples of the members.
    random_state : int, RandomState or None, default=None
        Seed of the subsets of the library.
    n_jobs : int or None, default=None
        Number of members fitted, or library bags searched, in parallel.

    Attributes
    ----------
    estimators_, named_estimators_ : list of estimators, Bunch
        The selected members, fitted on all samples, as a list and by name.
    estimator_weights_ : array of shape (n_chosen,)
        Weights of the selected members, with sum 1: the fraction of rounds that selected each.
    library_scores_ : dict
        The held-out score of each single member of the library.
    path_ : list of arrays
        For each subset of the library, the score of the initial members and after each round.
    classes_ : array of shape (n_classes,), or a list with 0 and 1 for each label
        If the members are classifiers.
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    LinearStackingClassifier : Learned weights of all members.
    FixedRuleClassifier : Fixed rules over all members.

    Notes
    -----
    Log loss, accuracy, balanced accuracy, multi-class F1, squared and absolute error and R2 need one pass over the
    library per round; other metrics need one call of the scorer per round and member.

    References
    ----------
    Caruana, R., Niculescu-Mizil, A., Crew, G. and Ksikes, A. (2004). Ensemble selection from libraries of models. In
    Proceedings of the 21st International Conference on Machine Learning.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from fuselearn import CARTClassifier, EnsembleSelection
    >>> X, y = load_wine(return_X_y=True)
    >>> library = [(f"near{k}", KNeighborsClassifier(k)) for k in (1, 3, 5, 9, 15)]
    >>> library += [(f"tree{d}", CARTClassifier(max_depth=d)) for d in (1, 2, 3)] + [("bayes", GaussianNB())]
    >>> selection = EnsembleSelection(library, n_rounds=20).fit(X, y)
    >>> list(selection.named_estimators_)
    ['tree3', 'bayes']
    """

    _keeps_all = False

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]],
        *,
        scoring: Any = None,
        n_rounds: int = 50,
        n_initial: int = 1,
        n_bags: int = 1,
        bag_fraction: float = 0.5,
        cv: Any = None,
        prefit: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.scoring = scoring
        self.n_rounds = n_rounds
        self.n_initial = n_initial
        self.n_bags = n_bags
        self.bag_fraction = bag_fraction
        self.cv = cv
        self.prefit = prefit
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: those of a classifier or a regressor, depending on the members."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._combines_classifiers():
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_label=tags.target_tags.multi_output)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags

    def _combines_classifiers(self) -> bool:
        named = [one[1] for one in self._named() if isinstance(one[1], BaseEstimator)]
        return bool(named) and is_classifier(named[0])

    def _weigh(self, data: TrainingData) -> Weights:
        outputs, target, weights, _ = self._hold_out(data)
        if self._classes_ is None:
            candidates = candidates_for_numbers(self.scoring, outputs, target, weights)
        else:
            candidates = candidates_for_classes(self.scoring, outputs, target, self._classes_, weights)
        return self._select(candidates, [member.name for member in data.members])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R2 of a regressor, as in scikit-learn.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        kind = ClassifierMixin if self._combines_classifiers() else RegressorMixin
        return float(kind.score(self, X, y, sample_weight))

    def _check_settings(self, members: list[Member]) -> None:
        if self._combines_classifiers():
            require_method(members, ("predict_proba",), "ensemble selection")
        check_whole_number("n_rounds", self.n_rounds, 1)
        check_whole_number("n_bags", self.n_bags, 1)
        if check_whole_number("n_initial", self.n_initial, 1) > self.n_rounds:
            raise ValueError(f"n_initial must be at most n_rounds, {self.n_rounds}, not {self.n_initial}.")
        if not 0 < check_number("bag_fraction", self.bag_fraction, 0) <= 1:
            raise ValueError(f"bag_fraction must be above 0 and at most 1, not {show(self.bag_fraction)}.")
        if isinstance(self.scoring, str):
            get_scorer(self.scoring)
        elif self.scoring is not None and not callable(self.scoring):
            raise TypeError(f"scoring must be the name of a scorer, a scorer or None, not {show(self.scoring)}.")

    def _select(self, candidates: Candidates, names: list[str]) -> Weights:
        """Return the weight of each member of the library, most of them 0."""
        library = np.arange(len(names))
        alone = candidates.scores(np.zeros(candidates.values.shape[1:]), 0, library)
        if np.isnan(alone).any():
            raise ValueError(f"scoring returns NaN for the member {names[int(np.isnan(alone).argmax())]!r}.")
        self.library_scores_ = dict(zip(names, alone.tolist(), strict=True))
        bags = [library] if self.n_bags == 1 else self._draw_bags(len(names))
        selections = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(select_greedily)(candidates, self.n_rounds, self.n_initial, bag) for bag in bags
        )
        self.path_ = [selection.path for selection in selections]
        return np.mean([selection.counts / selection.counts.sum() for selection in selections], axis=0)

    def _draw_bags(self, n_members: int) -> list[npt.NDArray[np.intp]]:
        rng = make_generator(self.random_state)
        size = max(1, round(self.bag_fraction * n_members))
        return [np.sort(rng.choice(n_members, size, replace=False)) for _ in range(self.n_bags)]
