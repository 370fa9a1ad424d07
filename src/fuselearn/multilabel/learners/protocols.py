"""What multi-label classifiers expect of a learner and of a block of models."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.integer]
Counts = npt.NDArray[np.int32]
Indices = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]


class Block(Protocol):
    """Two-class models of several labels, trained on the same rows."""

    def probabilities(
        self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Give the probability of each label.

        Parameters
        ----------
        rows : what ``Learner.prepare`` gave, optional
            By default, the training rows that the learner is bound to.
        extra : array of shape (n_asked, n_appended), optional
            For a learner that was extended: 0 and 1 in the appended columns, in the order of appending. By default, and
            for bound rows only, those that it was extended with.
        only : int array of shape (n_asked,), optional
            Which of the rows to answer for; all by default.

        Returns
        -------
        array of shape (n_asked, n_labels)
        """
        ...

    def unbind(self) -> None:
        """Let go of the training rows."""
        ...


class Learner(Protocol):
    """A table bound to a way of learning two-class models.

    A label that is constant on the rows drawn is learned as that constant: its probability is 0 or 1. All labels of a
    block get the same seed, so that their order does not matter.
    """

    n_rows: int

    def train(
        self,
        Y: Labels,
        counts: Counts,
        seed: int,
        *,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> Block:
        """Train one model per label on the rows drawn.

        Parameters
        ----------
        Y : array of shape (n_rows, n_labels)
            0 and 1.
        counts : int32 array of shape (n_rows,)
            How often each row was drawn; 0 leaves it out.
        seed : int
            Seed of the models' own random choices.
        weights : array of shape (n_rows,), optional
            Weights of the rows, where they are not simply the counts.
        **settings
            What the learner lets one choose anew for every block; others are refused.
        """
        ...

    def train_classes(
        self,
        classes: Labels,
        counts: Counts,
        seed: int,
        *,
        labels: Labels | None = None,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> Block:
        """Train one model that tells classes apart; the block gives a column per class, and rows that sum to one.

        Parameters
        ----------
        classes : array of shape (n_rows, n_classes)
            1 where a row is of a class, else 0. Rows of no class are left out. A row of several classes stands for as
            many copies; where each class has a machine against all others, it is positive for several instead.
        labels : array of shape (n_classes, n_labels), optional
            The labels that each class stands for. Machines are calibrated for them; other learners need no calibration.
        counts, seed, weights, settings
            As in ``train``.
        """
        ...

    def extend(self, columns: npt.NDArray[np.integer]) -> Self:
        """Give a learner on the same table with label columns appended as features.

        Parameters
        ----------
        columns : array of shape (n_rows, n_appended)
            0 and 1.
        """
        ...

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Give a learner on some columns of the table, which has not been extended yet."""
        ...

    def prepare(self, X: Any) -> Any:
        """Check new rows, with all their columns, and bring them into the form that blocks take."""
        ...

    def adapt(self, rows: Any) -> Any:
        """Bring rows that were prepared before columns were chosen into the form that this learner's blocks take.

        So an ensemble whose members see different columns prepares new rows once.
        """
        ...

    def estimators(self, block: Any, names: npt.NDArray[Any] | None = None) -> list[Any]:
        """Give the models of a block as estimators of their own, one per label.

        Parameters
        ----------
        block : Block
            One that this learner, or an extension of it, has trained.
        names : array of shape (n_columns + n_appended,), optional
            Names of the columns.

        Raises
        ------
        AttributeError
            If its models are none.
        """
        ...

    def unbind(self) -> None:
        """Let go of what only training needs.

        Blocks of an extended learner can still answer for the bound rows, given ``extra``, as long as the learner that
        was extended is bound.
        """
        ...


def check_sample(Y: Labels, counts: Counts, n_rows: int) -> None:
    """Refuse samples that do not fit the bound table, or that are empty."""
    if Y.ndim != 2 or len(Y) != n_rows or len(counts) != n_rows:
        raise ValueError(f"The table has {n_rows} rows; Y has shape {Y.shape} and counts {counts.shape}.")
    if not counts.any():
        raise ValueError("No row was drawn; at least one is needed.")


def list_classes(classes: Labels, counts: Counts) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """List the drawn rows, each once for each of its classes, and the numbers of the classes.

    Examples
    --------
    >>> list_classes(np.array([[0, 1], [1, 1], [0, 0], [1, 0]]), np.array([2, 1, 1, 0], dtype=np.int32))
    (array([0, 1, 1]), array([1, 0, 1]))
    """
    rows, numbers = np.nonzero((classes > 0) & (counts > 0)[:, None])
    if len(rows) == 0:
        raise ValueError("No row that was drawn is of a class; at least one is needed.")
    return rows, numbers


def refuse_settings(settings: dict[str, Any], learner: str) -> None:
    """Refuse settings where a learner has none."""
    if settings:
        raise TypeError(f"{learner} has no settings to change between blocks: {', '.join(sorted(settings))}.")
