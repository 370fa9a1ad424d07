"""Score predictions against the truth block by block, and print the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

__all__ = ["ClassTally", "LabelTally", "make_tally", "say_scores"]

MOST_CLASSES = 12
"""Largest number of classes for which the confusion matrix is printed."""


class ClassTally:
    """The confusion matrix of a classifier.

    Parameters
    ----------
    classes : sequence
        The classes that the model knows.
    """

    columns: Sequence[str] = ["prediction"]

    def __init__(self, classes: Sequence[Any]) -> None:
        self.names = [str(name) for name in classes]
        self._are_numbers = all(isinstance(name, int | float) and not isinstance(name, bool) for name in classes)
        self.table = np.zeros((len(classes), len(classes)), dtype=np.int64)
        self.n_unknown = 0

    def add(self, truth: Any, predicted: Any) -> None:
        """Count the samples of a block; those of unknown class are counted separately."""
        rows, columns = self._places(truth), self._places(predicted)
        known = rows >= 0
        self.n_unknown += int((~known).sum())
        np.add.at(self.table, (rows[known], columns[known]), 1)

    def _places(self, values: Any) -> npt.NDArray[np.intp]:
        import pandas as pd

        column = pd.Series(np.ravel(values))
        if self._are_numbers:  # "1.0" and "1" are the same class
            return pd.Index([float(name) for name in self.names]).get_indexer(pd.to_numeric(column, errors="coerce"))
        return pd.Index(self.names).get_indexer(column.astype(str))

    def scores(self) -> dict[str, float]:
        """Compute accuracy, balanced accuracy over the classes that occur, and macro F1."""
        from fuselearn.combine.candidates import accuracy, balanced_accuracy, f1_macro

        scorers = {"accuracy": accuracy, "balanced_accuracy": balanced_accuracy, "macro_f1": f1_macro}
        return {name: float(score(self.table[None].astype(np.float64))[0]) for name, score in scorers.items()}

    @property
    def n_samples(self) -> int:
        """Number of samples counted."""
        return int(self.table.sum())

    def describe(self) -> dict[str, Any]:
        """Return the scores and the confusion matrix in JSON-compatible types."""
        return {"samples": self.n_samples, **self.scores(), "classes": self.names, "confusion": self.table.tolist()}

    def show(self, *, err: bool = False) -> None:
        """Print the confusion matrix, if it is small enough."""
        if len(self.names) > MOST_CLASSES:
            return
        width = max(9, *(len(name) for name in self.names), len(str(self.table.max())))
        lines = [["true \\ predicted", *self.names], *([name, *map(str, row)] for name, row in self._lines())]
        first = max(len(line[0]) for line in lines)
        for line in lines:
            typer.echo(line[0].ljust(first) + "".join(cell.rjust(width + 1) for cell in line[1:]), err=err)

    def _lines(self) -> list[tuple[str, list[int]]]:
        return list(zip(self.names, self.table.tolist(), strict=True))


class LabelTally:
    """Correct and wrong labels of a multi-label classifier.

    Parameters
    ----------
    labels : sequence of str
        Their names.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.names = self.columns = list(labels)
        self.n_samples = self.n_unknown = 0
        self._right, self._actual, self._given, self._wrong = np.zeros((4, len(self.names)), dtype=np.int64)

    def add(self, truth: Any, predicted: Any) -> None:
        """Count the samples of a block; those with an unknown label are counted separately."""
        from fuselearn.datasets.targets import code_labels

        known = ~truth.isin(["", "?"]).any(axis=1) & truth.notna().all(axis=1)
        self.n_unknown += int((~known).sum())
        Y = code_labels(truth[known], "the file to predict for").to_numpy()
        P = np.asarray(predicted)[known.to_numpy()].astype(int)
        self.n_samples += len(Y)
        for total, part in ((self._right, Y & P), (self._actual, Y), (self._given, P), (self._wrong, Y ^ P)):
            total += part.sum(axis=0)

    def scores(self) -> dict[str, float]:
        """Compute macro F1, with 1 for a label that neither occurs nor is predicted, micro F1 and Hamming loss."""
        positives = self._actual + self._given
        f1 = np.where(positives > 0, 2 * self._right / np.maximum(positives, 1), 1.0)
        return {
            "macro_f1": float(f1.mean()),
            "micro_f1": float(2 * self._right.sum() / max(positives.sum(), 1)),
            "hamming_loss": float(self._wrong.sum() / (self.n_samples * len(self.names))),
        }

    def describe(self) -> dict[str, Any]:
        """Return the scores in JSON-compatible types."""
        return {"samples": self.n_samples, **self.scores()}

    def show(self, *, err: bool = False) -> None:
        """Print the most frequent labels: how often each occurs, is predicted, and is predicted correctly."""
        width = max(len(name) for name in self.names)
        typer.echo(f"{'label'.ljust(width)}     true  predicted  right", err=err)
        for place in np.argsort(-self._actual, kind="stable")[:MOST_CLASSES]:
            counts = f"{self._actual[place]:>9}{self._given[place]:>11}{self._right[place]:>7}"
            typer.echo(f"{self.names[place].ljust(width)}{counts}", err=err)


def make_tally(model: Any) -> ClassTally | LabelTally:
    """Return the tally for a fitted model."""
    from fuselearn.io.header import find_predictor

    predictor = find_predictor(model)
    labels = getattr(predictor, "labels_", None)
    if labels is not None:
        return LabelTally([str(name) for name in labels])
    return ClassTally(np.asarray(predictor.classes_).tolist())


def say_scores(tally: ClassTally | LabelTally, about: str, *, err: bool = False) -> None:
    """Print the scores in one line, and the table."""
    words = {"macro_f1": "macro F1", "micro_f1": "micro F1"}
    said = (f"{words.get(name, name.replace('_', ' '))} {value:.3f}" for name, value in tally.scores().items())
    typer.echo(f"{about}: {', '.join(said)}.", err=err)
    tally.show(err=err)
