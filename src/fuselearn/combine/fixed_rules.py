"""Fixed rules: members combined by votes, rankings, probabilities or averages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_number
from fuselearn.combine import rules
from fuselearn.combine.classes import Classes, require_method
from fuselearn.combine.ensemble import MemberEnsemble, TrainingData
from fuselearn.combine.members import Member
from fuselearn.learners.learner import Scores, Weights

AVERAGES = ("mean", "median", "trimmed")


def _has_counts(self: FixedRuleClassifier) -> bool:
    if self.rule == "borda":
        return True
    raise AttributeError(f"decision_function is only available with rule='borda', not {show(self.rule)}.")


class FixedRuleClassifier(ClassifierMixin, MemberEnsemble):
    """Classifiers combined by a fixed rule on their classes, rankings or probabilities.

    With w_1, ..., w_K the weights of the members, all 1 by default, the ensemble predicts::

        class level, two classes
        "and"       the positive class if all members do
        "or"        the positive class if at least one member does
        "k_of_n"    the positive class if the weights of the members that do sum up to at least k

        class level
        "majority"  argmax_i  sum_k w_k [member k predicts i]

        ranking level
        "borda"     argmax_i  sum_k w_k (classes that k scores below i + half of the others that it scores equal)

        probability level, with p_k(i) the probability that member k gives to class i
        "mean"      argmax_i  sum_k w_k p_k(i)
        "median"    argmax_i  median of p_1(i), ..., p_K(i)
        "product"   argmax_i  prod_k p_k(i)^w_k
        "min"       argmax_i  min_k p_k(i)
        "max"       argmax_i  max_k p_k(i)

    Ties are broken in favor of the first class in ``classes_``. With an indicator matrix as ``y``, the rule is applied
    to each label separately.

    Parameters
    ----------
    estimators : list of (name, classifier) or (name, classifier, columns)
        The members; "drop" removes a member. Columns are names, indices, a slice, a mask or a function of X.
    rule : str, default="majority"
        The rule. Probability rules need members with ``predict_proba``; "borda" needs ``predict_proba`` or
        ``decision_function``.
    weights : array of shape (n_members,), "performance" or None, default=None
        Weights of the members; not supported by "and", "or", "min" and "max". "performance" means max(0, log(a_k / (1 -
        a_k)) + log(C - 1)), scaled to a sum of K, where C is the number of classes and a_k is the member's accuracy on
        held-out samples (by the rule of succession, with one correct and one wrong sample added). These weights are
        optimal for a majority vote of independent members.
    k : float, optional
        For "k_of_n": the number of members that must agree or, with weights, the required sum of their weights.
    positive_class : label, optional
        For "and", "or" and "k_of_n": the positive class, by default the second in ``classes_``.
    cv : int, splitter or iterable of splits, default=None
        Cross-validation for ``weights="performance"``; None means five stratified folds.
    prefit : bool, default=False
        Whether the members are already fitted. They are then used without refitting and ``y`` is optional.
        ``weights="performance"`` is measured on the samples passed to ``fit``, which should not be training samples of
        the members.
    n_jobs : int or None, default=None
        Number of members fitted in parallel. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list with 0 and 1 for each label
    estimators_, named_estimators_ : list of classifiers, Bunch
        The fitted members, as a list and by name.
    estimator_weights_ : array of shape (n_members,)
        The weights used.
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    fuselearn.combine.combine_scores : The rules for arrays of scores.
    LinearStackingClassifier : Learned weights instead of a fixed rule.
    EnsembleSelection : Greedy selection of members.
    sklearn.ensemble.VotingClassifier : Mean and majority, in scikit-learn.

    Notes
    -----
    ``predict_proba`` returns vote fractions for "majority" and, for probability rules, the combined probabilities
    divided by their sum (uniform if all are zero). Other rules have no ``predict_proba``. ``decision_function`` returns
    the counts of "borda".

    Sample weights are passed to every member that supports ``sample_weight``, including the last step of a pipeline.
    Class labels are passed to members unchanged, so ``class_weight`` of a member uses the original labels.

    References
    ----------
    Kittler, J., Hatef, M., Duin, R. P. W. and Matas, J. (1998). On combining classifiers. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 20(3), 226-239.
    Kuncheva, L. I. and Rodriguez, J. J. (2014). A weighted voting framework for classifiers ensembles. Knowledge and
    Information Systems 38(2), 259-275.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.svm import LinearSVC
    >>> from fuselearn import FixedRuleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("bayes", GaussianNB()), ("near", KNeighborsClassifier(), [2, 3]), ("line", LinearSVC())]
    >>> combiner = FixedRuleClassifier(members, rule="borda").fit(X, y)
    >>> combiner.predict(X[[0, 50, 100]])
    array([0, 1, 2])
    >>> combiner.decision_function(X[:1])
    array([[6. , 2.5, 0.5]])
    """

    _classes_: Classes
    _learns_from_target = False

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]],
        rule: str = "majority",
        *,
        weights: npt.ArrayLike | str | None = None,
        k: float | None = None,
        positive_class: Any = None,
        cv: Any = None,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.rule = rule
        self.weights = weights
        self.k = k
        self.positive_class = positive_class
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: some rules support only two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        tags.classifier_tags.multi_class = self.rule not in rules.TWO_CLASS_RULES
        return tags

    @available_if(_has_counts)
    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the Borda counts.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For two classes, shape (n_samples,) with the count of the second minus that of the first; for multi-label
            data, shape (n_samples, n_labels) with this difference for each label.
        """
        counts = self._combine(X)
        return counts[..., 1] - counts[..., 0] if counts.shape[-1] == 2 else counts

    def _has_probabilities(self) -> bool:
        if self.rule in rules.PROBABILITY_RULES or self.rule == "majority":
            return True
        raise AttributeError(
            f"rule={show(self.rule)} has no probabilities; use 'majority', 'mean', 'median', 'product', 'min' or "
            f"'max' for predict_proba."
        )

    def _as_probabilities(self, combined: Weights) -> Weights:
        return rules.as_probabilities(combined)

    def _check_settings(self, members: list[Member]) -> None:
        check_choice("rule", self.rule, rules.RULES)
        weights = check_member_weights(self.weights, self._kept())
        if weights is not None:
            rules.refuse_weights(self.rule)
        if self.rule in rules.TWO_CLASS_RULES:
            rules.votes_needed(self.rule, self.k, len(members), weights)
        if self.rule in rules.PROBABILITY_RULES:
            require_method(members, ("predict_proba",), f"rule={show(self.rule)}")
        elif self.rule == "borda":
            require_method(members, ("predict_proba", "decision_function"), "rule='borda'")

    def _find_positive(self) -> int:
        """Return the index of the positive class; raise an error for more than two classes if the rule needs it."""
        values = self._classes_.values
        if self.rule not in rules.TWO_CLASS_RULES:
            return 1
        if len(values) > 2:
            raise ValueError(
                f"Only binary classification is supported by rule={show(self.rule)}, but y has {len(values)} classes."
            )
        if self.positive_class is None:
            return 1
        if self.positive_class not in values.tolist():
            raise ValueError(f"positive_class must be one of {values.tolist()}, not {show(self.positive_class)}.")
        return values.tolist().index(self.positive_class)

    def _weigh(self, data: TrainingData) -> Weights:
        """Return the given weights, or weights from the accuracies on held-out samples."""
        self._positive_ = self._find_positive()
        if not isinstance(self.weights, str):
            weights = check_member_weights(self.weights, self._kept())
            return np.ones(len(data.members)) if weights is None else weights
        held_out = self._hold_out(data, self._classes_.votes)
        correct = held_out.outputs.argmax(axis=-1) == self._classes_.encode(held_out.target)
        weights = held_out.sample_weights
        accuracies = correct.reshape(*correct.shape[:2], -1).mean(axis=2) @ weights / weights.sum()
        return accuracy_weights(accuracies, int(np.count_nonzero(weights)), len(self._classes_.values))

    def _output(self, model: Any, X: Any) -> Scores:
        if self.rule in rules.CLASS_RULES:
            return self._classes_.votes(model, X)
        if self.rule == "borda":
            return self._classes_.rankings(model, X)
        return self._classes_.probabilities(model, X)

    def _combine(self, X: Any) -> Scores:
        outputs = np.stack(self._member_outputs(X))
        cells = outputs.reshape(len(outputs), -1, outputs.shape[-1])
        weights = None if self.weights is None else self.estimator_weights_
        combined = rules.combine_scores(cells, self.rule, weights=weights, k=self.k, positive_class=self._positive_)
        return combined.reshape(outputs.shape[1:])


class AveragingRegressor(RegressorMixin, MemberEnsemble):
    """Average of the predictions of regressors, by a fixed rule.

    With f_1(x), ..., f_K(x) the predictions of the members and w_1, ..., w_K their weights, all 1 by default, the
    ensemble predicts::

        "mean"     sum_k w_k f_k(x) / sum_k w_k
        "median"   the weighted median of f_1(x), ..., f_K(x)
        "trimmed"  the mean without the floor(trim K) smallest and the floor(trim K) largest predictions

    If the errors of K members are uncorrelated with equal variance, the variance of the mean is smaller by a factor of
    K. Median and trimmed mean are robust to outlying members. Multiple outputs are averaged separately.

    Parameters
    ----------
    estimators : list of (name, regressor) or (name, regressor, columns)
        The members; "drop" removes a member. Columns are names, indices, a slice, a mask or a function of X.
    rule : {"mean", "median", "trimmed"}, default="mean"
    trim : float, default=0.1
        For "trimmed": the fraction of the members to remove at each end, from 0 to below 0.5.
    weights : array of shape (n_members,), "performance" or None, default=None
        Weights of the members; not supported by "trimmed". "performance" means 1 / (mean squared error on held-out
        samples), scaled to a sum of K: the optimal weights for unbiased members with uncorrelated errors. Members with
        zero error get the whole weight in equal parts.
    cv : int, splitter or iterable of splits, default=None
        Cross-validation for ``weights="performance"``; None means five folds.
    prefit : bool, default=False
        Whether the members are already fitted. They are then used without refitting and ``y`` is optional.
        ``weights="performance"`` is measured on the samples passed to ``fit``, which should not be training samples of
        the members.
    n_jobs : int or None, default=None
        Number of members fitted in parallel. Results do not depend on it.

    Attributes
    ----------
    estimators_, named_estimators_ : list of regressors, Bunch
        The fitted members, as a list and by name.
    estimator_weights_ : array of shape (n_members,)
        The weights used.
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    LinearStackingRegressor : Learned weights.
    EnsembleSelection : Greedy selection of members.
    sklearn.ensemble.VotingRegressor : The mean, in scikit-learn.

    References
    ----------
    Perrone, M. P. and Cooper, L. N. (1993). When networks disagree: ensemble methods for hybrid neural networks. In
    Neural Networks for Speech and Image Processing, 126-142.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from fuselearn.combine import AveragingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(random_state=0)
    >>> members = [("line", LinearRegression()), ("near", KNeighborsRegressor()), ("tree", tree)]
    >>> average = AveragingRegressor(members, weights="performance").fit(X, y)
    >>> average.estimator_weights_.round(1)  # the tree memorizes the samples
    array([1.3, 1.1, 0.6])
    """

    _learns_from_target = False

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]],
        rule: str = "mean",
        *,
        trim: float = 0.1,
        weights: npt.ArrayLike | str | None = None,
        cv: Any = None,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.rule = rule
        self.trim = trim
        self.weights = weights
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    def _combine(self, X: Any) -> Scores:
        weights = None if self.weights is None else self.estimator_weights_
        return average_predictions(np.stack(self._member_outputs(X)), self.rule, weights=weights, trim=self.trim)

    def _check_settings(self, members: list[Member]) -> None:
        check_choice("rule", self.rule, AVERAGES)
        if check_number("trim", self.trim, 0) >= 0.5:
            raise ValueError(f"trim must be below 0.5, not {show(self.trim)}.")
        if check_member_weights(self.weights, self._kept()) is not None and self.rule == "trimmed":
            raise ValueError("rule='trimmed' does not support weights: use weights=None.")

    def _weigh(self, data: TrainingData) -> Weights:
        """Return the given weights, or weights from the mean squared errors on held-out samples."""
        if not isinstance(self.weights, str):
            weights = check_member_weights(self.weights, self._kept())
            return np.ones(len(data.members)) if weights is None else weights
        held_out = self._hold_out(data)
        squares = (held_out.outputs - held_out.target) ** 2
        weights = held_out.sample_weights
        return inverse_error_weights(squares.reshape(*squares.shape[:2], -1).mean(axis=2) @ weights / weights.sum())


def average_predictions(
    predictions: Scores, rule: str = "mean", *, weights: Weights | None = None, trim: float = 0.1
) -> Scores:
    """Average the predictions of several members by a fixed rule.

    Parameters
    ----------
    predictions : array of shape (n_members, ...)
    rule : {"mean", "median", "trimmed"}, default="mean"
    weights : array of shape (n_members,), optional
    trim : float, default=0.1
        For "trimmed": the fraction to remove at each end.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> predictions = np.array([[1.0], [2.0], [3.0], [4.0], [90.0]])
    >>> [average_predictions(predictions, rule, trim=0.2).item() for rule in ("mean", "median", "trimmed")]
    [20.0, 3.0, 3.0]
    """
    n_members = len(predictions)
    if rule == "mean":
        return np.average(predictions, axis=0, weights=weights)
    cells = predictions.reshape(n_members, -1)
    if weights is not None:
        averages = rules.weighted_median(cells, weights)
    else:
        averages = rules.mean_of_middle(cells, (n_members - 1) // 2 if rule == "median" else int(trim * n_members))
    return averages.reshape(predictions.shape[1:])


def check_member_weights(weights: Any, kept: npt.NDArray[np.bool_]) -> Weights | None:
    """Check a ``weights`` parameter with an entry for each listed member, and return those of members not dropped.

    Weights by performance are computed later; they sum to the number of members.
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        check_choice("weights", weights, ("performance",))
        return np.ones(int(kept.sum()))
    return rules.read_member_weights(rules.read_member_weights(weights, len(kept))[kept], int(kept.sum()))


def accuracy_weights(accuracies: npt.ArrayLike, n_samples: int, n_classes: int) -> Weights:
    """Convert accuracies to weights of votes.

    ::

        a_k = (accuracy_k n + 1) / (n + 2)
        w_k = max(0, log(a_k / (1 - a_k)) + log(C - 1)),  scaled to a sum of K

    The weight of a member that is no better than guessing is 0. If no member is better, all weights are 1, with a
    warning.

    Examples
    --------
    >>> accuracy_weights([0.9, 0.7, 0.4], n_samples=1000, n_classes=2).round(2)
    array([2.16, 0.84, 0.  ])
    """
    smoothed = (np.asarray(accuracies) * n_samples + 1) / (n_samples + 2)
    weights = np.maximum(0.0, np.log(smoothed / (1 - smoothed)) + np.log(n_classes - 1))
    if not weights.any():
        warnings.warn(
            "No member predicts held-out samples better than guessing; all members get the same weight.", stacklevel=2
        )
        return np.ones(len(weights))
    return weights * (len(weights) / weights.sum())


def inverse_error_weights(errors: Scores) -> Weights:
    """Convert mean squared errors to inversely proportional weights, scaled to a sum of K.

    Examples
    --------
    >>> inverse_error_weights(np.array([1.0, 2.0, 4.0]))
    array([1.71428571, 0.85714286, 0.42857143])
    >>> inverse_error_weights(np.array([0.0, 1.0]))
    array([2., 0.])
    """
    smallest = errors.min()
    weights = smallest / errors if smallest > 0 else (errors == 0).astype(np.float64)
    return weights * (len(weights) / weights.sum())
