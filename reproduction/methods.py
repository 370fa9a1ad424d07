"""The methods of the experiments, under the papers' names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier

from fuselearn import (
    BaggedClassifier,
    CARTClassifier,
    FusedClassifier,
    KFHEClassifier,
    SAMMEClassifier,
    SVMClassifier,
    multilabel,
)
from fuselearn.lab import Variant
from reproduction import baselines
from reproduction.baselines import one_hot

__all__ = ["KFHE", "LABELS", "ROBUST", "Method", "make_methods"]


class Method(NamedTuple):
    """A function that makes an unfitted estimator, or a variant of another method, and what it is, in a few words."""

    make: Callable[[], Any]
    description: str


def make_methods(names: Iterable[str], methods: Mapping[str, Method]) -> dict[str, Any]:
    """Return the estimators and variants of some methods, and the estimators that variants are made from.

    Raises
    ------
    ValueError
        If a name is unknown, or the package of a baseline is not installed.
    """
    made = {}
    for name in names:
        if name not in methods:
            raise ValueError(f"--methods must be among {', '.join(methods)}; got {name!r}.")
        try:
            made[name] = methods[name].make()
        except ModuleNotFoundError as error:
            raise ValueError(
                f"{name} needs the package {error.name}: pip install -r reproduction/requirements.txt, or choose "
                "others with --methods."
            ) from error
    leads = {one.of for one in made.values() if isinstance(one, Variant)} - set(made)
    return {**made, **(make_methods(leads, methods) if leads else {})}


def _rpart_tree(**parameters: Any) -> CARTClassifier:
    """Return a tree that splits as the trees of the paper, R's rpart."""
    return CARTClassifier(category_rule="rpart", **parameters)


def _kfhe(weighting: str = "exponential", *, variant: str = "program", **tree: Any) -> KFHEClassifier:
    """Return KFHE with the papers' rule for resets."""
    return KFHEClassifier(_rpart_tree(**tree), weighting=weighting, reset="training", variant=variant)


UNPRUNED: dict[str, Any] = {"complexity": None}

KFHE: Mapping[str, Method] = {
    "KFHE": Method(lambda: _kfhe(**UNPRUNED), "100 unpruned trees fused by a Kalman filter"),
    "KFHE (pruned)": Method(lambda: _kfhe(complexity=0.01), "100 pruned trees fused by a Kalman filter"),
    "KFHE (2018)": Method(
        lambda: _kfhe("symmetric", min_samples_split=2, min_samples_leaf=1, **UNPRUNED),
        "KFHE as its authors' program of 2018 has it: trees that split down to single samples",
    ),
    "KFHE-l": Method(lambda: _kfhe("linear", **UNPRUNED), "KFHE whose weights grow by addition"),
    "KFHE (printed)": Method(lambda: _kfhe(variant="paper", **UNPRUNED), "the algorithm as the paper prints it"),
    "KFHE pruned (printed)": Method(
        lambda: _kfhe(variant="paper", complexity=0.01), "the algorithm as the paper prints it, with pruned trees"
    ),
    "KFHE-l (printed)": Method(
        lambda: _kfhe("linear", variant="paper", **UNPRUNED), "the linear variant as the papers print it"
    ),
    "AdaBoost": Method(lambda: SAMMEClassifier(_rpart_tree()), "SAMME boosting of 100 pruned trees"),
    "Bagging": Method(lambda: BaggedClassifier(_rpart_tree()), "the vote of 100 pruned trees on bootstrap samples"),
    "CART": Method(_rpart_tree, "one pruned tree"),
}
"""The methods of the KFHE paper and other settings of KFHE."""

ROBUST: Mapping[str, Method] = {
    "Fused": Method(
        FusedClassifier,
        "ten classifiers, weighed by held-out errors, and fitted again with less weight on doubtful labels",
    ),
    "KFHE": Method(KFHEClassifier, "100 unpruned trees fused by a Kalman filter, with the out-of-bag reset"),
    "KFHE (pruned)": Method(
        lambda: KFHEClassifier(CARTClassifier()),
        "100 pruned trees fused by a Kalman filter, with the out-of-bag reset",
    ),
    "KFHE (trees in turn)": Method(
        lambda: KFHEClassifier(
            [CARTClassifier(complexity=None), CARTClassifier(), CARTClassifier(complexity=None, max_features="sqrt")]
        ),
        "100 unpruned, pruned and random-feature trees in turn, fused by a Kalman filter, with the out-of-bag reset",
    ),
    "KFHE (program)": Method(
        lambda: KFHEClassifier(reset="training"), "100 unpruned trees fused as in the authors' program"
    ),
    "Bagging": Method(BaggedClassifier, "the vote of 100 pruned trees on bootstrap samples"),
    "CART": Method(CARTClassifier, "one pruned tree"),
    "RandomForest": Method(lambda: one_hot(RandomForestClassifier()), "scikit-learn's random forest with its defaults"),
    "RandomForest (leaf 3)": Method(
        lambda: one_hot(RandomForestClassifier(min_samples_leaf=3)),
        "scikit-learn's random forest, at least three samples in a leaf",
    ),
    "ExtraTrees": Method(lambda: one_hot(ExtraTreesClassifier()), "scikit-learn's extremely randomized trees"),
    "ExtraTrees (leaf 3)": Method(
        lambda: one_hot(ExtraTreesClassifier(min_samples_leaf=3)),
        "scikit-learn's extremely randomized trees, at least three samples in a leaf",
    ),
    "HistGradientBoosting": Method(
        lambda: HistGradientBoostingClassifier(categorical_features="from_dtype"),
        "scikit-learn's gradient boosting on histograms",
    ),
    "LightGBM": Method(baselines.lightgbm, "LightGBM with its defaults"),
    "LogisticRegression": Method(
        baselines.logistic_regression, "scikit-learn's logistic regression on scaled features"
    ),
    "HistGradientBoosting (stopped)": Method(
        baselines.stopped_hist_gradient_boosting, "scikit-learn's gradient boosting, stopped on a validation part"
    ),
    "LightGBM (stopped)": Method(baselines.stopped_lightgbm, "LightGBM, stopped on a validation part"),
    "XGBoost (stopped)": Method(baselines.stopped_xgboost, "XGBoost, stopped on a validation part"),
    "CatBoost (stopped)": Method(baselines.catboost, "CatBoost, stopped on a validation part"),
    "CleanLearning (RandomForest)": Method(
        baselines.clean_forest, "cleanlab's CleanLearning over scikit-learn's random forest"
    ),
    "CleanLearning (LightGBM)": Method(baselines.clean_lightgbm, "cleanlab's CleanLearning over LightGBM"),
    "Greedy selection": Method(
        baselines.GreedySelectionClassifier, "25 steps of greedy selection from the members of the fused classifier"
    ),
    "TabPFN": Method(baselines.tabpfn, "TabPFN v2, whose weights must be downloaded by hand"),
}
"""The fused classifier and its baselines."""


def _decide(decision: Any, fitted: Any, X: Any, Y: Any) -> Any:
    return fitted.with_decision(decision, X, Y)


def _optimize(measure: str, fitted: Any, X: Any, Y: Any) -> Any:
    return fitted.with_optimize(measure, X, Y)


def _by_majority(fitted: Any, _X: Any, _Y: Any) -> Any:
    return fitted.with_vote("class")


def _authors_homers(scaling: str | None) -> Any:
    """Return KFHE-HOMER with the constants of its authors' program."""
    return multilabel.KFHEHOMERClassifier(
        SVMClassifier(C=1e8, scaling=scaling),
        n_estimators=20,
        varied=[{"kernel": ["rbf"], "gamma": [1e-6]}, {"kernel": ["linear"], "gamma": [1.0]}],
        **AS_PUBLISHED,
    )


def _paper_chains() -> Any:
    return multilabel.EnsembleOfChainsClassifier(
        SVMClassifier(probability="logistic"),
        n_estimators=100,
        max_samples=2.0,
        max_features=0.5,
        vote="class",
        decision="cardinality",
    )


def _filtered_chains() -> Any:
    """Return ML-KFHE over chains; its paper's settings of SVMs are not at hand, so they are those of ECC."""
    return multilabel.KFHEMultilabelClassifier(
        multilabel.ChainClassifier(SVMClassifier(probability="logistic"), order="random")
    )


def _forests(name: str, model: Callable[[], Any], description: str) -> dict[str, Method]:
    """Return a forest with three decision rules, of which all share the fit of the last one."""
    lead = f"{name} (label thresholds)"
    return {
        name: Method(partial(Variant, lead, partial(_decide, 0.5)), f"{description}, decided at 0.5"),
        f"{name} (cardinality)": Method(
            partial(Variant, lead, partial(_decide, "cardinality")),
            f"{description}, decided so that samples have as many labels as in training",
        ),
        lead: Method(
            lambda: multilabel.ThresholdedClassifier(one_hot(model()), BEST_F1_THRESHOLDS, cv="oob"),
            f"{description}, decided by thresholds from out-of-bag scores",
        ),
    }


# HOMER as in the R package utiml, which the paper used.
AS_PUBLISHED: Mapping[str, Any] = {"any_label": False, "decision": "path"}
# Thresholds with the best F1, whatever the number of samples that have the label.
BEST_F1_THRESHOLDS = multilabel.decisions.PerLabelThresholds(0, towards="half", min_positives=1)

UNPRUNED_TREE = CARTClassifier(**UNPRUNED)

LABELS: Mapping[str, Method] = {
    "Fused (labels)": Method(
        multilabel.FusedMultilabelClassifier,
        "HOMERs and forests, fused label by label by their errors on out-of-bag samples",
    ),
    **{
        f"Fused ({name})": Method(
            partial(Variant, "Fused (labels)", partial(_optimize, optimize)), f"the same, decided for {what}"
        )
        for name, optimize, what in (
            ("micro F1", "micro_f1", "micro F1"),
            ("example F1", "example_f1", "the mean F1 of the samples"),
            ("Hamming loss", "hamming", "Hamming loss"),
            ("subset accuracy", "subset", "subset accuracy"),
            ("ranking", "ranking", "the order of labels"),
        )
    },
    "KFHE-HOMER": Method(
        partial(multilabel.KFHEHOMERClassifier, **AS_PUBLISHED), "100 HOMERs fused by a Kalman filter"
    ),
    "KFHE-HOMER (printed)": Method(
        partial(multilabel.KFHEHOMERClassifier, variant="paper", **AS_PUBLISHED), "the algorithm as the paper prints it"
    ),
    "KFHE-HOMER (authors)": Method(
        partial(_authors_homers, None),
        "20 HOMERs with the constants of its authors' program: cost 1e8, radial gamma 1e-6, unscaled features",
    ),
    "KFHE-HOMER (authors, scaled)": Method(partial(_authors_homers, "standard"), "the same with standardized features"),
    "E-HOMER": Method(
        partial(Variant, "E-HOMER (mean)", _by_majority),
        "the majority vote of 100 HOMERs on samples of twice the size",
    ),
    "E-HOMER (mean)": Method(
        partial(multilabel.EnsembleHOMERClassifier, **AS_PUBLISHED), "the mean of 100 HOMERs' scores"
    ),
    "ECC": Method(
        _paper_chains, "the vote of 100 classifier chains on samples of twice the size and half the features"
    ),
    "ML-KFHE-CC": Method(_filtered_chains, "101 chains of SVMs in random orders, fused by a Kalman filter"),
    "ECC (trees)": Method(
        partial(multilabel.EnsembleOfChainsClassifier, UNPRUNED_TREE, 10),
        "10 chains of unpruned trees on bootstrap samples",
    ),
    "EBR (trees)": Method(
        partial(multilabel.EnsembleOfBinaryRelevanceClassifier, UNPRUNED_TREE, 10),
        "10 times one unpruned tree per label, on bootstrap samples",
    ),
    "CC": Method(multilabel.ChainClassifier, "one chain of SVMs in the order of the labels"),
    "HOMER-B": Method(partial(multilabel.HOMERClassifier, **AS_PUBLISHED), "one HOMER with balanced clusters"),
    "HOMER-K": Method(
        partial(multilabel.HOMERClassifier, clustering="kmeans", **AS_PUBLISHED), "one HOMER with clusters by k-means"
    ),
    "RF-PCT": Method(
        partial(multilabel.PCTForestClassifier, category_rule="rpart"), "100 trees that split for all labels at once"
    ),
    "RF-PCT (cardinality)": Method(
        partial(Variant, "RF-PCT", partial(_decide, "cardinality")),
        "the same trees, decided so that samples have as many labels as in training",
    ),
    "RF-PCT (label thresholds)": Method(
        partial(Variant, "RF-PCT", partial(_decide, "per_label")),
        "the same trees, decided by thresholds from out-of-bag scores",
    ),
    "AdaBoost.MH": Method(multilabel.AdaBoostMHClassifier, "100 boosted stumps"),
    "MLkNN": Method(multilabel.MLkNNClassifier, "ML-kNN with 10 neighbors"),
    **_forests("RF", RandomForestClassifier, "scikit-learn's random forest of all labels"),
    **_forests(
        "BR-RF",
        lambda: MultiOutputClassifier(RandomForestClassifier()),
        "scikit-learn's random forest per label",
    ),
}
"""The methods of the KFHE-HOMER paper, and what a practitioner would use."""
