"""The fused classifier: many kinds of classifiers, weighed by their errors on held-out samples."""

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
# Half of so many samples are enough to compare members, and a member is then trained on all of them only once more.
LARGE_TABLE = 5_000
N_FOLDS_OF_LARGE_TABLE = 2
# A member with less than this fraction of the weight is not worth its time in every prediction.
LEAST_WEIGHT = 0.01


class FusedClassifier(ClassifierMixin, MemberEnsemble):
    """The classifier to pick when labels may be wrong: many kinds of classifiers, fused by their measured errors.

    A trained classifier is a noisy measurement of the ideal one, and no kind of classifier is the best at every rate of
    wrong labels: KFHE does well on clean labels, forests with large leaves on noisy ones. Each member is measured on
    held-out samples. Its probabilities p_k are calibrated by an exponent a_k, and the mean
    squared error R_k of the result is the variance of its measurement::

        p(x) = sum_k w_k q_k(x),   q_k proportional to p_k^(a_k),   w_k proportional to exp(-(R_k - R_min) / tolerance)

    Members with a weight above 0.01 are then fitted to all samples. Held-out labels are as noisy as the others. If
    wrong labels are spread evenly over the samples, the members have the same order on them as on the correct ones.

    The members still learn from wrong labels. So they are fitted a second time, with less weight on labels that
    p contradicts (``sample_weights_``). The second measurement counts as much as labels are contradicted: with P_1 and
    P_2 the sums of both fits and o the fraction of contradicted labels, ::

        P(x) = (1 - s) P_1(x) + s P_2(x),   s = min(o, 1/2), 0 if o < 0.05

    P fits noisy labels, and is underconfident about the correct ones: the predicted probabilities are proportional to
    P^b. The exponent b and the fraction of wrong labels are estimated together, from how often labels differ where p is
    nearly certain; so are the sets of :meth:`predict_set` corrected.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimators : list of (name, classifier) or (name, classifier, columns), default=None
        The members: any classifiers; one without ``predict_proba`` counts with its votes. None means KFHE, bagging,
        three random forests, three forests of extremely randomized trees, and SVMs with a radial and a linear kernel.
        If a member cannot be fitted where values are missing, as SVMs cannot, missing numbers are replaced by medians,
        and features are added that say where they were. Each :class:`~fuselearn.SVMClassifier` is trained on a
        stratified sample if there are more than 5,000 samples. A warning, ``notes_`` and ``describe()`` say so.
    n_estimators : int, default=50
        Number of trees of each ensemble, if ``estimators`` is None.
    tolerance : float, default=0.01
        By how much the squared error of a member may exceed the smallest one before its weight falls by a factor of e.
        A small tolerance takes the best member alone, a large one the mean of all.
    cv : int, splitter or iterable of splits, default=None
        How samples are held out. None means out-of-bag for forests and bagging, which are then trained only once, and
        four folds for other members, two from 5,000 samples on; if ``fit`` is passed groups, folds that keep them
        together. With a number, all members are measured on so many folds.
    verbose : int, default=0
        1 prints what will be measured, and a line after each member, at least every 30 seconds, with the time left.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the default members. Members that are passed keep their own.
    n_jobs : int or None, default=None
        Members fitted at the same time, in threads.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    members_ : list of MemberReport
        Weight, error, accuracy, exponent and time of each member, the best one first.
    held_out_proba_ : array of shape (n_samples, n_classes)
        Fused probabilities p of the given labels of the training samples, by members that were not trained on them; NaN
        for samples that ``cv`` never holds out.
    notes_ : dict of str to str
        What was done to fit a member, by its name: missing values that were imputed, samples that were left out; or why
        it could not be fitted, and is left out.
    noise_rate_ : float
        Estimated fraction of wrong labels, as far as they are spread evenly. Without evidence, it is a guess.
    noise_interval_ : (float, float)
        The fraction of wrong labels is between these two: samples that are hard to predict explain as many of the
        contradicted labels as they are likely to, or none.
    noise_matrix_ : array of shape (n_classes, n_classes)
        Estimated probability that a class (row) is labeled as each class (column), if no sample is hard to predict.
    sample_weights_ : array of shape (n_samples,)
        Weights of the samples in the second fit, without those passed to ``fit``: 0 for labels that are not trusted.
    estimators_ : list of classifiers
        Members with a weight, fitted to all samples; after these, members fitted with ``sample_weights_``.
    named_estimators_ : Bunch
        The same by name; names of the second fit end in ``__again``.
    estimator_weights_ : array of shape (n_fitted,)
        Their weights, which sum to one.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        If fitted on a DataFrame whose column names are text.

    See Also
    --------
    fuselearn.KFHEClassifier : One of the members: the Kalman filter over trees.
    LinearStackingClassifier : Weights that minimize a loss of the sum.
    EnsembleSelection : A choice of members, one at a time.

    Notes
    -----
    A Kalman filter that takes in several measurements of one state at once weighs them by 1 / R_k if their errors are
    independent. Those of classifiers that learn from the same samples are not: a second forest adds little to the first
    one. A rule that is sharper than 1 / R_k drops the members that only add errors.

    A member that cannot be fitted is left out with a warning. One whose ``fit`` takes no ``sample_weight`` is fitted
    again to the samples with a weight. The second fit is left out for members that would count with less than 0.01.

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
        """Return scikit-learn's tags: the default members take missing values and sparse data."""
        tags = super().__sklearn_tags__()
        if self.estimators is None:
            tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = False
        return tags

    def hold_out(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Scores:
        """Compute ``held_out_proba_`` alone, without a fit to all samples.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Fused probabilities by members that were not trained on the samples; NaN for samples never held out.
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
        """Predict the classes of each sample that cannot be excluded, calibrated on ``held_out_proba_``.

        The probabilities are those of the first fit, like ``held_out_proba_``; the predicted class is added.

        Parameters
        ----------
        X, coverage, per_class, allow_empty
            As for :meth:`PredictionSetClassifier.predict_set <fuselearn.combine.PredictionSetClassifier.predict_set>`.
        noise_rate : float or "auto", default="auto"
            Fraction of wrong labels, for the coverage of the correct classes; estimated by default. 0 means the
            coverage of labels like the given ones.

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
        # What was held out is the first fit; models fitted again are more certain.
        first = np.array([not member.is_refit for member in self._members_])
        weights = self.estimator_weights_[first] / self.estimator_weights_[first].sum()
        probabilities = sharpen(np.tensordot(weights, outputs[first], axes=1), self._sharpness_)
        predicted = np.tensordot(self.estimator_weights_, outputs, axes=1).argmax(axis=1)
        return select_classes(probabilities, thresholds, allow_empty=allow_empty, predicted=predicted)

    def _calibrate_sets(self) -> Calibration:
        return self._calibration_._replace(probabilities=sharpen(self._calibration_.probabilities, self._sharpness_))

    def describe(self) -> str:
        """Return a table of the members, the best one first, both fits, and what is estimated about the labels.

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
        """Draw the weight of each member beside its error.

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
        """Measure the members on held-out samples, weigh them, and fit those with a weight to all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Any table that the members take, or a list of texts.
        y : array-like of shape (n_samples,)
            Classes of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, for members that take them, and for the errors.
        groups : array-like of shape (n_samples,), optional
            Groups of samples. The samples of a group are held out together, unless ``cv`` splits otherwise.
        **params
            What else members request, if scikit-learn's metadata routing is switched on.

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
            raise ValueError("tolerance must be above 0; a small one takes the best member alone.")
        check_verbose(self.verbose)

    def _train_members(self, data: TrainingData) -> MemberTraining:
        """List the members and their table, once the data are checked."""
        if self._classes_.n_labels is not None:
            raise ValueError("FusedClassifier takes one class per sample; for several labels see fuselearn.multilabel.")
        if self.estimators is None:
            seed = int(make_generator(self.random_state).integers(2**31))
            members = default_members(self.n_estimators, seed)
            passed = {} if data.weights is None else {"sample_weight": data.weights}
            data = data._replace(members=[member._replace(passed=passed) for member in members])
        training = MemberTraining(data, self._classes_)
        used = np.flatnonzero(np.ones(len(data.target)) if data.weights is None else data.weights)
        if len(used) > MOST_SVM_SAMPLES:
            # Not the numbers that split the samples into folds: the part would be one of the folds.
            rng = make_generator(self.random_state).spawn(1)[0]
            training.draw_part(used[stratified_sample(training.class_indices[used], MOST_SVM_SAMPLES, rng)])
        return training

    def _measure(self, training: MemberTraining) -> list[Measured]:
        """Measure the members on held-out samples, calibrate and weigh them; return those with a weight."""
        members, sample_weight, classes = training.data.members, training.data.weights, training.class_indices
        splits = self._make_splits(training.data, classes)
        # Bags take no account of groups, nor of splits that the user has chosen.
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
        warn_of(self.notes_)
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
        """Estimate which labels are wrong, and weigh the samples for the second fit; those never held out keep 1."""
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
        """Return the members that are fitted a second time, and divide the weights among both fits."""
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
        """Sum the members' calibrated probabilities times their weights, and correct the sum for wrong labels."""
        outputs = self._calibrated_outputs(X)
        return sharpen(np.tensordot(self.estimator_weights_, outputs, axes=1), self._sharpness_)

    def _calibrated_outputs(self, X: Any) -> Scores:
        outputs = self._member_outputs(X)
        return np.stack([sharpen(output, a) for output, a in zip(outputs, self._exponents_, strict=True)])


def default_members(n_estimators: int, seed: int) -> list[Member]:
    """List the members of a `FusedClassifier` that was given none; the ensembles have ``n_estimators`` trees."""
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
