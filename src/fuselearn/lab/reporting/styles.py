"""One colour and one marker per method, the same in every figure.

Colour-blind readers can distinguish the colours; with the markers, so can readers of a grey print.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["COLOURS", "MARKERS", "MethodStyle", "method_styles"]

# Okabe and Ito's colours without their yellow, which vanishes on white paper, and two of Paul
# Tol's for the ninth and tenth method.
BLUE, VERMILION, GREEN, GREY, ORANGE = "#0072B2", "#D55E00", "#009E73", "#666666", "#E69F00"
PURPLE, SKY, BLACK, WINE, OLIVE = "#CC79A7", "#56B4E9", "#000000", "#882255", "#999933"
COLOURS = (BLUE, VERMILION, GREEN, GREY, ORANGE, PURPLE, SKY, BLACK, WINE, OLIVE)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "p")

USUAL_PLACES = {
    "KFHE": 0,
    "AdaBoost": 1,
    "Bagging": 2,
    "CART": 3,
    "RandomForest": 4,
    "ExtraTrees": 5,
    "HistGradientBoosting": 6,
    "LightGBM": 7,
    "KFHE-HOMER": 0,
    "AdaBoost.MH": 1,
    "E-HOMER": 2,
    "HOMER-B": 3,
    "ECC": 4,
    "CC": 5,
    "RF-PCT": 6,
    "HOMER-K": 7,
}


@dataclass(frozen=True)
class MethodStyle:
    """The style of one method in every figure."""

    color: str
    marker: str


def method_styles(methods: Iterable[Any]) -> dict[Any, MethodStyle]:
    """Assign each method a colour and a marker.

    The papers' methods and their usual competitors have fixed styles; other names get the free ones
    in alphabetical order.

    Parameters
    ----------
    methods : iterable of names
        The methods of one figure or report.

    Returns
    -------
    styles : dict of MethodStyle

    Examples
    --------
    >>> from fuselearn.lab.reporting.styles import method_styles
    >>> method_styles(["Bagging", "Mine", "KFHE"])["KFHE"]
    MethodStyle(color='#0072B2', marker='o')
    """
    methods = list(dict.fromkeys(methods))
    places: dict[Any, int] = {}
    for method in methods:
        usual = USUAL_PLACES.get(method)
        if usual is not None and usual not in places.values():
            places[method] = usual
    free = (place for place in range(len(COLOURS) * len(MARKERS)) if place not in places.values())
    places |= dict(zip(sorted(set(methods) - set(places), key=str), list(free), strict=False))
    if len(places) < len(methods):
        raise ValueError(
            f"methods must have at most {len(COLOURS) * len(MARKERS)} names; there are no more distinct styles."
        )
    return {method: _style_at(places[method]) for method in methods}


def _style_at(place: int) -> MethodStyle:
    """Pair every colour with every marker before a pair repeats."""
    turn, place = divmod(place, len(COLOURS))
    return MethodStyle(COLOURS[place], MARKERS[(place + turn) % len(MARKERS)])
