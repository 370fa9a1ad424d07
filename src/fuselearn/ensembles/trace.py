"""Plot the training of a Kalman-filter ensemble, and the members of a fused classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_trace(model: Any) -> Figure:
    """Plot gain, variance, measurement error and training error over the measurements of a fitted model.

    Thin vertical lines mark weight resets. The figure is not registered with pyplot.
    """
    from matplotlib.figure import Figure

    measurements = np.arange(1, model.n_iter_ + 1)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(measurements, model.gains_, label="gain K", color="#0072b2")
    axes.plot(measurements, model.variances_, label="variance P", color="#009e73", linestyle="--")
    axes.plot(
        measurements,
        model.measurement_errors_,
        label="measurement error R",
        color="#e69f00",
        linestyle=":",
    )
    axes.plot(np.arange(model.n_iter_ + 1), model.train_errors_, label="training error", color="#d55e00")
    for reset in model.resets_:
        axes.axvline(reset, color="0.7", linewidth=0.8, zorder=0)
    axes.set(
        xlabel="measurement", ylabel="value", xlim=(0, max(1, model.n_iter_)), ylim=(0, None),
        title="The filter's trace",
    )  # fmt: skip
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def draw_members(names: Sequence[str], weights: Sequence[float], errors: Sequence[float], weight: str) -> Figure:
    """Plot the weight and the squared error of each member of a fused classifier; ``weight`` labels an axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.2 + 0.3 * len(names)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.barh(names, weights, color="#1f77b4")
    left.set_xlabel(weight)
    left.invert_yaxis()
    right.plot(errors, names, "o", color="#444444")
    right.set_xlabel("mean squared error, held-out samples")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.3)
    return figure
