"""What all combiners promise to scikit-learn."""

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from fuselearn.combine import (
    AveragingRegressor,
    EnsembleSelection,
    FixedRuleClassifier,
    FusedClassifier,
    LinearStackingClassifier,
    LinearStackingRegressor,
)

BOTH_ENDS = "leaves may be sure: the check refuses probabilities of exactly 0 and 1"


FOLDS = "samples and their copies are dealt to folds, those of weight 2 are not"


def expected_failures(estimator):
    if isinstance(estimator, FusedClassifier):
        return {f"check_sample_weight_equivalence_on_{kind}_data": FOLDS for kind in ("dense", "sparse")}
    if any(isinstance(one[1], DecisionTreeClassifier) for one in estimator.estimators):
        return {"check_classifiers_multilabel_output_format_predict_proba": BOTH_ENDS}
    return {}


def classifiers():
    return [("bayes", GaussianNB()), ("line", LogisticRegression(solver="newton-cholesky"))]


def trees():
    return [
        ("deep", DecisionTreeClassifier(random_state=0)),
        ("flat", DecisionTreeClassifier(max_depth=3, random_state=0)),
    ]


def regressors():
    return [("line", Ridge()), ("tree", DecisionTreeRegressor(max_depth=4, random_state=0))]


@parametrize_with_checks(
    [
        FixedRuleClassifier(classifiers()),
        FixedRuleClassifier(classifiers(), "borda"),
        FixedRuleClassifier(classifiers(), "and"),
        FixedRuleClassifier(classifiers(), "k_of_n", k=1),
        FixedRuleClassifier(classifiers(), "product", weights=[1, 2]),
        FixedRuleClassifier(trees(), "median"),
        AveragingRegressor(regressors(), "median"),
        AveragingRegressor(regressors(), weights="performance"),
        LinearStackingClassifier(classifiers(), shrinkage=0.1),
        LinearStackingClassifier(trees(), loss="squared_error", constraint=None, shrinkage=0.1),
        LinearStackingRegressor(regressors(), shrinkage="auto"),
        LinearStackingRegressor(regressors(), constraint="non-negative"),
        EnsembleSelection(classifiers(), n_rounds=5),
        EnsembleSelection(trees(), n_rounds=5, scoring="accuracy", n_bags=2),
        EnsembleSelection(regressors(), n_rounds=5),
        FusedClassifier(n_estimators=2, random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
