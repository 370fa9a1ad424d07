"""Every public estimator of the library can be saved and comes back as it was."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from tests.contract.registry import REGISTRY

from fuselearn import CARTClassifier
from fuselearn.io import load, read_header, save
from fuselearn.multilabel import (
    BinaryRelevanceClassifier,
    HOMERClassifier,
    KFHEHOMERClassifier,
    LabelPowersetClassifier,
)

ROWS, LABELS = make_multilabel_classification(60, 6, n_classes=5, random_state=0)


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


LEARNERS = {
    "machines": None,
    "trees": "tree",
    "trees with settings": CARTClassifier(max_depth=2, max_features=0.5),
    "scikit-learn's": LogisticRegression(),
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    "kind", [BinaryRelevanceClassifier, HOMERClassifier, KFHEHOMERClassifier, LabelPowersetClassifier]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_multilabel_models_over_any_learner(kind, learner, tmp_path):
    model = REGISTRY[kind.__name__].make(estimator=LEARNERS[learner]).fit(ROWS, LABELS)
    expected = model.predict_proba(ROWS)
    save(model, tmp_path / "model.fuse")
    np.testing.assert_array_equal(load(tmp_path / "model.fuse").predict_proba(ROWS), expected)


def test_labels_and_columns_of_frames_are_in_the_header(tmp_path):
    frame = pd.DataFrame(ROWS, columns=list("abcdef")).assign(town=["Ulm", "Bonn", "Jena"] * 20)
    names = [f"label {k}" for k in range(5)]
    model = BinaryRelevanceClassifier("tree").fit(frame, pd.DataFrame(LABELS, columns=names))
    save(model, tmp_path / "model.fuse")
    header = read_header(tmp_path / "model.fuse")
    assert header["labels"] == names
    assert header["columns"][0] == {"name": "a", "type": "number"}
    assert header["columns"][6] == {"name": "town", "type": "category", "categories": 3}


def test_ensembles_of_hierarchies_stay_small(tmp_path):
    """Hundreds of small machines share the description of one table."""
    model = KFHEHOMERClassifier(n_estimators=20, random_state=0).fit(ROWS, LABELS)
    save(model, tmp_path / "model.fuse")
    assert (tmp_path / "model.fuse").stat().st_size < 100_000
