"""The SVM sensor: a scaled table, its Gram matrices, and support vector machines trained on slices of them."""

from __future__ import annotations

import copy
import threading
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fuselearn._messages import show
from fuselearn.engines.svm import (
    append_labels,
    collapse,
    compute_gram,
    compute_kernel,
    deal_folds,
    decide,
    take_block,
    train_columns,
)
from fuselearn.sensors.large_svm import fit_radial_features, is_too_large, train_linear

KERNELS = ("rbf", "linear")
PROBABILITIES = ("platt", "logistic", "sign")
SCALINGS = ("standard", "minmax", None)

# Squares of larger values, and of their inverses, are beyond float64; kernel values are kept in float32.
LARGEST_VALUE = 1e150
LARGEST_SCALED = 1e15
LARGEST_COST = 1e15


class Kernel(NamedTuple):
    """A kernel by name, and the factor of its products (linear) or of its squared distances (rbf)."""

    name: str
    factor: float


class Problem(NamedTuple):
    """What machines are to learn."""

    rows: npt.NDArray[np.integer]
    signs: npt.NDArray[np.float64]  # (n_machines, n), -1 or 1
    weights: npt.NDArray[np.float64]  # (n,)
    folds: npt.NDArray[np.float64] | None  # (n_folds, n), weights left out


class Machines(NamedTuple):
    """Trained machines in the form in which they are kept."""

    support: npt.NDArray[np.int32] | None  # the rows of the coefficients, or None: they are weights of features
    coefficients: npt.NDArray[np.float32]  # (n_machines, n_support or n_features)
    extra_weights: npt.NDArray[np.float64]  # (n_machines, n_appended), of columns appended to the features
    intercepts: npt.NDArray[np.float64]  # (n_machines,), as the following
    slopes: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.float64]
    converged: npt.NDArray[np.bool_]


class LeftOut(NamedTuple):
    """What the machines of a block say about rows that were left out of their training, for calibration."""

    rows: npt.NDArray[np.integer]  # (n,)
    weights: npt.NDArray[np.float64]  # (n,)
    chances: npt.NDArray[np.float64]  # (n, n_labels)


class SVMSensor:
    """Scale a table once, and train any number of support vector machines on slices of its Gram matrices.

    Parameters
    ----------
    X : float array or sparse matrix of shape (n_rows, n_columns)
        Finite numbers.
    scaling : {"standard", "minmax"}, optional
        Whether columns are divided by their standard deviation, by their range, or not at all. They are centred in any
        case, which changes no machine that has an intercept, but keeps the numbers small; a sparse matrix stays sparse.

    Warns
    -----
    UserWarning
        From 23,171 rows on, where a Gram matrix would take more than 2 GB. Machines are then linear in the columns, or
        in Nystroem features that approximate the radial kernel, and have the squared hinge loss.
    """

    def __init__(self, X: Any, *, scaling: str | None = "standard") -> None:
        self.n_rows, self.n_columns = X.shape
        self.scaling = scaling
        self.shift, self.scale = _measure_columns(X, scaling)
        self.is_sparse = sparse.issparse(X)
        self._training_X = self._scale(X)
        self._bound: KernelRows | None = KernelRows(self, self._training_X)
        self._needs_rows = False
        self.radial_maps: dict[float, Any] = {}
        self.is_large = is_too_large(self.n_rows)
        if self.is_large:
            warnings.warn(
                f"A Gram matrix of {self.n_rows} rows would take more than 2 GB: linear machines are trained on the "
                "columns instead, and radial ones on an approximation of the kernel.",
                stacklevel=2,
            )
        self.root: SVMSensor = self
        self.source: SVMSensor = self
        self.chosen: npt.NDArray[np.intp] | None = None
        self.appended: npt.NDArray[np.integer] = np.empty((self.n_rows, 0), dtype=np.int8)

    def train(
        self,
        Y: npt.NDArray[Any],
        rows: npt.NDArray[np.integer] | None,
        counts: npt.NDArray[Any],
        *,
        kernel: str = "rbf",
        C: float = 1.0,
        gamma: float | None = None,
        probability: str = "platt",
        n_folds: int = 5,
        seed: int = 0,
        max_steps: int | None = None,
        n_threads: int = 1,
        keep_left_out: bool = False,
    ) -> SVMBlock:
        """Train one support vector machine per label column, all on the same rows.

        Parameters
        ----------
        Y : array of shape (n_rows, n_labels)
            0 or 1.
        rows : int array, optional
            The rows to train on; by default those with a positive count.
        counts : array of shape (n_rows,)
            How often each row was drawn, or, as floats, weights. The cross-validation for Platt's sigmoid is over drawn
            copies, as if they had been written out; a row with a weight is in one fold.
        kernel : {"rbf", "linear"}
            exp(-gamma |x - z|^2) or gamma x.z.
        C : float
            The cost of one drawn copy, or of a row of weight 1.
        gamma : float, optional
            By default one over the number of columns, appended ones not counted.
        probability : {"platt", "logistic", "sign"}
            How a decision value f becomes a probability: by Platt's sigmoid, fitted to cross-validated decision
            values; as 1 / (1 + exp(-2 f)); or as 1 where f is positive and 0 elsewhere.
        n_folds : int
            Folds of that cross-validation.
        seed : int
            Seed of the folds.
        max_steps : int, optional
            See :func:`~fuselearn.engines.svm.train_columns`.
        n_threads : int
            Threads that share the label columns.
        keep_left_out : bool
            Whether the block keeps, in ``left_out``, the probabilities from Platt's cross-validation.
        """
        chosen = Kernel(kernel, 1.0 / self.n_columns if gamma is None else float(gamma))
        rows = np.flatnonzero(counts > 0) if rows is None else np.asarray(rows)
        labels = Y[rows] > 0
        n_positive = labels.sum(axis=0)
        is_constant = (n_positive == 0) | (n_positive == len(rows))
        constants = np.where(n_positive == 0, 0.0, 1.0)
        self.bound_rows()
        if is_constant.all():
            return SVMBlock(self, chosen, probability, constants, is_constant, None)

        counts = counts[rows]
        if C * counts.max() > LARGEST_COST:
            raise ValueError(
                f"C times the largest sample_weight is {C * counts.max():g}; support vector machines take at most "
                f"{LARGEST_COST:g}."
            )
        if counts.dtype.kind == "f":
            # Platt's targets depend on the number of rows, which weights do not tell. Costs stay as they are.
            unit = counts.mean()
            counts, C = counts / unit, C * unit
        problem = Problem(
            rows,
            np.where(labels[:, ~is_constant].T, 1.0, -1.0),
            counts.astype(np.float64),
            _deal(counts, n_folds, seed) if probability == "platt" else None,
        )
        if self.is_large:
            machines, left_out = self._train_on_features(chosen, C, problem, n_threads)
        else:
            machines, left_out = self._train_on_gram(chosen, C, problem, max_steps, n_threads)
        if not machines.converged.all():
            warnings.warn(
                "A support vector machine stopped before it reached its tolerance; scale the columns, lower C, or "
                "allow more steps.",
                ConvergenceWarning,
                stacklevel=2,
            )
        block = SVMBlock(self, chosen, probability, constants, is_constant, machines)
        if keep_left_out and problem.folds is not None:
            block.left_out = block.squash_left_out(problem, left_out)
        return block

    def _train_on_gram(
        self, kernel: Kernel, C: float, problem: Problem, max_steps: int | None, n_threads: int
    ) -> tuple[Machines, npt.NDArray[np.float64]]:
        bound = self.bound_rows()
        gram = bound.values(kernel)
        gram = gram if len(problem.rows) == self.n_rows else take_block(gram, problem.rows)
        trained = train_columns(
            gram, problem.signs, problem.weights, C, folds=problem.folds, max_steps=max_steps, n_threads=n_threads
        )
        used = (trained.coefficients != 0.0).any(axis=0)
        support, coefficients = problem.rows[used], trained.coefficients[:, used]
        if not self._collapses(kernel):
            self.root.source._needs_rows = True
            no_extra = np.zeros((len(coefficients), 0))
            machines = Machines(support.astype(np.int32), coefficients.astype(np.float32), no_extra, *trained[1:5])
            return machines, trained.left_out
        if self.is_sparse:
            weights = kernel.factor * (coefficients @ bound.X[support])
        else:
            weights = kernel.factor * collapse(bound.X, support, coefficients)
        extra_weights = kernel.factor * (coefficients @ bound.extra[support])
        intercepts = trained.intercepts if self.centre is None else trained.intercepts - weights @ self.centre
        machines = Machines(None, weights.astype(np.float32), extra_weights, intercepts, *trained[2:5])
        return machines, trained.left_out

    def _train_on_features(
        self, kernel: Kernel, C: float, problem: Problem, n_threads: int
    ) -> tuple[Machines, npt.NDArray[np.float64]]:
        bound = self.bound_rows()
        features, extra = bound.features(kernel), bound.extra
        n_features = features.shape[1]
        if kernel.name == "linear":
            # The factor of the products acts as one of the cost; appended columns are features like the others.
            C = C * kernel.factor
            features = _join(features, extra)
        trained = train_linear(features[problem.rows], *problem[1:], C=C, n_threads=n_threads)
        extra_weights = np.zeros((len(problem.signs), extra.shape[1]))
        if kernel.name == "linear":
            extra_weights = trained.coefficients[:, n_features:]
        weights = trained.coefficients[:, :n_features].astype(np.float32)
        return Machines(None, weights, extra_weights, *trained[1:5]), trained.left_out

    def prepare(self, X: Any) -> KernelRows:
        """Scale new rows, for which kernel values are then computed once for all blocks."""
        return KernelRows(self, self._scale(X))

    def restrict(self, columns: npt.NDArray[np.intp]) -> Self:
        """Give a sensor on some of the columns, with Gram matrices of its own. Scaled rows are still held once."""
        other = copy.copy(self)
        other.root, other.source, other.chosen = other, self, columns
        other.n_columns, other.shift, other.scale = len(columns), self.shift[columns], self.scale[columns]
        other._training_X = None
        other.radial_maps = {}
        other._bound = other.restrict_rows(self.bound_rows())
        return other

    def restrict_rows(self, rows: KernelRows) -> KernelRows:
        """Choose the sensor's columns of rows that its source has prepared."""
        return KernelRows(self, rows.X[:, self.chosen])

    def extend(self, columns: npt.NDArray[np.integer]) -> Self:
        """Give a sensor on the same rows with more columns, of 0 and 1.

        Its kernel values are those of the first sensor, brought up to date with the columns appended since.
        """
        other = copy.copy(self)
        other.appended = np.hstack([self.appended, columns])
        other._training_X = None  # the first sensor has them
        other.radial_maps = {}
        other._bound = other.extend_rows(self.root.bound_rows(), other.appended)
        return other

    def extend_rows(
        self, rows: KernelRows, labels: npt.NDArray[np.integer], only: npt.NDArray[np.integer] | None = None
    ) -> KernelRows:
        """Give rows that the first sensor has prepared, or some of them, the columns that were appended since."""
        return KernelRows(self, rows.X if only is None else rows.X[only], labels, rows, only)

    @property
    def label_width(self) -> float:
        """How far apart 0 and 1 are in an appended column.

        Standardised, a column with as many zeros as ones is -1 and 1. All columns are taken for such, so that no
        machine knows anything of labels of rows that it is not trained on.
        """
        return 2.0 if self.scaling == "standard" else 1.0

    def bound_rows(self) -> KernelRows:
        """Give the rows that the sensor is bound to."""
        if self._bound is None:
            raise RuntimeError("The sensor no longer has its training data; pass the rows.")
        return self._bound

    def unbind(self) -> None:
        """Let go of the Gram matrices, and of the training rows too if no block needs kernel values to them."""
        self._bound = None
        if not self._needs_rows:
            self._training_X = None

    def training_rows(self) -> Any:
        """Give the scaled training rows that support vectors are among."""
        return self._training_X if self.chosen is None else self.source._training_X[:, self.chosen]

    def kernel_values(self, X: Any, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Compute the kernel values between scaled rows and the training rows."""
        if self._bound is not None and X is self._bound.X:
            return compute_gram(X, *kernel, self.centre)
        return compute_kernel(X, self.training_rows(), *kernel, self.centre)

    def map_features(self, rows: KernelRows, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Give what approximates a radial kernel: features whose products are near its values."""
        if kernel.factor not in self.radial_maps:
            self.radial_maps[kernel.factor] = fit_radial_features(self.bound_rows().joined(), kernel.factor)
        return self.radial_maps[kernel.factor].transform(rows.joined()).astype(np.float32)

    def _collapses(self, kernel: Kernel) -> bool:
        """Tell whether machines are kept as one weight per column, which is less than one per row."""
        return kernel.name == "linear" and self.n_columns <= self.n_rows

    def _scale(self, X: Any) -> Any:
        """Scale rows; what is farther from the training rows than a kernel value can tell is taken to be that far."""
        if self.is_sparse:
            rows = sparse.csr_array(X, dtype=np.float64) @ sparse.diags_array(1.0 / self.scale)
            np.clip(rows.data, -LARGEST_SCALED, LARGEST_SCALED, out=rows.data)
            return rows
        X = X.toarray() if sparse.issparse(X) else X
        with np.errstate(over="ignore"):
            scaled = np.ascontiguousarray((X - self.shift) / self.scale, dtype=np.float64)
        return np.clip(scaled, -LARGEST_SCALED, LARGEST_SCALED, out=scaled)

    @property
    def centre(self) -> npt.NDArray[np.float64] | None:
        """What is still to be subtracted from scaled rows."""
        return self.shift / self.scale if self.is_sparse else None


class KernelRows:
    """Scaled rows, and their kernel values to the rows that a sensor is bound to.

    Values of a kernel are computed when a block first asks for them, and kept for the other blocks.
    """

    def __init__(
        self,
        sensor: SVMSensor,
        X: Any,
        labels: npt.NDArray[np.integer] | None = None,
        base: KernelRows | None = None,
        only: npt.NDArray[np.integer] | None = None,
    ) -> None:
        self.sensor = sensor
        self.X = X
        self.n_rows = X.shape[0]
        self.labels = np.empty((self.n_rows, 0), dtype=np.int8) if labels is None else labels
        self._base = base
        self._only = only
        self._values: dict[Kernel, npt.NDArray[np.float32]] = {}
        self._features: dict[Kernel, Any] = {}
        self._lock = threading.Lock()

    def values(self, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Give the values of a kernel, one row per row here, one column per training row."""
        with self._lock:
            if kernel not in self._values:
                self._values[kernel] = self._compute(kernel)
            return self._values[kernel]

    def _compute(self, kernel: Kernel) -> npt.NDArray[np.float32]:
        if self._base is None:
            return self.sensor.kernel_values(self.X, kernel)
        only = np.arange(self.n_rows) if self._only is None else self._only
        return append_labels(
            self._base.values(kernel), only, self.labels, self.sensor.appended, *kernel, self.sensor.label_width
        )

    @property
    def extra(self) -> npt.NDArray[np.float64]:
        """The appended columns as the kernel sees them."""
        return self.sensor.label_width * (self.labels.astype(np.float64) - 0.5)

    def features(self, kernel: Kernel) -> Any:
        """Give what machines have weights of: the columns, or features that approximate a radial kernel."""
        with self._lock:
            if kernel not in self._features:
                if kernel.name == "rbf":
                    self._features[kernel] = self.sensor.map_features(self, kernel)
                else:
                    self._features[kernel] = self.X if sparse.issparse(self.X) else self.X.astype(np.float32)
            return self._features[kernel]

    def joined(self) -> Any:
        """Give all columns, appended ones too."""
        return _join(self.X, self.extra)


class SVMBlock:
    """Support vector machines of several label columns, trained on the same rows.

    Columns that were constant on those rows have no machine, and the probability 0 or 1.
    """

    def __init__(
        self,
        sensor: SVMSensor,
        kernel: Kernel,
        probability: str,
        constants: npt.NDArray[np.float64],
        is_constant: npt.NDArray[np.bool_],
        machines: Machines | None,
    ) -> None:
        self.sensor = sensor
        self.kernel = kernel
        self.probability = probability
        self.constants = constants
        self.is_constant = is_constant
        self.machines = machines
        self.left_out: LeftOut | None = None

    def probabilities(
        self, prepared: KernelRows | None = None, rows: npt.NDArray[np.integer] | None = None
    ) -> npt.NDArray[np.float64]:
        """Give the probability of each label.

        Parameters
        ----------
        prepared : KernelRows, optional
            New rows, from :meth:`SVMSensor.prepare`; by default the rows that the sensor is bound to.
        rows : int array, optional
            Which of the rows to answer for; all by default.

        Returns
        -------
        float64 array of shape (n_asked, n_labels)
        """
        prepared = self.sensor.bound_rows() if prepared is None else prepared
        rows = np.arange(prepared.n_rows) if rows is None else rows
        chances = np.tile(self.constants, (len(rows), 1))
        if self.machines is not None:
            decisions = self._decide(self.machines, prepared, rows)
            chances[:, ~self.is_constant] = self._squash(self.machines, decisions)
        return chances

    def squash_left_out(self, problem: Problem, decisions: npt.NDArray[np.float64]) -> LeftOut:
        """Turn decision values of left-out rows, fold by fold, into probabilities of all labels."""
        assert problem.folds is not None
        assert self.machines is not None
        folds, places = np.nonzero(problem.folds)
        chances = np.tile(self.constants, (len(places), 1))
        chances[:, ~self.is_constant] = self._squash(self.machines, decisions.T)
        return LeftOut(problem.rows[places], problem.folds[folds, places], chances)

    def _decide(
        self, machines: Machines, prepared: KernelRows, rows: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.float64]:
        if machines.support is not None:
            values = prepared.values(self.kernel)
            return decide(values, rows, machines.support, machines.coefficients, machines.intercepts)
        features = prepared.features(self.kernel)
        extra = prepared.extra[rows] @ machines.extra_weights.T
        if sparse.issparse(features):
            return features[rows] @ machines.coefficients.T.astype(np.float64) + machines.intercepts + extra
        every = np.arange(features.shape[1], dtype=np.int32)
        return decide(features, rows, every, machines.coefficients, machines.intercepts) + extra

    def _squash(self, machines: Machines, decisions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.probability == "sign":
            return (decisions > 0.0).astype(np.float64)
        if self.probability == "logistic":
            return _logistic(2.0 * decisions)
        return _logistic(-(machines.slopes * decisions + machines.offsets))


def _join(columns: Any, extra: npt.NDArray[np.float64]) -> Any:
    if extra.shape[1] == 0:
        return columns
    return sparse.hstack([columns, extra], "csr") if sparse.issparse(columns) else np.hstack([columns, extra])


def _logistic(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return 0.5 * (1.0 + np.tanh(0.5 * values))


def _deal(counts: npt.NDArray[Any], n_folds: int, seed: int) -> npt.NDArray[np.float64]:
    """Deal drawn copies to folds, or whole rows if they have weights."""
    if counts.dtype.kind in "iu":
        return deal_folds(counts, n_folds, seed)
    return deal_folds(np.ones(len(counts), dtype=np.int64), n_folds, seed) * counts


def _measure_columns(X: Any, scaling: str | None) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Give the centre and the scale of each column; constant columns keep their scale."""
    if sparse.issparse(X):
        X = sparse.csc_matrix(X, dtype=np.float64)
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        _refuse_large_values(low, high, scaling)
        centre = np.asarray(X.mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - centre**2, 0.0))
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        _refuse_large_values(low, high, scaling)
        centre, deviation = X.mean(axis=0), X.std(axis=0)
    if scaling is None:
        return centre, np.ones(len(centre))
    scale = np.where(low < high, deviation if scaling == "standard" else high - low, 1.0)
    return centre, np.where(scale > 1.0 / LARGEST_VALUE, scale, 1.0)


def _refuse_large_values(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], scaling: str | None) -> None:
    limit = LARGEST_SCALED if scaling is None else LARGEST_VALUE
    for column in np.flatnonzero(np.maximum(-low, high) > limit):
        raise ValueError(
            f"Column {column} of X has values beyond {limit:g}, which are too large for support vector machines with "
            f"scaling={show(scaling)}."
        )
