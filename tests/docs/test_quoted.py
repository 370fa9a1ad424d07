"""Pages quote numbers of the files of results, and what is written from these files is up to date."""

import importlib
import re
import shutil
from pathlib import Path

import jinja2
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs the repository")


@pytest.fixture
def quoted(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("quoted")


def test_pages_quote_numbers_that_there_are(quoted):
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    found = {}
    for page in sorted(DOCS.glob("*.md")):
        for expression in re.findall(r"\{\{.*?\}\}", page.read_text("utf-8")):
            found[expression] = environment.from_string(expression).render(quoted.QUOTED)
    assert found["{{ six_table }}"].count("\n") == 16
    assert found["{{ robust_table }}"].count("\n") == int(found["{{ robust.methods }}"]) + 1
    assert not any(re.search(r"\bnan\b|\{|^$", text) for text in found.values())


def test_prose_is_true_of_the_results(quoted):
    """A page says more than numbers: write its sentences again if a new run contradicts one of these."""
    robust, kinds = (quoted.read_run(page)[0] for page in list(quoted.find_runs())[:2])
    faster = ["KFHE", "RandomForest", "RandomForest (leaf 3)"]  # wrong-labels.md, README.md
    assert robust.fit_seconds()[faster].max() < robust.fit_seconds()["Fused"]
    for run in (robust, kinds):
        for condition in run.conditions:
            ranks = run.ranks[condition]
            if condition.noise > 0.1:  # README.md: then fused instead of KFHE
                assert ranks["Fused"] < ranks["KFHE"]
            if condition.kind == "boundary":  # wrong-labels.md, robustness.md
                assert ranks[["RandomForest", "ExtraTrees"]].max() < ranks["Fused"]


def test_pages_and_readme_follow_the_results(quoted, tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    shutil.copytree(DOCS / "reproduction", tmp_path / "docs" / "reproduction")
    shutil.copy(ROOT / "README.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    quoted.write_everything()
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.md"))
    assert len(written) == 4
    for path in written:
        message = f"{path} is out of date; `make pages` writes it again."
        assert path.read_text("utf-8") == (ROOT / path).read_text("utf-8"), message


def test_who_is_best_where(quoted):
    ranks = pd.DataFrame({"0 %": [1.0, 2.0, 3.0], "uniform 10 %": [2.0, 1.0, 3.0]}, ["Fused", "KFHE", "CART"])
    said = quoted.say_best(ranks, "Fused", "levels", digits=2, lower_is_better=True)
    assert said == "1 of the 2 levels; the best elsewhere is KFHE at 10 % (1.00; Fused 2.00, place 2)"
    said = quoted.say_best(-ranks, "CART", "levels", digits=2, lower_is_better=True)
    assert said == "each of the 2 levels"
    said = quoted.say_best(ranks, "CART", "levels", digits=1, lower_is_better=False)
    assert said == "each of the 2 levels"


@pytest.mark.parametrize(
    ("p", "ahead", "said"),
    [
        ((0.01, 0.04), (True, True), "better than each of the 2 others (the largest p is 0.0400, CART)"),
        ((0.01, 0.3), (True, True), "better than 1 of the 2 others, and not significantly different from CART"),
        ((0.01, 0.02), (True, False), "better than 1 of the 2 others, and significantly worse than CART"),
    ],
)
def test_than_which_the_fused_classifier_is_better(p, ahead, said, quoted):
    tests = pd.DataFrame({"p_corrected": p, "ahead": ahead}, ["KFHE", "CART"])
    assert quoted.say_tests(tests) == f"significantly {said}"


def test_scores_and_ranks_of_quoted_methods_are_means_over_datasets(quoted):
    scores = {"fused, macro_f1": (0.5, 0.7), "ECC": (0.6, 0.4), "fused, hamming": (0.1, 0.2)}
    rows = [
        {"dataset": name, "fold": fold, "method": method, **dict.fromkeys(quoted.MEASURES, score + sign * 0.1)}
        for method, both in scores.items()
        for name, score in zip(("birds", "yeast"), both, strict=True)
        for fold, sign in ((0, 1), (1, -1))
    ]
    rows += [{**row, "method": f"fused, {rule}"} for row in rows[-4:] for rule in ("micro_f1", "subset", "ranking")]
    found = quoted.compare_labels(pd.DataFrame(rows))
    assert (found["fused"]["macro F1"], found["fused"]["rank of macro F1"]) == ("0.600", "1.5")
    assert (found["ECC"]["macro F1"], found["ECC"]["p"]) == ("0.500", "1.000")
    assert (found["fused"]["Hamming loss"], found["fused"]["rank of Hamming loss"]) == ("0.150", "2.5")
