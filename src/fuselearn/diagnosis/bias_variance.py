"""Estimate the bias and variance of any scikit-learn model by training it on many samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import column_or_1d

from fuselearn._compat import count_rows, take_rows
from fuselearn._core import draw_counts
from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_whole_number, make_generator, seed_estimator
from fuselearn.base import read_table
from fuselearn.diagnosis.decomposition import PARTS, decompose_squared, decompose_zero_one, standard_errors
from fuselearn.fusion.problem import MOST_TRIES
from fuselearn.learners.clones import fit_clone

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOSSES = ("auto", "squared", "zero_one")
BIAS, VARIANCE, NOISE, ERROR = "#0072b2", "#d55e00", "#666666", "#000000"
MOST_GROUPS = 20

Generator = Callable[[np.random.Generator], tuple[Any, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance:
    """Noise, bias and variance of a model, averaged over the test samples.

    ``noise_effect + bias + variance_effect`` is ``expected_error``. For squared loss, the effects are the noise and the
    variance themselves, and ``bias`` is squared. For zero-one loss they are the contributions of noise and variance to
    the error: ``variance_effect`` is ``unbiased_variance - biased_variance``, the harm of variance where the main
    prediction is correct, minus its benefit where it is wrong.

    The estimate of the squared bias of a sample is unbiased, so it may be negative. A negative mean is set to 0.

    Attributes
    ----------
    loss : {"squared", "zero_one"}
    n_rounds : int
    knows_truth : bool
        Whether the noise-free target was given. If not, ``noise`` is 0 and the noise in the data counts as bias.
    noise, noise_effect, bias, variance, variance_effect : float
    unbiased_variance, biased_variance : float
        The two terms of ``variance_effect``.
    expected_error : float
    observed_error : float
        Mean loss against the observed targets. For zero-one loss it is the expected error; for squared loss it also
        contains the correlation of noise and bias in the given samples, which is 0 on average.
    standard_errors : dict
        Standard errors of ``noise``, ``noise_effect``, ``bias``, ``variance``, ``variance_effect``, ``error`` and
        ``observed_error``.
    rows : DataFrame
        The terms for each sample, and the number of predictions they are computed from. For squared loss, single
        samples may have a negative ``bias``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.diagnosis import bias_variance
    >>> result = bias_variance(CARTClassifier(max_depth=1), *load_iris(return_X_y=True), n_rounds=20, random_state=0)
    >>> result.loss, round(result.bias, 2), round(result.bias + result.variance_effect - result.expected_error, 6)
    ('zero_one', 0.28, 0.0)
    """

    loss: str
    n_rounds: int
    knows_truth: bool
    noise: float
    noise_effect: float
    bias: float
    variance: float
    variance_effect: float
    unbiased_variance: float
    biased_variance: float
    expected_error: float
    observed_error: float
    standard_errors: dict[str, float]
    rows: pd.DataFrame

    def __str__(self) -> str:
        """Return the decomposition as text."""
        terms = [f"{self._bias_name('bias^2')} {self.bias:.4g}"]
        if self.knows_truth:
            terms.insert(0, f"noise {self.noise_effect:.4g}")
        if self.loss == "squared":
            terms.append(f"variance {self.variance:.4g}")
        else:
            terms.append(f"variance {self.unbiased_variance:.4g} - {self.biased_variance:.4g}")
        return f"expected {self.loss.replace('_', '-')} error {self.expected_error:.4g} = " + " + ".join(terms)

    def __repr__(self) -> str:
        """Return the decomposition as text, without the table."""
        return f"<BiasVariance: {self}>"

    def plot(self) -> Figure:
        """Plot the terms and their standard errors as bars.

        Returns
        -------
        matplotlib.figure.Figure
            Display it in a notebook, or save it with ``savefig``.
        """
        bars = [
            (self._bias_name("bias²"), self.bias, self.standard_errors["bias"], BIAS),
            ("variance", self.variance_effect, self.standard_errors["variance_effect"], VARIANCE),
            ("expected error", self.expected_error, self.standard_errors["error"], ERROR),
        ]
        if self.knows_truth:
            bars.insert(0, ("noise", self.noise_effect, self.standard_errors["noise_effect"], NOISE))
        names, heights, errors, colors = zip(*bars, strict=True)
        figure, axes = _make_axes(self.loss)
        axes.bar(names, heights, 0.6, yerr=errors, color=colors, ecolor="0.45", capsize=4)
        if self.loss == "zero_one":
            at = names.index("variance")
            for value, words in ((self.unbiased_variance, "harm"), (-self.biased_variance, "use")):
                axes.plot([at - 0.3, at + 0.3], [value, value], color=VARIANCE, linestyle=":")
                axes.annotate(words, (at + 0.32, value), color=VARIANCE, va="center", fontsize=8.5)
        axes.set_title(f"Bias and variance, {self.n_rounds} rounds")
        return figure

    def _bias_name(self, squared: str) -> str:
        name = squared if self.loss == "squared" else "bias"
        return name if self.knows_truth else f"{name} and noise"


def bias_variance(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    loss: str = "auto",
    n_rounds: int = 100,
    sampling: str | Generator = "bootstrap",
    X_test: Any = None,
    y_test: Any = None,
    y_true: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BiasVariance:
    """Decompose the expected error of a model into noise, bias and variance.

    Clones of the model are trained on ``n_rounds`` samples. For squared loss, with f the truth, y = f + noise, and h
    the prediction of a model trained on a random sample, ::

        E (h - y)^2  =  E (y - f)^2  +  (E h - f)^2  +  E (h - E h)^2
                          noise           bias^2          variance.

    For zero-one loss the terms are those of Domingos' unified decomposition, for any number of classes; see
    :func:`~fuselearn.diagnosis.decomposition.decompose_zero_one`.

    Parameters
    ----------
    estimator : regressor or classifier
        Cloned for every round, each clone with its own seed.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        The data to draw bootstrap samples from; with a callable ``sampling``, the test data.
    loss : {"auto", "squared", "zero_one"}, default="auto"
        ``"auto"`` is zero-one loss for classifiers and squared loss for all other estimators.
    n_rounds : int, default=100
        Number of training sets.
    sampling : "bootstrap" or callable, default="bootstrap"
        ``"bootstrap"`` draws n_samples samples with replacement. This approximates fresh data, but a model learns less
        from repeated samples than from distinct samples. A callable takes a NumPy generator and returns a fresh sample
        (X, y).
    X_test, y_test : optional
        Test data. By default ``X`` and ``y``; with the bootstrap, each sample is then predicted only by models that
        were not trained on it.
    y_true : array, optional
        The targets of the test samples without noise; for zero-one loss, the most likely class of each. Without it, the
        noise in the data counts as bias.
    random_state : int, RandomState or None, default=None
        Seed for the training sets and the models.
    n_jobs : int or None, default=None
        Number of models trained in parallel. Results do not depend on it.

    Returns
    -------
    BiasVariance

    References
    ----------
    Geman, S., Bienenstock, E. and Doursat, R. (1992). Neural networks and the bias/variance dilemma. Neural Computation
    4(1), 1-58.
    Domingos, P. (2000). A unified bias-variance decomposition and its applications. Proceedings of the 17th
    International Conference on Machine Learning, 231-238.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from fuselearn import BaggedRegressor
    >>> from fuselearn.diagnosis import bias_variance
    >>> def wave(rng):
    ...     x = rng.uniform(0, 6, 80)
    ...     return x[:, None], np.sin(x) + rng.normal(scale=0.5, size=80)
    >>> X, y = wave(np.random.default_rng(1))
    >>> tree = DecisionTreeRegressor(min_samples_leaf=4)
    >>> settings = {"sampling": wave, "y_true": np.sin(X[:, 0]), "n_rounds": 50, "random_state": 0}
    >>> print(bias_variance(tree, X, y, **settings))
    expected squared error 0.3172 = noise 0.2233 + bias^2 0.0002656 + variance 0.09358
    >>> print(bias_variance(BaggedRegressor(tree, 10), X, y, **settings))
    expected squared error 0.2714 = noise 0.2233 + bias^2 0.001532 + variance 0.04657
    """
    check_choice("loss", loss, LOSSES)
    check_whole_number("n_rounds", n_rounds, 2)
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(f"estimator must be a regressor or a classifier, not {show(estimator)}.")
    if loss == "auto":
        loss = "zero_one" if is_classifier(estimator) else "squared"
    if not (sampling == "bootstrap" or callable(sampling)):
        raise TypeError(
            f"sampling must be 'bootstrap' or a function that returns a sample (X, y), not {show(sampling)}."
        )
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be passed together, or neither.")

    X, y = read_table("X", X), _read_target("y", y, count_rows(X), loss)
    observed = y
    if X_test is not None:
        X_test, observed = read_table("X_test", X_test), _read_target("y_test", y_test, count_rows(X_test), loss)
    elif callable(sampling):
        X_test = X
    truth = observed if y_true is None else _read_target("y_true", y_true, len(observed), loss)

    seeds = make_generator(random_state).integers(2**62, size=(n_rounds,)).tolist()
    rounds = Parallel(n_jobs=n_jobs)(
        delayed(_train_round)(estimator, sampling, X, y, X_test, loss, seed) for seed in seeds
    )
    predictions, decompose = _prepare(rounds, observed, truth, loss)
    rows = decompose(predictions)
    if rows["error"].isna().all():
        raise ValueError(f"n_rounds={n_rounds} is too small: no sample is out of bag in two rounds.")
    groups = np.array_split(np.arange(n_rounds), min(n_rounds, MOST_GROUPS))
    errors = standard_errors(rows, [decompose(np.delete(predictions, group, axis=0)) for group in groups])
    return _summarize(rows, loss, n_rounds, y_true is not None, errors)


def compare_bias_variance(
    models: Iterable[tuple[Any, BaseEstimator]], X: Any, y: Any, *, label: str = "model", **settings: Any
) -> pd.DataFrame:
    """Estimate the bias and variance of several models on the same samples.

    Parameters
    ----------
    models : iterable of (name or number, estimator)
    X, y
        As for :func:`bias_variance`.
    label : str, default="model"
        Title of the model names or numbers.
    **settings
        Passed to :func:`bias_variance`. All models use the same samples, even if ``random_state`` is None.

    Returns
    -------
    DataFrame
        One row per model: ``noise_effect``, ``bias``, ``variance_effect`` and ``error``, each also with ``_se``, its
        standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.diagnosis import compare_bias_variance
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = [(depth, CARTClassifier(max_depth=depth, complexity=None)) for depth in (1, 2, 4)]
    >>> table = compare_bias_variance(trees, X, y, label="depth", n_rounds=50, random_state=0)
    >>> table[["bias", "variance_effect", "error"]].round(2)
           bias  variance_effect  error
    depth
    1      0.31             0.06   0.38
    2      0.05             0.10   0.15
    4      0.04             0.07   0.12
    """
    models = list(models)
    if not models or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in models):
        raise ValueError("models must be a non-empty list of pairs (name or number, estimator).")
    names = [name for name, _ in models]
    if len(set(names)) < len(names):
        raise ValueError(f"models must have distinct names, not {names}.")
    seed = int(make_generator(settings.pop("random_state", None)).integers(2**31))
    rows = []
    for _, model in models:
        found = bias_variance(model, X, y, random_state=seed, **settings)
        means = {name: getattr(found, name) for name in ("noise_effect", "bias", "variance_effect")}
        means["error"] = found.expected_error
        rows.append(means | {f"{name}_se": found.standard_errors[name] for name in means})
    return pd.DataFrame(rows, index=pd.Index(names, name=label))


def _train_round(
    estimator: Any, sampling: str | Generator, X: Any, y: npt.NDArray[Any], X_test: Any, loss: str, seed: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Train on a sample; return the test samples, by default those out of bag, and their predictions."""
    rng = np.random.default_rng(seed)
    if callable(sampling):
        X_drawn, y_drawn = sampling(rng)
        model = seed_estimator(clone(estimator), int(rng.integers(2**31))).fit(X_drawn, y_drawn)
    else:
        for _ in range(MOST_TRIES):
            counts = draw_counts(int(rng.integers(2**62)), np.ones(len(y)), len(y))
            drawn = y[counts > 0]
            if loss == "squared" or (drawn != drawn[0]).any():  # most classifiers reject a single class
                break
        model = fit_clone(estimator, X, y, counts, int(rng.integers(2**31)))
    if X_test is not None:
        return np.arange(count_rows(X_test)), np.asarray(model.predict(X_test))
    samples = np.flatnonzero(counts == 0)
    return samples, np.asarray(model.predict(take_rows(X, samples))) if len(samples) else y[:0]


def _prepare(
    rounds: list[tuple[npt.NDArray[np.intp], npt.NDArray[Any]]],
    observed: npt.NDArray[Any],
    truth: npt.NDArray[Any],
    loss: str,
) -> tuple[npt.NDArray[Any], Callable[[npt.NDArray[Any]], pd.DataFrame]]:
    """Return the predictions of all rounds as one array, and the function that decomposes their errors."""
    if loss == "squared":
        predictions = np.full((len(rounds), len(observed)), np.nan)
        decompose: Callable[..., pd.DataFrame] = partial(decompose_squared, observed=observed, truth=truth)
    else:
        classes = np.unique(np.concatenate([observed, truth, *(predicted for _, predicted in rounds)]))
        predictions = np.full((len(rounds), len(observed)), -1)
        rounds = [(samples, np.searchsorted(classes, predicted)) for samples, predicted in rounds]
        observed, truth = np.searchsorted(classes, observed), np.searchsorted(classes, truth)
        decompose = partial(decompose_zero_one, observed=observed, truth=truth, n_classes=len(classes))
    for r, (samples, predicted) in enumerate(rounds):
        predictions[r, samples] = predicted
    return predictions, decompose


def _make_axes(loss: str) -> Any:
    """Return a figure without pyplot's global state, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.set_ylabel("squared error" if loss == "squared" else "fraction of wrong predictions")
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    return figure, axes


def _summarize(
    rows: pd.DataFrame, loss: str, n_rounds: int, knows_truth: bool, errors: dict[str, float]
) -> BiasVariance:
    means = rows.mean()
    if loss == "squared" and means["bias"] < 0:
        means[["variance", "variance_effect"]] += means["bias"]
        means["bias"] = 0.0
    biased_variance = float(-rows["variance_effect"].dropna().clip(upper=0.0).mean())
    parts: dict[str, Any] = means[list(PARTS)].to_dict()
    return BiasVariance(
        loss=loss,
        n_rounds=n_rounds,
        knows_truth=knows_truth,
        unbiased_variance=parts["variance_effect"] + biased_variance,
        biased_variance=biased_variance,
        standard_errors=errors,
        rows=rows,
        expected_error=parts.pop("error"),
        **parts,
    )


def _read_target(name: str, y: Any, n_samples: int, loss: str) -> npt.NDArray[Any]:
    y = column_or_1d(y)
    if len(y) != n_samples:
        raise ValueError(f"{name} must have one entry for each of the {n_samples} samples, not {len(y)}.")
    if pd.isna(y).any():
        raise ValueError(f"{name} has missing values.")
    if loss == "zero_one":
        return y
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numeric for squared loss; set loss='zero_one' for classes.") from error
