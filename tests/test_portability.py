"""What Windows and macOS do otherwise than Linux, as far as it can be tried here."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_multilabel_classification

from fuselearn import KFHEClassifier, KFHEHOMERClassifier
from fuselearn.scale import DiskEnsemble, disk_session


def test_models_are_fitted_in_spawned_processes():
    """Windows and macOS do not fork: a new interpreter imports the library, and gets the estimator as a pickle."""
    wine, labels = load_wine(return_X_y=True), make_multilabel_classification(60, 6, n_classes=5, random_state=0)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for kind, (X, y) in ((KFHEClassifier, wine), (KFHEHOMERClassifier, labels)):
            model = kind(n_estimators=3, random_state=0)
            found = pool.apply(model.fit, (X, y))
            np.testing.assert_array_equal(found.predict_proba(X), model.fit(X, y).predict_proba(X))


@pytest.mark.skipif(os.name != "posix", reason="Windows takes the encoding from the system, not from a variable")
def test_output_to_a_pipe_is_utf8_in_any_locale(tmp_path):
    """An interpreter before 3.15 writes the system's encoding to a pipe on Windows, as here in the old C locale."""
    settings = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "FUSELEARN_CACHE": str(tmp_path)}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"} | settings
    program = "import sys; print(sys.stdout.encoding)"
    old = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=environment, text=True)
    assert old.stdout != "utf-8\n"
    done = subprocess.run([sys.executable, "-m", "fuselearn", "methods"], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.decode("utf-8").isascii()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the list of mapped files")
def test_fits_from_disk_do_not_rely_on_deleting_files_that_are_mapped(tmp_path, monkeypatch, capfd):
    """Windows refuses that. What is refused is deleted with the folder at the end, when nothing is mapped any more."""
    delete, refused = os.unlink, []

    def refuse_mapped(path, *, dir_fd=None):
        folder = os.getcwd() if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        whole = os.path.join(folder, path)
        if whole in Path("/proc/self/maps").read_text("utf-8"):
            refused.append(whole)
            raise PermissionError(13, "Access is denied", whole)
        delete(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse_mapped)
    monkeypatch.setattr(disk_session, "LARGE", 1)
    X, y = load_wine(return_X_y=True)
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        DiskEnsemble(KFHEClassifier(n_estimators=2, sampling="poisson", random_state=0), directory=folder).fit(X, y)
        assert os.listdir(folder) == []
    assert refused
    assert capfd.readouterr().err == ""
