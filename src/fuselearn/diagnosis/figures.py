"""Plot bias and variance, without pyplot and its global state."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from fuselearn._extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fuselearn.diagnosis.bias_variance import BiasVariance, BiasVarianceComparison

BIAS, VARIANCE, NOISE, ERROR = "#0072b2", "#d55e00", "#666666", "#000000"


def draw_parts(result: BiasVariance) -> Figure:
    """Plot the terms of the error, and the error, as bars with their standard errors."""
    require("A figure", "matplotlib")
    from matplotlib.figure import Figure

    bars = [
        (_name_bias(result), result.bias, result.standard_errors["bias"], BIAS),
        ("variance", result.variance_effect, result.standard_errors["variance_effect"], VARIANCE),
        ("expected error", result.expected_error, result.standard_errors["error"], ERROR),
    ]
    if result.knows_truth:
        bars.insert(0, ("noise", result.noise_effect, result.standard_errors["noise_effect"], NOISE))
    names, heights, errors, colours = zip(*bars, strict=True)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.bar(names, heights, 0.6, yerr=errors, color=colours, ecolor="0.45", capsize=4)
    if result.loss == "zero_one":
        at = names.index("variance")
        for value, words in ((result.unbiased_variance, "harm"), (-result.biased_variance, "use")):
            axes.plot([at - 0.3, at + 0.3], [value, value], color=VARIANCE, linestyle=":")
            axes.annotate(words, (at + 0.32, value), color=VARIANCE, va="center", fontsize=8.5)
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.set(ylabel=_name_loss(result), title=f"Bias and variance, {result.n_rounds} rounds")
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    return figure


def draw_comparison(comparison: BiasVarianceComparison) -> Figure:
    """Plot bias, variance and error of several models, along an axis if they are named by numbers."""
    require("A figure", "matplotlib")
    from matplotlib.figure import Figure

    names = list(comparison.results)
    results = list(comparison.results.values())
    first = results[0]
    are_numbers = all(isinstance(name, Real) and not isinstance(name, bool) for name in names)
    places: Any = np.array(names, dtype=float) if are_numbers else np.arange(len(names))
    curves = [
        (_name_bias(first), "bias", "bias", BIAS, "o-"),
        ("variance", "variance_effect", "variance_effect", VARIANCE, "s--"),
        ("expected error", "expected_error", "error", ERROR, "^-"),
    ]
    if first.knows_truth:
        curves.insert(0, ("noise", "noise_effect", "noise_effect", NOISE, "d:"))

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for k, (name, attribute, part, colour, style) in enumerate(curves):
        values = np.array([getattr(result, attribute) for result in results])
        errors = np.array([result.standard_errors[part] for result in results])
        if are_numbers:
            axes.plot(places, values, style, color=colour, label=name, markersize=4)
            axes.fill_between(places, values - errors, values + errors, color=colour, alpha=0.12, linewidth=0)
        else:
            side_by_side = places + 0.1 * (k - (len(curves) - 1) / 2)
            axes.errorbar(side_by_side, values, errors, fmt=style[0], color=colour, label=name, capsize=3)
    if not are_numbers:
        axes.set_xticks(places, [str(name) for name in names])
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.set(xlabel=comparison.label, ylabel=_name_loss(first))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def _name_bias(result: BiasVariance) -> str:
    name = "bias²" if result.loss == "squared" else "bias"
    return name if result.knows_truth else f"{name} and noise"


def _name_loss(result: BiasVariance) -> str:
    return "squared error" if result.loss == "squared" else "fraction of wrong predictions"
