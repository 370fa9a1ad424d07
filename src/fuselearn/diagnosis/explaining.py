"""SHAP values of ensembles of trees: the contribution of each feature to a prediction.

They are computed by the package shap from trees in its own format. shap only compares numbers and does not support
subsets of categories. For trees with category splits, samples are therefore explained one at a time: the side of the
sample at each split is computed here, and an infinite threshold sends it to that side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fuselearn._extras import require
from fuselearn.base import ClassifierBase, prepare_samples
from fuselearn.diagnosis.cleaned import CleanedClassifier
from fuselearn.fusion import WeightedSum
from fuselearn.learners import LabelTrees, Model, TreeModel
from fuselearn.learners.forests import tree_values
from fuselearn.learners.learner import Scores

if TYPE_CHECKING:
    from shap import Explanation

    from fuselearn._core import Tree

    TreeWithValues = tuple[Tree, Scores]


def explain(model: Any, X: Any) -> Explanation:
    """Compute SHAP values of an ensemble of trees: the contribution of each feature to the prediction of each sample.

    The values of a sample and its base value sum to the output of the model. The base value is the mean output over the
    training samples of the trees. SHAP values are Shapley values of a game in which features join in random order: each
    feature is credited with the change of the expected output, given the features that have joined. The expectation
    over the other features follows both sides of a split, in proportion to the training samples. Values are exact, not
    sampled.

    .. versionadded:: 0.3

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted tree or ensemble of trees: KFHE, boosting, bagging, forests, CART; for multi-label data, binary
        relevance over trees, PCT forests, gradient boosting and AdaBoost.MH. For a pipeline, the features are the
        inputs of its last step.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        The samples to explain.

    Returns
    -------
    shap.Explanation
        The input of shap's plots. The values have the shape (n_samples, n_features, n_outputs) for classes or labels;
        ``explanation[..., 1]`` explains the second one. For a regressor the shape is (n_samples, n_features). The
        explained output is the probability of each class or label, or the predicted value; for ``LogitBoostClassifier``
        it is the class score before the softmax, for ``GradientBoostingMultilabelClassifier`` and
        ``AdaBoostMHClassifier`` the log-odds.

    Notes
    -----
    The time is proportional to the time of a prediction times the squared depth of the trees. The package shap is
    required: ``pip install "fuselearn[explain]"``.

    References
    ----------
    Lundberg, S. M., Erion, G., Chen, H. et al. (2020). From local explanations to global understanding with explainable
    AI for trees. Nature Machine Intelligence 2, 56-67.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import ForestClassifier
    >>> from fuselearn.diagnosis import explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = ForestClassifier(20, random_state=0).fit(X, y)
    >>> explanation = explain(forest, X.iloc[[0, 60, 120]])
    >>> explanation.shape
    (3, 4, 3)
    >>> sums = explanation.values.sum(axis=1) + explanation.base_values
    >>> bool(np.allclose(sums, forest.predict_proba(X.iloc[[0, 60, 120]])))
    True
    """
    require("explain", "shap")
    from shap import Explanation

    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    if isinstance(model, CleanedClassifier):
        check_is_fitted(model)
        model = model.estimator_
    check_is_fitted(model)
    if not _is_sum_of_trees(model):
        raise TypeError(_refusal(model))
    prepared = prepare_samples(model, X)
    samples = np.asarray(prepared.toarray() if sparse.issparse(prepared) else prepared, dtype=np.float64)
    fused = model._fused_
    scales = [coefficient / fused.divisor for coefficient in fused.coefficients]
    trees = [
        (tree, scale * values)
        for one, scale, output in zip(fused.models, scales, fused.outputs, strict=True)
        for tree, values in _list_trees(one, fused.n_columns, output == "votes")
    ]
    values, base = _compute_values(trees, samples, fused.n_columns)
    for one, scale in zip(fused.models, scales, strict=True):
        base = base + scale * getattr(one, "start", 0.0) / getattr(one, "divisor", 1.0)
    constants = getattr(model, "_constants_", None)
    if constants is not None and not any(getattr(one, "is_logistic", False) for one in fused.models):
        values, base = np.where(np.isnan(constants), values, 0.0), np.where(np.isnan(constants), base, constants)
    outputs = [str(name) for name in model.classes_] if hasattr(model, "classes_") else None
    bases = np.tile(base, (len(samples), 1))
    names = vars(model).get("feature_names_in_")
    return Explanation(
        values if outputs else values[:, :, 0],
        base_values=bases if outputs else bases[:, 0],
        data=samples,
        display_data=np.asarray(X) if hasattr(X, "columns") else None,
        feature_names=None if names is None else [str(name) for name in names],
        output_names=outputs,
    )


def _is_sum_of_trees(model: Any) -> bool:
    """Return whether the output of an estimator is a sum of trees, or an elementwise function of such a sum."""
    if not isinstance(getattr(model, "_fused_", None), WeightedSum):
        return False
    has_own = isinstance(model, ClassifierBase) and type(model).predict_proba is not ClassifierBase.predict_proba
    return not has_own and all(map(_is_of_trees, model._fused_.models))


def _is_of_trees(model: Model) -> bool:
    from fuselearn.multilabel.methods.binary_relevance import JoinedLabels  # slow import
    from fuselearn.multilabel.methods.label_trees import LabelForest

    parts = model.models if isinstance(model, JoinedLabels) else [model]
    return all(isinstance(part, TreeModel | LabelTrees | LabelForest) for part in parts)


def _refusal(model: Any) -> str:
    """Return the error message for an estimator that cannot be explained, with its members that can be."""
    said = f"{type(model).__name__} cannot be explained: its output is not a sum of trees."
    members = [name for name, one in getattr(model, "named_estimators_", {}).items() if _is_sum_of_trees(one)]
    if not members:
        return said
    return f"{said} Explain one of its members, such as model.named_estimators_[{members[0]!r}]: {', '.join(members)}."


def _list_trees(model: Any, n_outputs: int, votes: bool) -> Iterator[TreeWithValues]:
    """Yield each tree of a model with the contribution of each node to all outputs."""
    if isinstance(model, TreeModel):
        yield model.tree, tree_values(model.tree, 1.0, votes)
    elif hasattr(model, "trees_with_values"):
        for tree, values in model.trees_with_values():
            yield tree, values / model.divisor
    else:
        trees = [tree for part in getattr(model, "models", [model]) for tree in part.trees]
        for tree, label in zip(trees, np.argsort(getattr(model, "order", np.arange(n_outputs))), strict=True):
            values = np.zeros((len(tree.nodes), n_outputs))
            values[:, label] = tree_values(tree, 1.0, votes)[:, 1]
            yield tree, values


def _compute_values(trees: Sequence[TreeWithValues], samples: Scores, n_outputs: int) -> tuple[Scores, Scores]:
    """Compute SHAP values, (n_samples, n_features, n_outputs), and the expected outputs."""
    from shap import TreeExplainer

    if not trees:
        return np.zeros((*samples.shape, n_outputs)), np.zeros(n_outputs)
    tables = [_to_table(tree, values) for tree, values in trees]
    explainer = TreeExplainer({"trees": tables, "input_dtype": np.float64, "internal_dtype": np.float64})
    base = np.atleast_1d(np.asarray(explainer.expected_value, dtype=np.float64))

    def compute(X: Scores) -> Scores:
        found: Scores = explainer.shap_values(X, check_additivity=False)
        return found.reshape(*X.shape, n_outputs)

    if not any(tree.nodes["is_category"].any() for tree, _ in trees):
        return compute(samples), base
    splits = Splits([tree for tree, _ in trees])
    values = np.empty((*samples.shape, n_outputs))
    for k, sample in enumerate(samples):
        explainer.model.thresholds[splits.tree, splits.node] = np.where(splits.go_left(sample), np.inf, -np.inf)
        values[k] = compute(np.zeros((1, len(sample))))[0]
    return values, base


def _to_table(tree: Tree, values: Scores) -> dict[str, npt.NDArray[Any]]:
    """Return a tree in the format of shap, in which values up to the threshold go left, instead of values below it."""
    nodes = tree.nodes
    is_split, left = nodes["feature"] >= 0, nodes["left"]
    right = np.where(is_split, left + 1, -1)
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(nodes["missing_left"], left, right),
        "features": nodes["feature"],
        "thresholds": np.nextafter(nodes["threshold"], -np.inf),
        "values": values,
        "node_sample_weight": nodes["count"].astype(np.float64),
    }


class Splits:
    """All splits of some trees.

    Attributes
    ----------
    tree, node : int arrays of shape (n_splits,)
        The tree and the node of each split.
    """

    def __init__(self, trees: Sequence[Tree]) -> None:
        found = [np.flatnonzero(tree.nodes["feature"] >= 0) for tree in trees]
        self.tree, self.node = np.repeat(np.arange(len(trees)), [len(own) for own in found]), np.concatenate(found)
        self._records = np.concatenate([tree.nodes[own] for tree, own in zip(trees, found, strict=True)])
        first = np.cumsum([0, *(len(tree.subsets) for tree in trees)])[self.tree]
        self._subsets = np.concatenate([*(tree.subsets for tree in trees), np.zeros(1, dtype=np.uint32)])
        self._words = np.where(self._records["is_category"], self._records["cut"] + first, 0)

    def go_left(self, sample: Scores) -> npt.NDArray[np.bool_]:
        """Return for each split whether a sample goes left: by its threshold or subset, or as missing or unknown."""
        records, values = self._records, sample[self._records["feature"]]
        codes = np.where(records["is_category"] & (values >= 0), values, 0).astype(np.int64)
        is_in_subset = self._subsets[self._words + codes // 32] >> (codes % 32).astype(np.uint32) & 1 == 1
        left = np.where(records["is_category"], is_in_subset, values < records["threshold"])
        left = np.where(records["is_category"] & (values < 0), records["heavier_left"], left)
        return np.where(np.isnan(values), records["missing_left"], left)
