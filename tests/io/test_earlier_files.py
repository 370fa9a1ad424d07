"""Model files of earlier versions load and predict as they did, or name the version that can load them."""

from pathlib import Path

import numpy as np
import pytest

from fuselearn.io import ModelFileError, load

FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize(
    ("name", "probabilities"),
    [("kfhe", [0.0, 0.34320509, 0.65679491]), ("kfhe-bayes", [0.01203672, 0.63995115, 0.34801213])],
)
def test_classes(name, probabilities):
    model = load(FILES / f"{name}-0.1.0.fuse")
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 6))), [probabilities], atol=1e-8)
    assert model.predict(np.zeros((1, 6))).tolist() == [["a", "b", "c"][np.argmax(probabilities)]]
    assert len(model.estimators_) == len(model.coefficients_)


def test_labels():
    with pytest.raises(ModelFileError, match=r"does not have\. Load it with fuselearn 0\.1\.0, which wrote it"):
        load(FILES / "relevance-0.1.0.fuse")
