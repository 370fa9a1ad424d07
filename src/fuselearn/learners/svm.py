"""The SVM learner: support vector machines trained on a table that is scaled once, and its Gram matrices.

For large tables without a Gram matrix, see :class:`~fuselearn.learners.kernel_table.KernelTable`, SVMs are linear in
the features or in Nystroem features that approximate the radial kernel.

Platt's method for calibration needs held-out decision values. They come from cross-validation over drawn copies, as if
samples were repeated: a sample drawn three times may be in three folds. The solver of each fold starts from the
solution on all samples.

libsvm does the same with repeated samples. Copies of held-out samples in the training folds make an SVM overconfident,
which suits members of an ensemble, whose mean is less confident than they are. With all copies of a sample in one fold,
E-HOMER has larger calibration errors and a smaller macro F1 on most of the papers' datasets
(``benchmarks/calibration.py``). Sample weights that are not counts of draws are not copies: the sample is in one fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from fuselearn import _core
from fuselearn._core import collapse, decide
from fuselearn.learners.coupling import Coupling, fit_coupling
from fuselearn.learners.kernel_table import Kernel, KernelRows, KernelTable, join_columns
from fuselearn.learners.kernels import Floats, KernelValues, measure_samples
from fuselearn.learners.learner import Counts, Indices, LabelModel, Labels, Learner, Model, Scores, Target, Weights
from fuselearn.learners.table import NumberEncoder

KERNELS = ("rbf", "linear")
PROBABILITIES = ("platt", "logistic", "sign")
SCALINGS = ("standard", "minmax")

LARGEST_COST = 1e15
# Maximum number of kernel values of a batch of new samples.
KERNEL_VALUES = 2**26
# Maximum number of coefficients to pack for fast prediction of few samples, which takes 100 MB.
PACKED_VALUES = 2**23
TOLERANCE = 1e-3
MOST_PASSES = 1000
SAMPLES_FOR_THREADS = 200


class Machines(NamedTuple):
    """The stored form of trained SVMs."""

    support: npt.NDArray[np.int32] | None  # samples of the coefficients; None if these are weights of features
    coefficients: npt.NDArray[np.float32]  # (n_svms, n_support or n_features)
    extra_weights: npt.NDArray[np.float64]  # (n_svms, n_appended), weights of appended columns
    intercepts: npt.NDArray[np.float64]  # (n_svms,), like the following
    slopes: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.float64]
    converged: npt.NDArray[np.bool_]


class LeftOut(NamedTuple):
    """Decision values of held-out samples, for calibration."""

    rows: npt.NDArray[np.integer]  # (n,), sample indices
    weights: npt.NDArray[np.float64]  # (n,)
    decisions: npt.NDArray[np.float64]  # (n_svms, n)


class SVMLearner(Learner):
    """Encode and scale a table once, and train any number of support vector machines on it.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Finite numbers. Categorical columns of a DataFrame are one-hot encoded; missing and unknown categories are
        encoded as zeros.
    estimator : SVMClassifier
        Its parameters are used, except ``random_state`` and ``n_jobs``.
    n_threads : int
        Number of SVMs trained in parallel.
    """

    # Copies of a sample may be in several folds, which is meant for drawn samples. Integer weights of the user must not
    # be treated as copies.
    counts_copies = False
    bound_parameters = ("scaling", "impute")

    def __init__(self, X: Any, estimator: Any, n_threads: int) -> None:
        estimator._check_parameters()
        self.estimator = estimator
        self.encoder = NumberEncoder(impute=estimator.impute)
        self.n_samples, self.n_features_in_ = X.shape
        self.table = KernelTable(self.encoder.fit_transform(X), scaling=estimator.scaling)
        self.n_threads = n_threads

    @property
    def coder(self) -> SVMLearner:
        """The learner itself, which encodes and scales new samples."""
        return self

    @property
    def batch_size(self) -> int:  # type: ignore[override]
        """Number of new samples whose kernel values fit into memory."""
        return max(1, KERNEL_VALUES // self.table.most_values)

    def train(
        self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None
    ) -> LabelMachines | ClassMachines:
        """Train one SVM per label, or one-vs-rest SVMs for classes, on the samples drawn."""
        self._check_sample(target, counts)
        drawn = counts if weights is None else np.where(counts > 0, weights, 0.0)
        if target.task == "classes":
            return self._train_classes(target, drawn, seed)
        assert target.task == "labels", "an SVMClassifier does not support regression"
        self._refuse_class_weight()
        return self._train_labels(target.values, drawn, seed)[0]

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a learner whose kernel values are updated for appended features."""
        return self._replaced(table=self.table.extend(columns, n_columns))

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Return a learner for some features of the table, with separate Gram matrices."""
        return self._replaced(table=self.table.restrict(self.encoder.columns_of(features)))

    def transform(self, X: Any) -> KernelRows:
        """Encode and scale new samples."""
        return self.adapt(self.table.root.source.prepare(self.encoder.transform(X)))

    def adapt(self, X: KernelRows) -> KernelRows:
        """Select the features of this learner from prepared samples."""
        root = self.table.root
        return X if root.chosen is None else root.restrict_rows(X)

    def training_samples(self, X: Any) -> KernelRows:
        """Return the training samples with their computed kernel values."""
        return self.table.bound_rows()

    def release(self) -> None:
        """Release the Gram matrices."""
        self.table.release()

    def with_estimator(self, estimator: Any) -> Self:
        """Return a learner for the same table and SVMs with other parameters."""
        estimator._check_parameters()
        return super().with_estimator(estimator)

    def _train_classes(self, target: Target, drawn: Counts | Weights, seed: int) -> ClassMachines:
        classes, n_classes = target.values, target.n_columns
        samples = np.arange(self.n_samples) if target.samples is None else target.samples
        drawn = np.where(np.isin(np.arange(self.n_samples), samples), drawn, 0)
        factors = self._class_factors(target, drawn[samples])
        if factors is not None:
            own = np.zeros(self.n_samples)
            own[samples] = factors
            drawn = drawn * own
        if n_classes == 2 and target.label_sets is None and target.samples is None:
            machines, _ = self._train_labels(classes[:, None], drawn, seed)
            return ClassMachines(machines, None)
        members = np.zeros((self.n_samples, n_classes), dtype=np.int8)
        members[samples, classes] = 1
        machines, left_out = self._train_labels(members, drawn, seed)
        totals = np.bincount(classes, drawn[samples], n_classes)
        coupling = Coupling(totals / totals.sum())
        if left_out is not None:
            labels = np.eye(n_classes, dtype=np.int8) if target.label_sets is None else target.label_sets
            truth = np.zeros((self.n_samples, labels.shape[1]), dtype=np.bool_)
            np.logical_or.at(truth, samples, labels[classes] > 0)
            probabilities = machines.calibrate(left_out.decisions.T)
            coupling = fit_coupling(coupling.shares, probabilities, labels, truth[left_out.rows], left_out.weights)
        return ClassMachines(machines, coupling)

    def _train_labels(self, Y: Labels, drawn: Counts | Weights, seed: int) -> tuple[LabelMachines, LeftOut | None]:
        """Train one SVM per label, all on the same samples; also return decision values of held-out samples.

        ``drawn`` is the number of times that each sample was drawn, or, as floats, its weight. The cross-validation for
        Platt's sigmoid treats drawn copies as separate samples; a sample with a weight is in one fold.
        """
        gamma, probability = self.estimator.gamma, self.estimator.probability
        kernel = Kernel(self.estimator.kernel, 1.0 / self.table.n_columns if gamma is None else float(gamma))
        rows = np.flatnonzero(drawn > 0)
        labels = Y[rows] > 0
        n_positive = labels.sum(axis=0)
        is_constant = (n_positive == 0) | (n_positive == len(rows))
        constants = np.where(n_positive == 0, 0.0, 1.0)
        self.table.bound_rows()
        if is_constant.all():
            return LabelMachines(self.table, kernel, probability, constants, is_constant, None), None

        drawn, C = drawn[rows], float(self.estimator.C)
        if C * drawn.max() > LARGEST_COST:
            raise ValueError(
                f"C times the largest sample_weight is {C * drawn.max():g}, above the maximum of {LARGEST_COST:g}; "
                "lower C or rescale sample_weight."
            )
        copies: Any = drawn
        if drawn.dtype.kind == "f":
            # Platt's targets depend on the number of samples, so weights are scaled to a mean of 1 and C accordingly.
            unit = drawn.mean()
            drawn, C, copies = drawn / unit, C * unit, np.ones(len(drawn), dtype=np.int64)
        folds = None
        if probability == "platt":
            folds = deal_folds(copies, self.estimator.cv, seed) * (drawn / copies)
        signs = np.where(labels[:, ~is_constant].T, 1.0, -1.0)
        solve = self._train_on_gram if self.table.has_gram(kernel) else self._train_on_features
        machines, decisions = solve(kernel, C, rows, signs, drawn.astype(np.float64), folds)
        if not machines.converged.all():
            warnings.warn(
                "A support vector machine did not converge; scale the features or lower C.",
                ConvergenceWarning,
                stacklevel=2,
            )
        trained = LabelMachines(self.table, kernel, probability, constants, is_constant, machines)
        if folds is None:
            return trained, None
        fold, left_out = np.nonzero(folds)
        return trained, LeftOut(rows[left_out], folds[fold, left_out], decisions)

    def _train_on_gram(
        self, kernel: Kernel, C: float, rows: Indices, signs: Floats, weights: Floats, folds: Floats | None
    ) -> tuple[Machines, Floats]:
        table, bound = self.table, self.table.bound_rows()
        gram = table.gram(kernel, rows)
        trained = train_columns(gram, signs, weights, C, folds=folds, n_threads=self.n_threads)
        used = (trained.coefficients != 0.0).any(axis=0)
        support, coefficients = rows[used], trained.coefficients[:, used]
        if not table.collapses(kernel):
            table.keep_rows()
            no_extra = np.zeros((len(coefficients), 0))
            machines = Machines(support.astype(np.int32), coefficients.astype(np.float32), no_extra, *trained[1:5])
            return machines, trained.left_out
        if table.is_sparse:
            by_column = kernel.factor * (coefficients @ bound.X[support])
        else:
            by_column = kernel.factor * collapse(bound.X, support.astype(np.int32), coefficients)
        extra_weights = kernel.factor * (coefficients @ bound.extra[support])
        intercepts = trained.intercepts if table.center is None else trained.intercepts - by_column @ table.center
        machines = Machines(None, by_column.astype(np.float32), extra_weights, intercepts, *trained[2:5])
        return machines, trained.left_out

    def _train_on_features(
        self, kernel: Kernel, C: float, rows: Indices, signs: Floats, weights: Floats, folds: Floats | None
    ) -> tuple[Machines, Floats]:
        bound = self.table.bound_rows()
        features, extra = bound.features(kernel), bound.extra
        n_features = features.shape[1]
        if kernel.name == "linear":
            # A factor of the kernel is equivalent to a factor of C; appended columns are ordinary features.
            C = C * kernel.factor
            features = join_columns(features, extra)
        trained = train_linear_columns(features, rows, signs, weights, C, folds=folds, n_threads=self.n_threads)
        extra_weights = np.zeros((len(signs), extra.shape[1]))
        if kernel.name == "linear":
            extra_weights = trained.coefficients[:, n_features:]
        by_feature = trained.coefficients[:, :n_features].astype(np.float32)
        return Machines(None, by_feature, extra_weights, *trained[1:5]), trained.left_out


class LabelMachines(LabelModel):
    """Support vector machines, one per label, all trained on the same samples.

    Labels that are constant on these samples have no SVM and the probability 0 or 1.
    """

    def __init__(
        self,
        table: KernelTable,
        kernel: Kernel,
        probability: str,
        constants: npt.NDArray[np.float64],
        is_constant: npt.NDArray[np.bool_],
        machines: Machines | None,
    ) -> None:
        self.table = table
        self.kernel = kernel
        self.probability = probability
        self.constants = constants
        self.is_constant = is_constant
        self.machines = machines

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        logits = self.logits(X, appended, only)
        return (logits > 0.0).astype(np.float64) if self.probability == "sign" else expit(logits)

    def logits(
        self, X: KernelRows | None = None, appended: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Return the arguments of the logistic or sign function; infinite for constant labels."""
        if X is None and appended is None:
            rows = self.table.bound_rows()
        else:
            rows = self.table.root.bound_rows() if X is None else X
            if self.table is not self.table.root:
                assert appended is not None, "samples for an extended learner need its appended features"
                rows, only = self.table.extend_rows(rows, appended, only), None
        if rows.table.root is not self.table.root:  # prepared with all features
            rows = self.table.root.restrict_rows(rows)
        chosen = np.arange(rows.n_rows) if only is None else only.astype(np.int64, copy=False)
        logits = np.tile(np.where(self.constants > 0.0, np.inf, -np.inf), (len(chosen), 1))
        if self.machines is not None:
            logits[:, ~self.is_constant] = self._calibrate(self.machines, self._decide(self.machines, rows, chosen))
        return logits

    def calibrate(self, decisions: npt.NDArray[np.float64]) -> Scores:
        """Convert decision values of the SVMs to probabilities of all labels."""
        probabilities = np.tile(self.constants, (len(decisions), 1))
        if self.machines is not None:
            probabilities[:, ~self.is_constant] = expit(self._calibrate(self.machines, decisions))
        return probabilities

    def _decide(self, machines: Machines, rows: KernelRows, only: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        if machines.support is not None:
            if rows.is_extended:
                values, every = rows.values_to(self.kernel, machines.support), np.arange(len(machines.support))
                return decide(values, only, every.astype(np.int32), machines.coefficients, machines.intercepts)
            values = rows.values(self.kernel)
            return decide(values, only, machines.support, machines.coefficients, machines.intercepts)
        features = rows.features(self.kernel)
        extra = rows.extra[only] @ machines.extra_weights.T
        if sparse.issparse(features):
            return features[only] @ machines.coefficients.T.astype(np.float64) + machines.intercepts + extra
        columns: npt.NDArray[Any] = np.arange(features.shape[1], dtype=np.int32)
        return decide(features, only, columns, machines.coefficients, machines.intercepts) + extra

    def _calibrate(self, machines: Machines, decisions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.probability == "platt":
            return -(machines.slopes * decisions + machines.offsets)
        return 2.0 * decisions


class PackedMachines:
    """The SVMs of several models of one table as sparse matrices, for fast prediction of few samples.

    Parameters
    ----------
    models : list of LabelMachines
    """

    def __init__(self, models: Sequence[LabelMachines]) -> None:
        self.table = models[0].table
        n_machines = np.array([len(model.constants) for model in models])
        first = np.cumsum(n_machines) - n_machines
        n_all = int(n_machines.sum())
        self.intercepts, self.slopes, self.offsets = np.zeros(n_all), np.zeros(n_all), np.zeros(n_all)
        groups: dict[tuple[Kernel, bool], list[tuple[npt.NDArray[np.intp], Machines]]] = {}
        for model, start in zip(models, first.tolist(), strict=True):
            self.offsets[start : start + len(model.constants)] = np.where(model.constants > 0.0, -np.inf, np.inf)
            if (machines := model.machines) is None:
                continue
            own = start + np.flatnonzero(~model.is_constant)
            is_platt = model.probability == "platt"
            self.intercepts[own] = machines.intercepts
            self.slopes[own] = machines.slopes if is_platt else -2.0
            self.offsets[own] = machines.offsets if is_platt else 0.0
            groups.setdefault((model.kernel, machines.support is not None), []).append((own, machines))
        self.groups = [
            (
                *key,
                np.concatenate([own for own, _ in members]),
                sparse.vstack([_as_sparse(one, self.table.n_rows) for _, one in members]),
            )
            for key, members in groups.items()
        ]

    @staticmethod
    def can_pack(models: Sequence[Any]) -> bool:
        """Return whether the models share one table without appended features, and take little memory."""
        return (
            all(isinstance(one, LabelMachines) and one.probability != "sign" for one in models)
            and len({id(one.table) for one in models}) == 1
            and models[0].table is models[0].table.root
            and sum(0 if one.machines is None else one.machines.coefficients.size for one in models) <= PACKED_VALUES
        )

    def scores(self, rows: KernelRows) -> Scores:
        """Return the concatenated label probabilities of all models."""
        decisions = np.zeros((rows.n_rows, len(self.intercepts)))
        rows = rows if rows.table.root is self.table else self.table.restrict_rows(rows)
        for kernel, by_support, own, coefficients in self.groups:
            products = (rows.values(kernel) if by_support else rows.features(kernel)) @ coefficients.T
            decisions[:, own] = products.toarray() if sparse.issparse(products) else products
        return expit(-(self.slopes * (decisions + self.intercepts) + self.offsets))


def _as_sparse(machines: Machines, n_samples: int) -> sparse.csr_array:
    """Return the coefficients of SVMs as a sparse matrix with one column per training sample or feature."""
    coefficients = sparse.csr_array(machines.coefficients, dtype=np.float64)
    if machines.support is None:
        return coefficients
    parts = coefficients.data, machines.support[coefficients.indices], coefficients.indptr
    return sparse.csr_array(parts, shape=(coefficients.shape[0], n_samples))


class ClassMachines(Model):
    """A binary SVM, or one-vs-rest SVMs with coupled probabilities for more than two classes."""

    def __init__(self, machines: LabelMachines, coupling: Coupling | None) -> None:
        self.machines = machines
        self.coupling = coupling

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the class probabilities."""
        probabilities = self.machines.scores(X, appended=appended, only=only)
        if self.coupling is None:
            return np.hstack([1.0 - probabilities, probabilities])
        return self.coupling.apply(probabilities)

    def log_scores(self, X: KernelRows | None = None) -> Scores:
        """Return finite logarithms of the probabilities of three or more classes."""
        return np.log(np.maximum(self.scores(X), np.finfo(np.float64).tiny))


class TrainedColumns(NamedTuple):
    """One SVM per label."""

    coefficients: Floats  # (n_labels, n_samples)
    intercepts: Floats  # (n_labels,)
    slopes: Floats  # (n_labels,), of Platt's sigmoid
    offsets: Floats  # (n_labels,)
    converged: npt.NDArray[np.bool_]  # (n_labels,)
    left_out: Floats  # (n_labels, n_held_out), decision values of held-out samples, ordered by fold


def train_columns(
    gram: KernelValues,
    signs: Floats,
    weights: Floats,
    C: float,
    *,
    folds: Floats | None = None,
    max_steps: int | None = None,
    tolerance: float = TOLERANCE,
    n_threads: int = 1,
) -> TrainedColumns:
    """Train one SVM per label, all on the same samples.

    Parameters
    ----------
    gram : float32 array of shape (n_samples, n_samples)
        Kernel values between the training samples.
    signs : float64 array of shape (n_labels, n_samples)
        -1 or 1.
    weights : float64 array of shape (n_samples,)
    C : float
        The upper bound of a coefficient is C times the weight of its sample.
    folds : float64 array of shape (n_folds, n_samples), optional
        Held-out weight of each sample in each fold, as returned by :func:`deal_folds`. By default, no sigmoid is
        fitted.
    max_steps : int, optional
        Maximum number of steps of the solver; by default a hundred per sample, and at least 100,000.
    tolerance : float
    n_threads : int
    """
    n_samples = len(weights)
    return TrainedColumns(
        *_core.train_svms(
            gram,
            signs,
            weights,
            C,
            np.empty((0, n_samples)) if folds is None else folds,
            100 * max(n_samples, 1000) if max_steps is None else max_steps,
            tolerance,
            _count_threads(n_threads, n_samples),
        )
    )


def train_linear_columns(
    X: Any,
    rows: Indices,
    signs: Floats,
    weights: Floats,
    C: float,
    *,
    folds: Floats | None = None,
    max_passes: int = MOST_PASSES,
    tolerance: float = TOLERANCE,
    n_threads: int = 1,
) -> TrainedColumns:
    """Train one linear SVM per label on the features, by dual coordinate descent.

    The objective is that of :func:`train_columns`: the hinge loss, and an intercept without penalty; see
    ``cpp/svm/linear.hpp``. liblinear penalizes the intercept: for text, where C is divided by thousands of features,
    the intercept stays near zero, and with a larger intercept scaling it does not converge on Nystroem features.

    Parameters
    ----------
    X : float array or sparse CSR array of shape (n_samples, n_features)
    rows : int array of shape (n_rows,)
        Indices of the samples to train on.
    signs, weights, C, folds, tolerance, n_threads
        As in :func:`train_columns`.
    max_passes : int
        Maximum number of passes of the solver over all samples.

    Returns
    -------
    TrainedColumns
        The coefficients are weights of the features.

    Examples
    --------
    >>> X, signs = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([[-1.0, -1.0, 1.0, 1.0]])
    >>> trained = train_linear_columns(X, np.arange(4), signs, np.ones(4), 10.0)
    >>> trained.coefficients.round(2), trained.intercepts.round(2)
    (array([[1.]]), array([-2.]))
    """
    settings = (
        rows.astype(np.int64, copy=False),
        2.0 * measure_samples(X, "rbf")[rows].astype(np.float64, copy=False),
        signs,
        weights,
        C,
        np.empty((0, len(rows))) if folds is None else folds,
        max_passes,
        tolerance,
        _count_threads(n_threads, len(rows)),
    )
    if sparse.issparse(X):
        values = X.data.astype(np.float64, copy=False)
        return TrainedColumns(*_core.train_sparse_linear_svms(values, X.indices, X.indptr, X.shape[1], *settings))
    return TrainedColumns(*_core.train_linear_svms(X, *settings))


def _count_threads(n_threads: int, n_samples: int) -> int:
    """Return the number of threads; small problems use a single one."""
    return n_threads if n_samples >= SAMPLES_FOR_THREADS else 1


def deal_folds(counts: Indices, n_folds: int, seed: int) -> Floats:
    """Assign drawn copies at random to folds whose sizes differ by at most one.

    Parameters
    ----------
    counts : int array of shape (n_samples,)
        Number of copies of each sample.
    n_folds : int
    seed : int

    Returns
    -------
    float64 array of shape (n_folds, n_samples)
        Number of copies of each sample in each fold.

    Examples
    --------
    >>> folds = deal_folds(np.array([3, 0, 2, 1]), 2, seed=0)
    >>> folds.sum(axis=0)
    array([3., 0., 2., 1.])
    >>> folds.sum(axis=1)
    array([3., 3.])
    """
    n_samples = len(counts)
    copies = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_samples), counts))
    fold = np.arange(len(copies)) * n_folds // max(len(copies), 1)
    return np.bincount(fold * n_samples + copies, minlength=n_folds * n_samples).reshape(n_folds, -1).astype(np.float64)
