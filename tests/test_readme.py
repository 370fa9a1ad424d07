"""README stays short, its code runs, and the site includes parts of it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PROGRAM = ROOT / ".ci" / "run_readme.py"
README = (ROOT / "README.md").read_text("utf-8")


def test_it_is_short():
    assert len(README.splitlines()) <= 120


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the repository")
def test_its_code_runs(tmp_path):
    done = subprocess.run([sys.executable, PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 blocks and 5 commands ran" in done.stdout
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".fuse", ".onnx", ".png"}


@pytest.mark.skipif(not DOCS.exists(), reason="needs the repository")
@pytest.mark.parametrize(("page", "part"), [("index", "chooser"), ("index", "ranks"), ("getting-started", "chooser")])
def test_the_site_includes_parts_of_it(page, part):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert (
        f"```{{include}} ../README.md\n:start-after: <!-- {part} -->\n:end-before: <!-- end of the {part} -->" in text
    )
    assert f"<!-- {part} -->" in README.partition(f"<!-- end of the {part} -->")[0]


@pytest.mark.skipif(not DOCS.exists(), reason="needs the repository")
@pytest.mark.parametrize(
    "target",
    ["wrong-labels.md", "comparison.md#scikit-learn", "install.md", "stability.md#citation", "changelog.md"],
    ids=["what to use for wrong labels", "beside a random forest", "to install", "to cite", "what changed"],
)
def test_the_landing_page_links_what_strangers_look_for(target):
    landing = (DOCS / "index.md").read_text("utf-8") + README.partition("<!-- end of the chooser -->")[0]
    assert re.search(rf"\((docs/)?{re.escape(target)}\)", landing)


@pytest.mark.skipif(not DOCS.exists(), reason="needs the repository")
def test_its_speeds_are_those_of_the_page_on_performance():
    page = (DOCS / "performance.md").read_text("utf-8")
    shown = re.search(r"tree\s+is (\d+) times as fast.*?KFHE .*? (\d+)\s+times", README, re.DOTALL).groups()
    measured = [
        re.search(rf"^\| {claim}, .*?\| (\d+)x", page, re.MULTILINE)[1]
        for claim in ("one unpruned tree", "KFHE fit, 100 members")
    ]
    assert list(shown) == measured
