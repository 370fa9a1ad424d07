"""Model files of earlier versions load and predict as they did, or name the version that can load them."""

from pathlib import Path

import numpy as np
import pytest

from fuselearn.io import ModelFileError, load, save

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


@pytest.mark.parametrize(
    ("name", "probabilities", "importances"),
    [
        (
            "pct-forest",
            [0.03174603, 0.47936508],
            [[0.68540377, 0.1101805, 0.20441574], [0.23166484, 0.27995643, 0.48837873]],
        ),
        ("adaboost-mh", [0.12964445, 0.30094532], [[0.98220505, 0.01779495, 0.0], [0.25958923, 0.74041077, 0.0]]),
    ],
)
def test_trees_that_held_the_values_of_all_nodes(name, probabilities, importances, tmp_path):
    model = load(FILES / f"{name}-0.2.0.dev0.fuse")
    save(model, tmp_path / "again.fuse")
    for either in (model, load(tmp_path / "again.fuse")):
        np.testing.assert_allclose(either.predict_proba(np.zeros((1, 3))), [probabilities], atol=1e-8)
        np.testing.assert_allclose(either.feature_importances_, importances, atol=1e-8)
