"""Base classes of the estimators: check, bind, train, decide.

``fit`` checks the data, binds the table to the base estimator, and passes a :class:`~fuselearn.fusion.Problem` to
``_train``, which calls an algorithm, a function ``train_x(problem, **settings)``. The estimator stores the result, a
:class:`~fuselearn.fusion.Trained`; predictions use nothing else.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.utils import InputTags, get_tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from fuselearn._compat import count_rows, take_rows
from fuselearn._messages import show
from fuselearn._parameters import count_threads, make_generator
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.learners import Learner, Target, bind, class_target, value_target
from fuselearn.learners.learner import Scores, Weights
from fuselearn.learners.table import as_frame, naming_text, refuse_odd_cells

Fit = TypeVar("Fit", bound=Callable[..., Any])

# Maximum number of values of a batch of new sparse samples, when converted to dense.
DENSE_VALUES = 2**24


def reset_on_failure(fit: Fit) -> Fit:
    """Decorate a ``fit`` method so that the estimator is unfitted if it fails or is interrupted.

    On success, the number of training samples is stored for the header of a model file.
    """

    @functools.wraps(fit)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(self, "warm_start", False):
            _reset(self)
        try:
            fit(self, X, *args, **kwargs)
            if "_n_rows_" not in vars(self):  # set by fit for Dask collections, whose length may be unknown
                self._n_rows_ = count_rows(X)
            return self
        except BaseException as error:
            _reset(self)
            if isinstance(error, ValueError) and _are_swapped(X, *args[:1]):
                raise ValueError(f"Are X and y swapped? fit takes X, the features, first. {error}") from error
            raise

    return wrapped  # type: ignore[return-value]


def _are_swapped(X: Any, y: Any = None) -> bool:
    """Return whether two arrays look like a target and a feature matrix, in this order."""
    if not isinstance(X, np.ndarray) or not isinstance(y, np.ndarray) or y.ndim != 2 or y.dtype.kind not in "iuf":
        return False
    return X.ndim == 1 or bool(np.isin(X, (0, 1)).all() and y.shape[1] > 1 and not np.isin(y, (0, 1)).all())


def _reset(estimator: Any) -> None:
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("__")]:
        delattr(estimator, name)


def without_derived(estimator: Any, state: Any) -> dict[str, Any]:
    """Return the state of an estimator without its cached properties."""
    kind = type(estimator)
    return {n: v for n, v in state.items() if not isinstance(getattr(kind, n, None), functools.cached_property)}


@naming_text()
def validate_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate a numeric feature matrix, or the shape and the column names of a DataFrame."""
    if as_frame(X) is None:
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
        )
    return validate_frame(estimator, X, reset=reset)


def keep_trained(estimator: Any, trained: Trained) -> None:
    """Set the fitted attributes from the result of training."""
    vars(estimator).pop("estimators_", None)  # those of an earlier fit, if it is continued
    estimator._fused_ = trained.fused
    vars(estimator).update(trained.trace)


def prepare_samples(estimator: Any, X: Any) -> Any:
    """Validate new samples and convert them to the models' input."""
    check_is_fitted(estimator)
    X = estimator._check_table(X, reset=False)
    return X if estimator._coder_ is None else estimator._coder_.transform(X)


def predict_samples(estimator: Any, X: Any, predict: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Apply a prediction function to new samples, in batches if a kernel is evaluated."""
    check_is_fitted(estimator)
    X, coder = estimator._check_table(X, reset=False), estimator._coder_
    if coder is None:
        return predict(X)
    batch_size = getattr(coder, "batch_size", 2**31)
    if sparse.issparse(X):  # what trees need is dense
        batch_size = min(batch_size, max(1, DENSE_VALUES // X.shape[1]))
    return predict_in_batches(X, batch_size, lambda batch: predict(coder.transform(batch)))


def sum_scores(estimator: Any, X: Any) -> Scores:
    """Return the weighted sum of the models' outputs for new samples."""
    n_threads = count_threads(estimator.n_jobs)
    return predict_samples(estimator, X, lambda batch: estimator._fused_.scores(batch, n_threads))


class EstimatorBase(BaseEstimator):
    """Base class of classifiers and regressors. Subclasses implement ``_train`` and ``_check_parameters``."""

    random_state: Any = None
    n_jobs: int | None
    n_features_in_: int
    _coder_: Any  # its transform prepares samples for the models; None if no preparation is needed
    _fused_: WeightedSum

    @property
    def _leaves_out(self) -> bool:
        """Whether every model is trained on its own bag, so that out-of-bag scores are held-out scores."""
        return False

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: an ensemble accepts the input of its base estimator."""
        tags, base = super().__sklearn_tags__(), getattr(self, "estimator", None)
        takes = get_tags(base).input_tags if isinstance(base, BaseEstimator) else InputTags(allow_nan=True, sparse=True)
        tags.input_tags.allow_nan, tags.input_tags.sparse = takes.allow_nan, takes.sparse
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and files, without cached properties."""
        return without_derived(self, super().__getstate__())

    def _check_parameters(self) -> None:
        """Raise an error for invalid parameters."""

    def _base_estimator(self) -> Any:
        """Return the base estimator: the estimator itself, if it is not an ensemble of others."""
        return self

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Validate a feature matrix for the base estimator."""
        validate = getattr(self._base_estimator(), "_validate_table", validate_rows)
        return validate(self, X, reset=reset)

    def _bind(self, X: Any) -> tuple[Any, Learner]:
        """Check the parameters and a table, and bind it to the base estimator."""
        self._check_parameters()
        base = self._base_estimator()
        check_base(base, "classifier" if is_classifier(self) else "regressor")
        X = self._check_table(X, reset=True)
        return X, bind(base, X, count_threads(self.n_jobs))

    def _train(self, problem: Problem) -> Trained:
        """Train models on the bound table, by calling an algorithm."""
        raise NotImplementedError

    def _pose(self, problem: Problem) -> Problem:
        """Add progress reports to the problem."""
        return problem

    def _keep(self, trained: Trained, problem: Problem) -> None:
        """Set the fitted attributes from the result of training."""
        keep_trained(self, trained)

    def _solve(self, learner: Learner, target: Target, weights: Weights | None, X: Any) -> Self:
        """Train on the bound table, and set the fitted attributes."""
        self._coder_ = learner.coder
        rng = make_generator(self.random_state)
        problem = self._pose(Problem(learner, target, weights, rng, X, n_jobs=self.n_jobs))
        self._keep(self._train(problem), problem)
        learner.release()
        return self


class ClassifierBase(ClassifierMixin, EstimatorBase):
    """Base class of classifiers with a single target."""

    class_weight: Any = None
    classes_: npt.NDArray[Any]
    _shares_table = True  # whether ``_train`` trains on the table that it gets, which others may be trained on, too

    @reset_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training samples, as accepted by the base estimator. Trees accept numbers, NaN, sparse matrices, and
            category columns of a DataFrame.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights; see the description of the class for their effect.

        Returns
        -------
        object
            Fitted estimator.
        """
        before = vars(self).get("classes_"), vars(self).get("n_features_in_")  # of a fit that is continued
        X, learner = self._bind(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.classes_, classes = read_classes(y, learner.n_samples)
        if before[0] is not None and not (
            np.array_equal(before[0], self.classes_) and before[1] == self.n_features_in_
        ):
            raise ValueError("With warm_start=True, X and y must have the features and classes of the previous fit.")
        weights = self._read_weights(sample_weight, classes)
        return self._solve(learner, class_target(classes, len(self.classes_), self.classes_), weights, X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[self._choose(self.predict_proba(X))]

    def predict_proba(self, X: Any) -> Scores:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            They sum to one; classes are in the order of ``classes_``.
        """
        check_is_fitted(self)
        return clip_probabilities(self._to_probabilities(sum_scores(self, X)))

    def _read_weights(self, sample_weight: Any, classes: npt.NDArray[np.int32]) -> Weights | None:
        """Validate the sample weights and multiply them by the class weights; None if neither is given.

        The learner of a single model applies the class weights itself, after samples are drawn.
        """
        weights = read_weights(sample_weight, len(classes))
        if self.class_weight is None or self._base_estimator() is self:
            return weights
        by_class = compute_sample_weight(self.class_weight, self.classes_[classes])
        return read_weights(by_class if weights is None else weights * by_class, len(classes))

    def _to_probabilities(self, scores: Scores) -> Scores:
        """Convert the sum of the models' outputs to probabilities, up to rounding."""
        return scores

    def _choose(self, scores: Scores) -> npt.NDArray[np.intp]:
        """Return the class with the largest score, the first if several are equal."""
        return scores.argmax(axis=1)


class RegressorBase(RegressorMixin, EstimatorBase):
    """Base class of regressors."""

    @reset_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the regressor.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training samples, as accepted by the base estimator. Trees accept numbers, NaN, sparse matrices, and
            category columns of a DataFrame.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights; see the description of the class for their effect.

        Returns
        -------
        object
            Fitted estimator.
        """
        X, learner = self._bind(X)
        target = value_target(read_numbers(y, learner.n_samples, type(self).__name__))
        return self._solve(learner, target, read_weights(sample_weight, learner.n_samples), X)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the value of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return sum_scores(self, X)[:, 0]


def as_estimator(
    model: Any, base: Any, coder: Any, classes: npt.NDArray[Any] | None, names: npt.NDArray[Any] | None
) -> Any:
    """Return a model as a fitted estimator with the parameters of the base estimator."""
    if not hasattr(base, "_bind_table"):
        return model.estimator
    estimator = type(base)(**base.get_params())
    if classes is not None:
        estimator.classes_ = classes
    if names is not None:
        estimator.feature_names_in_ = names
    estimator.n_features_in_ = coder.n_features_in_
    estimator._coder_ = coder
    estimator._fused_ = WeightedSum([model], np.ones(1), 1 if classes is None else len(classes))
    return estimator


def train_one(problem: Problem, seed: int) -> Trained:
    """Train a single model on all samples."""
    return Trained(WeightedSum([problem.train_on_all(seed)], np.ones(1), problem.target.n_columns))


def validate_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate the shape, the feature names and the object columns of X; the base estimator validates the rest."""
    if as_frame(X) is not None:
        X = validate_frame(estimator, X, reset=reset)
    else:
        X = validate_data(
            estimator, X, reset=reset, dtype=None, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=1
        )
    if reset:
        refuse_odd_cells(X)
    return X


def validate_frame(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate the shape and the feature names of a DataFrame; the coder validates its values."""
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s); at least one of each is needed."
        )
    return X


def read_table(name: str, X: Any) -> Any:
    """Return X with two dimensions; lists become arrays, and sparse matrices CSR."""
    if sparse.issparse(X):
        X = X.tocsr()
    table = X if hasattr(X, "shape") else np.asarray(X)
    if len(table.shape) != 2 or table.shape[0] == 0:
        raise ValueError(f"{name} must have shape (n_samples, n_features), not {tuple(table.shape)}.")
    return table


def read_classes(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Validate the labels of the samples; return the sorted classes and the class index of each sample."""
    classes, class_numbers = number_labels(y, n_rows)
    require_two_classes(classes)
    return classes, class_numbers


def require_two_classes(classes: npt.NDArray[Any]) -> None:
    """Raise an error if the target has a single class."""
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes.tolist()[0]!r}); a classifier needs at least two classes.")


def number_labels(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Validate class labels; return them sorted, and the class index of each sample. A single class is allowed.

    The sorted labels have the dtype of y, or the NumPy dtype that corresponds to it: int64 for pandas' Int64, bool for
    boolean, the dtype of the categories for categoricals. Objects that are all Boolean, or all integers, are converted.
    """
    shape: tuple[int, ...] = np.shape(y) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {tuple(shape)} instead. For a multi-label indicator "
            f"matrix, use a classifier of fuselearn.multilabel; for several multi-class targets, wrap this "
            f"classifier in sklearn.multioutput.MultiOutputClassifier."
        )
    if not (isinstance(y, np.ndarray) and y.ndim == 1):
        # scikit-learn alone would turn nullable types of pandas into floats
        y = column_or_1d(y if sparse.issparse(y) else np.asarray(y), warn=True)
    if y.dtype == object and all(isinstance(label, bool | np.bool_ | numbers.Integral) for label in y):
        y = np.array(y.tolist())
    if len(y) != n_rows:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_rows} and {len(y)}.")
    if _any_missing(y):
        raise ValueError("Input y contains NaN; every sample needs a label.")
    try:
        if y.dtype.kind in "fO":  # integers and text cannot be a regression target
            check_classification_targets(y)
        classes, class_numbers = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            "y mixes labels of types that cannot be sorted together, such as numbers and strings."
        ) from error
    return classes, class_numbers.astype(np.int32)


def read_numbers(y: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
    """Validate a numeric target; ``name`` names the estimator in messages."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_rows} and {len(y)}.")
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("y must be numeric for a regressor.") from error
    if not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a finite number.")
    return values


def _any_missing(y: npt.NDArray[Any]) -> bool:
    if y.dtype.kind == "f":
        return bool(np.isnan(y).any())
    if y.dtype.kind != "O":
        return False
    try:
        return any(label is None or label != label for label in y)
    except TypeError:  # pandas.NA is neither equal to anything nor different
        return True


def read_weights(sample_weight: Any, n_samples: int) -> npt.NDArray[np.float64] | None:
    """Validate sample weights; None means equal weights."""
    if sample_weight is None:
        return None
    weights = check_weights(sample_weight, n_samples)
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one weight must be positive.")
    if not np.isfinite(weights.sum()):
        raise ValueError("sample_weight is too large: its sum is not a finite number.")
    return weights


def check_weights(sample_weight: Any, n_samples: int) -> npt.NDArray[np.float64]:
    """Validate the entries of sample weights."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold one number per sample: {error}.") from error
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight must have one weight per sample, shape ({n_samples},), not {weights.shape}.")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity; expected finite weights.")
    if (weights < 0).any():
        raise ValueError("sample_weight has negative entries; expected weights of at least 0.")
    return weights


def clip_probabilities(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Clip probabilities to [0, 1] in place, since weights sum to one only up to rounding.

    Metrics such as the log loss reject a probability above 1, even by 2e-16.
    """
    return np.clip(scores, 0.0, 1.0, out=scores)


def check_base(estimator: Any, kind: str) -> None:
    """Raise an error unless a base estimator is a single-target classifier, or a regressor.

    Parameters
    ----------
    estimator : object
    kind : {"classifier", "regressor"}

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> check_base(DecisionTreeRegressor(), "classifier")
    Traceback (most recent call last):
    TypeError: estimator must be a classifier or None, not DecisionTreeRegressor().
    """
    is_kind = is_classifier if kind == "classifier" else is_regressor
    if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and is_kind(estimator)):
        hint = ""
        if isinstance(estimator, type):
            hint = f" Pass an object, such as {estimator.__name__}(), not its class."
        elif isinstance(estimator, numbers.Integral):
            hint = f" It is the first parameter; pass numbers by name, such as n_estimators={estimator}."
        raise TypeError(f"estimator must be a {kind} or None, not {show(estimator)}.{hint}")
    if kind == "classifier" and not get_tags(estimator).target_tags.single_output:
        raise TypeError(
            f"estimator must be a single-label classifier; {type(estimator).__name__} is a multi-label "
            f"classifier, which KFHEMultilabelClassifier and ThresholdedClassifier accept."
        )


def predict_in_batches(X: Any, batch_size: int, predict: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Apply a prediction function to the samples of a table, in batches if there are many.

    Examples
    --------
    >>> predict_in_batches(np.arange(5), 2, lambda batch: batch * len(batch))
    array([0, 2, 4, 6, 4])
    """
    n_samples = X.shape[0]
    if n_samples <= batch_size:
        return predict(X)
    batches = (np.arange(start, min(start + batch_size, n_samples)) for start in range(0, n_samples, batch_size))
    return np.concatenate([predict(take_rows(X, batch)) for batch in batches])
