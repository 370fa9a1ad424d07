"""The weighted sum of components: what every trained ensemble of this library comes down to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.learners.protocols import Component
from fuselearn.learners.tree import PackedTrees, TreeComponent, restore_components, store_components


class StoredComponents:
    """Components that copies and files keep in a compact form if they are trees, without the forest made of them."""

    components: Sequence[Component]
    packed: PackedTrees | None

    def _all_trees(self) -> bool:
        return all(isinstance(component, TreeComponent) for component in self.components)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a copy or a file keeps."""
        state = {name: value for name, value in vars(self).items() if name != "packed"}
        if self._all_trees():
            state["components"] = store_components(self.components)  # type: ignore[arg-type]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a copy or a file."""
        vars(self).update(state, packed=None)
        if isinstance(state["components"], dict):
            self.components = restore_components(state["components"])


class WeightedSum(StoredComponents):
    """Sum the votes or scores of components, each times its coefficient.

    Trees are packed into one forest; other components are asked one by one.

    Parameters
    ----------
    components : sequence of Component
    coefficients : array of shape (n_components,)
    by_class : bool array of shape (n_components,)
        Whether a component counts with its vote (one for a class) or with its scores.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import Classes, bind
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> counts = np.ones(4, dtype=np.int32)
    >>> targets = [Classes(np.array(numbers, dtype=np.int32), 2) for numbers in ([0, 0, 1, 1], [0, 1, 1, 1])]
    >>> trees = [learner.train(target, counts, seed=0) for target in targets]
    >>> fused = WeightedSum(trees, np.array([0.75, 0.25]), np.array([True, True]))
    >>> fused.scores(learner.prepare(np.array([[0.0], [1.0], [3.0]])), n_classes=2)
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.  , 1.  ]])
    """

    def __init__(
        self,
        components: Sequence[Component],
        coefficients: npt.NDArray[np.float64],
        by_class: npt.NDArray[np.bool_],
    ) -> None:
        self.components = components
        self.coefficients = coefficients
        self.by_class = by_class
        self.packed = None

    def scores(self, X: Any, n_classes: int, n_threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the sum for each row of ``X`` and each of the classes."""
        if self._all_trees():
            return self._pack().scores(X, n_threads)
        total = np.zeros((X.shape[0], n_classes))
        for component, coefficient, by_class in zip(self.components, self.coefficients, self.by_class, strict=True):
            total += coefficient * component_scores(component, by_class, n_classes, X)
        return total

    def leaves(self, X: Any, n_threads: int = 1) -> npt.NDArray[np.int32]:
        """Return the leaf that each row of ``X`` ends in, tree by tree, if all components are trees."""
        return self._pack().leaves(X, n_threads)

    def _pack(self) -> PackedTrees:
        if self.packed is None:  # packing waits for the first prediction
            self.packed = PackedTrees(self.components, self.coefficients, self.by_class)  # type: ignore[arg-type]
        return self.packed


def component_scores(component: Component, by_class: bool, n_classes: int, X: Any = None) -> npt.NDArray[np.float64]:
    """Return a component's scores, or its votes as rows with a single one."""
    return np.eye(n_classes)[component.votes(X)] if by_class else component.scores(X)
