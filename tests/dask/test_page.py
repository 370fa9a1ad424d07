"""The example of docs/scale.md, as a user runs it: as a program, on a cluster of processes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.slow
def test_the_example_runs_as_a_program(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(example + "    print(type(local).__name__, local.n_iter_)\n")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True, timeout=300)
    assert "dask.array<" in done.stdout
    assert done.stdout.endswith("KFHEClassifier 5\n")
