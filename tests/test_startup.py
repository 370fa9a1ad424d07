"""An import loads no more than is needed, since every start of a program waits for it."""

import subprocess
import sys

import pytest


def loaded_by(statement):
    """Run a statement in a new process, and list the modules that it leaves loaded."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import fuselearn", {"numpy", "sklearn", "numba", "pandas"}),
        (
            "from fuselearn import KFHEClassifier, BaggedRegressor",
            {"sklearn.metrics", "sklearn.svm", "sklearn.tree", "matplotlib", "fuselearn.engines.svm", "fuselearn.lab"},
        ),
        ("import fuselearn.cli.main", {"numpy", "sklearn", "matplotlib"}),
    ],
)
def test_imports_stay_small(statement, absent):
    assert not absent & loaded_by(statement)
