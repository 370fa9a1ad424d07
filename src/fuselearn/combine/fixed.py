"""Fixed combiners of classifiers: votes, rankings or probabilities by a rule that nobody has to train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from fuselearn._messages import show
from fuselearn.combine import rules
from fuselearn.combine.answers import Classes, require_method
from fuselearn.combine.ensemble import MemberEnsemble, TrainingData, Weights
from fuselearn.combine.member_weights import accuracy_weights, check_member_weights
from fuselearn.combine.members import Member


def _has_counts(self: FixedCombiner) -> bool:
    if self.rule == "borda":
        return True
    raise AttributeError(f"decision_function gives Borda counts; rule={show(self.rule)} has none.")


class FixedCombiner(ClassifierMixin, MemberEnsemble):
    """Classifiers combined by a fixed rule, at the level of their classes, of their rankings or of their probabilities.

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

    Of equal classes the first in ``classes_`` is predicted. With several labels per sample (a table of 0 and 1 as
    ``y``) the rule is applied label by label, to the two classes 0 and 1.

    Parameters
    ----------
    estimators : list of (name, classifier) or (name, classifier, columns)
        The members; "drop" leaves one out. Columns: names, positions, a slice, a mask or a function of the table.
    rule : str, default="majority"
        One of the above. Rules at the level of probabilities need members with ``predict_proba``, "borda" needs
        ``predict_proba`` or ``decision_function``.
    weights : array of shape (n_members,), "performance" or None, default=None
        Weights of the members as listed; the rules "and", "or", "min" and "max" take none. "performance" means
        max(0, log(a_k / (1 - a_k)) + log(C - 1)), scaled to a sum of K, where C is the number of classes and a_k is the
        member's share of right predictions out of fold (by the rule of succession, one more right and one more wrong).
        With independent members these weights make the best majority vote.
    k : float, optional
        For "k_of_n": how many members must agree or, with weights, what their weights must sum up to.
    positive_class : label, optional
        For "and", "or" and "k_of_n": the positive class, by default the second in ``classes_``.
    cv : int, splitter or iterable of splits, default=None
        Where ``weights="performance"`` comes from; None means five folds, stratified by class.
    prefit : bool, default=False
        Whether the members are fitted already. They are then used as they are, ``fit`` may do without ``y``, and
        ``weights="performance"`` is measured on the samples given to ``fit``, which should be new to the members.
    n_jobs : int or None, default=None
        Members fitted at the same time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list with 0 and 1 for each label
    estimators_, named_estimators_ : list of classifiers, Bunch
        The fitted members; the same by name.
    estimator_weights_ : array of shape (n_members,)
        The weights used.
    n_features_in_, feature_names_in_
        Number of the features, and their names if fitted on a DataFrame whose column names are text.

    See Also
    --------
    fuselearn.combine.combine_scores : The rules, for arrays of scores.
    LinearStackingClassifier : Learned weights instead of a fixed rule.
    EnsembleSelection : A choice of members.
    sklearn.ensemble.VotingClassifier : Mean and majority, in scikit-learn.

    Notes
    -----
    ``predict_proba`` gives shares of votes for "majority" and, for rules at the level of probabilities, the combined
    probabilities divided by their sum; if they are all zero, classes share equally. The other rules define none.
    ``decision_function`` gives the counts of "borda".

    Sample weights reach every member whose ``fit`` takes ``sample_weight``, the last step of a pipeline included; the
    others are fitted without. Labels reach members as they are, so that ``class_weight`` means what it says.

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
    >>> from fuselearn import FixedCombiner
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("bayes", GaussianNB()), ("near", KNeighborsClassifier(), [2, 3]), ("line", LinearSVC())]
    >>> combiner = FixedCombiner(members, rule="borda").fit(X, y)
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
        """Return the tags: some rules are for two classes only."""
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
            With two classes, of shape (n_samples,), the count of the second less that of the first; with several
            labels, of shape (n_samples, n_labels), the same for each label.
        """
        counts = self._combine(X)
        return counts[..., 1] - counts[..., 0] if counts.shape[-1] == 2 else counts

    def _has_probabilities(self) -> bool:
        if self.rule in rules.PROBABILITY_RULES or self.rule == "majority":
            return True
        raise AttributeError(
            f"rule={show(self.rule)} gives decisions, not probabilities; 'majority', 'mean', 'median', 'product', "
            "'min' and 'max' define predict_proba."
        )

    def _as_probabilities(self, combined: Weights) -> Weights:
        return rules.as_probabilities(combined)

    def _check_settings(self, members: list[Member]) -> None:
        rules.check_rule(self.rule)
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
        """Return the number of the positive class, and refuse more than two classes where a rule needs one."""
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
        """Weigh the members as given, or by the share of samples or labels that they predict rightly out of fold."""
        self._positive_ = self._find_positive()
        if not isinstance(self.weights, str):
            weights = check_member_weights(self.weights, self._kept())
            return np.ones(len(data.members)) if weights is None else weights
        held_out = self._hold_out(data, self._classes_.votes)
        truth = self._classes_.encode(data.target[held_out.rows])
        counts = held_out.sample_counts(data.weights)
        right = (held_out.answers.argmax(axis=-1) == truth).reshape(*held_out.answers.shape[:2], -1).mean(axis=2)
        n_counted = int(np.count_nonzero(counts))
        return accuracy_weights(right @ counts / counts.sum(), n_counted, len(self._classes_.values))

    def _answer(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        if self.rule in rules.CLASS_RULES:
            return self._classes_.votes(model, X)
        if self.rule == "borda":
            return self._classes_.rankings(model, X)
        return self._classes_.probabilities(model, X)

    def _combine(self, X: Any) -> npt.NDArray[np.float64]:
        """Combine the answers of the members about new samples."""
        answers = np.stack(self._ask(X))
        cells = answers.reshape(len(answers), -1, answers.shape[-1])
        weights = None if self.weights is None else self.estimator_weights_
        combined = rules.combine_scores(cells, self.rule, weights=weights, k=self.k, positive_class=self._positive_)
        return combined.reshape(answers.shape[1:])
