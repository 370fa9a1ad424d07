"""Without the optional skops, what needs it says so, and everything else works."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fuselearn
from fuselearn import CARTClassifier, save
from fuselearn.io.header import describe_columns

PROGRAM = """
import importlib.metadata, sys
import pandas as pd
from fuselearn import CARTClassifier, load, save, to_onnx
from fuselearn.io import read_header
from fuselearn.io.prediction import open_rows, predict_blocks

try:
    importlib.metadata.version("skops")
except importlib.metadata.PackageNotFoundError:
    print("skops is not there")
frame = pd.read_csv("rows.csv")
model = CARTClassifier().fit(frame, frame["a"] > 0)
(answer,) = predict_blocks(model, open_rows(model, "rows.csv"))
print(answer["prediction"].tolist() == (frame["a"] > 0).tolist())
print(read_header("model.fuse")["model"], len(to_onnx(model).graph.output))
for use in (lambda: save(model, "other.fuse"), lambda: load("model.fuse")):
    try:
        use()
    except ImportError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def without_skops(tmp_path_factory):
    """Make a folder of all installed packages but skops."""
    folder = tmp_path_factory.mktemp("packages")
    for installed in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(installed).iterdir():
            if not entry.name.startswith(("skops", "_", ".")) and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry)
    return folder


def test_only_model_files_need_it(without_skops, tmp_path):
    frame = pd.DataFrame({"a": np.linspace(-1, 1, 40), "b": 1.0})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    save(CARTClassifier().fit(frame, frame["a"] > 0), tmp_path / "model.fuse")
    path = [str(Path(fuselearn.__file__).parents[1]), str(without_skops)]
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {path!r}\n{PROGRAM}"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    sentence = "Model files need skops; install it with: pip install 'fuselearn[skops]'"
    assert done.stdout.splitlines() == ["skops is not there", "True", "CARTClassifier 2", sentence, sentence], (
        done.stderr
    )


def test_columns_are_known_to_fitted_models_only():
    assert describe_columns(CARTClassifier()) is None
    assert describe_columns(CARTClassifier().fit([[0.0], [1.0]], [0, 1])) == [{"name": 0, "type": "number"}]
