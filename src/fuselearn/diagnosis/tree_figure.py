"""The figure of a tree, without pyplot's global state."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_whole_number
from fuselearn.ensembles import CARTClassifier
from fuselearn.ensembles.tree_description import conditions_of_split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fuselearn._core import Tree

# The colors of Okabe and Ito without black, suitable for color-blind readers.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
TEXT_WIDTH = 30  # maximum number of characters in a node


def plot_tree(model: CARTClassifier, *, max_depth: int | None = None, decimals: int = 2) -> Figure:
    """Plot a classification tree.

    Each split shows the condition for going left. A bar below each node shows the class fractions of its training
    samples; a leaf shows its predicted class and the number of samples with this class.

    .. versionadded:: 0.2

    Parameters
    ----------
    model : CARTClassifier
        A fitted tree, such as one of the ``estimators_`` of an ensemble.
    max_depth : int, optional
        Maximum depth of the plot; below it, only the number of leaves is shown.
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
    if not isinstance(model, CARTClassifier):
        raise TypeError(
            f"plot_tree needs a CARTClassifier, not {type(model).__name__}; for an ensemble, pass one of its "
            f"estimators_."
        )
    check_is_fitted(model)
    deepest = model.get_depth() if max_depth is None else check_whole_number("max_depth", max_depth, 0)
    check_whole_number("decimals", decimals, 0)
    return _draw_tree(model, deepest, decimals)


def _draw_tree(model: CARTClassifier, max_depth: int, decimals: int) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    tree = model.tree_
    places = _lay_out(tree, max_depth)
    n_columns = 1 + max(column for column, _ in places.values())
    n_levels = 1 + max(level for _, level in places.values())
    figure = Figure(figsize=(max(5.0, 1.5 + 1.75 * n_columns), 1.3 + 1.15 * n_levels), layout="constrained")
    axes = figure.add_subplot()
    fractions = tree.shares()
    colors = [COLORS[k % len(COLORS)] for k in range(len(model.classes_))]
    for node, (column, level) in places.items():
        left = int(tree.nodes["left"][node])
        if left in places:
            for child in (left, left + 1):
                to, below = places[child]
                axes.plot([column, to], [level + 0.33, below], color="0.6", linewidth=1.2, zorder=0)
        edge = column - 0.35
        for color, fraction in zip(colors, fractions[node], strict=True):
            axes.barh(level + 0.28, 0.7 * fraction, 0.09, left=edge, color=color)
            edge += 0.7 * fraction
        text = _describe_node(model, node, decimals, is_cut=left not in places)
        frame = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "0.6"}
        axes.text(column, level, text, ha="center", va="center", fontsize=8.5, bbox=frame)
    names = [str(name) for name in model.classes_]
    handles = [Patch(color=color, label=name) for color, name in zip(colors, names, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(8, len(handles)), frameon=False, title="class")
    axes.set(xlim=(-0.6, n_columns - 0.4), ylim=(n_levels - 0.5, -0.5))
    axes.set_axis_off()
    return figure


def _lay_out(tree: Tree, max_depth: int) -> dict[int, tuple[float, int]]:
    """Return the column and level of each node to draw: leaves next to each other, splits between their children."""
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
    condition, _ = conditions_of_split(model, model.tree_.nodes[node], decimals)
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
