"""Export models to ONNX, for prediction without fuselearn and without Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fuselearn._extras import require
from fuselearn._parameters import check_whole_number
from fuselearn.diagnosis.cleaned import CleanedClassifier

if TYPE_CHECKING:
    import onnx

OLDEST_OPSET, USUAL_OPSET = 13, 17


def to_onnx(model: Any, X: Any = None, *, target_opset: int | None = None) -> onnx.ModelProto:
    """Export a fitted model to ONNX.

    The exported model predicts the same labels as ``predict``, and the same probabilities as ``predict_proba`` in
    single precision.

    Parameters
    ----------
    model : estimator
        A tree, SVM, or ensemble of them, such as ``KFHEClassifier``, ``ForestClassifier``, ``BaggedRegressor`` or
        ``ErrorCorrectingCodeClassifier``; a ``FusedClassifier`` of such members; a ``PCTForestClassifier``,
        ``AdaBoostMHClassifier`` or ``GradientBoostingMultilabelClassifier``; HOMERs, chains and binary relevance over
        SVMs or trees, and ensembles of them; a ``FusedMultilabelClassifier`` or ``ThresholdedClassifier`` of such; or a
        scikit-learn pipeline that ends in one of these; skl2onnx converts the other steps. For a search such as
        ``GridSearchCV``, the best estimator is exported; for a ``CleanedClassifier``, its fitted estimator.
    X : array or DataFrame, optional
        Example samples; only their types are used. With a single-precision array, the exported model expects single
        precision. Required for pipelines fitted on DataFrames.
    target_opset : int, optional
        ONNX operator set version, 17 by default.

    Returns
    -------
    onnx.ModelProto
        The outputs of a classifier are ``label``, of shape (n_samples,), and ``probabilities``, of shape (n_samples,
        n_classes); the output of a regressor is ``variable``, of shape (n_samples, 1). A model with numeric features
        has one input, the double-precision matrix ``X``. A model with categorical features has one input of shape
        (n_samples, 1) per feature, with the name of the feature and of type double, or string for text categories. A
        missing number is NaN, a missing string is empty.

    Raises
    ------
    TypeError
        If a part of the model cannot be exported to ONNX; the message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import fuselearn
    >>> X, y = load_wine(return_X_y=True)
    >>> model = fuselearn.KFHEClassifier(random_state=0).fit(X, y)
    >>> exported = fuselearn.to_onnx(model)
    >>> [output.name for output in exported.graph.output]
    ['label', 'probabilities']

    Save it with ``onnx.save(exported, "wine.onnx")``; predict with onnxruntime:

    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(exported.SerializeToString())
    >>> label, probabilities = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    """
    require("ONNX export", "onnx")
    from fuselearn.io.onnx_estimators import convert

    check_is_fitted(model)
    return convert(take_best(model), X, _check_opset(target_opset))


def take_best(model: Any) -> Any:
    """Return the fitted estimator inside a search, a cleaned classifier, or a pipeline that ends in one."""
    if isinstance(model, Pipeline):
        *others, (name, last) = model.steps
        best = take_best(last)
        if best is last:
            return model
        return Pipeline([*others, *(best.steps if isinstance(best, Pipeline) else [(name, best)])])
    if isinstance(model, CleanedClassifier):
        return take_best(model.estimator_)
    if hasattr(model, "best_params_") and not hasattr(model, "best_estimator_"):
        raise TypeError(f"{type(model).__name__} has no best estimator; set refit=True.")
    return take_best(model.best_estimator_) if hasattr(model, "best_estimator_") else model


def _check_opset(target_opset: int | None) -> int:
    import onnx

    if target_opset is None:
        return USUAL_OPSET
    opset = check_whole_number("target_opset", target_opset, OLDEST_OPSET)
    if opset > onnx.defs.onnx_opset_version():
        raise ValueError(
            f"target_opset must be at most {onnx.defs.onnx_opset_version()}, the newest version of the installed "
            f"onnx, not {opset}."
        )
    return opset
