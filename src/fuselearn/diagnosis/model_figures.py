"""Draw fitted models: a tree, a hierarchy of labels, the importances of features; without pyplot's global state."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fuselearn._extras import require
from fuselearn._parameters import check_whole_number
from fuselearn.ensembles import CARTClassifier
from fuselearn.multilabel import EnsembleHOMERClassifier, HOMERClassifier, KFHEHOMERClassifier
from fuselearn.multilabel.learning.hierarchy import draw_hierarchy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fuselearn.engines.trees import Tree

__all__ = ["plot_hierarchy", "plot_importances", "plot_tree"]

# The colours of Okabe and Ito without black, which can be told apart by nearly everybody.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
INK = "#0072b2"
TEXT_WIDTH = 30
"""Longest text in a node, in characters."""


def plot_tree(model: CARTClassifier, *, max_depth: int | None = None, decimals: int = 2) -> Figure:
    """Draw a classification tree.

    Each split says which samples go to the left. A bar below each node shows the shares of the classes among the
    training samples that reach it; a leaf names the class that it predicts, and how many samples have it.

    .. versionadded:: 0.2

    Parameters
    ----------
    model : CARTClassifier
        A fitted tree, such as one of the ``estimators_`` of an ensemble.
    max_depth : int, optional
        Number of levels of splits to draw; of a node below, only the number of its leaves is shown.
    decimals : int, default=2
        Number of decimals of thresholds and weights.

    Returns
    -------
    matplotlib.figure.Figure
        Display it in a notebook, or save it with ``savefig``.

    See Also
    --------
    fuselearn.CARTClassifier.export_text : The tree as text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.diagnosis import plot_tree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> figure = plot_tree(CARTClassifier().fit(X, y))
    >>> print(*(text.get_text() for text in figure.axes[0].texts), sep=" | ")
    petal length (cm) < 2.45 | 0 50 of 50 | petal width (cm) < 1.75 | 1 49 of 54 | 2 45 of 46
    """
    require("A figure", "matplotlib")
    if not isinstance(model, CARTClassifier):
        raise TypeError(
            f"plot_tree draws a CARTClassifier, not {type(model).__name__}; of an ensemble, pass one of estimators_."
        )
    check_is_fitted(model)
    deepest = model.get_depth() if max_depth is None else check_whole_number("max_depth", max_depth, 0)
    check_whole_number("decimals", decimals, 0)
    return _draw_tree(model, deepest, decimals)


def plot_hierarchy(
    model: HOMERClassifier | EnsembleHOMERClassifier | KFHEHOMERClassifier, *, member: int = 0
) -> Figure:
    """Draw the hierarchy of labels of a HOMER, from its root to the names of the labels.

    .. versionadded:: 0.2

    Parameters
    ----------
    model : HOMERClassifier, EnsembleHOMERClassifier or KFHEHOMERClassifier
    member : int, default=0
        Which HOMER of an ensemble to draw.

    Returns
    -------
    matplotlib.figure.Figure
        Display it in a notebook, or save it with ``savefig``.

    See Also
    --------
    fuselearn.HOMERClassifier.export_text : The hierarchy as text.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.diagnosis import plot_hierarchy
    >>> from fuselearn.multilabel import HOMERClassifier
    >>> X, Y = make_multilabel_classification(60, n_classes=8, random_state=0)
    >>> figure = plot_hierarchy(HOMERClassifier("tree", random_state=0).fit(X, Y))
    >>> figure.axes[0].get_title()
    'Hierarchy of 8 labels'
    """
    if not isinstance(model, HOMERClassifier | EnsembleHOMERClassifier | KFHEHOMERClassifier):
        raise TypeError(f"plot_hierarchy draws a HOMER or an ensemble of HOMERs, not {type(model).__name__}.")
    check_is_fitted(model)
    members = model._fused_.members
    if check_whole_number("member", member, 0) >= len(members):
        raise ValueError(f"member must be less than the {len(members)} HOMER(s) of the model, not {member}.")
    return draw_hierarchy(members[member].hierarchy, model.labels_)


def plot_importances(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    max_features: int = 20,
    scoring: Any = None,
    n_repeats: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Figure:
    """Plot how much each feature matters to a fitted model, by mean decrease of impurity or by permutation.

    Without X, the bars are the ``feature_importances_`` of the model: the impurity that the splits by a feature remove
    from the training samples, as shares; for several labels per sample, their mean over the labels. Such shares are
    computed for free, but favour features with many different values.

    With X and y, a feature's values are shuffled among the samples, and the score is compared with that before. This
    works for any model; with samples that the model has not seen, it shows what new predictions depend on. The dot is
    the mean over the repeats, the thick line their middle half, the thin line their range.

    .. versionadded:: 0.2

    Parameters
    ----------
    model : estimator
        Any fitted classifier or regressor; without X, one with ``feature_importances_``.
    X : {array-like, DataFrame} of shape (n_samples, n_features), optional
        Samples to predict, best some that the model was not fitted to.
    y : array-like of shape (n_samples,) or (n_samples, n_labels), optional
        Their target.
    max_features : int, default=20
        Number of features to show, the most important ones.
    scoring : str, callable or None, default=None
        Score for permutations, as in scikit-learn; None means that of the model.
    n_repeats : int, default=10
        Number of times that each feature is shuffled.
    random_state : int, RandomState or None, default=None
        Seed for shuffling.
    n_jobs : int or None, default=None
        Number of features to shuffle in parallel.

    Returns
    -------
    matplotlib.figure.Figure
        Display it in a notebook, or save it with ``savefig``.

    See Also
    --------
    sklearn.inspection.permutation_importance : The importances themselves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import KFHEClassifier
    >>> from fuselearn.diagnosis import plot_importances
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = KFHEClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> figure = plot_importances(model)
    >>> figure.axes[0].get_xlabel()
    'mean decrease of impurity'
    >>> plot_importances(model, X, y, n_repeats=3, random_state=0).axes[0].get_xlabel()
    'decrease of the score when the feature is shuffled'
    """
    require("A figure", "matplotlib")
    check_is_fitted(model)
    check_whole_number("max_features", max_features, 1)
    if (X is None) != (y is None):
        raise ValueError("Permutation needs both X and y; mean decrease of impurity needs neither.")
    if X is None:
        shares = _mean_decrease(model)
        return _draw_bars(shares, _feature_names(_last_step(model), None, len(shares)), max_features)
    from sklearn.inspection import permutation_importance  # loads much of scikit-learn

    result = permutation_importance(
        model, X, y, scoring=scoring, n_repeats=n_repeats, random_state=random_state, n_jobs=n_jobs
    )
    drops = result.importances
    return _draw_ranges(drops, _feature_names(model, X, len(drops)), max_features)


def _draw_tree(model: CARTClassifier, max_depth: int, decimals: int) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    tree = model.tree_
    places = _lay_out(tree, max_depth)
    n_columns = 1 + max(column for column, _ in places.values())
    n_levels = 1 + max(level for _, level in places.values())
    figure = Figure(figsize=(max(5.0, 1.5 + 1.75 * n_columns), 1.3 + 1.15 * n_levels), layout="constrained")
    axes = figure.add_subplot()
    shares = tree.shares()
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(model.classes_))]
    for node, (column, level) in places.items():
        left = int(tree.nodes["left"][node])
        if left in places:
            for child in (left, left + 1):
                to, below = places[child]
                axes.plot([column, to], [level + 0.33, below], color="0.6", linewidth=1.2, zorder=0)
        edge = column - 0.35
        for colour, share in zip(colours, shares[node], strict=True):
            axes.barh(level + 0.28, 0.7 * share, 0.09, left=edge, color=colour)
            edge += 0.7 * share
        text = _describe_node(model, node, decimals, is_cut=left not in places)
        frame = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "0.6"}
        axes.text(column, level, text, ha="center", va="center", fontsize=8.5, bbox=frame)
    names = [str(name) for name in model.classes_]
    handles = [Patch(color=colour, label=name) for colour, name in zip(colours, names, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(8, len(handles)), frameon=False, title="class")
    axes.set(xlim=(-0.6, n_columns - 0.4), ylim=(n_levels - 0.5, -0.5))
    axes.set_axis_off()
    return figure


def _lay_out(tree: Tree, max_depth: int) -> dict[int, tuple[float, int]]:
    """Return column and level of each node that is drawn: leaves side by side, splits between their children."""
    places: dict[int, tuple[float, int]] = {}
    n_columns = 0
    waiting = [(0, 0, False)]
    while waiting:
        node, level, are_children_placed = waiting.pop()
        left = int(tree.nodes["left"][node])
        if are_children_placed:
            places[node] = ((places[left][0] + places[left + 1][0]) / 2, level)
        elif tree.nodes["feature"][node] < 0 or level == max_depth:
            places[node] = (float(n_columns), level)
            n_columns += 1
        else:
            waiting += [(node, level, True), (left + 1, level + 1, False), (left, level + 1, False)]
    return dict(sorted(places.items()))


def _describe_node(model: CARTClassifier, node: int, decimals: int, is_cut: bool) -> str:
    if model.tree_.nodes["feature"][node] < 0:
        return f"{shorten(str(model._predicted(node)), TEXT_WIDTH, placeholder='…')}\n{model._share(node, decimals)}"
    if is_cut:
        return f"… {_count_leaves(model.tree_, node)} leaves"
    condition, _ = model._conditions(node, decimals)
    return condition if len(condition) <= TEXT_WIDTH else f"{condition[: TEXT_WIDTH - 1]}…"


def _count_leaves(tree: Tree, node: int) -> int:
    waiting, n_leaves = [node], 0
    while waiting:
        one = waiting.pop()
        if tree.nodes["feature"][one] < 0:
            n_leaves += 1
        else:
            waiting += [int(tree.nodes["left"][one]), int(tree.nodes["left"][one]) + 1]
    return n_leaves


def _last_step(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


def _mean_decrease(model: Any) -> npt.NDArray[np.float64]:
    last = _last_step(model)
    shares = getattr(last, "feature_importances_", None)
    if shares is None:
        raise TypeError(
            f"{type(last).__name__} has no feature_importances_; pass X and y for importances by permutation."
        )
    return np.mean(np.atleast_2d(shares), axis=0)


def _feature_names(model: Any, X: Any, n_features: int) -> list[str]:
    for named in (getattr(model, "feature_names_in_", None), getattr(X, "columns", None)):
        if named is not None:
            return [str(name) for name in named]
    return [f"x[{feature}]" for feature in range(n_features)]


def _draw_bars(shares: npt.NDArray[np.float64], names: list[str], max_features: int) -> Figure:
    shown = np.argsort(-shares, kind="stable")[:max_features]
    figure, axes = _make_axes(names, shown)
    axes.barh(range(len(shown)), shares[shown], 0.7, color=INK)
    axes.set_xlabel("mean decrease of impurity")
    return figure


def _draw_ranges(drops: npt.NDArray[np.float64], names: list[str], max_features: int) -> Figure:
    means = drops.mean(axis=1)
    shown = np.argsort(-means, kind="stable")[:max_features]
    figure, axes = _make_axes(names, shown)
    lines = range(len(shown))
    low, first, third, high = np.percentile(drops[shown], [0, 25, 75, 100], axis=1)
    axes.hlines(lines, low, high, color=INK, linewidth=1)
    axes.hlines(lines, first, third, color=INK, linewidth=7, alpha=0.4)
    axes.plot(means[shown], lines, "o", color=INK, markersize=5)
    axes.axvline(0.0, color="0.3", linewidth=0.8, zorder=0)
    axes.set_xlabel("decrease of the score when the feature is shuffled")
    return figure


def _make_axes(names: list[str], shown: npt.NDArray[np.intp]) -> tuple[Figure, Axes]:
    """Return a figure with a line for each of the features that are shown, the first at the top."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1.0 + 0.3 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_yticks(range(len(shown)), [names[feature] for feature in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    hidden = len(names) - len(shown)
    axes.set_title(f"The {len(shown)} most important of {len(names)} features" if hidden else "", fontsize=10)
    return figure, axes
