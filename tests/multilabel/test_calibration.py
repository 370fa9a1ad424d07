"""Probabilities of labels are probabilities: they agree with how often labels occur, and certain labels are certain.

Of 300 samples with 4 labels, calibrated probabilities have an expected calibration error of about 0.03 by chance alone:
a bin of n probabilities p is off by about 0.8 sqrt(n p (1 - p)), ten bins share 1,200 of them, and sqrt(p (1 - p)) is
0.4. Models may have twice as much.
"""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier

from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import (
    AdaBoostMHClassifier,
    BinaryRelevanceClassifier,
    BRkNNClassifier,
    ChainClassifier,
    EnsembleHOMERClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    EnsembleOfPrunedSetsClassifier,
    HOMERClassifier,
    KFHEHOMERClassifier,
    KFHEMultilabelClassifier,
    LabelPowersetClassifier,
    MLkNNClassifier,
    PCTForestClassifier,
    PrunedSetsClassifier,
    RAkELClassifier,
    StackedBinaryRelevanceClassifier,
    ThresholdedClassifier,
)

X, Y = make_multilabel_classification(600, 20, n_classes=4, random_state=0)
HOMERS = [HOMERClassifier(), EnsembleHOMERClassifier(n_estimators=5), KFHEHOMERClassifier(n_estimators=5)]
MACHINES = [
    BinaryRelevanceClassifier(),
    ChainClassifier(),
    ChainClassifier(inference="beam"),
    LabelPowersetClassifier(),
    PrunedSetsClassifier(),
    RAkELClassifier(vote="probability"),
    StackedBinaryRelevanceClassifier(),
    EnsembleOfBinaryRelevanceClassifier(n_estimators=5, vote="probability"),
    EnsembleOfChainsClassifier(n_estimators=5, vote="probability"),
    EnsembleOfPrunedSetsClassifier(n_estimators=5, vote="probability"),
    *HOMERS,
]
OTHERS = [
    AdaBoostMHClassifier(n_estimators=5),
    BRkNNClassifier(5),
    MLkNNClassifier(5),
    KFHEMultilabelClassifier(n_estimators=5),
    PCTForestClassifier(n_estimators=5),
    ThresholdedClassifier(RandomForestClassifier(5)),
]


def name(model):
    return type(model).__name__


def calibration_error(truth, probabilities, n_bins=10):
    """Sum up how far the labels of each bin are from its probabilities, as a share of all."""
    bins = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    return abs(np.bincount(bins.ravel(), (truth - probabilities).ravel())).sum() / truth.size


@pytest.mark.parametrize("model", MACHINES, ids=name)
def test_probabilities_agree_with_frequencies(model):
    model.set_params(random_state=0).fit(X[:300], Y[:300])
    probabilities = model.predict_proba(X[300:])
    assert calibration_error(Y[300:], probabilities) < 0.06
    assert probabilities.sum() == pytest.approx(Y[300:].sum(), rel=0.1)


@pytest.mark.parametrize("model", HOMERS, ids=name)
def test_samples_get_as_many_labels_as_they_have(model):
    pictures, digits = make_digit_pairs(400, random_state=0)
    model.set_params(random_state=0).fit(pictures[:200], digits[:200])
    assert model.predict_proba(pictures[200:]).sum() == pytest.approx(digits[200:].to_numpy().sum(), rel=0.1)


@pytest.mark.parametrize("model", MACHINES + OTHERS, ids=name)
def test_labels_that_no_sample_or_every_sample_has_are_certain(model):
    labels = np.column_stack([Y, np.zeros(600), np.ones(600)])[:80].astype(int)
    weights = np.where(np.arange(80) < 60, 1.5, 0.0)
    labels[60:, 4:] = 1 - labels[60:, 4:]
    model.fit(X[:80], labels, sample_weight=weights)
    expected = np.tile([0.0, 1.0], (80, 1))
    np.testing.assert_array_equal(model.predict_proba(1.5 * X[:80])[:, 4:], expected)
    np.testing.assert_array_equal(model.predict(1.5 * X[:80])[:, 4:], expected)
