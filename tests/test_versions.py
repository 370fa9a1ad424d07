"""The version has one source, and a report of a problem shows all others."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import fuselearn
from fuselearn import show_versions
from fuselearn._extras import EXTRAS
from fuselearn.versions import DEPENDENCIES

ROOT = Path(__file__).parent.parent
in_the_repository = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the repository")


def read_project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def distribution(requirement):
    return re.match(r"[\w-]+", requirement)[0].replace("-", "_")


def resolve(extra, extras):
    """Find the requirements of an extra, also by extras that it names."""
    found = set()
    for requirement in extras[extra]:
        if own := re.fullmatch(r"fuselearn\[(.*)\]", requirement):
            found.update(*(resolve(name, extras) for name in own[1].split(",")))
        else:
            found.add(requirement)
    return found


@in_the_repository
def test_the_version_has_one_source():
    project = read_project()
    assert "version" in project["dynamic"]
    assert "version" not in project


@in_the_repository
def test_extras_are_those_of_the_distribution():
    extras = read_project()["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert any(package in requirement.replace("-", "_") for requirement in resolve(extra, extras))
    for extra in ("all", "tables"):
        assert {distribution(requirement) for requirement in resolve(extra, extras)} <= set(EXTRAS)


@in_the_repository
def test_dependencies_are_those_of_the_distribution():
    named = {distribution(requirement) for requirement in read_project()["dependencies"]}
    listed_by_scikit_learn = {"scikit_learn", "numpy", "scipy", "joblib", "threadpoolctl", "pandas", "matplotlib"}
    assert named - listed_by_scikit_learn == set(DEPENDENCIES)


def test_versions_are_shown(capsys):
    show_versions()
    shown = capsys.readouterr().out
    assert shown.startswith(f"fuselearn {fuselearn.__version__}\n")
    facts = dict(re.findall(r"^ *(\w[\w-]*): (.+)$", shown, re.MULTILINE))
    assert facts["numpy"] == np.__version__
    assert facts["skops"] == version("skops")
    assert set(EXTRAS) | set(DEPENDENCIES) <= set(facts)


def test_packages_that_are_missing_are_shown(monkeypatch, capsys):
    monkeypatch.setitem(EXTRAS, "no_such_package", "all")
    show_versions()
    assert re.search(r"no_such_package: not installed", capsys.readouterr().out)
