"""Support vector machines as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_choice, check_class_weight, check_flag, check_number, check_whole_number
from fuselearn.base import ClassifierBase, predict_samples, train_one
from fuselearn.fusion import Problem, Trained
from fuselearn.learners.svm import KERNELS, PROBABILITIES, SCALINGS, SVMLearner


class SVMClassifier(ClassifierBase):
    """Support vector machine (SVM) with probabilities, fast as the base estimator of an ensemble.

    For two classes there is one SVM; for more, one SVM per class against all others (one-vs-rest). The decision value
    of a sample x, with support vectors x_i, is ::

        f(x) = sum_i a_i k(x_i, x) + b,        k(x, z) = exp(-gamma |x - z|^2)   or   gamma x.z,

    and Platt's method turns f into a probability. A single SVMClassifier corresponds to ``sklearn.svm.SVC`` in a
    pipeline with a ``StandardScaler``. As the base estimator of an ensemble, all its models share one scaled table and
    one kernel matrix.

    .. versionadded:: 0.2

    Parameters
    ----------
    C : float, default=1.0
        Penalty of a sample on the wrong side of the margin, multiplied by its weight.
    kernel : {"rbf", "linear"}, default="rbf"
    gamma : float or None, default=None
        Kernel coefficient. None means 1 / n_features.
    probability : {"platt", "logistic", "sign"}, default="platt"
        How probabilities are computed: by Platt's method on cross-validated decision values, as 1 / (1 + exp(-2 f)), or
        as 0 and 1. Only "platt" needs additional fits, one for each of ``cv`` folds.
    cv : int, default=5
        Number of folds of Platt's method. Two folds are faster and suffice for members of an ensemble.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether features are divided by their standard deviation, by their range, or not scaled.
    impute : bool, default=False
        Whether missing values are replaced by the median of their feature, with a binary indicator feature for each
        feature with missing values in training. If False, missing values raise an error.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by C; "balanced" gives all classes the same total weight.
    random_state : int, RandomState or None, default=None
        Seed of the folds of Platt's method.
    n_jobs : int or None, default=None
        Number of SVMs trained in parallel. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    KFHEClassifier : Fuse SVMs with a Kalman filter: ``KFHEClassifier(SVMClassifier())``.
    CARTClassifier : The other base estimator that binds a table once.
    sklearn.svm.SVC : More kernels, for a single model.

    Notes
    -----
    ``predict``, ``predict_proba`` and ``decision_function`` agree: ``decision_function`` returns the logarithms of the
    probabilities, or their difference for two classes. Sample weights multiply C; they are not copies of samples.
    Category columns of a DataFrame are one-hot encoded.

    Up to 16,384 samples, where the kernel matrix takes 1 GiB, the solution is exact for both kernels. With more
    samples, the RBF kernel is approximated by Nystroem features with 500 components, with a warning. The linear kernel
    stays exact: with more than 16,384 samples, or more than 2,000 if X is sparse, it is trained on the features by dual
    coordinate descent, without a kernel matrix. The loss is always the hinge loss, and the intercept is not penalized.

    References
    ----------
    Hsieh, C.-J., Chang, K.-W., Lin, C.-J., Keerthi, S. S. and Sundararajan, S. (2008). A dual coordinate descent method
    for large-scale linear SVM. International Conference on Machine Learning, 408-415.

    Platt, J. (2000). Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from fuselearn import SVMClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> float(round(cross_val_score(SVMClassifier(random_state=0), X, y, cv=5).mean(), 2))
    0.98
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | None = None,
        probability: str = "platt",
        cv: int = 5,
        scaling: str | None = "standard",
        impute: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.probability = probability
        self.cv = cv
        self.scaling = scaling
        self.impute = impute
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.impute)
        return tags

    def _train(self, problem: Problem) -> Trained:
        return train_one(problem, int(problem.rng.integers(2**31)))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Compute the logarithms of the class probabilities; for two classes, the log-odds of the second.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The class with the largest value is predicted; of two classes, the second if the value is above 0.
        """
        check_is_fitted(self)
        (model,) = self._fused_.models
        if len(self.classes_) == 2:
            return predict_samples(self, X, lambda batch: model.machines.logits(batch)[:, 0])
        return predict_samples(self, X, model.log_scores)

    def _bind_table(self, X: Any, n_threads: int) -> SVMLearner:
        """Bind a table to the SVM engine."""
        return SVMLearner(X, self, n_threads)

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0)
        if self.C == 0:
            raise ValueError("C must be above 0, not 0.")
        check_choice("kernel", self.kernel, KERNELS)
        if self.gamma is not None:
            check_number("gamma", self.gamma, 0.0)
        check_choice("probability", self.probability, PROBABILITIES)
        check_whole_number("cv", self.cv, 2)
        check_flag("impute", self.impute)
        if self.scaling is not None:
            check_choice("scaling", self.scaling, SCALINGS)
        check_class_weight(self.class_weight)
