"""What ensembles expect of a sensor and of a component."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class Component(Protocol):
    """One trained model.

    Without ``X`` the methods answer for the rows that the component's sensor is bound to, from prepared data.
    """

    def scores(self, X: Any = None) -> npt.NDArray[np.float64]:
        """Give the class scores of each row, which sum to one."""
        ...

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Give the number of the class that the component chooses for each row."""
        ...

    def unbind(self) -> None:
        """Let go of the training data."""
        ...


class Sensor(Protocol):
    """A dataset bound to a way of learning."""

    n_rows: int
    n_classes: int

    def measure(
        self,
        counts: npt.NDArray[np.int32],
        seed: int,
        *,
        weights: npt.NDArray[np.float64] | None = None,
        features: npt.NDArray[np.intp] | None = None,
    ) -> Component:
        """Train a component on the rows drawn.

        Parameters
        ----------
        counts : int32 array of shape (n_rows,)
            How often each row was drawn; 0 leaves it out.
        seed : int
            Seed of the component's own random choices.
        weights : array of shape (n_rows,), optional
            Weights of the rows, where they are not simply the counts.
        features : int array, optional
            Columns to train on; all by default.
        """
        ...

    def measure_sample(self, weights: npt.NDArray[np.float64], seed: int, *, cover: bool = False) -> Component:
        """Draw as many rows as there are, with replacement and by their weights, and train a component on them.

        Parameters
        ----------
        weights : array of shape (n_rows,)
            Chances of the rows; they need not sum to one.
        seed : int
            Seed of the draw and of the component's own random choices, from 0 to 2**63 - 1.
        cover : bool
            Whether to draw again, up to 100 times, while a class is missing from the sample.
        """
        ...

    def regroup(self, groups: npt.NDArray[np.int8]) -> Sensor:
        """Bind the same table to the question to which of two groups a row's class belongs.

        Parameters
        ----------
        groups : int8 array of shape (n_classes,)
            0 or 1 for each class.
        """
        ...
