"""Compile kernels ahead of time.

Kernels are compiled for the kinds of data that reach them: tables of numbers or with categories, small or large, with
one class or several labels per sample, with weights or without. Each step below uses small estimators on one such kind.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from fuselearn import multilabel
from fuselearn.codes import search_code
from fuselearn.combine import ConsensusClustering, EnsembleSelection, combine_scores
from fuselearn.engines.sampling import draw_uniforms
from fuselearn.engines.svm import deal_folds, train_linear_columns
from fuselearn.engines.tree import TreeSettings
from fuselearn.engines.tree.coding import ORDERED_ROWS, code_columns, encode_rows, raise_upper
from fuselearn.engines.tree.levels import GrowingTree
from fuselearn.engines.tree.tallying import count_bins, count_classes, descend, list_drawn, merge_bins
from fuselearn.ensembles import (
    BaggedClassifier,
    CARTClassifier,
    CARTRegressor,
    KFHEClassifier,
    KFHERegressor,
    SVMClassifier,
)
from fuselearn.sensors.tree import fit_coder

__all__ = ["warm_up"]

SMALL, LARGE = 60, ORDERED_ROWS + 1


def warm_up(n_jobs: int | None = None) -> None:
    """Compile all kernels that ordinary use needs, and store them for later processes.

    This takes a few minutes of one processor after an installation, and seconds afterwards. Several processes may do it
    at the same time. Kernels are stored in the first writable directory of: ``NUMBA_CACHE_DIR``, ``__pycache__`` next
    to the sources, the user's cache, a temporary directory.

    Parameters
    ----------
    n_jobs : int, optional
        Number of processes; -1 uses all processors. None means 1 unless in joblib's ``parallel_config`` context.

    Examples
    --------
    >>> import fuselearn
    >>> fuselearn.warm_up()  # doctest: +SKIP
    """
    Parallel(n_jobs=n_jobs)(delayed(_run)(step, *given) for step, *given in _steps())


def _steps() -> list[tuple[Any, ...]]:
    """List the steps that can run: categorical features need pandas."""
    return [step for step in STEPS if "categories" not in step or find_spec("pandas")]


def _run(step: Callable[..., None], *given: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about tiny data
        step(*given)


def _use(model: Any, X: Any, y: Any, **fit_params: Any) -> Any:
    model.fit(X, y, **fit_params).predict_proba(X)
    return model


def _make_table(n_samples: int, kind: str) -> Any:
    """Return X with numbers, with missing values, or with a categorical feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 8))
    if kind == "missing":
        X[::9] = np.nan
    if kind != "categories":
        return X
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame["i"] = pd.Categorical(np.array(["red", "green", "blue"])[rng.integers(0, 3, n_samples)])
    return frame


def _make_classes(n_samples: int) -> npt.NDArray[np.int64]:
    return np.arange(n_samples) % 3


def _make_labels(n_samples: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, 2, (n_samples, 4))


def _make_weights(n_samples: int) -> npt.NDArray[np.float64]:
    return np.linspace(0.5, 1.5, n_samples)


def _grow_small(kind: str) -> None:
    X, y = _make_table(SMALL, kind), _make_classes(SMALL)
    model = _use(KFHEClassifier(n_estimators=2, random_state=0), X, y)
    pickle.loads(pickle.dumps(model)).predict(X)
    _use(KFHEClassifier(GaussianNB(), n_estimators=2, random_state=0), _make_table(SMALL, "numbers"), y)
    _use(BaggedClassifier(n_estimators=2, max_features=0.5, random_state=0), X, y)
    _use(BaggedClassifier(n_estimators=2, sampling="poisson", random_state=0), X, y)
    _use(CARTClassifier(), X, y, sample_weight=_make_weights(SMALL)).apply(X)
    KFHERegressor(n_estimators=2, random_state=0).fit(X, y).predict(X)


def _grow_large(kind: str, n_digits: int) -> None:
    """Grow trees on large data, whose features have at most 255 values if they are rounded to one digit."""
    X, y = _make_table(LARGE, kind).round(n_digits), _make_classes(LARGE)
    _use(KFHEClassifier(n_estimators=1, random_state=0), X, y)
    _use(CARTClassifier(), X, y, sample_weight=_make_weights(LARGE))
    KFHERegressor(CARTRegressor(max_depth=3), n_estimators=1, random_state=0).fit(X, y).predict(X)


def _grow_in_places(kind: str, n_digits: int) -> None:
    """Grow a tree level by level, as on a cluster, from codes of one byte if features are rounded to one digit."""
    coder, matrix = fit_coder(_make_table(400, kind).round(n_digits))
    columns, y = code_columns(matrix, coder.n_categories_), _make_classes(400).astype(np.int32)
    codes, features, n_codes = encode_rows(matrix, columns), np.arange(matrix.shape[1]), columns.n_codes
    raise_upper(matrix, codes, columns)
    drawn = list_drawn((draw_uniforms(0, 0, len(y)) < 0.5).astype(np.int32))
    tree = GrowingTree(columns, count_classes(drawn, y, 3), TreeSettings(), seed=0)
    while not tree.has_grown:
        for nodes in tree.rounds(10_000):
            bins = count_bins(drawn, codes, features, n_codes, y, 3, nodes, columns.is_category is not None)
            merge_bins([bins, bins])
            tree.split(nodes, bins)
        drawn = descend(drawn, codes, features, n_codes, tree.end_level())
    tree.finish()


def _grow_labels(n_samples: int, kind: str, n_digits: int) -> None:
    X, Y = _make_table(n_samples, kind).round(n_digits), _make_labels(n_samples)
    _use(multilabel.KFHEMultilabelClassifier(n_estimators=2, random_state=0), X, Y)
    _use(
        multilabel.KFHEMultilabelClassifier(n_estimators=2, random_state=0),
        X,
        Y,
        sample_weight=_make_weights(n_samples),
    )
    _use(multilabel.PCTForestClassifier(n_estimators=2, random_state=0), X, Y)
    _use(multilabel.AdaBoostMHClassifier(n_estimators=2), X, Y)
    _use(multilabel.GradientBoostingMultilabelClassifier(n_estimators=2, random_state=0), X, Y)


def _grow_sparse() -> None:
    X, Y = sparse.random_array((SMALL, 20), density=0.05, random_state=np.random.default_rng(4)), _make_labels(SMALL)
    _use(multilabel.PCTForestClassifier(n_estimators=2, random_state=0), X, Y)
    _use(multilabel.PCTForestClassifier(n_estimators=2, random_state=0), X.toarray(), Y)
    _use(multilabel.AdaBoostMHClassifier(n_estimators=2), X, Y)


def _train_machines() -> None:
    X, Y = _make_table(SMALL, "numbers"), _make_labels(SMALL)
    for kernel in ("rbf", "linear"):
        _use(multilabel.KFHEHOMERClassifier(SVMClassifier(kernel=kernel), n_estimators=2, random_state=0), X, Y)
    _use(multilabel.ChainClassifier(random_state=0), X, Y)
    signs, folds = np.where(Y.T > 0, 1.0, -1.0), deal_folds(np.ones(SMALL, dtype=np.int64), 2, seed=0)
    for table in (X.astype(np.float32), sparse.csr_array(X)):  # as tables without a Gram matrix have them
        train_linear_columns(table, np.arange(SMALL), signs, np.ones(SMALL), 1.0, folds=folds)


def _combine() -> None:
    X, y = _make_table(SMALL, "numbers"), _make_classes(SMALL)
    scores = np.random.default_rng(2).dirichlet(np.ones(3), (3, SMALL))
    for rule, weights in (("median", None), ("borda", None), ("borda", [1.0, 2.0, 3.0])):
        combine_scores(scores, rule, weights=weights)
    for scoring in ("neg_log_loss", "accuracy"):
        _use(EnsembleSelection([("tree", CARTClassifier()), ("Bayes", GaussianNB())], scoring=scoring), X, y)
    search_code(5, 10, n_restarts=1, random_state=0)
    ConsensusClustering(n_estimators=2, random_state=0).fit(X)


def _decide() -> None:
    scores, Y = np.random.default_rng(3).random((SMALL, 4)), _make_labels(SMALL)
    multilabel.ExpectedF1().fit(scores, Y).apply(scores)
    next(multilabel.IterativeStratifiedKFold(3, shuffle=True, random_state=0).split(np.zeros((SMALL, 1)), Y))


STEPS: list[tuple[Any, ...]] = [
    *((_grow_small, kind) for kind in ("numbers", "missing", "categories")),
    *((_grow_large, kind, n_digits) for kind in ("numbers", "categories") for n_digits in (6, 1)),
    *((_grow_in_places, kind, n_digits) for kind in ("numbers", "categories") for n_digits in (6, 1)),
    *((_grow_labels, SMALL, kind, 6) for kind in ("numbers", "categories")),
    *((_grow_labels, LARGE, kind, 1) for kind in ("numbers", "categories")),
    (_grow_sparse,),
    (_train_machines,),
    (_combine,),
    (_decide,),
]
