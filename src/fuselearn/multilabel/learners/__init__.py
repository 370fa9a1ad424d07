"""Learners: a table bound to a way of learning two-class models, of which a multi-label classifier needs many.

The flow is ``bind_learner`` (once per fit), ``train`` (once per block of labels that share their rows), ``prepare``
(once per table of new rows) and ``probabilities`` (once per block). For chains, ``extend`` gives a learner on the
same table with labels appended as features; for label sets, ``train_classes`` gives one model over several classes.
"""

from __future__ import annotations

from typing import Any

from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.multilabel.learners.estimator import EstimatorBlock, EstimatorLearner
from fuselearn.multilabel.learners.protocols import Block, Learner
from fuselearn.multilabel.learners.svm import SVMLearner, SVMLearnerBlock, check_svm_parameters
from fuselearn.multilabel.learners.tree import TreeBlock, TreeLearner

__all__ = [
    "Block",
    "EstimatorBlock",
    "EstimatorLearner",
    "Learner",
    "SVMLearner",
    "SVMLearnerBlock",
    "TreeBlock",
    "TreeLearner",
    "bind_learner",
    "check_svm_parameters",
]


def bind_learner(estimator: Any, X: Any, *, n_threads: int = 1, scaling: str | None = "standard") -> Learner:
    """Bind a table to a way of learning two-class models.

    Parameters
    ----------
    estimator : classifier, "tree" or None
        None means the SVM engine, "tree" the CART engine with the settings of ``CARTClassifier()``; so does a
        ``CARTClassifier``, with its own settings. Any other scikit-learn classifier is cloned for each label.
    X : array, sparse matrix or frame of shape (n_rows, n_columns)
        Checked for its shape already.
    n_threads : int, default=1
        Threads (processes for scikit-learn classifiers) that train and predict labels side by side.
    scaling : {"standard", "minmax"} or None, default="standard"
        How the SVM engine scales columns.

    Returns
    -------
    Learner

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.arange(40.0)[:, None], np.repeat([[0, 1], [1, 1]], 20, axis=0)
    >>> block = bind_learner("tree", X).train(Y, np.ones(40, dtype=np.int32), seed=0)
    >>> block.probabilities(np.array([[5.0], [35.0]]))
    array([[0., 1.],
           [1., 1.]])
    """
    if estimator is None:
        return SVMLearner(X, scaling, n_threads)
    if isinstance(estimator, str) and estimator == "tree":
        estimator = CARTClassifier()
    if isinstance(estimator, CARTClassifier):
        return TreeLearner(X, estimator, n_threads)
    return EstimatorLearner(X, estimator, n_threads)
