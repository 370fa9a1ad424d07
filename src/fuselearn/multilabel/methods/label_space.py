"""Principal label space transformation, plain and conditional: regression on the principal components of the labels."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import is_regressor
from sklearn.linear_model import Ridge
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from fuselearn._compat import take_rows
from fuselearn._core import draw_counts
from fuselearn._messages import show
from fuselearn._parameters import check_flag, check_number, check_whole_number
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import CloneLearner, LabelModel, Learner, count_all_samples
from fuselearn.learners.clones import fit_clone
from fuselearn.learners.learner import Indices
from fuselearn.learners.table import NumberEncoder
from fuselearn.multilabel.base import MultilabelBase, Scores, Weights, single


def train_plst(
    problem: Problem, n_components: int | float = 0.9, *, conditional: bool = False, l2: float = 1.0
) -> Trained:
    """Train PLST or CPLST; the parameters are those of :class:`PLSTClassifier`."""
    learner: Any = problem.learner
    X, Y, base, seed = learner.bound.table, problem.target.values, learner.estimator, int(problem.rng.integers(2**31))
    mean = np.average(Y, axis=0, weights=problem.weights)
    centred = Y - mean
    predictable = _regress(X, centred, problem.weights, l2) if conditional else centred
    components = find_components(centred, predictable, problem.weights, n_components)
    coordinates = centred @ components.T
    counts, weights = count_all_samples(problem.weights, len(Y))
    if weights is not None and not has_fit_parameter(base, "sample_weight"):
        counts, weights = draw_counts(seed, weights, problem.n_draws), None
    targets = [coordinates] if get_tags(base).target_tags.multi_output else list(coordinates.T)
    regressors = Parallel(n_jobs=problem.n_jobs)(
        delayed(fit_clone)(base, X, target, counts, seed, weights=weights) for target in targets if target.size
    )
    trained = single(PLSTModel(mean, components, regressors), problem)
    trained.trace = {
        "mean_": mean,
        "components_": components,
        "n_components_": len(components),
        "estimators_": regressors,
    }
    return trained


def find_components(
    centred: Scores, predictable: Scores, weights: Weights | None, n_components: int | float
) -> npt.NDArray[np.float64]:
    """Return the principal directions of the labels, or of what is predictable of them, in rows."""
    weighted = centred if weights is None else centred * weights[:, None]
    variances, directions = np.linalg.eigh(weighted.T @ predictable)
    variances, directions = variances[::-1], directions[:, ::-1]
    n_known = int(np.count_nonzero(variances > 1e-12 * max(variances[0], 1.0)))
    if isinstance(n_components, numbers.Integral):
        return directions.T[: min(int(n_components), n_known)]
    explained = np.cumsum(variances[:n_known])
    n_needed = np.searchsorted(explained, (1.0 - 1e-12) * n_components * explained[-1:]) + 1
    return directions.T[: int(n_needed.sum())]


def _regress(X: Any, targets: Scores, weights: Weights | None, l2: float) -> Scores:
    """Return what a ridge regression finds of the targets in X."""
    table = NumberEncoder("CPLST").fit_transform(X)
    return Ridge(alpha=l2).fit(table, targets, weights).predict(table).reshape(targets.shape)


class PLSTModel(LabelModel):
    """Regressors of the components of labels, and how labels follow from them."""

    def __init__(self, mean: Scores, components: Scores, regressors: list[Any]) -> None:
        self.mean = mean
        self.components = components
        self.regressors = regressors

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the decoded labels, which may be below 0 or above 1."""
        X = X if only is None else take_rows(X, only)
        if not self.regressors:
            return np.tile(self.mean, (X.shape[0], 1))
        found = [np.asarray(one.predict(X)).reshape(X.shape[0], -1) for one in self.regressors]
        return self.mean + np.hstack(found) @ self.components


class PLSTClassifier(MultilabelBase):
    """Regression on the principal components of the labels, from which labels are decoded (PLST, CPLST).

    With m the fractions of samples that have each label, and V the M principal directions of the labels' covariance, ::

        z(x) = V' (y - m)      is learned by regression, and      p(x) = m + V z(x)

    is cut at 0.5. Many labels that occur together need few regressors, and share what is learned.

    With ``conditional``, V are the M first eigenvectors of Z' H Z, with Z the centered labels, X the centered features,
    and H = X (X' X + l2 I)^-1 X' the ridge regression on them: directions in which labels vary and that the features
    can predict (conditional PLST, CPLST).

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : regressor or None, default=None
        Base estimator: any regressor. One for several targets gets all components at once; another one is cloned for
        each. None means scikit-learn's ``Ridge()``, which takes numbers only.
    n_components : int or float, default=0.9
        Number of principal components M, at most as many as there are; or the fraction of the labels' variance that
        they have to explain, in (0, 1].
    conditional : bool, default=False
        Whether the directions depend on the features, as in CPLST. Categorical features become columns of 0 and 1.
    l2 : float, default=1.0
        Regularization of the ridge regression H, which is that of scikit-learn's ``Ridge``; only with ``conditional``.
    decision : float, str or rule, default=0.5
        How scores become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the regressors.
    n_jobs : int or None, default=None
        Regressors trained at the same time. Results do not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_labels)
        The principal directions, that with the largest variance first.
    n_components_ : int
        Their number; 0 if all labels are constant.
    mean_ : array of shape (n_labels,)
        Fraction of samples, by weight, that have each label.
    estimators_ : list of regressors
        One for all components, or one for each.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    BinaryRelevanceClassifier : One model per label.

    Notes
    -----
    Scores are limited to 0 and 1, and are not calibrated; if labels are rare, rules that learn thresholds, such as
    "cardinality", predict more of them than 0.5.

    References
    ----------
    Tai, F. and Lin, H.-T. (2012). Multilabel classification with principal label space transformation. Neural
    Computation 24(9), 2508-2542.

    Chen, Y.-N. and Lin, H.-T. (2012). Feature-aware label space dimension reduction for multi-label classification.
    Advances in Neural Information Processing Systems 25, 1529-1537.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import PLSTClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=6, random_state=0)
    >>> model = PLSTClassifier(n_components=3, decision="cardinality", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict(X[150:152])
    array([[0, 0, 0, 0, 0, 0],
           [0, 0, 1, 0, 0, 0]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_components: int | float = 0.9,
        conditional: bool = False,
        l2: float = 1.0,
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_components = n_components
        self.conditional = conditional
        self.l2 = l2
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _base_estimator(self) -> Any:
        return Ridge() if self.estimator is None else self.estimator

    def _check_parameters(self) -> None:
        check_flag("conditional", self.conditional)
        check_number("l2", self.l2, 0.0)
        if isinstance(self.n_components, numbers.Integral):
            check_whole_number("n_components", self.n_components, 1)
        elif not 0.0 < check_number("n_components", self.n_components, 0.0) <= 1.0:
            raise ValueError(
                f"n_components must be a number of components or a share in (0, 1], not {show(self.n_components)}."
            )

    def _check_base(self) -> None:
        base = self._base_estimator()
        if isinstance(base, type) or not (hasattr(base, "fit") and is_regressor(base)):
            raise TypeError(f"estimator must be a regressor or None, not {show(base)}.")

    def _bind(self, X: Any, n_threads: int) -> Learner:
        return CloneLearner(X, self._base_estimator(), n_threads)

    def _train(self, problem: Problem) -> Trained:
        return train_plst(problem, self.n_components, conditional=self.conditional, l2=self.l2)
