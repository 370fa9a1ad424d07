"""Statistics of the labels of multi-label data: how many, how imbalanced, and which occur together."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn._parameters import check_flag, check_whole_number
from fuselearn.multilabel.labels import label_names, read_sparse_labels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

N_LISTED = 10
"""Number of labels listed by ``repr``."""


class LabelStatistics:
    """Statistics of the labels, as returned by `describe_labels`.

    .. versionadded:: 0.2

    Attributes
    ----------
    n_samples, n_labels : int
    names : tuple
        The names of the labels; their indices without any.
    cardinality : float
        Mean number of labels of a sample.
    density : float
        The cardinality divided by the number of labels.
    n_label_sets : int
        Number of different sets of labels among the samples; the empty set is one.
    label_set_fraction : float
        Number of different sets of labels divided by the number of samples.
    n_single_sets : int
        Number of sets of labels that only one sample has.
    n_unlabeled : int
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
    label_scumbles : array of shape (n_labels,)
        SCUMBLE of each label, the mean over its samples; NaN for a label that no sample has.
    scumble : float
        SCUMBLE, the mean over all samples.

    Examples
    --------
    >>> from fuselearn.multilabel import describe_labels
    >>> statistics = describe_labels([[1, 0], [1, 1], [1, 0], [0, 0]])
    >>> statistics.cardinality, statistics.positives.tolist(), statistics.imbalance_ratios.tolist()
    (1.0, [3, 1], [1.0, 3.0])
    """

    def __init__(self, labels: sparse.csr_array, names: tuple[Any, ...]) -> None:
        self._labels, self.names = labels, names
        self.n_samples, self.n_labels = labels.shape
        sizes = np.diff(labels.indptr)
        self.cardinality = float(sizes.mean())
        self.density = self.cardinality / self.n_labels
        indices = labels.indices.astype(np.int64)
        sets = Counter(indices[start:end].tobytes() for start, end in pairwise(labels.indptr))
        self.n_label_sets = len(sets)
        self.label_set_fraction = len(sets) / self.n_samples
        self.n_single_sets = sum(count == 1 for count in sets.values())
        self.n_unlabeled = int((sizes == 0).sum())
        self.positives: Counts = np.bincount(labels.indices, minlength=self.n_labels).astype(np.int64)
        self.imbalance_ratios, self.mean_imbalance_ratio = find_imbalance(self.positives)
        self.sample_scumbles = _compute_scumbles(labels, self.imbalance_ratios)
        self.label_scumbles: Floats = _divide(labels.T.astype(np.float64) @ self.sample_scumbles, self.positives)
        self.scumble = float(self.sample_scumbles.mean())

    @cached_property
    def cooccurrence(self) -> Counts:
        """Number of samples that have both labels, of shape (n_labels, n_labels)."""
        labels = self._labels.astype(np.int64)
        return (labels.T @ labels).toarray()

    @cached_property
    def conditional(self) -> Floats:
        """Fraction of the samples with one label (row) that have the other (column); NaN for a label that none has."""
        return _divide(self.cooccurrence, self.positives[:, None])

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of the labels: ``positives``, ``frequency``, ``imbalance_ratio`` and ``scumble``."""
        import pandas as pd

        columns = {
            "positives": self.positives,
            "frequency": self.positives / self.n_samples,
            "imbalance_ratio": self.imbalance_ratios,
            "scumble": self.label_scumbles,
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="label"))

    def summary(self) -> dict[str, float]:
        """Return the statistics of all labels together, by name."""
        return {
            "samples": self.n_samples,
            "labels": self.n_labels,
            "cardinality": self.cardinality,
            "density": self.density,
            "label_sets": self.n_label_sets,
            "label_set_fraction": self.label_set_fraction,
            "single_label_sets": self.n_single_sets,
            "samples_without_labels": self.n_unlabeled,
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
        check_flag("conditional", conditional)
        shown = np.sort(self._most_frequent(check_whole_number("max_labels", max_labels, 1)))
        values = (self.conditional if conditional else self.cooccurrence)[np.ix_(shown, shown)]
        figure = _draw(values, [str(self.names[label]) for label in shown], is_fraction=conditional)
        title = "Fraction of samples with the label of the row that have the other"
        hidden = f", the {len(shown)} most frequent of {self.n_labels}" if len(shown) < self.n_labels else ""
        figure.axes[0].set_title((title if conditional else "Samples with both labels") + hidden, fontsize=10)
        return figure

    def __repr__(self) -> str:
        """Return the statistics as text, with the most frequent labels."""
        lines = [
            f"{self.n_labels} labels, {self.n_samples} samples, {self.n_unlabeled} of them without labels",
            f"cardinality {self.cardinality:.4g}, density {self.density:.4g}",
            f"{self.n_label_sets} label sets ({self.label_set_fraction:.1%} of the samples), {self.n_single_sets} of "
            "them in one sample only",
            f"MeanIR {self.mean_imbalance_ratio:.4g}, SCUMBLE {self.scumble:.4g}",
        ]
        rows = [("label", "positives", "IRLbl", "SCUMBLE")]
        for j in self._most_frequent(N_LISTED):
            ratio, scumble = self.imbalance_ratios[j], self.label_scumbles[j]
            rows.append((str(self.names[j]), str(self.positives[j]), f"{ratio:.4g}", f"{scumble:.4g}"))
        first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines += ["  ".join([name.ljust(first), *map(str.rjust, cells, widths)]) for name, *cells in rows]
        if self.n_labels > N_LISTED:
            lines.append(f"and {self.n_labels - N_LISTED} less frequent labels")
        return "\n".join(lines)

    def _most_frequent(self, n_labels: int) -> npt.NDArray[np.intp]:
        return np.argsort(-self.positives, kind="stable")[:n_labels]


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
    >>> statistics = describe_labels(pd.DataFrame({"calm": [1, 1, 1, 1, 0], "sad": [0, 0, 0, 1, 0]}))
    >>> statistics
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
    labels, names = read_sparse_labels(Y, "Y"), label_names(Y)
    return LabelStatistics(labels, tuple(range(labels.shape[1]) if names is None else names))


def find_imbalance(positives: Counts) -> tuple[Floats, float]:
    """Return the imbalance ratio of each label, NaN for those without positives, and their mean."""
    ratios = _divide(positives.max(), positives)
    return ratios, float(ratios[positives > 0].mean()) if positives.any() else np.nan


def _compute_scumbles(labels: sparse.csr_array, ratios: Floats) -> Floats:
    """Return SCUMBLE of each sample; in logarithms, because a product of many ratios would overflow."""
    sizes = np.diff(labels.indptr)
    samples, own = np.repeat(np.arange(len(sizes)), sizes), ratios[labels.indices]
    arithmetic, logarithmic = (np.bincount(samples, part, minlength=len(sizes)) for part in (own, np.log(own)))
    n = np.maximum(sizes, 1)
    scumbles = 1 - np.exp(logarithmic / n) / np.where(sizes > 1, arithmetic / n, np.inf)
    return np.where(sizes > 1, np.maximum(scumbles, 0.0), 0.0)  # equal ratios may leave a rounding error


def _divide(part: Any, whole: Counts) -> Floats:
    """Divide, with NaN for a whole of 0."""
    return part / np.where(whole > 0, whole, np.nan)


def _draw(values: npt.NDArray[Any], names: list[str], *, is_fraction: bool) -> Figure:
    """Plot a matrix of labels, with numbers in the cells if there is room; without pyplot."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    shown = values.astype(np.float64)
    if not is_fraction:
        np.fill_diagonal(shown, np.nan)  # the frequencies of single labels would dominate the color scale
    size = 2.2 + 0.32 * len(names)
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.add_subplot()
    largest = 1.0 if is_fraction else max(1.0, float(np.nanmax(shown, initial=0.0)))
    colors = LinearSegmentedColormap.from_list("labels", ["#ffffff", "#0072b2"])
    figure.colorbar(axes.imshow(shown, cmap=colors, vmin=0, vmax=largest), ax=axes, shrink=0.8)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    if len(names) <= 12:
        for (row, column), value in np.ndenumerate(values):
            text = "" if np.isnan(value) else f"{value:.2f}" if is_fraction else str(value)
            color = "white" if shown[row, column] > 0.6 * largest else "0.2"
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color=color)
    return figure
