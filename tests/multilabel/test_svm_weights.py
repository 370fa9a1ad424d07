"""Sample weights of every classifier over support vector machines: whole numbers are weights like any others."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from fuselearn.multilabel import (
    BinaryRelevanceClassifier,
    CalibratedLabelRankingClassifier,
    ChainClassifier,
    EnsembleHOMERClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    EnsembleOfPrunedSetsClassifier,
    HOMERClassifier,
    KFHEHOMERClassifier,
    LabelPowersetClassifier,
    PrunedSetsClassifier,
    RAkELClassifier,
    StackedBinaryRelevanceClassifier,
)

X, Y = make_multilabel_classification(200, 20, n_classes=4, random_state=0)
NEW = make_multilabel_classification(400, 20, n_classes=4, random_state=0)[0][200:]
WEIGHTS = np.where(Y[:, 0] == 1, 20, 1)

classifiers = pytest.mark.parametrize(
    "model",
    [
        BinaryRelevanceClassifier(),
        CalibratedLabelRankingClassifier(),
        ChainClassifier(),
        ChainClassifier(inference="beam"),
        LabelPowersetClassifier(),
        PrunedSetsClassifier(),
        RAkELClassifier(),
        StackedBinaryRelevanceClassifier(),
        HOMERClassifier(),
        EnsembleOfBinaryRelevanceClassifier(n_estimators=3),
        EnsembleOfChainsClassifier(n_estimators=3),
        EnsembleOfPrunedSetsClassifier(n_estimators=3),
        EnsembleHOMERClassifier(n_estimators=3),
        KFHEHOMERClassifier(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)


def chances(model, weights=None):
    return model.set_params(random_state=0).fit(X, Y, sample_weight=weights).predict_proba(NEW)


@classifiers
def test_whole_numbers_are_weights_like_any_others_and_raise_the_probability_of_labels(model):
    np.testing.assert_allclose(chances(model, WEIGHTS), chances(model, WEIGHTS + 1e-9), atol=2e-3)
    assert chances(model, WEIGHTS)[:, 0].mean() > chances(model)[:, 0].mean() + 0.1
