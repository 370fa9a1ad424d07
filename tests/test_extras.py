"""Without its extras the library trains and predicts, and what needs an extra says which one."""

import subprocess
import sys

WITHOUT_EXTRAS = """
import importlib.abc, sys

EXTRAS = {
    "dask", "distributed", "jinja2", "matplotlib", "onnx", "pandas", "polars", "pyarrow", "rich", "skops", "typer"
}

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def run(program):
    command = [sys.executable, "-c", WITHOUT_EXTRAS + program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_ensembles_train_and_predict_without_any_extra():
    done = run("""
import numpy as np
from fuselearn import BaggedClassifier, CleanedClassifier, FixedRuleClassifier, KFHEClassifier, KFHEHOMERClassifier
from fuselearn import datasets, fusion, io
X = np.arange(60.0).reshape(20, 3)
y = np.repeat(["low", "high"], 10)
assert KFHEClassifier(n_estimators=2, random_state=0).fit(X, y).score(X, y) == 1
assert CleanedClassifier(KFHEClassifier(n_estimators=2), random_state=0).fit(X, y).score(X, y) == 1
assert datasets.corrupt_labels(y, 0.1, random_state=0).shape == (20,)
""")
    assert done.returncode == 0, done.stderr


SENTENCES = {
    "import fuselearn.lab": "fuselearn.lab needs pandas, which is not installed: pip install 'fuselearn[lab]'.",
    "from fuselearn.scale import DaskEnsemble; DaskEnsemble(None).fit(None, None)": (
        "DaskEnsemble needs dask, which is not installed: pip install 'fuselearn[dask]'."
    ),
    "from fuselearn.diagnosis import audit_labels": "fuselearn.diagnosis.audit_labels needs pandas, which is not",
    "from fuselearn.datasets import load_dataset": "fuselearn.datasets.load_dataset needs pandas",
    "from fuselearn.datasets import read_table": "fuselearn.datasets.read_table needs pandas",
    "from fuselearn import KFHEClassifier\n"
    "KFHEClassifier(n_estimators=2).fit([[0], [1], [2], [3]], [0, 0, 1, 1]).plot_trace()": (
        "A figure needs matplotlib, which is not installed: pip install 'fuselearn[lab]'."
    ),
}


def test_what_needs_an_extra_names_it():
    done = run(f"""
for program in {list(SENTENCES)}:
    try:
        exec(program)
        print("needs nothing")
    except ImportError as error:
        print(error)
""")
    for said, sentence in zip(done.stdout.splitlines(), SENTENCES.values(), strict=True):
        assert said.startswith(sentence), done.stderr


def test_the_command_line_says_how_to_install_it():
    done = run("from fuselearn.__main__ import main; main()")
    assert done.returncode == 1
    assert done.stderr == "The command line needs typer, which is not installed: pip install 'fuselearn[cli]'.\n"
