"""Without its extras the library trains and predicts, and what needs an extra says which one."""

import re
import subprocess
import sys
from pathlib import Path

WITHOUT_EXTRAS = """
import importlib.abc, sys

EXTRAS = {"dask", "distributed", "jinja2", "onnx", "polars", "pyarrow", "rich", "shap", "skl2onnx", "typer"}

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def run(program, **options):
    command = [sys.executable, "-c", WITHOUT_EXTRAS + program]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_first_lines_of_the_readme_run_without_any_extra(tmp_path):
    """Everything before the command line: figures, model files, generated data."""
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    program = "\n".join([*blocks, "fuselearn.load('digits.fuse')", "fuselearn.datasets.read_table"])
    done = run(program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "trace.png").stat().st_size > 10_000


SENTENCES = {
    "from fuselearn.diagnosis import explain; explain(None, None)": (
        "explain needs shap, which is not installed: pip install 'fuselearn[explain]'."
    ),
    "import fuselearn.lab": "fuselearn.lab needs jinja2, which is not installed: pip install 'fuselearn[lab]'.",
    "from fuselearn.scale import DaskEnsemble; DaskEnsemble(None).fit(None, None)": (
        "DaskEnsemble needs dask, which is not installed: pip install 'fuselearn[dask]'."
    ),
    "from fuselearn.datasets import read_table; read_table('a.parquet')": (
        "Reading a Parquet file needs pyarrow, which is not installed: pip install 'fuselearn[lab]'."
    ),
}


def test_what_needs_an_extra_names_it(tmp_path):
    (tmp_path / "a.parquet").touch()
    done = run(
        f"""
for program in {list(SENTENCES)}:
    try:
        exec(program)
        print("needs nothing")
    except ImportError as error:
        print(error)
""",
        cwd=tmp_path,
    )
    for said, sentence in zip(done.stdout.splitlines(), SENTENCES.values(), strict=True):
        assert said.startswith(sentence), done.stderr


def test_the_command_line_says_how_to_install_it():
    done = run("from fuselearn.__main__ import main; main()")
    assert done.returncode == 1
    assert done.stderr == "The command line needs typer, which is not installed: pip install 'fuselearn[cli]'.\n"
