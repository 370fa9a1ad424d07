"""An import loads no more than is needed, since every start of a program waits for it."""

import pkgutil
import subprocess
import sys

import pytest

import fuselearn


def loaded_by(statement):
    """Run a statement in a new process, and list the modules that it leaves loaded; it prints and warns of nothing."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    command = [sys.executable, "-W", "always::UserWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import fuselearn", {"numpy", "sklearn", "pandas"}),
        (
            "from fuselearn import KFHEClassifier, BaggedRegressor",
            {"sklearn.metrics", "sklearn.svm", "sklearn.tree", "matplotlib", "fuselearn.learners.svm", "fuselearn.lab"},
        ),
        ("import fuselearn.cli.main", {"numpy", "sklearn", "matplotlib"}),
    ],
)
def test_imports_stay_small(statement, absent):
    assert not absent & loaded_by(statement)


def test_sub_packages_need_no_import_of_their_own():
    rooms = sorted(set(dir(fuselearn)) & {found.name for found in pkgutil.iter_modules(fuselearn.__path__)})
    loaded = loaded_by(f"import fuselearn\nfor room in {rooms}: getattr(fuselearn, room).__doc__")
    assert {f"fuselearn.{room}" for room in rooms} <= loaded
    assert "fuselearn.cli" not in loaded


def test_every_public_package_is_at_hand():
    packages = {found.name for found in pkgutil.iter_modules(fuselearn.__path__) if found.ispkg}
    assert packages - set(dir(fuselearn)) == {"cli", "learners"}, "these are for the library itself"


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="module 'fuselearn' has no attribute 'nothing'"):
        fuselearn.nothing  # noqa: B018
