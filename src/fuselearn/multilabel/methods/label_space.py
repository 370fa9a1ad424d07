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

from fuselearn._messages import show
from fuselearn._parameters import check_flag, check_number, check_whole_number
from fuselearn.learners import count_all_samples, draw_counts
from fuselearn.learners.estimator import train_clone
from fuselearn.learners.numbers import NumberEncoder
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Scores, Weights


class PLSTClassifier(MultilabelClassifier):
    """Regression on the principal components of the labels, from which labels are decoded (PLST, CPLST).

    With m the shares of samples that have each label, and V the M principal directions of the labels' covariance, ::

        z(x) = V' (y - m)      is learned by regression, and      p(x) = m + V z(x)

    is cut at 0.5. Many labels that occur together need few regressors, and share what is learned.

    With ``conditional``, V are the M first eigenvectors of Z' H Z, with Z the centred labels, X the centred features,
    and H = X (X' X + l2 I)^-1 X' the ridge regression on them: directions in which labels vary and that the features
    can predict (conditional PLST, CPLST).

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : regressor or None, default=None
        Base learner: any regressor. One for several targets gets all components at once; another one is cloned for
        each. None means scikit-learn's ``Ridge()``, which takes numbers only.
    n_components : int or float, default=0.9
        Number of principal components M, at most as many as there are; or the share of the labels' variance that they
        have to explain, in (0, 1].
    conditional : bool, default=False
        Whether the directions depend on the features, as in CPLST. Categorical features become columns of 0 and 1.
    l2 : float, default=1.0
        Regularisation of the ridge regression H, which is that of scikit-learn's ``Ridge``; only with ``conditional``.
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
        Share of samples, by weight, that have each label.
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
        base = self._base_estimator()
        if isinstance(base, type) or not (hasattr(base, "fit") and is_regressor(base)):
            raise TypeError(f"estimator must be a regressor or None, not {show(base)}.")
        check_flag("conditional", self.conditional)
        check_number("l2", self.l2, 0.0)
        if isinstance(self.n_components, numbers.Integral):
            check_whole_number("n_components", self.n_components, 1)
        elif not 0.0 < check_number("n_components", self.n_components, 0.0) <= 1.0:
            raise ValueError(
                f"n_components must be a number of components or a share in (0, 1], not {show(self.n_components)}."
            )

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        seed = int(rng.integers(2**31))
        self.mean_ = np.average(Y, axis=0, weights=weights)
        self.components_ = self._find_components(X, Y - self.mean_, weights)
        self.n_components_ = len(self.components_)
        coordinates = (Y - self.mean_) @ self.components_.T
        base = self._base_estimator()
        counts, weights = count_all_samples(weights, len(Y))
        if weights is not None and not has_fit_parameter(base, "sample_weight"):
            counts, weights = draw_counts(seed, weights, len(Y)), None
        targets = [coordinates] if get_tags(base).target_tags.multi_output else list(coordinates.T)
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(train_clone)(base, X, target, counts, seed, weights=weights) for target in targets if target.size
        )

    def _find_components(self, X: Any, centred: Scores, weights: Weights | None) -> npt.NDArray[np.float64]:
        """Return the principal directions, in rows."""
        weighted = centred if weights is None else centred * weights[:, None]
        found = _regress(X, centred, weights, self.l2) if self.conditional else centred
        variances, directions = np.linalg.eigh(weighted.T @ found)
        variances, directions = variances[::-1], directions[:, ::-1]
        n_known = int(np.count_nonzero(variances > 1e-12 * max(variances[0], 1.0)))
        if isinstance(self.n_components, numbers.Integral):
            return directions.T[: min(int(self.n_components), n_known)]
        explained = np.cumsum(variances[:n_known])
        n_needed = np.searchsorted(explained, (1.0 - 1e-12) * self.n_components * explained[-1:]) + 1
        return directions.T[: int(n_needed.sum())]

    def _label_scores(self, X: Any) -> Scores:
        if not self.estimators_:
            return np.tile(self.mean_, (X.shape[0], 1))
        answers = [np.asarray(one.predict(X)).reshape(X.shape[0], -1) for one in self.estimators_]
        return self.mean_ + np.hstack(answers) @ self.components_


def _regress(X: Any, targets: Scores, weights: Weights | None, l2: float) -> Scores:
    """Return what a ridge regression finds of the targets in X."""
    table = NumberEncoder("CPLST").fit_transform(X)
    return Ridge(alpha=l2).fit(table, targets, weights).predict(table).reshape(targets.shape)
