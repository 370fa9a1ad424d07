"""Score predictions against the truth block by block, and print the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

MOST_LISTED = 12
"""Maximum number of classes for printing the confusion matrix, and of labels for listing them."""


class ClassTally:
    """The confusion matrix of a classifier whose classes are `classes`."""

    columns: Sequence[str] = ["prediction"]
    convention = "macro F1 is the mean over the classes that occur or are predicted"

    def __init__(self, classes: Sequence[Any]) -> None:
        self.names = [str(name) for name in classes]
        self._are_numbers = all(isinstance(name, int | float) and not isinstance(name, bool) for name in classes)
        self.table = np.zeros((len(classes), len(classes)), dtype=np.int64)
        self.sets = np.zeros(2, dtype=np.int64)

    def add(self, truth: Any, predicted: Any) -> None:
        """Count the samples of a block, except those of unknown class."""
        rows, columns = self._find(truth), self._find(predicted)
        np.add.at(self.table, (rows[rows >= 0], columns[rows >= 0]), 1)

    def add_sets(self, truth: Any, sets: Any) -> None:
        """Count the sets of a block that contain the true class, and their sizes; ignore samples of unknown class.

        Parameters
        ----------
        truth : DataFrame or Series
        sets : Series of lists
        """
        for place, classes in zip(self._find(truth).tolist(), sets, strict=True):
            if place >= 0:
                self.sets += [self.names[place] in map(str, classes), len(classes)]

    def _find(self, values: Any) -> npt.NDArray[np.intp]:
        import pandas as pd

        column = pd.Series(np.ravel(values))
        if self._are_numbers:  # "1.0" and "1" are the same class
            return pd.Index([float(name) for name in self.names]).get_indexer(pd.to_numeric(column, errors="coerce"))
        return pd.Index(self.names).get_indexer(column.astype(str))

    @property
    def n_samples(self) -> int:
        """Number of samples counted."""
        return int(self.table.sum())

    def scores(self) -> dict[str, float]:
        """Compute accuracy, balanced accuracy over the classes that occur, and macro F1, as scikit-learn does.

        With prediction sets, also compute their coverage and their mean size.
        """
        right, actual, predicted = self.table.diagonal(), self.table.sum(axis=1), self.table.sum(axis=0)
        occurs, either = actual > 0, actual + predicted
        scores = {
            "accuracy": float(right.sum() / actual.sum()),
            "balanced_accuracy": float((right[occurs] / actual[occurs]).mean()),
            "macro_f1": float((2 * right[either > 0] / either[either > 0]).mean()),
        }
        if self.sets.any():
            scores["set_coverage"], scores["set_size"] = (self.sets / self.n_samples).tolist()
        return scores

    def describe(self) -> dict[str, Any]:
        """Return the scores and the confusion matrix in JSON-compatible types."""
        return {
            "samples": self.n_samples,
            **self.scores(),
            "convention": self.convention,
            "classes": self.names,
            "confusion": self.table.tolist(),
        }

    def lines(self) -> list[list[str]]:
        """Return the confusion matrix, if it is small enough."""
        if len(self.names) > MOST_LISTED:
            return []
        rows = zip(self.names, self.table.tolist(), strict=True)
        return [["true \\ predicted", *self.names], *([name, *map(str, row)] for name, row in rows)]


class LabelTally:
    """Correct and wrong predictions of a multi-label classifier whose labels are `labels`."""

    convention = "a label that neither occurs nor is predicted has an F1 of 0, as in scikit-learn"

    def __init__(self, labels: Sequence[str]) -> None:
        self.names = self.columns = list(labels)
        self.n_samples = 0
        self.counts = np.zeros((3, len(self.names)), dtype=np.int64)

    def add(self, truth: Any, predicted: Any) -> None:
        """Count the samples of a block, except those with an unknown label."""
        from fuselearn.datasets.tables import code_labels

        known = ~truth.isin(["", "?"]).any(axis=1) & truth.notna().all(axis=1)
        Y = code_labels(truth[known], "the file to predict for").to_numpy()
        P = np.asarray(predicted)[known.to_numpy()].astype(int)
        self.n_samples += len(Y)
        self.counts += [Y.sum(axis=0), P.sum(axis=0), (Y & P).sum(axis=0)]

    def scores(self) -> dict[str, float]:
        """Compute macro F1, micro F1 and Hamming loss."""
        actual, predicted, right = self.counts
        positives = actual + predicted
        return {
            "macro_f1": float((2 * right / np.maximum(positives, 1)).mean()),
            "micro_f1": float(2 * right.sum() / max(positives.sum(), 1)),
            "hamming_loss": float((positives - 2 * right).sum() / (self.n_samples * len(self.names))),
        }

    def describe(self) -> dict[str, Any]:
        """Return the scores in JSON-compatible types."""
        return {"samples": self.n_samples, **self.scores(), "convention": self.convention}

    def lines(self) -> list[list[str]]:
        """Return how often the most frequent labels occur, are predicted, and are predicted correctly."""
        places = np.argsort(-self.counts[0], kind="stable")[:MOST_LISTED].tolist()
        counts = ([self.names[place], *map(str, self.counts[:, place])] for place in places)
        return [["label", "true", "predicted", "right"], *counts]


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
    typer.echo(f"{about}: {', '.join(said)} ({tally.convention}).", err=err)
    lines = tally.lines()
    first = max((len(line[0]) for line in lines), default=0)
    width = max(9, *(len(cell) for line in lines for cell in line[1:])) if lines else 0
    for line in lines:
        typer.echo(line[0].ljust(first) + "".join(cell.rjust(width + 1) for cell in line[1:]), err=err)
