"""Write the page of a label audit: one self-contained HTML file that shows the suspects beside trusted samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fuselearn.diagnosis import LabelAudit
from fuselearn.diagnosis.label_audit import find_trusted_neighbors
from fuselearn.lab.report import NBSP, make_environment

MOST_SUSPECTS = 100
MOST_FEATURES = 30
MOST_CLASSES = 20
MOST_LABELS = 50


class Card(NamedTuple):
    """A suspect on the page.

    Attributes
    ----------
    name, given, suggested : str
        The sample, its label, and the most likely other label.
    label : str
        The name of the label in multi-label data; empty otherwise.
    probability, suggested_probability, confidence : str
    neighbors : list of (str, str)
        Names and labels of the nearest trusted samples.
    lines : list of (str, list of str)
        The name of each feature, with the values of the suspect and of its neighbors.
    """

    name: str
    given: str
    suggested: str
    label: str
    probability: str
    suggested_probability: str
    confidence: str
    neighbors: list[tuple[str, str]]
    lines: list[tuple[str, list[str]]]


def render_audit(
    audit: LabelAudit,
    X: pd.DataFrame,
    labels: pd.Series | pd.DataFrame,
    *,
    title: str,
    names: Sequence[str],
    command: str,
) -> str:
    """Return the page of an audit.

    Parameters
    ----------
    audit : LabelAudit
        The audit, with samples numbered from 0.
    X : DataFrame of shape (n_samples, n_features)
        The audited samples.
    labels : Series of shape (n_samples,), or DataFrame of shape (n_samples, n_labels)
        Their given labels.
    title : str
        The name of the audited data, such as the file name.
    names : sequence of str
        The name of each sample.
    command : str
        The command that repeats the audit.

    Returns
    -------
    str
        A complete HTML document.
    """
    rows = audit.rows.reset_index(names="place")
    several = isinstance(labels, pd.DataFrame)
    suspects = rows[rows["suspect"]]
    shown = suspects.head(MOST_SUSPECTS)
    # In multi-label data, each label has its own suspects: a sample is trusted for a label if this label is.
    groups = suspects.groupby("label", sort=False) if several else [("", suspects)]
    near: dict[tuple[Any, int], npt.NDArray[np.intp]] = {}
    for label, group in groups:
        asked = group.loc[group.index.isin(shown.index), "place"].to_numpy()
        found = _find_neighbors(X, group["place"].to_numpy(), asked)
        near |= {(label, place): places for place, places in zip(asked.tolist(), found, strict=True)}
    cards = []
    for line in shown.itertuples(index=False):
        label = line.label if several else ""
        cards.append(
            _make_card(line, str(label), near[label, line.place], X, labels[label] if several else labels, names)
        )
    n_features = X.shape[1]
    return (
        make_environment()
        .get_template("audit.html")
        .render(
            title=title,
            sentence=str(audit)[0].upper() + str(audit)[1:],
            audit=audit,
            n_suspects=len(suspects),
            facts=[
                ("samples", f"{len(X):,}"),
                ("features", f"{n_features:,}"),
                ("labels", f"{labels.shape[1]:,}") if several else ("classes", f"{len(audit.noise_matrix):,}"),
                ("suspects", f"{len(suspects):,}"),
                ("estimated fraction of wrong labels", f"{audit.noise_rate:.1%}".replace("%", f"{NBSP}%")),
            ],
            matrix=[] if several else _matrix(audit.noise_matrix),
            several=several,
            predictability=_predictability(audit.predictability),
            pairs=[
                (str(line[0]), [*map(str, line[1:-2]), f"{line[-2]:,}", _percent(line[-1])])
                for line in audit.pairs.head(MOST_LABELS).itertuples(index=False, name=None)
            ],
            cards=cards,
            n_hidden_features=max(0, n_features - MOST_FEATURES),
            command=command,
        )
    )


def _find_neighbors(
    X: pd.DataFrame, suspects: npt.NDArray[np.intp], asked: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """Find the nearest samples that are not suspects; none if all samples are suspects."""
    is_suspect = np.zeros(len(X), dtype=bool)
    is_suspect[suspects] = True
    if len(asked) == 0 or is_suspect.all():
        return np.empty((len(asked), 0), dtype=np.intp)
    return find_trusted_neighbors(X, is_suspect, asked)


def _predictability(table: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """Return the cells of each class or label, sorted by the number of suspects."""
    table = table.sort_values(["suspects", "contradicted"], ascending=False, kind="stable").head(MOST_LABELS)
    return [
        (
            str(line.Index),
            [
                f"{line.samples:,}",
                f"{line.skill:.3f}",
                "yes" if line.predictable else "no",
                f"{line.contradicted:,}",
                f"{line.suspects:,}",
            ],
        )
        for line in table.itertuples()
    ]


def _make_card(
    line: Any, label: str, near: npt.NDArray[np.intp], X: pd.DataFrame, labels: pd.Series, names: Sequence[str]
) -> Card:
    places = [line.place, *near.tolist()]
    part = X.iloc[places, :MOST_FEATURES]
    return Card(
        name=names[line.place],
        given=str(line.given),
        suggested=str(line.suggested),
        label=label,
        probability=_percent(line.probability),
        suggested_probability=_percent(line.suggested_probability),
        confidence=_percent(line.confidence),
        neighbors=[(names[place], str(labels.iloc[place])) for place in near],
        lines=[(str(name), [_show(value) for value in column]) for name, column in part.items()],
    )


def _matrix(noise: pd.DataFrame) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the classes with their probabilities as text and as shades; empty for too many classes."""
    if len(noise) > MOST_CLASSES:
        return []
    return [
        (str(name), [(_percent(part) if part > 0 else "", 0.0 if name == given else part) for given, part in line])
        for name, line in ((name, list(row.items())) for name, row in noise.iterrows())
    ]


def _percent(fraction: float) -> str:
    """Format a probability; only exact values are printed as 0 or 100 %."""
    if 0 < fraction < 0.005 or 0.995 < fraction < 1:
        return f"{'<1' if fraction < 0.5 else '>99'}{NBSP}%"
    return f"{100 * fraction:.0f}{NBSP}%"


def _show(value: Any) -> str:
    if pd.isna(value):
        return "–"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
