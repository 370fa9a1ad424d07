"""Base class of ensembles of named members: ``fit``, and weighted combination of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, is_classifier, is_regressor
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from fuselearn._compat import clone_parameters, take_rows
from fuselearn.base import clip_probabilities, read_weights, reset_on_failure
from fuselearn.combine.classes import Classes, read_classes_of
from fuselearn.combine.members import (
    FittedMember,
    Member,
    Output,
    fit_member,
    is_dropped,
    make_router,
    member_outputs,
    predict_outside,
    read_members,
    read_samples,
    resolve_columns,
    route_metadata,
)
from fuselearn.fusion.held_out import average_held_out, held_out_samples, list_splits
from fuselearn.learners.learner import Scores, Weights


class TrainingData(NamedTuple):
    """Validated members and their training data."""

    members: list[Member]
    X: Any
    target: Any
    """None if no target was passed because the members are already fitted."""
    weights: Weights | None
    groups: Any


class HeldOut(NamedTuple):
    """Held-out outputs of members.

    Attributes
    ----------
    outputs : array of shape (n_members, n_held_out, ...)
        The mean for a sample that is held out more than once.
    target : array of shape (n_held_out, ...)
    weights : array of shape (n_held_out,) or None
    folds : array of shape (n_held_out,)
        The first split that holds out each of the samples.
    """

    outputs: Scores
    target: npt.NDArray[Any]
    weights: Weights | None
    folds: npt.NDArray[np.intp]

    @property
    def sample_weights(self) -> Weights:
        """The weights, 1 if there are none."""
        return np.ones(len(self.target)) if self.weights is None else self.weights


class MemberEnsemble(TransformerMixin, BaseEstimator):
    """An ensemble of named members, classifiers or regressors.

    Members are listed as (name, estimator) or (name, estimator, columns). ``fit`` checks the data, weights the members
    and fits them. Subclasses implement ``_check_settings`` and ``_weigh``; ``_combine``, if it is not a weighted sum;
    and ``_as_probabilities``, if outputs need a conversion to probabilities.
    """

    estimators: Sequence[tuple[Any, ...]]
    cv: Any
    prefit: bool
    n_jobs: int | None
    classes_: Any
    n_features_in_: int
    estimators_: list[Any]
    estimator_weights_: Weights
    _members_: list[FittedMember]
    _classes_: Classes | None  # None for regression
    _n_outputs_: int | None
    _learns_from_target = True  # also if the members are already fitted
    _keeps_all = True  # including members with weight 0
    __metadata_request__fit = {"groups": True}  # noqa: RUF012, read by scikit-learn; groups have no other use

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: the input that all members accept."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        members = [get_tags(one[1]) for one in self._named() if isinstance(one[1], BaseEstimator)]
        if members:
            tags.input_tags.allow_nan = all(member.input_tags.allow_nan for member in members)
            tags.input_tags.sparse = all(member.input_tags.sparse for member in members)
            tags.target_tags.multi_output = all(member.target_tags.multi_output for member in members)
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata router of the ensemble and its members, for scikit-learn's metadata routing.

        Returns
        -------
        MetadataRouter
        """
        members = [] if self.prefit else [(one[0], one[1]) for one in self._named() if not is_dropped(one)]
        return make_router(self, members)

    def __sklearn_clone__(self) -> Self:
        """Copy the parameters; fitted members stay fitted."""
        if not self.prefit:
            return clone_parameters(self)
        empty = copy(self)
        empty.estimators = []
        twin = clone_parameters(empty)
        twin.estimators = self.estimators
        return twin

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of each member under its name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the members and their parameters as ``name`` and ``name__parameter``.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)
        if deep:
            for name, estimator, *_ in self._named():
                params[name] = estimator
                if isinstance(estimator, BaseEstimator):
                    params |= {f"{name}__{key}": value for key, value in estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, replace members by name, or set parameters of members.

        Parameters
        ----------
        **params
            Parameters of the ensemble, ``name=estimator`` or ``name="drop"`` for a member, ``name__parameter=value``
            for a parameter of a member.

        Returns
        -------
        object
            The estimator.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        replaced = {name: params.pop(name) for name, *_ in self._named() if name in params}
        if replaced:
            self.estimators = [(name, replaced.get(name, old), *rest) for name, old, *rest in self.estimators]
        return super().set_params(**params)

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted members by name."""
        check_is_fitted(self)
        return Bunch(**{member.name: member.model for member in self._members_})

    @reset_on_failure
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Fit the members on all samples, and their weights on held-out samples if weights are learned.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training samples, as accepted by the members, or a list of strings.
        y : array-like of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
            Class labels of any type, an indicator matrix, or numbers. Optional if the members are already fitted and no
            weights are learned.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, for members and losses that support them.
        groups : array-like of shape (n_samples,), optional
            Groups of samples. The samples of a group are held out together, unless ``cv`` splits otherwise.
        **params
            Metadata for members, if scikit-learn's metadata routing is enabled. Sample weights are then passed only to
            members that request them.

        Returns
        -------
        object
            Fitted estimator.
        """
        data = self._read_data(X, y, sample_weight, groups, **params)
        weights = self._weigh(data)
        chosen = np.arange(len(data.members)) if self._keeps_all else np.flatnonzero(weights)
        self.estimator_weights_ = weights[chosen]
        self._keep_members(self._fit_members(data, [data.members[k] for k in chosen]), data.X)
        return self

    def _read_data(self, X: Any, y: Any, sample_weight: Any, groups: Any, **params: Any) -> TrainingData:
        """Validate the parameters and the arguments of ``fit``."""
        members = self._read_members()
        self._check_settings(members)
        X = read_samples(self, X, reset=True)
        target = self._read_target(members, X, y)
        weights = read_weights(sample_weight, X.shape[0])
        return TrainingData(route_metadata(self, members, weights, groups, params), X, target, weights, groups)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class, the labels or the numbers of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        combined = self._combine(X)
        return combined if self._classes_ is None else self._classes_.decode(combined.argmax(axis=-1))

    @available_if(lambda self: self._has_probabilities())
    def predict_proba(self, X: Any) -> Weights:
        """Predict class probabilities, if the members are classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probabilities of the classes, which sum to one, or of each label.
        """
        probabilities = self._as_probabilities(self._combine(X))
        assert self._classes_ is not None, "the members are classifiers"
        return self._classes_.as_table(probabilities)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the concatenated outputs of all members.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            Columns are named by ``get_feature_names_out``.
        """
        outputs = self._member_outputs(X)
        return np.concatenate([output.reshape(len(output), -1) for output in outputs], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Name the columns of ``transform``: the member, and the class or the output.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        endings = [""] if self._n_outputs_ is None else [f"_{output}" for output in range(self._n_outputs_)]
        if self._classes_ is not None:
            endings = self._classes_.endings
        return np.array([f"{member.name}{ending}" for member in self._members_ for ending in endings], dtype=object)

    def _check_settings(self, members: list[Member]) -> None:
        """Raise an error for invalid settings."""
        raise NotImplementedError

    def _weigh(self, data: TrainingData) -> Weights:
        """Return the weight of each member."""
        raise NotImplementedError

    def _has_probabilities(self) -> bool:
        """Return True if ``predict_proba`` is available, else raise an AttributeError."""
        if self._combines_classifiers():
            return True
        raise AttributeError("The members are regressors, which have no probabilities.")

    def _as_probabilities(self, combined: Scores) -> Scores:
        """Convert combined outputs of classifiers to probabilities."""
        return clip_probabilities(combined)

    def _combines_classifiers(self) -> bool:
        return isinstance(self, ClassifierMixin)

    def _output(self, model: Any, X: Any) -> Scores:
        """Return the output of a fitted model."""
        return predict_numbers(model, X) if self._classes_ is None else self._classes_.probabilities(model, X)

    def _named(self) -> list[tuple[Any, ...]]:
        """Return the named entries of ``estimators``, also of a list for which ``fit`` will raise an error."""
        if not isinstance(self.estimators, list | tuple):
            return []
        return [one for one in self.estimators if isinstance(one, tuple) and len(one) >= 2 and isinstance(one[0], str)]

    def _read_members(self) -> list[Member]:
        """Validate the list of members: all must be classifiers, or all regressors."""
        members = read_members(self.estimators, reserved=set(super().get_params(deep=False)))
        is_kind, noun = (is_classifier, "classifier") if self._combines_classifiers() else (is_regressor, "regressor")
        for name, estimator, *_ in members:
            if not hasattr(estimator, "fit") or isinstance(estimator, type):
                raise TypeError(f"estimators: {name!r} must be a {noun}, not {estimator!r}.")
            if not is_kind(estimator):
                raise ValueError(f"estimators: {name!r} must be a {noun}; {type(estimator).__name__} is not a {noun}.")
            if self.prefit:
                unfitted = f"estimators: {name!r} is not fitted yet; fit it first or leave prefit=False."
                check_is_fitted(estimator, msg=unfitted)
        return members

    def _read_target(self, members: list[Member], X: Any, y: Any) -> npt.NDArray[Any] | None:
        """Set the classes, None for regression, and return the target for the members."""
        if y is None and (self._learns_from_target or not self.prefit):
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self._classes_ = None
        if self._combines_classifiers():
            self._classes_, target = read_classes_of(members, X, y, prefit=self.prefit)
            self.classes_ = self._classes_.attribute
            return target
        if y is None:
            return None
        target = read_number_target(y)
        check_consistent_length(X, target)
        return target

    def _hold_out(self, data: TrainingData, output: Output | None = None) -> HeldOut:
        """Return outputs for held-out samples or, if the members are already fitted, for all samples."""
        if data.target is None:
            raise ValueError("weights='performance' requires y to be passed, but the target y is None.")
        output, n_samples = output or self._output, data.X.shape[0]
        splits = list_splits(self.cv, n_samples, data.target, data.groups, classifier=self._classes_ is not None)
        samples, folds = held_out_samples(splits, n_samples)
        if self.prefit:
            outputs = member_outputs(self._fit_members(data, data.members), data.X, output, self.n_jobs)
            folds_of_all = np.zeros(n_samples, dtype=np.intp)
            folds_of_all[samples] = folds
            return HeldOut(np.stack(outputs), data.target, data.weights, folds_of_all)
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(predict_outside)(member, data.X, data.target, output, *split)
            for member in data.members
            for split in splits
        )
        outputs = [
            average_held_out(parts[k : k + len(splits)], splits, n_samples)[samples]
            for k in range(0, len(parts), len(splits))
        ]
        weights = None if data.weights is None else data.weights[samples]
        return HeldOut(np.stack(outputs), data.target[samples], weights, folds)

    def _fit_members(self, data: TrainingData, members: list[Member]) -> list[FittedMember]:
        """Fit a clone of each given member, or return members that are already fitted."""
        if self.prefit:
            return [FittedMember(one.name, one.estimator, resolve_columns(one, data.X)) for one in members]
        return Parallel(n_jobs=self.n_jobs)(delayed(fit_member)(member, data.X, data.target) for member in members)

    def _kept(self) -> npt.NDArray[np.bool_]:
        """Return a mask of the listed members that are not dropped."""
        return np.array([not is_dropped(one) for one in self.estimators])

    def _keep_members(self, members: list[FittedMember], X: Any) -> None:
        """Store the fitted members, and determine the number of outputs of regressors from one prediction."""
        self._members_ = members
        self.estimators_ = [member.model for member in members]
        self._n_outputs_ = None
        if self._classes_ is None:
            (predicted,) = member_outputs(members[:1], take_rows(X, [0]), self._output, None)
            self._n_outputs_ = predicted.shape[1] if predicted.ndim == 2 else None

    def _member_outputs(self, X: Any, which: Sequence[int] | npt.NDArray[np.intp] | None = None) -> list[Scores]:
        """Return the output of each member, or of some, for new samples."""
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        members = self._members_ if which is None else [self._members_[k] for k in which]
        return member_outputs(members, X, self._output, self.n_jobs)

    def _combine(self, X: Any) -> Scores:
        """Return the sum of the members' outputs for new samples, weighted by ``estimator_weights_``."""
        check_is_fitted(self)
        counted = np.flatnonzero(self.estimator_weights_) if self.estimator_weights_.any() else np.arange(1)
        return np.tensordot(self.estimator_weights_[counted], np.stack(self._member_outputs(X, counted)), axes=1)


def read_number_target(y: Any) -> npt.NDArray[np.float64]:
    """Validate one or more columns of numbers; a single column is flattened."""
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    if target.ndim == 1 or target.shape[1] == 1:
        return column_or_1d(target, warn=True)
    return target


def predict_numbers(model: Any, X: Any) -> Scores:
    """Return the predictions of a regressor."""
    predicted = np.asarray(model.predict(X), dtype=np.float64)
    return predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted
