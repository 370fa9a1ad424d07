"""README stays short, its code runs, and its numbers are those of the pages that it links."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reproduction-robust.md"
PROGRAM = ROOT / ".ci" / "run_readme.py"
README = (ROOT / "README.md").read_text("utf-8")


def read_rows(text):
    """Read the lines of tables by their first cell, without marks for bold type."""
    lines = re.findall(r"^\| ([^|\s].*?) \| (.+) \|$", text.replace("**", ""), re.MULTILINE)
    return {name: re.split(r" \| ", cells) for name, cells in lines}


def find_section(text, title):
    return re.search(rf"^## {title}.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def test_it_is_short():
    assert len(README.splitlines()) <= 120


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the repository")
def test_its_code_runs(tmp_path):
    done = subprocess.run([sys.executable, PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 blocks and 5 commands ran" in done.stdout
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".fuse", ".onnx", ".png"}


@pytest.mark.skipif(not PAGE.exists(), reason="needs the repository")
def test_ranks_and_scores_are_those_of_the_page():
    page = PAGE.read_text("utf-8")
    ranks = read_rows(find_section(page, "Average rank by macro F1"))
    scores = read_rows(find_section(page, "Mean macro-averaged F1"))
    shown = read_rows(find_section(README, "The numbers"))
    assert len(shown) >= 5
    p_values = {name: cells[0] for name, cells in read_rows(find_section(page, "The fused classifier against")).items()}
    for name, (*shown_ranks, shown_scores, p) in shown.items():
        assert shown_ranks == ranks[name]
        assert shown_scores == " / ".join(score.removeprefix("0") for score in scores[name])
        assert p == p_values.get(name, "–")


@pytest.mark.skipif(not PAGE.exists(), reason="needs the repository")
@pytest.mark.parametrize(("page", "part"), [("index", "chooser"), ("index", "ranks"), ("getting-started", "chooser")])
def test_the_site_includes_parts_of_it(page, part):
    text = (PAGE.parent / f"{page}.md").read_text("utf-8")
    assert (
        f"```{{include}} ../README.md\n:start-after: <!-- {part} -->\n:end-before: <!-- end of the {part} -->" in text
    )
    assert f"<!-- {part} -->" in README.partition(f"<!-- end of the {part} -->")[0]
