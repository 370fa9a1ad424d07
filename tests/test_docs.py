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
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # classes of a page can be pickled
    monkeypatch.setitem(sys.modules, "page", module)
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), vars(module))


def find_anchors(page):
    """Return the anchors of the headings of a page, as GitHub and MyST name them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere():
    for page in sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")):
        for target, anchor in LINK.findall(page.read_text("utf-8")):
            found = (page.parent / target).resolve() if target else page
            assert found.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in find_anchors(found), f"{page.name}: {target}#{anchor}"
