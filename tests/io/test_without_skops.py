"""Without the optional skops, what needs it says so, and everything else works."""

import subprocess
import sys

import numpy as np
import pandas as pd

from fuselearn import CARTClassifier, save
from fuselearn.io.header import describe_columns

PROGRAM = """
import sys

sys.modules["skops"] = None  # as if it were not installed
import pandas as pd
from fuselearn import CARTClassifier, load, save, to_onnx
from fuselearn.io import read_header
from fuselearn.io.prediction import open_rows, predict_blocks

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


def test_only_model_files_need_it(tmp_path):
    frame = pd.DataFrame({"a": np.linspace(-1, 1, 40), "b": 1.0})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    save(CARTClassifier().fit(frame, frame["a"] > 0), tmp_path / "model.fuse")
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    sentence = "A model file needs skops, which is not installed: pip install 'fuselearn[skops]'."
    assert done.stdout.splitlines() == ["True", "CARTClassifier 2", sentence, sentence], done.stderr


def test_columns_are_known_to_fitted_models_only():
    assert describe_columns(CARTClassifier()) is None
    assert describe_columns(CARTClassifier().fit([[0.0], [1.0]], [0, 1])) == [{"name": 0, "type": "number"}]
