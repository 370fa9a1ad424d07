"""Fingerprints of what the public estimators predict, to compare one version of the library with another.

- ``python tests/fingerprints.py write NEW.json.gz`` records all cases with the version that is imported.
- ``python tests/fingerprints.py compare OLD.json.gz [NEW.json.gz]`` compares two files, or that version with a file.
- ``python tests/fingerprints.py quick tests/fingerprints.json`` writes the short file of ``test_fingerprints.py``.

A case is an expression on a table: its text is both its name and the way to make the estimator, so that a name that a
version lacks is an error like any other. Three quarters of the rows are learned, and all rows are predicted. Ensembles
that do not say how large they are have 10 members, and every estimator has the seed 0.
"""

import argparse
import gzip
import hashlib
import inspect
import json
import platform
import re
import sys
import time
import warnings
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import datasets
from threadpoolctl import threadpool_limits

PACKAGES = ("ensembles", "multilabel", "multilabel.decisions", "combine", "scale", "diagnosis")
OTHERS = {
    "sklearn.cluster": ("DBSCAN", "KMeans"),
    "sklearn.ensemble": ("RandomForestClassifier",),
    "sklearn.linear_model": ("LogisticRegression",),
    "sklearn.naive_bayes": ("GaussianNB",),
    "sklearn.tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
}
LISTS = {  # of members, by the names that expressions have for them
    "MEMBERS": "[('kfhe', KFHEClassifier(n_estimators=5, reset='training', random_state=0)), ('bayes', GaussianNB()),"
    " ('svm', SVMClassifier(kernel='linear', random_state=0)), ('forest', ForestClassifier(9, random_state=0))]",
    "REGRESSORS": "[('stump', CARTRegressor(max_depth=1)), ('tree', CARTRegressor(max_depth=4)),"
    " ('bag', BaggedRegressor(CARTRegressor(max_depth=3), n_estimators=3, random_state=0))]",
    "LABELERS": "[('pct', PCTForestClassifier(9, random_state=0)), ('neighbors', MLkNNClassifier()),"
    " ('chain', ChainClassifier('tree', random_state=0))]",
}
METHODS = ("predict", "predict_proba", "decision_function", "apply")
SUMMARIES = ("get_n_leaves", "get_depth", "export_text")
ATTRIBUTES = (
    "estimator_weights_", "sample_weights_", "feature_importances_", "measurement_errors_", "estimator_errors_",
    "code_book_", "oob_decision_function_", "oob_score_", "held_out_proba_", "noise_rate_", "label_probability_",
    "is_suspect_", "intercepts_", "likelihoods_", "n_iter_", "members_", "stability_", "lifetimes_",
)  # fmt: skip
VERDICTS = ("equal to the bit", "equal to 1e-12", "equal to 1e-9", "predictions equal", "same error", "DIFFERENT")
LEAST = 1e-17  # the difference of what is not equal, but among the values that are kept


class Table(NamedTuple):
    """A table to learn, and what to learn from it."""

    X: Any
    y: Any
    sample_weight: Any = None


def _draw(n_rows: int, n_columns: int, seed: int = 0) -> Any:
    """Draw numbers by the generator of NumPy whose numbers never change."""
    return np.random.RandomState(seed).uniform(size=(n_rows, n_columns)).round(7)


def _numbers(table: Any, rows: int | None = None, digits: int = 6) -> Table:
    """Round the numbers, so that they do not depend on how a platform adds."""
    X, y = (table.data, table.target) if hasattr(table, "data") else table
    return Table(np.asarray(X, dtype=float)[:rows].round(digits), y[:rows])


def _classes(n_rows: int, n_columns: int, n_classes: int, digits: int = 6, seed: int = 0) -> Table:
    given = {"n_informative": min(n_columns, 12), "n_redundant": 0, "n_classes": n_classes, "flip_y": 0.1}
    return _numbers(datasets.make_classification(n_rows, n_columns, random_state=seed, **given), digits=digits)


def _labels(n_rows: int, n_columns: int, n_classes: int, n_labels: int = 2) -> Table:
    make = datasets.make_multilabel_classification
    return Table(*make(n_rows, n_columns, n_classes=n_classes, n_labels=n_labels, random_state=0))


def _few(y: Any) -> Table:
    return Table(np.array([[0, 3], [1, 1], [2, 8], [2, 2], [4, 9], [5, 0], [6, 6], [7, 5.0]]), y)


def _with_gaps(table: Table) -> Table:
    return table._replace(X=np.where(_draw(*table.X.shape, 1) < 0.1, np.nan, table.X))


def _with_weights(table: Table, smallest: float, step: float) -> Table:
    return table._replace(sample_weight=smallest + np.arange(table.X.shape[0]) % 7 * step)


def _with_noise(table: Table) -> Table:
    return table._replace(y=np.where(np.arange(len(table.y)) % 6 == 0, (table.y + 1) % (table.y.max() + 1), table.y))


def _with_rare(table: Table) -> Table:
    """Add labels that all samples have, that none has, and that one in 50 has."""
    rows = np.arange(len(table.y))[:, None]
    return table._replace(y=np.hstack([table.y, rows >= 0, rows < 0, rows % 50 == 7]).astype(int))


def _as_text(table: Any) -> Table:
    return Table(table.data, table.target_names[table.target])


def _categories(n_rows: int, target: str) -> Table:
    """Make a DataFrame of text, of a pandas categorical, and of numbers, both with missing values."""
    numbers = _draw(n_rows, 6)
    color, town, street = (numbers[:, :3] * (3, 14, 40)).astype(int).T
    X = pd.DataFrame({"color": np.array(["red", "green", "blue"])[color], "street": [f"street {s}" for s in street]})
    X["town"] = pd.Categorical([None if t == 13 else f"town {t}" for t in town])
    X["size"], X["age"] = np.where(numbers[:, 3] < 0.1, np.nan, numbers[:, 3]), (numbers[:, 4] * 90).astype(int)
    value = color / 2 + town * 5 % 7 / 3 + street * 3 % 5 / 9 + numbers[:, 3] + numbers[:, 5]
    if target == "labels":
        return Table(X, np.column_stack([color == 1, town * 5 % 7 > 3, value > 2.5, numbers[:, 4] > 0.8]).astype(int))
    classes = {"number": value, "two": value > 2.5, "three": np.digitize(value, (2, 3))}
    return Table(X, classes[target])


def _ties() -> Table:
    numbers = _draw(400, 8)
    X = (numbers * (2, 3, 4, 4, 5, 1, 10, 2)).astype(int)
    return Table(X, (X[:, 0] + X[:, 1] * X[:, 2] + (numbers[:, 7] > 0.8)) % 3)


def _extreme() -> Table:
    """Have numbers near the largest and the smallest ones, and numbers that differ in their last bits only."""
    X, y, _ = _classes(300, 5, 3, digits=2)
    return Table(np.column_stack([X[:, 0] * 1e307, X[:, 1] * 1e-321, X[:, 2], 1 + X[:, 3] * 1e-15, X[:, 4] * -1e20]), y)


def _huge() -> Table:
    """Have more than 65,535 rows, and values of a column, to learn from."""
    X = _draw(88_000, 4) * (1, 1, 20, 5)
    X[:, 1:] = X[:, 1:].round(1)
    return Table(X, ((X[:, 0] * 3 + X[:, 1] * 2 + X[:, 2] / 10 + _draw(88_000, 1, 1)[:, 0]) % 3).astype(int))


def _sparse(table: Table) -> Table:
    return table._replace(X=sparse.csr_array(np.where(_draw(*table.X.shape, 1) < 0.9, 0.0, table.X)))


TABLES = {
    "iris": lambda: _as_text(datasets.load_iris()),
    "categories": lambda: _categories(600, "three"),
    "missing": lambda: _with_gaps(_numbers(datasets.load_wine())),
    "wine": lambda: _numbers(datasets.load_wine()),
    "cancer": lambda: _numbers(datasets.load_breast_cancer()),
    "weighted": lambda: _with_weights(_numbers(datasets.load_breast_cancer()), 0.25, 1 / 3),
    "digits": lambda: _numbers(datasets.load_digits(), 600),
    "fifteen": lambda: _classes(900, 14, 15),
    "two": lambda: _categories(400, "two"),
    "ties": _ties,
    "noisy": lambda: _with_noise(_numbers(datasets.load_wine())),
    "tiny": lambda: _few(np.arange(8) % 2),
    "wide": lambda: Table(_classes(160, 200, 3).X.astype(np.float32), _classes(160, 200, 3).y),
    "sparse": lambda: _sparse(_classes(400, 120, 3)),
    "bits": lambda: Table(_draw(300, 10) < 0.4, (_draw(300, 10) < 0.4)[:, :4].sum(axis=1) % 3),
    "column": lambda: Table(_draw(500, 1), (_draw(500, 1)[:, 0] * 9 + _draw(500, 1, 1)[:, 0]).astype(int) % 2),
    "extreme": _extreme,
    "middle": lambda: _classes(3600, 8, 3),
    "words": lambda: _sparse(_classes(3200, 60, 3)),
    "large": lambda: _classes(6000, 10, 3),
    "coarse": lambda: _classes(6000, 10, 4, digits=1),
    "heavy": lambda: _with_weights(_with_gaps(_classes(6000, 10, 2)), 0, 1),
    "shops": lambda: _categories(6000, "three"),
    "huge": _huge,
    "diabetes": lambda: _numbers(datasets.load_diabetes()),
    "prices": lambda: _categories(500, "number"),
    "gaps": lambda: _with_gaps(_numbers(datasets.load_diabetes())),
    "friedman": lambda: _numbers(datasets.make_friedman1(6000, random_state=0)),
    "grams": lambda: _with_weights(_numbers(datasets.load_diabetes()), 0, 0.3),
    "few": lambda: _few(np.arange(8) % 3 / 2),
    "labels": lambda: _labels(240, 12, 6),
    "tags": lambda: _categories(400, "labels"),
    "rare": lambda: _with_rare(_labels(200, 10, 5)),
    "holes": lambda: _with_gaps(_labels(240, 12, 5)),
    "many": lambda: _labels(200, 20, 24, n_labels=4),
    "scarce": lambda: _sparse(_labels(240, 80, 5)),
    "loads": lambda: _with_weights(_labels(240, 12, 5), 0, 0.3),
    "pair": lambda: _labels(8, 4, 3),
    "crowd": lambda: _labels(5600, 8, 4),
    "fine": lambda: _labels(5600, 8, 4)._replace(X=_labels(5600, 8, 4).X + _draw(5600, 8)),
}

TREES = "iris categories missing wine cancer weighted digits fifteen two ties noisy tiny wide sparse bits column "
TREES += "extreme middle words large coarse heavy shops"
NUMERIC = "iris wine cancer weighted digits fifteen ties noisy tiny wide sparse bits column extreme middle words"
VALUES = "diabetes prices gaps grams few friedman"
LABELS = "labels rare tags many scarce loads holes pair"
COUNTED = "labels rare many loads pair"

CASES = [
    (f"{TREES} huge", """
        CARTClassifier()
        CARTClassifier(complexity=None, min_samples_split=2, min_samples_leaf=1, max_depth=None)
        CARTClassifier(complexity=None, max_features='sqrt')
        CARTClassifier(complexity=None, splitter='random')
        KFHEClassifier(reset='training')
        KFHEClassifier()
        ForestClassifier()
        DiskEnsemble(KFHEClassifier(n_estimators=3, sampling='poisson', reset='training', random_state=0))
        LogitBoostClassifier(n_estimators=50, max_depth=1, learning_rate=0.5)
        LogitBoostClassifier(n_estimators=3)
    """),
    (TREES, """
        CARTClassifier(category_rule='rpart')
        CARTClassifier(max_bins=16, max_features=0.3, complexity=0)
        CARTClassifier(max_depth=3, class_weight='balanced', min_samples_leaf=2)
        CARTClassifier(max_features='log2', splitter='random', min_samples_split=4, max_bins=40)
        KFHEClassifier(weighting='linear')
        KFHEClassifier(CARTClassifier())
        KFHEClassifier(weighting='symmetric', vote='probability', oob_score=True)
        KFHEClassifier(CARTClassifier(complexity=None, max_features='sqrt'), sampling='poisson', reset=None)
        KFHEClassifier(n_estimators=100, class_weight='balanced')
        SAMMEClassifier()
        SAMMEClassifier(n_estimators=100)
        SAMMEClassifier(CARTClassifier(max_depth=1, complexity=None), sampling='poisson', class_weight='balanced')
        BaggedClassifier()
        BaggedClassifier(vote='probability', max_features=0.5, oob_score=True)
        BaggedClassifier(max_samples=0.5, bootstrap=False)
        BaggedClassifier(CARTClassifier(complexity=None, category_rule='rpart'), sampling='poisson')
        ForestClassifier(n_estimators=100, oob_score=True)
        ForestClassifier(splitter='random')
        ForestClassifier(min_samples_leaf=3, sampling='poisson', max_features=None)
        RotationForestClassifier()
        MadaBoostClassifier()
        BrownBoostClassifier()
        LogitBoostClassifier(min_samples_leaf=4, max_bins=30)
        ErrorCorrectingCodeClassifier()
        DiskEnsemble(KFHEClassifier(weighting='linear', n_estimators=10, sampling='poisson', random_state=0))
        DiskEnsemble(BaggedClassifier(n_estimators=10, sampling='poisson', random_state=0))
        DiskEnsemble(ForestClassifier(n_estimators=10, sampling='poisson', random_state=0))
        DiskEnsemble(SAMMEClassifier(n_estimators=10, sampling='poisson', random_state=0))
    """),
    (NUMERIC, """
        SVMClassifier()
        SVMClassifier(kernel='linear')
        SVMClassifier(probability='logistic', C=10, gamma=0.05, scaling='minmax')
        SVMClassifier(kernel='linear', probability='sign', class_weight='balanced', scaling=None)
        KFHEClassifier(SVMClassifier(kernel='linear'), n_estimators=3)
        KFHEClassifier(SVMClassifier(probability='logistic'), n_estimators=3, weighting='linear')
        KFHEClassifier(GaussianNB(), vote='probability')
        BaggedClassifier(SVMClassifier(probability='logistic'), n_estimators=4, max_features=0.5)
        SAMMEClassifier(SVMClassifier(kernel='linear', probability='sign'), n_estimators=4)
        SAMMEClassifier(DecisionTreeClassifier(max_depth=2))
        RotationForestClassifier(features_per_subset=5, class_weight='balanced')
        MadaBoostClassifier(DecisionTreeClassifier(max_depth=2))
        BrownBoostClassifier(CARTClassifier(max_depth=2, complexity=None), target_error=0.2)
        ErrorCorrectingCodeClassifier(LogisticRegression(), decoding='hamming')
        ErrorCorrectingCodeClassifier(SVMClassifier(), decoding='loss')
    """),
    ("digits fifteen", """
        ErrorCorrectingCodeClassifier(code='random', decoding='loss', n_bits=9)
        ErrorCorrectingCodeClassifier(GaussianNB(), code='hamming', decoding='hamming', n_bits=7)
    """),
    ("wine categories missing noisy weighted tiny digits", """
        FusedClassifier(n_estimators=5)
        CleanedClassifier()
        CleanedClassifier(CARTClassifier())
        CleanedClassifier(KFHEClassifier(), action='reweight', auditor=ForestClassifier(9))
        audit_labels(X, y, ForestClassifier(9), random_state=0).probabilities
        audit_labels(X, y, random_state=0).probabilities
    """),
    ("wine cancer weighted noisy digits", """
        FixedRuleClassifier(MEMBERS)
        FixedRuleClassifier(MEMBERS, 'mean', weights='performance')
        FixedRuleClassifier(MEMBERS, 'median')
        FixedRuleClassifier(MEMBERS, 'product', weights=[1, 2, 3, 4])
        FixedRuleClassifier(MEMBERS, 'borda', weights=[1, 2, 3, 4])
        FixedRuleClassifier(MEMBERS, 'min')
        FixedRuleClassifier(MEMBERS, 'max')
        FusedClassifier(MEMBERS, tolerance=0.05)
        PredictionSetClassifier(GaussianNB())
        EnsembleSelection(MEMBERS)
        EnsembleSelection(MEMBERS, scoring='accuracy', n_bags=3, n_rounds=10, n_initial=2)
        LinearStackingClassifier(MEMBERS)
        LinearStackingClassifier(MEMBERS, loss='squared_error', constraint=None, shrinkage='auto')
    """),
    ("weighted cancer", """
        FixedRuleClassifier(MEMBERS, 'k_of_n', k=2)
        FixedRuleClassifier(MEMBERS, 'and')
        FixedRuleClassifier(MEMBERS, 'or', positive_class=0)
    """),
    ("wine wide ties cancer sparse", """
        ConsensusClustering()
        ConsensusClustering(KMeans(9, n_init=1), method='single', n_clusters=4, n_estimators=20)
        ConsensusClustering([('a', KMeans(5, n_init=1)), ('b', DBSCAN(0.5))], max_samples=0.5)
        ConsensusClustering(n_clusters=3, method='spectral')
    """),
    ("large huge", """
        KFHEClassifier(n_estimators=3, n_jobs=2)
        ForestClassifier(n_estimators=3, n_jobs=2)
        SVMClassifier(probability='logistic', C=0.01)
        SVMClassifier(kernel='linear', probability='logistic', C=0.01)
    """),
    ("large coarse", """
        SVMClassifier()
        KFHEClassifier(SVMClassifier(probability='logistic'), n_estimators=2)
    """),
    (VALUES, """
        CARTRegressor(max_depth=4, min_samples_leaf=5, max_bins=None)
        CARTRegressor()
        CARTRegressor(max_bins=16, n_jobs=2)
        BaggedRegressor(CARTRegressor(min_samples_leaf=3), n_estimators=5)
        BaggedRegressor(max_features=0.5, max_samples=0.7, bootstrap=False)
    """),
    ("diabetes friedman grams few", """
        AveragingRegressor(REGRESSORS)
        AveragingRegressor(REGRESSORS, 'median', weights='performance')
        AveragingRegressor(REGRESSORS, 'trimmed', trim=0.3)
        LinearStackingRegressor(REGRESSORS)
        LinearStackingRegressor(REGRESSORS, constraint='non-negative', shrinkage='auto')
        EnsembleSelection(REGRESSORS)
    """),
    (f"labels tags {LABELS} crowd fine", """
        PCTForestClassifier()
        PCTForestClassifier(splitter='random', max_features=0.5, min_samples_leaf=2, bootstrap=False)
        PCTForestClassifier(max_samples=2.0, max_features=None, category_rule='rpart', decision='per_label')
        KFHEMultilabelClassifier()
        KFHEMultilabelClassifier(weighting='linear', decision='micro_f1')
        KFHEMultilabelClassifier(n_estimators=100, decision='expected_f1')
        AdaBoostMHClassifier()
        AdaBoostMHClassifier(n_estimators=100, learning_rate=0.5, decision='cardinality')
        GradientBoostingMultilabelClassifier()
        GradientBoostingMultilabelClassifier(n_iter_no_change=2, learning_rate=0.3, subsample=1.0, decision=0.5)
        GradientBoostingMultilabelClassifier(n_estimators=100, max_depth=3, max_features=None, max_bins=255, l2=0.1)
        BinaryRelevanceClassifier('tree')
        BinaryRelevanceClassifier(SVMClassifier(kernel='linear', probability='logistic'))
        ChainClassifier('tree', order='random')
        EnsembleHOMERClassifier('tree')
    """),
    (f"{LABELS} crowd fine", """
        MLkNNClassifier()
        BRkNNClassifier(weights='distance', metric='manhattan', decision='set_size')
    """),
    (LABELS, """
        BinaryRelevanceClassifier()
        ChainClassifier()
        HOMERClassifier()
        HOMERClassifier('tree', clustering='random', decision='expected_f1')
        KFHEHOMERClassifier('tree', weighting='linear', any_label=False, decision='cardinality')
        KFHEHOMERClassifier(n_estimators=6)
        EnsembleHOMERClassifier(n_estimators=6)
        EnsembleOfChainsClassifier('tree')
        EnsembleOfChainsClassifier(n_estimators=3, max_features=0.5, max_samples=2.0, vote='class')
        EnsembleOfBinaryRelevanceClassifier('tree')
        EnsembleOfPrunedSetsClassifier('tree')
        CalibratedLabelRankingClassifier('tree')
        ChainClassifier('tree', inference='beam', decision='set')
        StackedBinaryRelevanceClassifier('tree')
        RAkELClassifier('tree')
        RAkELClassifier(vote='probability', labelset_size=2)
        LabelPowersetClassifier('tree', decision=0.3)
        LabelPowersetClassifier()
        PrunedSetsClassifier('tree', min_count=3, n_subsets=1)
        PrunedSetsClassifier()
        ThresholdedClassifier(PCTForestClassifier(9), 'at_least_one', cv='oob')
        FusedMultilabelClassifier(LABELERS)
        FusedMultilabelClassifier(n_estimators=2)
        audit_labels(X, y, PCTForestClassifier(9, random_state=0), random_state=0).probabilities
    """),
    (COUNTED, """
        BinaryRelevanceClassifier(SVMClassifier(kernel='linear'), decision='macro_f1')
        ChainClassifier(SVMClassifier(kernel='linear', probability='logistic'), decision='per_label')
        HOMERClassifier(clustering='kmeans', n_clusters=2, any_label=False)
        KFHEHOMERClassifier(SVMClassifier(), n_estimators=3, varied={'C': [0.1, 1]}, weighting='symmetric')
        EnsembleHOMERClassifier('tree', vote='class', clusterings=['kmeans'], max_samples=1.0, decision='known_sets')
        EnsembleOfBinaryRelevanceClassifier(n_estimators=3)
        EnsembleOfPrunedSetsClassifier(n_estimators=2, vote='probability', decision='cardinality')
        RAkELClassifier('tree', overlapping=False)
        CalibratedLabelRankingClassifier(SVMClassifier(probability='logistic'), vote='probability')
        ChainClassifier(inference='monte_carlo', n_paths=20, decision='expected_f1')
        StackedBinaryRelevanceClassifier(final_estimator=CARTClassifier(), cv=3)
        ThresholdedClassifier(RandomForestClassifier(9, random_state=0))
        MLkNNClassifier(n_neighbors=4, smoothing=0.5, metric='cosine', scaling='minmax', decision='per_label')
        KFHEMultilabelClassifier(ChainClassifier('tree'), n_estimators=3)
        FusedMultilabelClassifier(LABELERS, optimize='micro_f1')
        FusedMultilabelClassifier(LABELERS, optimize='hamming')
        FusedMultilabelClassifier(LABELERS, optimize='subset')
        FusedMultilabelClassifier(LABELERS, optimize='ranking')
        FusedMultilabelClassifier(LABELERS, decision='at_least_one')
        audit_labels(X, y, random_state=0).probabilities
        ExpectedF1().fit(scores, y)(scores)
        ExpectedF1(empty=0.0).fit(scores, y)(scores)
        KnownSets().fit(scores, y)(scores)
        CardinalityThreshold('auto').fit(scores, y)(scores)
        MicroF1Threshold().fit(scores, y)(scores)
        MacroF1Thresholds(noise_rate='auto').fit(scores, y)(scores)
        PerLabelThresholds(0, towards='half', min_positives=1).fit(scores, y)(scores)
        IterativeStratifiedKFold(3, random_state=0)
        IterativeStratifiedKFold(4, shuffle=False)
        IterativeStratifiedKFold(2, n_repeats=2, random_state=0)
    """),
    ("iris", """
        combine_scores(np.random.RandomState(0).dirichlet(np.ones(4), (5, 90)), 'median')
        combine_scores(np.random.RandomState(0).dirichlet(np.ones(4), (5, 90)), 'borda', weights=[3, 1, 2, 5, 4])
        combine_scores(np.random.RandomState(0).dirichlet(np.ones(50), (7, 90)), 'product')
        make_code(7, 15, kind='hamming', n_restarts=20, random_state=0)
        make_code(15, 12, kind='hamming', n_restarts=20, random_state=0)
        make_code(9, 10, kind='random', random_state=0)
        make_code(6, kind='exhaustive')
    """),
]  # fmt: skip


def list_cases() -> list[tuple[str, str]]:
    """List all cases as pairs of an expression and a table."""
    pairs = [(line, name) for names, lines in CASES for line in lines.strip().splitlines() for name in names.split()]
    return list(dict.fromkeys((line.strip(), name) for line, name in pairs))


def list_quick_cases() -> list[tuple[str, str]]:
    """List the first expression of each estimator with its first two tables."""
    first: dict[str, list[tuple[str, str]]] = {}
    for expression, table in list_cases():
        chosen = first.setdefault(_kind(expression), [])
        if len(chosen) < 2 and expression == (chosen or [(expression, table)])[0][0]:
            chosen.append((expression, table))
    return [case for chosen in first.values() for case in chosen]


def _kind(expression: str) -> str:
    return re.match(r"\w+", expression)[0]


@cache
def load_table(name: str) -> Table:
    """Make a table, once."""
    return TABLES[name]()


@cache
def _names() -> dict[str, Any]:
    """Collect what expressions may use: the public names, a few of scikit-learn's, and lists of members."""
    found: dict[str, Any] = {"np": np}
    for package in PACKAGES:
        with suppress(ImportError):  # a version may lack the package
            module = import_module(f"fuselearn.{package}")
            found |= {name: getattr(module, name) for name in module.__all__}
    for module_name, names in OTHERS.items():
        found |= {name: getattr(import_module(module_name), name) for name in names}
    return found


def take_fingerprint(expression: str, table: str) -> dict[str, Any]:
    """Evaluate an expression, fit the estimator that it gives to a table, and summarize what it predicts.

    Parameters
    ----------
    expression : str
        Gives an estimator, folds or an array. It may use the training part ``X`` and ``y`` of the table, and
        ``scores``, which are made from labels.
    table : str
        A key of `TABLES`.

    Returns
    -------
    dict
        A summary of each result by its name, or the type of the ``error`` and its ``message``.
    """
    X, y, weights = load_table(table)
    train = np.flatnonzero(np.arange(X.shape[0]) % 4)
    X_train, y_train = (X.iloc[train] if hasattr(X, "iloc") else X[train]), y[train]
    given = {"X": X_train, "y": y_train}
    if np.ndim(y) == 2:
        given["scores"] = (0.3 * y_train + 0.7 * _draw(*y_train.shape, 5)).round(4)
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            named = dict(given)
            for name, text in LISTS.items():
                named[name] = eval(text, {**_names(), **named})
            made = eval(expression, {**_names(), **named})
            if hasattr(made, "split"):
                made = np.concatenate([test for _, test in made.split(X_train, y_train)])
            if not hasattr(made, "fit"):
                return {"result": _summarize(made)}
            weighted = {} if weights is None else {"sample_weight": weights[train]}
            return _summarize_model(_settle(made).fit(X_train, y_train, **weighted), X)
    except Exception as error:
        return {"error": type(error).__name__, "message": " ".join(str(error).split())[:200]}


def _settle(model: Any) -> Any:
    """Set the seed, and the size of an ensemble where an expression leaves it at its default."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}
    chosen = {"n_estimators": 10, "random_state": 0}
    given = model.get_params(deep=False)
    return model.set_params(**{k: v for k, v in chosen.items() if k in given and given[k] == defaults[k]})


def _summarize_model(model: Any, X: Any) -> dict[str, Any]:
    """Summarize the predictions for some samples, and what the model has learned."""
    results = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    results = results or {"predict": model.labels_}  # of a clusterer
    results |= {name: getattr(model, name)() for name in SUMMARIES if hasattr(model, name)}
    results |= {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    return {name: _summarize(result) for name, result in results.items()}


def _summarize(result: Any) -> dict[str, Any]:
    """Return the hash of an array, the first 40 values and up to 300 others; of real numbers, also two sums.

    The second sum has another weight for each number: probabilities have the same plain sum whatever they are.
    """
    array = result.toarray() if sparse.issparse(result) else np.asarray(result)
    flat, summary = array.ravel(), {"shape": list(array.shape)}
    if array.dtype.kind == "f":
        flat = np.where(np.isnan(flat), np.nan, flat.astype(float))  # all NaN have the same bits
        finite = np.where(np.isfinite(flat), flat, 0)
        with np.errstate(over="ignore"):
            summary |= {"sums": [float(finite.sum()), float((finite * (np.arange(flat.size) * 0.618 % 1)).sum())]}
    raw = flat.tobytes() if "sums" in summary else "\0".join(map(str, flat.tolist())).encode()
    places = np.unique(np.r_[: min(40, flat.size), np.linspace(0, flat.size - 1, min(300, flat.size)).astype(int)])
    return summary | {"sha256": hashlib.sha256(raw).hexdigest(), "kept": flat[places].tolist()}


def take_all(only: str = "") -> dict[str, Any]:
    """Take the fingerprints of all cases with ``only`` in their names, and print how far that is."""
    versions = {name: import_module(name).__version__ for name in ("fuselearn", "sklearn", "numpy", "scipy", "pandas")}
    print(import_module("fuselearn").__file__, versions, flush=True)
    cases, started = {}, time.perf_counter()
    for expression, table in list_cases():
        name = f"{expression} on {table}"
        if only in name:
            before = time.perf_counter()
            cases[name] = take_fingerprint(expression, table)
            cases[name]["seconds"] = round(time.perf_counter() - before, 3)
            print(f"{time.perf_counter() - started:6.1f} s  {name}", file=sys.stderr, flush=True)
    versions |= {"python": platform.python_version(), "machine": platform.machine()}
    tables = {name: _summarize(load_table(name).X)["sha256"] for name in TABLES}
    return {"versions": versions, "tables": tables, "cases": cases}


def judge(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, str]:
    """Compare two fingerprints of a case; return a verdict of `VERDICTS` and the details."""
    if "error" in old or "error" in new:
        errors = [f"{found['error']}: {found['message']}" if "error" in found else "a result" for found in (old, new)]
        same = old.get("error") == new.get("error")
        return ("same error", errors[1]) if same else ("DIFFERENT", f"{errors[0]} before, {errors[1]} now")
    names = sorted((set(old) | set(new)) - {"seconds"})
    gaps = {name: _gap(old.get(name), new.get(name)) for name in names}
    if not any(gaps.values()):
        return "equal to the bit", ""
    numbers = {name: gaps[name] for name in names if "sums" in old.get(name, ())}
    largest = max(numbers, key=numbers.get, default="")
    others = [f"{name} by {max(gaps[name], 0.001):.1%}" for name in names if name not in numbers and gaps[name]]
    detail = ", ".join(([f"max diff {numbers[largest]:.1e} in {largest}"] if largest else []) + others)
    if any(gaps.get(name, 0) for name in ("predict", "result") if name not in numbers) or np.inf in gaps.values():
        return "DIFFERENT", detail
    for limit in (1e-12, 1e-9):
        if not others and numbers[largest] <= limit:
            return f"equal to {limit:.0e}".replace("e-0", "e-"), detail
    is_class = {"predict", "result"} & set(names) - set(numbers)
    return "predictions equal" if is_class else "DIFFERENT", detail


def _gap(old: Any, new: Any) -> float:
    """Return the largest difference of the kept numbers, relative to the largest one if that is above 1.

    The others count with their sums, from which the mean difference follows. For what is not a number, return the share
    of the kept values that differ. 0 means that all values are equal, kept or not.
    """
    if old is None or new is None or old["shape"] != new["shape"]:
        return np.inf
    if old["sha256"] == new["sha256"]:
        return 0.0
    a, b = np.array(old["kept"]), np.array(new["kept"])
    if "sums" not in old or "sums" not in new:
        return max(float((a != b).mean()), LEAST)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return np.inf
    a, b = np.where(np.isfinite(a), (a, b), 0)
    differences = np.r_[a - b, np.subtract(old["sums"], new["sums"]) / np.prod(old["shape"])]
    return max(float(np.abs(differences).max() / np.abs(a).max(initial=1)), LEAST)


def compare(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Print a line per case and a table of the verdicts by estimator; return whether nothing is different."""
    counts: dict[str, Counter[str]] = {}
    for name in [name for name in old["cases"] if name in new["cases"]]:
        verdict, detail = judge(old["cases"][name], new["cases"][name])
        counts.setdefault(_kind(name), Counter())[verdict] += 1
        print(f"{verdict:18} {name}{f': {detail}' if detail else ''}")
    counts = dict(sorted(counts.items())) | {"all": sum(counts.values(), Counter())}
    changed = [name for name in old["tables"] if old["tables"][name] != new["tables"].get(name)]
    print("", old["versions"], new["versions"], f"Tables that are not the same: {changed}", "", sep="\n")
    print(f"{'':38}", *(f"{verdict:>17}" for verdict in VERDICTS))
    for kind, found in counts.items():
        print(f"{kind:38}", *(f"{found[verdict] or '':>17}" for verdict in VERDICTS))
    missing = set(old["cases"]) ^ set(new["cases"])
    print(f"{len(missing)} cases are in one of the two only", *sorted(missing)[:20], sep="\n  " if missing else "")
    return not counts["all"]["DIFFERENT"]


def shorten(found: dict[str, Any]) -> dict[str, Any]:
    """Keep of a fingerprint what other platforms give too: a hash of predictions, and up to 12 numbers."""
    if "error" in found:
        return {"error": found["error"]}
    answers = [found[name] for name in ("predict_proba", "decision_function", "predict", "result") if name in found]
    numbers = next((answer["kept"] for answer in answers if "sums" in answer), [])
    exact = next((answer for answer in answers if "sums" not in answer), None)
    return {
        "predictions": exact["sha256"][:16] if exact else None,
        "values": [numbers[i] for i in np.linspace(0, len(numbers) - 1, min(12, len(numbers))).astype(int)],
    }


def write_quick(path: Path) -> None:
    """Write the short fingerprints of the quick cases, one per line."""
    lines = []
    for expression, table in list_quick_cases():
        short = shorten(take_fingerprint(expression, table))
        short |= {"values": [round(value, 6) for value in short["values"]]} if "values" in short else {}
        lines.append(json.dumps({"expression": expression, "table": table, **short}))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def _read(path: Path, only: str) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        recorded = json.load(file)
    return recorded | {"cases": {name: case for name, case in recorded["cases"].items() if only in name}}


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("write", "compare", "quick"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="the cases whose names have this text")
    given = parser.parse_args()
    if given.command == "quick":
        write_quick(given.files[0])
    elif given.command == "write":
        with gzip.open(given.files[0], "wt", encoding="utf-8") as file:
            json.dump(take_all(given.only), file)
    else:
        old, *others = (_read(path, given.only) for path in given.files)
        sys.exit(not compare(old, others[0] if others else take_all(given.only)))


if __name__ == "__main__":
    main()
