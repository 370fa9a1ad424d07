"""The fused classifier: many kinds of classifiers, weighted by their errors on held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from fuselearn import ensembles
from fuselearn._parameters import check_number, check_verbose, check_whole_number, make_generator
from fuselearn._progress import ProgressLines
from fuselearn.base import reset_on_failure
from fuselearn.combine.classes import Classes
from fuselearn.combine.ensemble import MemberEnsemble, TrainingData
from fuselearn.combine.member_training import (
    Measured,
    MemberTraining,
    hold_out_member,
    note_of,
    output_of_classifier,
)
from fuselearn.combine.members import Member
from fuselearn.combine.prediction_sets import Calibration, find_thresholds, select_classes
from fuselearn.fusion.held_out import (
    Splits,
    deal_splits,
    held_out_samples,
    list_splits,
    stratified_sample,
)
from fuselearn.fusion.members import (
    MOST_SVM_SAMPLES,
    MemberReport,
    best_exponent,
    describe_members,
    sharpen,
    squared_error,
    warn_of,
    weigh_members,
)
from fuselearn.fusion.trust import (
    bound_noise,
    count_confident,
    describe_labels,
    separate_noise,
    trust_labels,
    weigh_second_fit,
)
from fuselearn.learners.learner import Indices, Scores, Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FOLDS = 4
# From this number of samples on, two folds suffice to compare members.
LARGE_TABLE = 5_000
N_FOLDS_OF_LARGE_TABLE = 2
# A member with less than this fraction of the weight is not worth its time in every prediction.
LEAST_WEIGHT = 0.01


class FusedClassifier(ClassifierMixin, MemberEnsemble):
    """Fuse many kinds of classifiers by their held-out errors; the recommended classifier if labels may be wrong.

    No kind of classifier is best at every rate of wrong labels: KFHE is accurate with clean labels, forests with large
    leaves with noisy ones. The probabilities p_k of each member for held-out samples are calibrated by an exponent a_k.
    Members are weighted by the mean squared error R_k of the result::

        p(x) = sum_k w_k q_k(x),   q_k proportional to p_k^(a_k),   w_k proportional to exp(-(R_k - R_min) / tolerance)

    Members with a weight above 0.01 are refitted on all samples. Held-out labels are as noisy as all others, but if
    wrong labels are spread evenly over the samples, they do not change the ranking of the members.

    Members are then fitted a second time, with smaller weights of labels that p contradicts (``sample_weights_``). With
    P_1 and P_2 the weighted sums of both fits and o the fraction of contradicted labels, ::

        P(x) = (1 - s) P_1(x) + s P_2(x),   s = min(o, 1/2), 0 if o < 0.05

    P is calibrated to noisy labels, and therefore underconfident about the correct classes. The predicted probabilities
    are proportional to P^b. The exponent b and the fraction of wrong labels are estimated together, from the labels of
    held-out samples with nearly certain predictions.

    When to use: as the default for multi-class data with up to some 100,000 samples, in particular with wrong labels.
    When not to use: if training or prediction must take milliseconds, use :class:`~fuselearn.KFHEClassifier` or
    :class:`~fuselearn.ForestClassifier`; for a tuned booster on a larger table, use
    :class:`~fuselearn.CleanedClassifier`.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimators : list of (name, classifier) or (name, classifier, columns), default=None
        The members: any classifiers; those without ``predict_proba`` vote with their predicted classes. None means
        KFHE, bagging, three random forests, three forests of extremely randomized trees, and SVMs with a radial and a
        linear kernel. For members that do not support missing values, such as SVMs, missing numbers are replaced by
        medians and marked by indicator features. Each :class:`~fuselearn.SVMClassifier` is trained on a stratified
        sample of 5,000 if there are more samples. A warning, ``notes_`` and ``describe()`` report this.
    n_estimators : int, default=50
        Number of trees of each ensemble, if ``estimators`` is None.
    tolerance : float, default=0.01
        Increase of the squared error that decreases the weight of a member by a factor of e. A small tolerance selects
        the best member, a large one averages all members.
    cv : int, splitter or iterable of splits, default=None
        How samples are held out. None means out-of-bag scores for forests and bagging, which are then trained only
        once, and four folds for other members, two folds for 5,000 samples or more; if ``groups`` are passed to
        ``fit``, it means folds that keep groups together. A number of folds applies to all members.
    verbose : int, default=0
        1 prints the plan, and a line after each member and at least every 30 seconds, with the remaining time.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the default members. User-defined members keep their own.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, in threads.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    members_ : list of MemberReport
        Weight, error, accuracy, exponent and time of each member, the best one first.
    held_out_proba_ : array of shape (n_samples, n_classes)
        Fused held-out probabilities p of the training samples, calibrated to the given labels; NaN for samples that
        ``cv`` never holds out.
    notes_ : dict of str to str
        Notes on members, by name: imputation of missing values, the number of training samples used, or the error of a
        member that was excluded because it could not be fitted.
    noise_rate_ : float
        Estimated fraction of wrong labels, assuming that they are spread evenly over samples and classes. Without
        evidence, it is a guess.
    noise_interval_ : (float, float)
        Interval for the fraction of wrong labels: for the lower bound, contradicted labels are attributed to samples
        that are hard to predict as far as is likely; for the upper bound, all of them are wrong.
    noise_matrix_ : array of shape (n_classes, n_classes)
        Estimated probability that a class (row) is labeled as each class (column), if all contradicted labels are
        wrong.
    sample_weights_ : array of shape (n_samples,)
        Weights of the samples in the second fit, not multiplied by ``sample_weight``: 0 for labels that are ignored.
    estimators_ : list of classifiers
        Members with a positive weight, fitted to all samples, followed by members fitted with ``sample_weights_``.
    named_estimators_ : Bunch
        The same by name; names of the second fit end in ``__again``.
    estimator_weights_ : array of shape (n_fitted,)
        Weights of ``estimators_``; they sum to one.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        If fitted on a DataFrame whose column names are text.

    See Also
    --------
    fuselearn.KFHEClassifier : One of the members: trees fused by a Kalman filter.
    LinearStackingClassifier : Weights that minimize a loss of the weighted sum.
    EnsembleSelection : Greedy forward selection of members.
    fuselearn.diagnosis.audit_labels : Find the wrong labels.

    Notes
    -----
    A Kalman filter with several measurements of one state weights them by 1 / R_k if their errors are independent. The
    errors of classifiers that are trained on the same samples are correlated: a second forest adds little to the first
    one. The weights here decrease faster than 1 / R_k, which excludes members that would only add errors.

    A member that cannot be fitted is excluded with a warning. For a member that does not support ``sample_weight``, the
    second fit uses the samples with a positive weight. Members with a weight below 0.01 in the second fit are excluded
    from it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn import FusedClassifier
    >>> from fuselearn.datasets import corrupt_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> fused = FusedClassifier(n_estimators=10, random_state=0).fit(X, corrupt_labels(y, 0.2, random_state=0))
    >>> bool(fused.score(X, y) > 0.9)
    True
    """

    prefit = False
    _classes_: Classes
    _keeps_all = False

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]] | None = None,
        *,
        n_estimators: int = 50,
        tolerance: float = 0.01,
        cv: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators  # type: ignore[assignment]
        self.n_estimators = n_estimators
        self.tolerance = tolerance
        self.cv = cv
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: the default members support missing values and sparse data."""
        tags = super().__sklearn_tags__()
        if self.estimators is None:
            tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = False
        return tags

    def hold_out(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Scores:
        """Compute ``held_out_proba_`` without fitting members to all samples.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Fused held-out probabilities; NaN for samples that are never held out.
        """
        twin = clone(self)
        twin._measure(twin._train_members(twin._read_data(X, y, sample_weight, groups)))
        probabilities: Scores = twin.held_out_proba_
        return probabilities

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        per_class: bool = False,
        allow_empty: bool = False,
        noise_rate: float | str = "auto",
    ) -> npt.NDArray[np.bool_]:
        """Predict a set of classes for each sample that contains the correct class with the given probability.

        Sets are calibrated on ``held_out_proba_``, so they use the probabilities of the first fit. The predicted class
        is always included, unless ``allow_empty`` is True.

        Parameters
        ----------
        X, coverage, per_class, allow_empty
            As for :meth:`PredictionSetClassifier.predict_set <fuselearn.combine.PredictionSetClassifier.predict_set>`.
        noise_rate : float or "auto", default="auto"
            Fraction of wrong labels, to calibrate the coverage of the correct classes; estimated by default. With 0,
            the coverage is that of the given, noisy labels.

        Returns
        -------
        bool array of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``: ``classes_[sets[0]]`` are the classes of the first sample.
        """
        check_is_fitted(self)
        is_estimated = isinstance(noise_rate, str) and noise_rate == "auto"
        rate: Any = self.noise_rate_ if is_estimated else noise_rate
        thresholds = find_thresholds(
            self._calibrate_sets(), coverage, per_class=per_class, allow_empty=allow_empty, noise_rate=rate
        )
        outputs = self._calibrated_outputs(X)
        # Held-out probabilities are those of the first fit; the second fit is more confident.
        first = np.array([not member.is_refit for member in self._members_])
        weights = self.estimator_weights_[first] / self.estimator_weights_[first].sum()
        probabilities = sharpen(np.tensordot(weights, outputs[first], axes=1), self._sharpness_)
        predicted = np.tensordot(self.estimator_weights_, outputs, axes=1).argmax(axis=1)
        return select_classes(probabilities, thresholds, allow_empty=allow_empty, predicted=predicted)

    def _calibrate_sets(self) -> Calibration:
        return self._calibration_._replace(probabilities=sharpen(self._calibration_.probabilities, self._sharpness_))

    def describe(self) -> str:
        """Describe the members, the best one first, the second fit, and the estimated label noise as text.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        columns = {
            "weight": ([report.weight for report in self.members_], ".3f"),
            "squared error": ([report.error for report in self.members_], ".4f"),
            "accuracy": ([report.accuracy for report in self.members_], ".4f"),
            "seconds": ([report.seconds for report in self.members_], ".2f"),
        }
        names = [report.name for report in self.members_]
        table = describe_members(names, columns, self.notes_, None)
        n_again = sum(member.is_refit for member in self._members_)
        weight = float(self.estimator_weights_[-n_again:].sum()) if n_again else 0.0
        again = int(np.count_nonzero(self.sample_weights_ == 0.0)), n_again, weight
        labels = describe_labels(self.noise_rate_, self.noise_interval_, self.noise_matrix_, self.classes_, again)
        return f"{table}\n{labels}"

    def plot_members(self) -> Figure:
        """Plot the weight and error of each member.

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        from fuselearn.ensembles.trace import draw_members

        names, weights, errors = zip(*((one.name, one.weight, one.error) for one in self.members_), strict=True)
        return draw_members(names, weights, errors, "weight")

    @reset_on_failure
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Weight the members by their errors on held-out samples, and fit those with a positive weight to all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Any table that the members support, or a list of strings.
        y : array-like of shape (n_samples,)
            Classes of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, for the errors and for members that support them.
        groups : array-like of shape (n_samples,), optional
            Groups of samples. The samples of a group are held out together, unless ``cv`` splits otherwise.
        **params
            Other parameters for members, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        object
            Fitted estimator.
        """
        data = self._read_data(X, y, sample_weight, groups, **params)
        training = self._train_members(data)
        chosen = self._measure(training)
        fits = [delayed(training.fit)(one) for one in chosen]
        fits += [delayed(training.fit_again)(one, self.sample_weights_) for one in self._choose_again(chosen)]
        self._keep_members(Parallel(n_jobs=self.n_jobs, prefer="threads")(fits), data.X)
        training.release()
        return self

    def _read_members(self) -> list[Member]:
        return [] if self.estimators is None else super()._read_members()

    def _check_settings(self, members: list[Member]) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        if check_number("tolerance", self.tolerance, 0) == 0:
            raise ValueError("tolerance must be above 0; a small one selects the best member.")
        check_verbose(self.verbose)

    def _train_members(self, data: TrainingData) -> MemberTraining:
        """Prepare the training of the members on validated data."""
        if self._classes_.n_labels is not None:
            raise ValueError("FusedClassifier does not support multi-label y; use FusedMultilabelClassifier.")
        if self.estimators is None:
            seed = int(make_generator(self.random_state).integers(2**31))
            members = default_members(self.n_estimators, seed)
            passed = {} if data.weights is None else {"sample_weight": data.weights}
            data = data._replace(members=[member._replace(passed=passed) for member in members])
        training = MemberTraining(data, self._classes_)
        used = np.flatnonzero(np.ones(len(data.target)) if data.weights is None else data.weights)
        if len(used) > MOST_SVM_SAMPLES:
            # Another seed than that of the folds, or the drawn samples would be the same as a fold.
            rng = make_generator(self.random_state).spawn(1)[0]
            training.draw_part(used[stratified_sample(training.class_indices[used], MOST_SVM_SAMPLES, rng)])
        return training

    def _measure(self, training: MemberTraining) -> list[Measured]:
        """Calibrate and weight the members on held-out samples; return those with a positive weight."""
        members, sample_weight, classes = training.data.members, training.data.weights, training.class_indices
        splits = self._make_splits(training.data, classes)
        # Bags ignore groups and splits chosen by the user.
        out_of_bag = self.cv is None and training.data.groups is None
        measuring = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(hold_out_member)(training, member, splits, out_of_bag) for member in members
        )
        progress = ProgressLines(type(self).__name__, self.verbose, len(members), noun="members measured")
        means = "out of bag or " if out_of_bag else ""
        plan = f"Measuring {len(members)} members on {len(classes):,} samples, {means}by {len(splits)} folds."
        measured = list(progress.follow(measuring, plan))
        working = [one for one in measured if isinstance(one, Measured)]
        if not working:
            raise next(one for one in measured if isinstance(one, Exception))
        notes = {member.name: note_of(one) for member, one in zip(members, measured, strict=True)}
        self.notes_ = {name: note for name, note in notes.items() if note}
        warn_of(self.notes_, stacklevel=5)
        samples, _ = held_out_samples(splits, len(classes))
        truth, weights = classes[samples], None if sample_weight is None else sample_weight[samples]
        exponents = [best_exponent(one.scores[samples], truth, weights) for one in working]
        scores = np.stack([sharpen(one.scores[samples], a) for one, a in zip(working, exponents, strict=True)])
        errors = np.array([squared_error(score, truth, weights) for score in scores])
        member_weights = weigh_members(errors, self.tolerance, LEAST_WEIGHT)
        accuracies = [accuracy_score(truth, score.argmax(axis=1), sample_weight=weights) for score in scores]
        reports = [
            MemberReport(one.member.name, weight, error, accuracy, exponent, one.seconds)
            for one, weight, error, accuracy, exponent in zip(
                working, member_weights.tolist(), errors.tolist(), accuracies, exponents, strict=True
            )
        ]
        self.members_ = sorted(reports, key=lambda report: report.error)
        self.held_out_proba_ = np.full((len(classes), len(self._classes_.values)), np.nan)
        self.held_out_proba_[samples] = np.tensordot(member_weights, scores, axes=1)
        self._trust(samples, truth, weights)
        self._calibration_ = Calibration(self.held_out_proba_, classes, sample_weight)
        chosen = np.flatnonzero(member_weights)
        self.estimator_weights_, self._exponents_ = member_weights[chosen], np.array(exponents)[chosen]
        return [working[k] for k in chosen]

    def _trust(self, samples: Indices, truth: npt.NDArray[np.int32], weights: Weights | None) -> None:
        """Estimate which labels are wrong, and set the weights for the second fit, 1 for samples never held out."""
        weights = np.ones(len(samples)) if weights is None else weights
        counted = weights > 0.0
        probabilities, truth = self.held_out_proba_[samples[counted]], truth[counted]
        weights = weights[counted] / weights[counted].mean()
        noise = separate_noise(probabilities, truth, weights)
        self._sharpness_, self.noise_rate_ = noise.exponent, noise.rate
        joint = count_confident(probabilities, truth, weights)
        self._contradicted_ = joint.contradicted
        n_samples = weights.sum() ** 2 / (weights @ weights)
        self.noise_interval_ = bound_noise(noise, joint.contradicted, n_samples)
        self.noise_matrix_ = joint.noise_matrix
        self.sample_weights_ = np.ones(len(self.held_out_proba_))
        self.sample_weights_[samples[counted]] = trust_labels(joint, probabilities, truth)

    def _choose_again(self, chosen: list[Measured]) -> list[Measured]:
        """Return the members of the second fit, and distribute the weights over both fits."""
        weight = weigh_second_fit(self._contradicted_)
        again = np.flatnonzero(weight * self.estimator_weights_ >= LEAST_WEIGHT)
        if len(again):
            second = self.estimator_weights_[again]
            second = weight * second / second.sum()
            self.estimator_weights_ = np.concatenate([(1.0 - weight) * self.estimator_weights_, second])
            self._exponents_ = np.concatenate([self._exponents_, self._exponents_[again]])
        return [chosen[k] for k in again]

    def _make_splits(self, data: TrainingData, classes: npt.NDArray[np.int32]) -> Splits:
        if self.cv is not None and not isinstance(self.cv, int | np.integer):
            return list_splits(self.cv, len(classes), classes, data.groups)
        n_folds = N_FOLDS if len(classes) < LARGE_TABLE else N_FOLDS_OF_LARGE_TABLE
        if self.cv is not None:
            n_folds = check_whole_number("cv", self.cv, 2)
        return deal_splits(classes, n_folds, make_generator(self.random_state), data.groups)

    def _output(self, model: Any, X: Any) -> Scores:
        return output_of_classifier(model, X, self._classes_)

    def _combine(self, X: Any) -> Scores:
        """Return the weighted sum of the members' calibrated probabilities, corrected for wrong labels."""
        outputs = self._calibrated_outputs(X)
        return sharpen(np.tensordot(self.estimator_weights_, outputs, axes=1), self._sharpness_)

    def _calibrated_outputs(self, X: Any) -> Scores:
        outputs = self._member_outputs(X)
        return np.stack([sharpen(output, a) for output, a in zip(outputs, self._exponents_, strict=True)])


def default_members(n_estimators: int, seed: int) -> list[Member]:
    """List the default members of a `FusedClassifier`; ensembles have ``n_estimators`` trees."""
    size: dict[str, Any] = {"n_estimators": n_estimators, "random_state": seed}
    return [
        Member("kfhe", ensembles.KFHEClassifier(**size)),
        Member("bagging", ensembles.BaggedClassifier(**size)),
        Member("forest", ensembles.ForestClassifier(**size)),
        Member("forest_leaf3", ensembles.ForestClassifier(min_samples_leaf=3, **size)),
        Member("forest_leaf8", ensembles.ForestClassifier(min_samples_leaf=8, **size)),
        Member("extra_trees", ensembles.ForestClassifier(splitter="random", **size)),
        Member("extra_trees_leaf3", ensembles.ForestClassifier(splitter="random", min_samples_leaf=3, **size)),
        Member("extra_trees_leaf8", ensembles.ForestClassifier(splitter="random", min_samples_leaf=8, **size)),
        Member("svm", ensembles.SVMClassifier(impute=True, random_state=seed)),
        Member("svm_linear", ensembles.SVMClassifier(kernel="linear", impute=True, random_state=seed)),
    ]
