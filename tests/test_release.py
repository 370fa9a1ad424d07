"""Version, changelog, citation and tag of a release agree."""

import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import fuselearn

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / ".ci" / "release_notes.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="needs the repository")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def read_headings():
    return HEADING.findall((ROOT / "CHANGELOG.md").read_text("utf-8"))


def latest_release():
    number, day = read_headings()[1].split(" - ")
    return number, date.fromisoformat(day)


def test_the_changelog_starts_with_what_is_not_released():
    assert read_headings()[0] == "Unreleased"


def test_the_version_is_that_of_the_latest_release_or_a_later_one():
    version, (released, _) = fuselearn.__version__, latest_release()
    if version.endswith(".dev0"):
        assert numbers(version.removesuffix(".dev0")) > numbers(released)
    else:
        assert version == released


def numbers(version):
    return tuple(map(int, version.split(".")))


def test_the_citation_is_of_the_latest_release():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    number, day = latest_release()
    assert f"\nversion: {number}\n" in citation
    assert f'\ndate-released: "{day.isoformat()}"\n' in citation


@pytest.fixture
def repository(tmp_path):
    """The files that the workflow reads, of a release 1.2.3."""
    (tmp_path / "src" / "fuselearn").mkdir(parents=True)
    (tmp_path / "src" / "fuselearn" / "__init__.py").write_text('"""Text."""\n\n__version__ = "1.2.3"\n', "utf-8")
    sections = ["# Changelog", "## Unreleased", "## 1.2.3 - 2030-01-31", "- This.", "## 1.2.2 - 2030-01-01"]
    (tmp_path / "CHANGELOG.md").write_text("\n\n".join([*sections, "- That.\n"]), "utf-8")
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci")
    return tmp_path


def run(repository, tag):
    command = [sys.executable, repository / ".ci" / SCRIPT.name, tag]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_notes_are_the_section_of_the_release(repository):
    assert run(repository, "v1.2.3") == (0, "- This.\n")


def test_another_tag_publishes_nothing(repository):
    assert run(repository, "v1.2.4") == (1, "The tag is v1.2.4, but the version in the sources is 1.2.3.\n")


def test_a_release_without_a_date_publishes_nothing(repository):
    path = repository / "CHANGELOG.md"
    path.write_text(path.read_text("utf-8").replace("1.2.3 - 2030-01-31", "1.2.3"), "utf-8")
    assert run(repository, "v1.2.3") == (1, "CHANGELOG.md has no section '## 1.2.3 - YYYY-MM-DD'.\n")


def test_workflows_call_targets_and_scripts_that_exist():
    text = "".join(path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = set(re.findall(r"run: make ([a-z-]+)", text)) | set(re.search(r"target: \[(.*)\]", text)[1].split(", "))
    assert {"lint", "dist", "coverage", "test-sanitize", "test-oldest"} <= called <= targets
    assert all((ROOT / script).is_file() for script in re.findall(r"python (\.ci/\S+)", text))


def test_the_tests_of_distributions_exist():
    assert all((ROOT / path).exists() for path in (ROOT / ".ci" / "quick-tests.txt").read_text("utf-8").split())
