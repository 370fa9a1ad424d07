"""The examples of docs/scale.md, as a user runs them: as programs, on a cluster of processes and from files."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def run(example, folder):
    program = folder / "example.py"
    program.write_text(example)
    command = [sys.executable, program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, cwd=folder).stdout


@pytest.mark.slow
def test_the_examples_run_as_programs(tmp_path):
    on_a_cluster, from_files = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    said = run(on_a_cluster + "    print(type(local).__name__, local.n_iter_)\n", tmp_path)
    assert "dask.array<" in said
    assert said.endswith("KFHEClassifier 5\n")
    assert len(list((tmp_path / "trees").glob("*.npz"))) == 6
    assert run(from_files, tmp_path).startswith("[")
