"""The examples of the documentation run as they stand."""

import re
import sys
from pathlib import Path
from types import ModuleType

import matplotlib
import pytest

ROOT = Path(__file__).parent.parent
ALL = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES = [path for path in ALL if "```python" in path.read_text("utf-8")]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # classes of a page can be pickled
    monkeypatch.setitem(sys.modules, "page", module)
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), vars(module))


def test_links_lead_somewhere():
    for page in sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")):
        for target in LINK.findall(page.read_text("utf-8")):
            assert (page.parent / target).exists(), target
