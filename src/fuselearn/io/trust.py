"""Which types a model file may hold.

skops rebuilds objects without running code from the file, but it calls the types that the file names, so what matters
is which names it accepts. skops accepts by itself Python's and NumPy's plain types, ufuncs, and scikit-learn's public
estimators. What else a file names is decided here. A whole package is never accepted: it has functions, too, and
NumPy, SciPy and scikit-learn have some that run programs or read files.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from sklearn.base import BaseEstimator

from fuselearn.io.errors import ModelFileError

# Rooms whose classes hold fitted values. The engines are no such room: their kernels trust the arrays that they are
# given, so trees are stored as plain arrays and checked before they become trees again.
ROOMS = ("codes", "combine", "ensembles", "filters", "multilabel", "sensors")

PARTS = frozenset(
    {
        "numpy.dtype",
        "scipy.sparse._bsr.bsr_array",
        "scipy.sparse._bsr.bsr_matrix",
        "scipy.sparse._coo.coo_array",
        "scipy.sparse._coo.coo_matrix",
        "scipy.sparse._csc.csc_array",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "scipy.sparse._dia.dia_array",
        "scipy.sparse._dia.dia_matrix",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.cluster._bisect_k_means._BisectingTree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._dist_metrics.ManhattanDistance64",
        "sklearn.metrics._dist_metrics.MinkowskiDistance64",
        "sklearn.metrics._scorer._CurveScorer",
        "sklearn.metrics._scorer._MultimetricScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)

# Modules of scikit-learn whose public functions compute numbers from arrays and do nothing else.
ARITHMETIC = ("sklearn.feature_selection", "sklearn.metrics", "sklearn.metrics.pairwise")


def refuse_untrusted(names: Iterable[str]) -> None:
    """Refuse a file that names anything other than the types a model file may hold.

    Parameters
    ----------
    names : iterable of str
        Full names, as ``skops.io.get_untrusted_types`` lists them.
    """
    for name in names:
        if not is_trusted(name):
            raise ModelFileError(
                f"It holds {name}, and a model file may hold only estimators and values of fuselearn, NumPy, SciPy and "
                "scikit-learn."
            )


def is_trusted(name: str) -> bool:
    """Tell whether a model file may hold objects of a type, or a function."""
    if name in PARTS:
        return True
    module_name, _, own_name = name.rpartition(".")
    package, _, rest = module_name.partition(".")
    if package == "fuselearn" and rest.partition(".")[0] in ROOMS:
        return _is_own_class(module_name, own_name)
    if package == "sklearn":
        found = getattr(sys.modules.get(module_name), own_name, None)
        return _is_harmless_class(found, module_name) or _is_arithmetic(found)
    return False


def _is_own_class(module_name: str, own_name: str) -> bool:
    try:
        found = getattr(importlib.import_module(module_name), own_name, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module_name


def _is_harmless_class(found: Any, module_name: str) -> bool:
    """Tell whether something is a class that only keeps the parameters that it is made with."""
    from sklearn.gaussian_process.kernels import Kernel
    from sklearn.model_selection import BaseCrossValidator

    kinds = (BaseEstimator, BaseCrossValidator, Kernel)
    return isinstance(found, type) and issubclass(found, kinds) and found.__module__ == module_name


def _is_arithmetic(found: Any) -> bool:
    return isinstance(found, FunctionType) and any(
        getattr(importlib.import_module(module), found.__name__, None) is found for module in ARITHMETIC
    )
