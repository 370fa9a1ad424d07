"""Support vector machines as an ordinary classifier."""

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
    """Support vector machines with probabilities, made to be trained many times on one table.

    Two classes are told apart by one machine, more of them by one machine per class against all others. The machine
    of a sample x with support vectors x_i decides by ::

        f(x) = sum_i a_i k(x_i, x) + b,        k(x, z) = exp(-gamma |x - z|^2)   or   gamma x.z,

    and f becomes a probability by Platt's method. Alone, it does what ``sklearn.svm.SVC`` does in a pipeline with a
    ``StandardScaler``. As the base learner of an ensemble of this library, all its models share one scaled table and
    one matrix of kernel values.

    .. versionadded:: 0.2

    Parameters
    ----------
    C : float, default=1.0
        Cost of a sample on the wrong side of its margin, multiplied by its weight.
    kernel : {"rbf", "linear"}, default="rbf"
    gamma : float or None, default=None
        Factor of the kernel. None means one over the number of features.
    probability : {"platt", "logistic", "sign"}, default="platt"
        Probabilities by Platt's method on cross-validated decision values, as 1 / (1 + exp(-2 f)), or 0 and 1. Only
        the first one takes further fits, one for each of ``cv`` folds.
    cv : int, default=5
        Number of folds of Platt's method. Two take about half the time, and are enough for the members of an ensemble.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether features are divided by their standard deviation, by their range, or not at all.
    impute : bool, default=False
        Whether missing values are replaced by the median of their feature, and features that have some in training get
        another feature, of 0 and 1, that says where. Otherwise missing values raise an error.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which C is multiplied; "balanced" gives all classes the same total weight.
    random_state : int, RandomState or None, default=None
        Seed of the folds of Platt's method.
    n_jobs : int or None, default=None
        Machines trained at the same time. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if fitted on a DataFrame whose column names are text.

    See Also
    --------
    KFHEClassifier : Fuse such classifiers with a Kalman filter: ``KFHEClassifier(SVMClassifier())``.
    CARTClassifier : The other base learner that binds a table once.
    sklearn.svm.SVC : With more kernels, for a single model.

    Notes
    -----
    ``predict``, ``predict_proba`` and ``decision_function`` agree: the last one returns the logarithms of
    probabilities, or their difference if there are two classes. Weights of samples are never read as copies of them.
    Category columns of a DataFrame become one feature of 0 and 1 per category.

    Up to 16,384 samples, where the matrix of kernel values takes 1 GiB, machines are exact for both kernels. With more
    samples, the radial kernel is approximated by Nystroem features, made of its values to 500 samples, and a warning
    says so. Machines of a linear kernel stay exact: with more than 16,384 samples, or more than 2,000 if X is sparse,
    they are trained on the features by dual coordinate descent, without kernel values. The loss is the hinge loss and
    the intercept is not penalised in every case.

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
        """Compute the logarithms of the class probabilities, or the log-odds of the second of two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The class that is predicted has the largest one; the second of two classes is predicted above 0.
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
