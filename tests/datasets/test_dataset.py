import subprocess
import sys

import pandas as pd
import pytest

from fuselearn.datasets import Dataset


@pytest.fixture
def small():
    X = pd.DataFrame({"a": [1, 2, 3]})
    return Dataset(X, pd.Series(["u", "v", "u"]), "small", "A table.", "a test")


def test_unpacks_into_features_and_target(small):
    X, y = small
    assert X is small.X
    assert y is small.y


def test_counts_classes_and_labels(small):
    labels = Dataset(small.X, pd.DataFrame({"p": [0, 1, 1], "q": [0, 0, 0]}), "m", "", "a test")
    assert (small.task, small.n_classes) == ("multiclass", 2)
    assert (labels.task, labels.n_classes) == ("multilabel", 2)


def test_repr_is_one_short_line(small):
    assert repr(small) == "Dataset('small': 3 samples, 1 features, 2 classes, from a test)"


def test_importing_the_room_does_not_import_pandas_or_scikit_learn():
    code = "import sys, fuselearn.datasets; print([m for m in ('pandas', 'sklearn', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
