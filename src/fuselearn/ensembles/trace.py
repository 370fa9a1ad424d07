"""Draw what a Kalman-filter ensemble did while it was trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_trace(model: Any) -> Figure:
    """Draw gain, variance, measurement error and training error over the measurements of a fitted model.

    Weight resets are marked by thin vertical lines. The figure belongs to no window, so it leaves pyplot alone.
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
