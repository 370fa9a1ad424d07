"""Statistics of the labels of multi-label data: how many, how imbalanced, and which occur together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn._extras import require
from fuselearn._parameters import check_choice, check_flag, check_whole_number
from fuselearn.multilabel.data.labels import label_names, read_sparse_labels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["LabelStatistics", "describe_labels"]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

LISTED = 10
"""Number of labels that the text names."""
INK = "#0072b2"


@dataclass(frozen=True, eq=False, repr=False)
class LabelStatistics:
    """Statistics of the labels, as returned by `describe_labels`.

    .. versionadded:: 0.2

    Attributes
    ----------
    n_samples, n_labels : int
    names : tuple
        The names of the labels; numbers without any.
    cardinality : float
        Mean number of labels of a sample.
    density : float
        The cardinality divided by the number of labels.
    n_label_sets : int
        Number of different sets of labels among the samples; the empty set is one.
    n_single_sets : int
        Number of sets of labels that only one sample has.
    n_unlabelled : int
        Number of samples without labels.
    positives : int array of shape (n_labels,)
        Number of samples that have each label.
    imbalance_ratios : array of shape (n_labels,)
        IRLbl of each label: the positives of the most frequent label divided by its own; NaN for a label that no sample
        has.
    mean_imbalance_ratio : float
        MeanIR, the mean of IRLbl over the labels that occur; NaN if none does.
    sample_scumbles : array of shape (n_samples,)
        SCUMBLE of each sample, how much it mixes rare and frequent labels: 1 minus the ratio of the geometric and the
        arithmetic mean of IRLbl over its labels, and 0 for a sample with fewer than two.

    Examples
    --------
    >>> from fuselearn.multilabel import describe_labels
    >>> statistics = describe_labels([[1, 0], [1, 1], [1, 0], [0, 0]])
    >>> statistics.cardinality, statistics.positives.tolist(), statistics.imbalance_ratios.tolist()
    (1.0, [3, 1], [1.0, 3.0])
    """

    n_samples: int
    n_labels: int
    names: tuple[Any, ...]
    cardinality: float
    density: float
    n_label_sets: int
    n_single_sets: int
    n_unlabelled: int
    positives: Counts
    imbalance_ratios: Floats
    mean_imbalance_ratio: float
    sample_scumbles: Floats
    _labels: sparse.csr_array

    @property
    def label_set_share(self) -> float:
        """Number of different sets of labels divided by the number of samples."""
        return self.n_label_sets / self.n_samples

    @property
    def scumble(self) -> float:
        """SCUMBLE, the mean over all samples."""
        return float(self.sample_scumbles.mean())

    @cached_property
    def label_scumbles(self) -> Floats:
        """SCUMBLE of each label, the mean over its samples; NaN for a label that no sample has."""
        sums = self._labels.T.astype(np.float64) @ self.sample_scumbles
        return _divide(sums, self.positives)

    @cached_property
    def cooccurrence(self) -> Counts:
        """Number of samples that have both labels, of shape (n_labels, n_labels)."""
        labels = self._labels.astype(np.int64)
        return (labels.T @ labels).toarray()

    @cached_property
    def conditional(self) -> Floats:
        """Fraction of the samples with one label (row) that have the other (column); NaN for a label that none has."""
        return _divide(self.cooccurrence, self.positives[:, None])

    def to_frame(self, table: str = "labels") -> pd.DataFrame:
        """Return a table with a line per label.

        Parameters
        ----------
        table : {"labels", "cooccurrence", "conditional"}, default="labels"
            The columns: ``positives``, ``frequency``, ``imbalance_ratio`` and ``scumble``; or the other labels.
        """
        require("A table of labels", "pandas")
        import pandas as pd

        index = pd.Index(self.names, name="label")
        if check_choice("table", table, ("labels", "cooccurrence", "conditional")) != "labels":
            return pd.DataFrame(getattr(self, table), index=index, columns=list(self.names))
        columns = {
            "positives": self.positives,
            "frequency": self.positives / self.n_samples,
            "imbalance_ratio": self.imbalance_ratios,
            "scumble": self.label_scumbles,
        }
        return pd.DataFrame(columns, index=index)

    def summary(self) -> dict[str, float]:
        """Return the numbers that describe the whole table, by name."""
        return {
            "samples": self.n_samples,
            "labels": self.n_labels,
            "cardinality": self.cardinality,
            "density": self.density,
            "label_sets": self.n_label_sets,
            "label_set_share": self.label_set_share,
            "single_label_sets": self.n_single_sets,
            "samples_without_labels": self.n_unlabelled,
            "mean_imbalance_ratio": self.mean_imbalance_ratio,
            "scumble": self.scumble,
        }

    def plot(self, *, conditional: bool = False, max_labels: int = 30) -> Figure:
        """Plot how often labels occur together.

        Parameters
        ----------
        conditional : bool, default=False
            Whether to plot the fraction of samples with the label of the row that have the label of the column, instead
            of the number of samples that have both.
        max_labels : int, default=30
            Number of labels to show, the most frequent ones.

        Returns
        -------
        matplotlib.figure.Figure
            Display it in a notebook, or save it with ``savefig``.
        """
        require("A figure", "matplotlib")
        check_flag("conditional", conditional)
        shown = np.sort(self._most_frequent()[: check_whole_number("max_labels", max_labels, 1)])
        return _draw(self, shown, conditional)

    def __str__(self) -> str:
        """Return the statistics as text, with the most frequent labels."""
        share = f"{self.label_set_share:.1%}"
        lines = [
            f"{self.n_labels} labels, {self.n_samples} samples, {self.n_unlabelled} of them without labels",
            f"cardinality {self.cardinality:.4g}, density {self.density:.4g}",
            f"{self.n_label_sets} label sets ({share} of the samples), {self.n_single_sets} of them in one sample only",
            f"MeanIR {self.mean_imbalance_ratio:.4g}, SCUMBLE {self.scumble:.4g}",
        ]
        order = self._most_frequent()
        columns = [
            ["label", *(str(self.names[label]) for label in order[:LISTED])],
            ["positives", *(str(self.positives[label]) for label in order[:LISTED])],
            ["IRLbl", *(f"{self.imbalance_ratios[label]:.4g}" for label in order[:LISTED])],
            ["SCUMBLE", *(f"{self.label_scumbles[label]:.4g}" for label in order[:LISTED])],
        ]
        widths = [max(map(len, column)) for column in columns]
        for name, *numbers in zip(*columns, strict=True):
            cells = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
            lines.append("  ".join((name.ljust(widths[0]), *cells)))
        if len(order) > LISTED:
            lines.append(f"and {len(order) - LISTED} less frequent labels")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the main numbers in one line."""
        return (
            f"<LabelStatistics: {self.n_labels} labels, {self.n_samples} samples, cardinality {self.cardinality:.4g}, "
            f"MeanIR {self.mean_imbalance_ratio:.4g}, SCUMBLE {self.scumble:.4g}>"
        )

    def _most_frequent(self) -> npt.NDArray[np.intp]:
        return np.argsort(-self.positives, kind="stable")


def describe_labels(Y: Any) -> LabelStatistics:
    """Describe the labels of multi-label data.

    ::

        IRLbl(l)   = largest number of positives of any label / positives of l
        MeanIR     = mean of IRLbl over the labels
        SCUMBLE(i) = 1 - geometric mean / arithmetic mean of IRLbl over the labels of sample i
        SCUMBLE    = mean of SCUMBLE(i) over all samples
        SCUMBLE(l) = mean of SCUMBLE(i) over the samples with label l

    .. versionadded:: 0.2

    Parameters
    ----------
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.

    Returns
    -------
    LabelStatistics

    References
    ----------
    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2015). Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 3-16.

    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2019). Dealing with difficult minority labels in
    imbalanced mutilabel data sets. Neurocomputing 326-327, 39-53.

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn.multilabel import describe_labels
    >>> Y = pd.DataFrame({"calm": [1, 1, 1, 1, 0], "sad": [0, 0, 0, 1, 0]})
    >>> statistics = describe_labels(Y)
    >>> print(statistics)
    2 labels, 5 samples, 1 of them without labels
    cardinality 1, density 0.5
    3 label sets (60.0% of the samples), 2 of them in one sample only
    MeanIR 2.5, SCUMBLE 0.04
    label  positives  IRLbl  SCUMBLE
    calm           4      1     0.05
    sad            1      4      0.2
    >>> statistics.conditional
    array([[1.  , 0.25],
           [1.  , 1.  ]])
    """
    labels = read_sparse_labels(Y, "Y")
    n_samples, n_labels = labels.shape
    names = label_names(Y)
    positives = np.bincount(labels.indices, minlength=n_labels).astype(np.int64)
    sizes = np.diff(labels.indptr)
    ratios = _divide(np.full(n_labels, positives.max()), positives)
    sets = _count_sets(labels)
    occurs = positives > 0
    return LabelStatistics(
        n_samples=n_samples,
        n_labels=n_labels,
        names=tuple(range(n_labels)) if names is None else tuple(names),
        cardinality=float(sizes.mean()),
        density=float(sizes.mean() / n_labels),
        n_label_sets=len(sets),
        n_single_sets=int((sets == 1).sum()),
        n_unlabelled=int((sizes == 0).sum()),
        positives=positives,
        imbalance_ratios=ratios,
        mean_imbalance_ratio=float(ratios[occurs].mean()) if occurs.any() else float("nan"),
        sample_scumbles=_scumble(labels, sizes, ratios),
        _labels=labels,
    )


def _scumble(labels: sparse.csr_array, sizes: npt.NDArray[np.integer], ratios: Floats) -> Floats:
    """Return SCUMBLE of each sample; in logarithms, because a product of many ratios would overflow."""
    samples = np.repeat(np.arange(len(sizes)), sizes)
    own = ratios[labels.indices]
    arithmetic = np.bincount(samples, weights=own, minlength=len(sizes))
    logarithmic = np.bincount(samples, weights=np.log(own), minlength=len(sizes))
    mixed = sizes > 1
    scumbles = np.zeros(len(sizes))
    n = sizes[mixed]
    scumbles[mixed] = 1 - np.exp(logarithmic[mixed] / n) / (arithmetic[mixed] / n)
    return np.maximum(scumbles, 0.0)  # equal ratios may leave a rounding error


def _count_sets(labels: sparse.csr_array) -> Counts:
    """Return how many samples have each of the different sets of labels."""
    indices = labels.indices.astype(np.int64)
    counts = Counter(indices[start:end].tobytes() for start, end in pairwise(labels.indptr))
    return np.fromiter(counts.values(), dtype=np.int64)


def _divide(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    """Divide, with NaN for a whole of 0."""
    part = np.asarray(part, dtype=np.float64)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=np.broadcast_to(whole, part.shape) > 0)


def _draw(statistics: LabelStatistics, shown: npt.NDArray[np.intp], conditional: bool) -> Figure:
    """Plot a matrix of labels, with numbers in the cells if there is room; without pyplot."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    values = (statistics.conditional if conditional else statistics.cooccurrence)[np.ix_(shown, shown)]
    names = [str(statistics.names[label]) for label in shown]
    together = values.astype(np.float64)
    if not conditional:
        np.fill_diagonal(together, np.nan)  # how often a label occurs would dwarf how often two do
    size = 2.2 + 0.32 * len(shown)
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("shares", ["#ffffff", INK])
    largest = 1.0 if conditional else max(1.0, float(np.nanmax(together, initial=0.0)))
    image = axes.imshow(together, cmap=colours, vmin=0, vmax=largest)
    figure.colorbar(image, ax=axes, shrink=0.8)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    if len(shown) <= 12:
        for row, column in np.argwhere(~np.isnan(values.astype(np.float64))):
            text = f"{values[row, column]:.2f}" if conditional else str(values[row, column])
            dark = together[row, column] > 0.6 * largest
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if dark else "0.2")
    hidden = statistics.n_labels - len(shown)
    part = f", the {len(shown)} most frequent of {statistics.n_labels}" if hidden else ""
    said = (
        "Fraction of samples with the label of the row that have the other"
        if conditional
        else "Samples with both labels"
    )
    axes.set_title(f"{said}{part}", fontsize=10)
    return figure
