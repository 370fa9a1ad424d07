"""Make the figures of docs/kfhe.md, the two filters of KFHE at work: python docs/figures/kalman_filter.py."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.datasets import corrupt_labels

HERE = Path(__file__).parent
N_STEPS = 20
BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#666666"


class Trace(NamedTuple):
    """A fit, with what its filters held after each classifier."""

    model: KFHEClassifier
    is_wrong: np.ndarray
    estimates: np.ndarray  # of the correct class, (N_STEPS + 1, n_samples)
    weights: np.ndarray  # (N_STEPS + 1, n_samples)


def fit() -> Trace:
    """Fit KFHE to two moons with a tenth of wrong labels, one classifier at a time."""
    X, true = make_moons(200, noise=0.25, random_state=0)
    y = corrupt_labels(true, 0.1, random_state=0)
    model = KFHEClassifier(CARTClassifier(max_depth=3, complexity=None), warm_start=True, random_state=0)
    weights = [np.full(len(y), 1 / len(y))]
    weights.extend(model.set_params(n_estimators=n).fit(X, y).sample_weights_.copy() for n in range(1, N_STEPS + 1))
    estimates = [scores[np.arange(len(y)), true] for scores in model.staged_predict_proba(X)]
    return Trace(model, y != true, np.array(estimates), np.array(weights))


def draw_steps(trace: Trace) -> Figure:
    """Draw estimate, measurement and new estimate of one sample as normal distributions, at three classifiers."""
    gains, errors, variances = trace.model.gains_, trace.model.measurement_errors_, trace.model.variances_
    moves = np.abs(np.diff(trace.estimates[:, ~trace.is_wrong], axis=0))[[0, 1, 9]].sum(axis=0)
    sample = np.flatnonzero(~trace.is_wrong)[moves.argmax()]
    figure = Figure(figsize=(8, 2.9), layout="constrained")
    x = np.linspace(-1.2, 2.2, 120)
    for axes, t in zip(figure.subplots(1, 3), (1, 2, 10), strict=True):
        gain, (before, after) = gains[t - 1], trace.estimates[t - 1 : t + 1, sample]
        curves = {
            "estimate": (before, variances[t - 1] / (1 - gain), GRAY),
            "measurement": (before + (after - before) / gain, errors[t - 1], ORANGE),
            "new estimate": (after, variances[t - 1], BLUE),
        }
        for name, (mean, variance, color) in curves.items():
            axes.plot(x, np.exp(-((x - mean) ** 2) / (2 * variance)), color=color, label=name)
            axes.fill_between(x, np.exp(-((x - mean) ** 2) / (2 * variance)), color=color, alpha=0.12)
        axes.set(title=f"classifier {t}: gain K = {gain:.2f}", xlabel="score of the correct class", yticks=[])
        axes.spines[["top", "left", "right"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def draw_side_by_side(trace: Trace) -> Figure:
    """Draw what kf-m and kf-w hold after each classifier, for samples with correct and with wrong labels."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    (left, right), below = figure.subplots(2, 2, sharex=True, height_ratios=(3, 2))
    for axes, values in ((left, trace.estimates), (right, trace.weights * len(trace.is_wrong))):
        for name, group, color in (("correct label", ~trace.is_wrong, BLUE), ("wrong label", trace.is_wrong, ORANGE)):
            low, middle, high = np.quantile(values[:, group], (0.25, 0.5, 0.75), axis=1)
            axes.plot(middle, color=color, label=name)
            axes.fill_between(range(N_STEPS + 1), low, high, color=color, alpha=0.15)
    left.set(title="kf-m estimates the classifier", ylabel="score of the correct class", ylim=(0, 1.02))
    right.set(title="kf-w estimates the weights", ylabel="weight / mean weight")
    left.legend(frameon=False)
    steps, model = np.arange(1, N_STEPS + 1), trace.model
    filters = ((model.gains_, model.variances_), follow_weights(model))
    for axes, (gains, variances) in zip(below, filters, strict=True):
        axes.plot(steps, gains, color=GREEN, label="gain K")
        axes.plot(steps, variances, color=GREEN, linestyle="--", label="variance P")
        axes.plot(steps, model.measurement_errors_, color=GRAY, linestyle=":", label="error R")
        axes.set(xlabel="classifier", ylim=(0, 1), xticks=range(0, N_STEPS + 1, 5))
    below[0].legend(frameon=False)
    for axes in (right, below[1]):
        for reset in model.resets_:
            axes.axvline(reset - 0.5, color=GRAY, linewidth=0.8)
    return figure


def follow_weights(model: KFHEClassifier) -> tuple[list[float], list[float]]:
    """Return the gains and the variances of kf-w: those of kf-m until the weights are reset."""
    gains, variances, variance = [], [], 1.0
    for t, error in enumerate(model.measurement_errors_, start=1):
        variance = 1.0 if t in model.resets_ else variance
        gains.append(variance / (variance + error))
        variance *= 1 - gains[-1]
        variances.append(variance)
    return gains, variances


def draw_box(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    """Draw a rounded box with text around a point."""
    style = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": color, "linewidth": 1.6}
    axes.text(x, y, text, ha="center", va="center", fontsize=9, bbox=style)


def draw_loop() -> Figure:
    """Draw one step of KFHE: two filters side by side, and the classifier that both learn from."""
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(0, 10), ylim=(0, 6))
    axes.set_axis_off()
    arrows = [
        ((1.4, 5.1), (6.0, 5.1), BLUE),
        ((7.8, 5.1), (8.8, 5.1), BLUE),
        ((1.4, 4.8), (4.3, 3.5), BLUE),
        ((5.4, 3.5), (6.6, 4.7), BLUE),
        ((1.4, 0.9), (6.0, 0.9), ORANGE),
        ((7.8, 0.9), (8.8, 0.9), ORANGE),
        ((1.1, 1.3), (1.8, 2.6), ORANGE),
        ((5.4, 2.5), (6.6, 1.3), ORANGE),
        ((2.8, 3.0), (4.2, 3.0), GRAY),
    ]
    for start, end, color in arrows:
        style = {"arrowstyle": "-|>", "color": color, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, start, arrowprops=style)
    draw_box(axes, 0.9, 5.1, "estimate $y$\nvariance $P$", BLUE)
    draw_box(axes, 6.9, 5.1, "move by the gain\n$y + K(z - y)$", BLUE)
    draw_box(axes, 9.3, 5.1, "new\nestimate $y$", BLUE)
    draw_box(axes, 0.9, 0.9, "weights $w$\nvariance $P_w$", ORANGE)
    draw_box(axes, 6.9, 0.9, "move by the gain\n$w + K_w(z_w - w)$", ORANGE)
    draw_box(axes, 9.3, 0.9, "new\nweights $w$", ORANGE)
    draw_box(axes, 1.9, 3.0, "draw samples by w,\ntrain a tree $h$", GRAY)
    draw_box(axes, 4.9, 3.0, "measurement\n$z = (y + h)\\, /\\, 2$\nerror $R$", GRAY)
    axes.text(6.3, 2.2, "$z_w$: a larger weight for\nsamples that z gets wrong", ha="left", va="center", fontsize=9)
    axes.text(0.2, 5.9, "kf-m", color=BLUE, fontsize=12, weight="bold", va="top")
    axes.text(0.2, 0.0, "kf-w", color=ORANGE, fontsize=12, weight="bold", va="bottom")
    return figure


if __name__ == "__main__":
    trace = fit()
    for name, figure in (
        ("kfhe_loop", draw_loop()),
        ("kfhe_steps", draw_steps(trace)),
        ("kfhe_filters", draw_side_by_side(trace)),
    ):
        figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
        print(HERE / f"{name}.svg")
