"""The types allowed in a model file.

Objects are created from the types named in the file, without running code from it, so safety depends on the allowed
names. By default, skops allows Python's and NumPy's plain types, ufuncs, and scikit-learn's public estimators. This
module decides on all other names. A whole package is never allowed, since NumPy, SciPy and scikit-learn have functions
that run programs or read files.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

# Packages whose classes hold fitted values. The core is not among them: its kernels do not check arrays, so trees
# are stored as plain arrays and checked before they become trees again.
PACKAGES = ("combine", "ensembles", "fusion", "learners", "multilabel", "scale")

SPARSE_FORMS = ("bsr", "coo", "csc", "csr", "dia")

PARTS = frozenset(
    {
        *(f"scipy.sparse._{form}.{form}_{kind}" for form in SPARSE_FORMS for kind in ("array", "matrix")),
        "fuselearn.datasets.columns.Column",
        "fuselearn.datasets.cleaning.SparseColumns",
        "fuselearn.datasets.cleaning.TableCleaner",
        "fuselearn.diagnosis.cleaned.CleanedClassifier",
        "numpy.dtype",
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

MAY_HOLD = "a model file may contain only estimators and values of fuselearn, NumPy, SciPy and scikit-learn."

# Modules of scikit-learn whose public functions compute numbers from arrays and do nothing else.
ARITHMETIC = ("sklearn.feature_selection", "sklearn.metrics", "sklearn.metrics.pairwise")


class ModelFileError(ValueError):
    """Raised if a model file cannot be loaded, or a model cannot be saved.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import fuselearn
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.fuse")
    >>> _ = path.write_text("not a model")
    >>> try:
    ...     fuselearn.load(path)
    ... except fuselearn.io.ModelFileError as error:
    ...     print(str(error).replace(str(path), "model.fuse"))
    model.fuse cannot be loaded. It is not a model file, or it is damaged.
    """


def refuse_untrusted(names: Iterable[str]) -> None:
    """Raise an error if a file names a type that is not allowed.

    Parameters
    ----------
    names : iterable of str
        Full names, as ``skops.io.get_untrusted_types`` lists them.
    """
    untrusted = [name for name in names if not is_trusted(name)]
    if untrusted:  # name types of packages rather than builtins, which users rarely add themselves
        named = min(untrusted, key=lambda name: name.partition(".")[0] in sys.stdlib_module_names)
        raise ModelFileError(f"It contains {named}, and {MAY_HOLD}")


def refuse_foreign_estimators(model: Any) -> None:
    """Raise an error if a model contains an estimator of another package, before its parts are checked."""
    for part in walk_parts(model):
        kind = type(part)
        package = kind.__module__.partition(".")[0]
        if hasattr(kind, "get_params") and hasattr(kind, "fit") and package not in ("fuselearn", "sklearn"):
            raise ModelFileError(
                f"It contains {kind.__module__}.{kind.__qualname__}, and {MAY_HOLD} joblib.dump saves any model, "
                f"but load such files only from a trusted source. Or use the file format of {package}, if it has "
                f"one."
            )


def walk_parts(model: Any) -> Iterator[Any]:
    """Iterate over a model and all objects in it, once each."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting.extend(_below(part))


def _below(part: Any) -> Iterable[Any]:
    if isinstance(part, dict):
        return part.values()
    if isinstance(part, list | tuple | set):
        return part
    if isinstance(part, np.ndarray):
        return part.ravel() if part.dtype == object else ()
    return vars(part).values() if hasattr(part, "__dict__") and not isinstance(part, type) else ()


def is_trusted(name: str) -> bool:
    """Return whether a type or function is allowed in a model file."""
    return name in PARTS or find_class(name) is not None or _is_arithmetic(name)


def find_class(name: str) -> type | None:
    """Return a class by its full name, if it only stores its arguments."""
    module_name, _, own_name = name.rpartition(".")
    package, _, rest = module_name.partition(".")
    if package == "fuselearn" and (rest.partition(".")[0] in PACKAGES or name in PARTS):
        found = getattr(_import_own(module_name), own_name, None)
    elif package == "sklearn":  # skops has imported all modules with estimators; no other module should be imported
        found = getattr(sys.modules.get(module_name), own_name, None)
        if name not in PARTS and not _only_keeps_parameters(found):
            return None
    else:
        return None
    return found if isinstance(found, type) and found.__module__ == module_name else None


def _import_own(module_name: str) -> ModuleType | None:
    try:
        return importlib.import_module(module_name)
    except ImportError:
        return None


def _only_keeps_parameters(found: Any) -> bool:
    from sklearn.gaussian_process.kernels import Kernel
    from sklearn.model_selection import BaseCrossValidator

    return isinstance(found, type) and issubclass(found, BaseEstimator | BaseCrossValidator | Kernel)


def _is_arithmetic(name: str) -> bool:
    module_name, _, own_name = name.rpartition(".")
    found = getattr(sys.modules.get(module_name), own_name, None)
    return isinstance(found, FunctionType) and any(
        getattr(importlib.import_module(module), own_name, None) is found for module in ARITHMETIC
    )
