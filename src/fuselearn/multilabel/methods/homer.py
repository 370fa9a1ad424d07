"""HOMER: a hierarchy of multi-label classifiers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_choice, check_flag, check_whole_number
from fuselearn.learners import Learner, count_all_samples
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Weights
from fuselearn.multilabel.learning.fusion import LabelSum
from fuselearn.multilabel.learning.hierarchy import describe_hierarchy, draw_hierarchy
from fuselearn.multilabel.learning.homer_model import HOMERSettings, train_homer
from fuselearn.multilabel.learning.label_clustering import CLUSTERINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class HOMERClassifier(MultilabelClassifier):
    """A tree of label groups with a two-class model for each group.

    The root holds all labels. Each node divides its labels into ``n_clusters`` groups, so that labels which occur
    together are together, and down to single labels. A sample has a group, a *meta-label*, if it has any of its labels;
    a node learns its meta-labels from the samples that have at least one of them, ::

        meta-label of sample i:  m_i = max over labels j in the group of y_ij.

    The probability of a label is the product of the probabilities of the groups around it, each given the one above, ::

        P(label j | x) = P(any label | x) * product over the groups G around j of P(G | x, the group above G).

    ``predict`` decides at each node anew: a sample that probably has any label goes down from the root to the groups
    that are more probable than not, at each node at least to the most probable one, and gets the labels where it ends
    up if they are more probable than not, given that it has come so far. That is HOMER's own rule, ``decision="path"``.
    It chooses more labels than a threshold of 0.5 on ``predict_proba`` does, which is ``decision=0.5``, and usually has
    the larger macro F1.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    clustering : {"balanced", "kmeans", "random"}, default="balanced"
        How labels are divided: by k-means into clusters of at most the same size, by k-means from one random start, or
        by chance. Points are the columns of Y.
    n_clusters : int, default=3
        Groups at each node; a node with no more labels than that is divided into single labels.
    any_label : bool, default=True
        Whether a model tells samples that have any label from those without. Otherwise samples without labels are not
        used, as in utiml, and probabilities are those of samples that have labels.
    decision : float, str or rule, default="path"
        How samples get labels: "path" means those to which they go down the hierarchy; or probabilities become labels
        by a threshold or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings and of the base learners.
    n_jobs : int or None, default=None
        Nodes trained at the same time. Results do not depend on it.

    Attributes
    ----------
    n_models_ : int
        Two-class models that were trained, those for calibration not counted.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    EnsembleHOMERClassifier : Equal votes of HOMERs of random shape.
    KFHEHOMERClassifier : A Kalman filter fuses HOMERs of random shape.

    Notes
    -----
    Details follow the R package utiml, with two corrections. There a meta-label that every training sample of a node
    has gets probability 0; here it gets 1. There k-means fails if fewer label columns than clusters differ; here there
    are fewer groups then, and labels that cannot be told apart at all are dealt to groups at random. A group that no
    training sample has is divided into single labels at once. Samples without any label are used by the root only if
    the others leave nothing to learn, as with a single label. What utiml takes for the probability of a label is that
    of the smallest group around it that a sample has reached, whatever those above were. With ``any_label=False`` it
    decides as here, but its probabilities add up to far more labels than samples have.

    References
    ----------
    Tsoumakas, G., Katakis, I. and Vlahavas, I. (2008). Effective and efficient multilabel classification in domains
    with large number of labels. ECML/PKDD Workshop on Mining Multidimensional Data.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import HOMERClassifier
    >>> X, Y = make_digit_pairs(n_samples=400, random_state=0)
    >>> model = HOMERClassifier(random_state=0).fit(X[:300], Y[:300])
    >>> round(f1_score(Y[300:], model.predict(X[300:]), average="macro"), 1)
    0.8
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        clustering: str = "balanced",
        n_clusters: int = 3,
        any_label: bool = True,
        decision: Any = "path",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.clustering = clustering
        self.n_clusters = n_clusters
        self.any_label = any_label
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    _own_decision = "path"

    def _check_parameters(self) -> None:
        check_flag("any_label", self.any_label)
        check_choice("clustering", self.clustering, tuple(CLUSTERINGS))
        check_whole_number("n_clusters", self.n_clusters, 2)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        if self.n_clusters > self.n_labels_:
            warnings.warn(
                f"n_clusters={self.n_clusters} is more than the {self.n_labels_} label(s); every label becomes a group "
                "of its own, as in binary relevance.",
                stacklevel=4,
            )
        learner, n_threads = bind_for_nodes(self, X)
        counts, weights = count_all_samples(weights, len(Y), copies=learner.counts_copies)
        settings = HOMERSettings(self.clustering, self.n_clusters, self.any_label, {})
        seed = int(rng.integers(2**62))
        model = train_homer(learner, Y, counts, seed, settings, weights=weights, n_threads=n_threads)
        self.n_models_ = model.n_models
        self._adopt(LabelSum.of_one(model, learner))

    def export_text(self) -> str:
        """Write the hierarchy of labels as text, a line per group.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from fuselearn.multilabel import HOMERClassifier
        >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
        >>> Y = pd.DataFrame({"sea": [1, 1, 0, 0], "field": [0, 0, 1, 1], "beach": [1, 1, 0, 0]})
        >>> model = HOMERClassifier("tree", n_clusters=2, random_state=0).fit(X, Y)
        >>> print(model.export_text())
        3 labels
        ├── 2 labels
        │   ├── sea
        │   └── beach
        └── field
        """
        return describe_hierarchy(self._hierarchy(), self.labels_)

    def plot(self) -> Figure:
        """Draw the hierarchy of labels from its root to the names of the labels.

        Returns
        -------
        matplotlib.figure.Figure
            Show it in a notebook, or write it with ``savefig``.
        """
        return draw_hierarchy(self._hierarchy(), self.labels_)

    def _hierarchy(self) -> Any:
        check_is_fitted(self)
        return self._fused_.members[0].hierarchy


def bind_for_nodes(estimator: MultilabelClassifier, X: Any) -> tuple[Learner, int]:
    """Bind a table for HOMERs, whose nodes are then trained side by side; return the number of threads for that, too.

    Classifiers of scikit-learn hold the interpreter's lock: of those, the labels of a node are trained side by side, in
    processes.
    """
    learner = estimator._bind(X)
    n_threads = learner.n_threads
    if learner.prefer == "processes":
        return learner, 1
    learner.n_threads = 1
    return learner, n_threads
