"""The report says what the results say, in one file, for results of every shape."""

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib.resources import files
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from fuselearn.lab.reporting.commands import suggest_command
from fuselearn.lab.reporting.findings import find
from fuselearn.lab.reporting.pictures import inline_svg, train_traces
from fuselearn.lab.reporting.report import collect, render, write_report
from fuselearn.lab.reporting.styles import COLOURS
from fuselearn.lab.reporting.text import answer, count, describe_pairs, join, noise_levels, signed
from fuselearn.lab.running.scoring import Scores
from fuselearn.lab.running.store import Cell, Result, ResultStore, StoreError
from fuselearn.lab.running.suites import SUITES, Suite, get_suite, table_suite

CSS = (files("fuselearn.lab") / "templates" / "report.css").read_text(encoding="utf-8")
VERSIONS = {"fuselearn": "0.1.0", "numpy": "2.0.0", "scikit_learn": "1.6.0", "python": "3.11.0"}
METHODS = ["KFHE", "Bagging", "CART"]
STRENGTH = {"KFHE": 0.90, "Bagging": 0.87, "CART": 0.80}


def better_kfhe(dataset, noise, method):
    return STRENGTH[method] - noise / 2


def make_store(path, suite, truth=better_kfhe, *, fails=lambda cell: False, spread=0.01, skip=lambda cell: False):
    """Fill a store without training anything; the scores scatter around `truth`."""
    rng = np.random.default_rng(0)
    cells = [
        Cell(dataset, noise, repeat, fold, method)
        for dataset in suite.datasets
        for noise in suite.noise
        for repeat in range(suite.repeats)
        for fold in range(suite.folds)
        for method in suite.methods
    ]
    results = []
    for cell in cells:
        score = float(truth(cell.dataset, cell.noise, cell.method) + rng.normal(0, spread))
        if skip(cell):
            continue
        if fails(cell):
            results.append(Result(cell, seed=1, error="ValueError: <no> good", versions=VERSIONS))
            continue
        seconds = 0.001 if cell.method == "CART" else 0.1
        scores = Scores(score, score, score, 0.5)
        results.append(Result(cell, 1, scores, seconds, 0.001, components=100, versions=VERSIONS))
    with ResultStore(path) as store:
        store.register(suite, {method: f"{method}Classifier()" for method in suite.methods})
        store.add(suite.name, results, run=store.start_run(suite.name, jobs=1, backend=None))
    return path


def suite_of(n_datasets, noise=(0.0, 0.1, 0.2), methods=METHODS, **more):
    return Suite("mine", [f"data{i}" for i in range(n_datasets)], methods, noise=noise, repeats=1, folds=3, **more)


def page_of(path, suite, *, figures=False, **more):
    """Make a page, most often without figures, which take seconds."""
    material = collect(make_store(path / "results.db", suite, **more))
    if figures:
        return render(material, traces=False)
    with patch("fuselearn.lab.reporting.report.draw", return_value=[]):
        return render(material, traces=False)


def text_of(page):
    """Return what a reader sees, with plain spaces."""

    class Reader(HTMLParser):
        def __init__(self):
            super().__init__()
            self.parts, self.hidden = [], 0

        def handle_starttag(self, tag, attrs):
            self.hidden += tag in ("style", "svg", "title")

        def handle_endtag(self, tag):
            self.hidden -= tag in ("style", "svg", "title")

        def handle_data(self, data):
            if not self.hidden:
                self.parts.append(data)

    reader = Reader()
    reader.feed(page)
    return " ".join(" ".join(reader.parts).split())


def findings_of(path, suite, **more):
    return find(collect(make_store(path / "results.db", suite, **more)).results, suite.methods)


def test_the_page_opens_with_the_answer(tmp_path):
    page = page_of(tmp_path, suite_of(12))
    headline = re.search(r"<h1>(.*?)</h1>", page).group(1)
    assert headline == (
        "Overall and under label noise, KFHE ranks best of three methods, significantly ahead of every other."
    )
    assert page.index("<h1>") < page.index("<table")
    assert "average rank of 1.00 of 3 over twelve datasets" in text_of(page)
    assert "KFHE differs significantly from Bagging and CART (largest p = 0.021)." in text_of(page)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A page with its figures."""
    return page_of(tmp_path_factory.mktemp("drawn"), suite_of(4, noise=[0, 0.1]), figures=True)


def test_the_page_needs_no_other_file(drawn):
    addresses = set(re.findall(r"https?://[^\"'\s<>]+", drawn))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)", drawn)
    assert drawn.count("<svg") == 5


def test_names_inside_the_page_are_unique_and_found(drawn):
    names = re.findall(r'\bid="([^"]+)"', drawn)
    assert len(names) == len(set(names))
    wanted = set(re.findall(r'href="#([^"]+)"', drawn)) | set(re.findall(r"url\(#([^)]+)\)", drawn))
    assert wanted <= set(names)


def test_the_same_results_make_the_same_page(tmp_path):
    material = collect(make_store(tmp_path / "results.db", suite_of(1, noise=[0])))
    assert render(material, traces=False) == render(material, traces=False)


def test_another_method_may_be_best_under_noise(tmp_path):
    def truth(dataset, noise, method):
        return {"KFHE": 0.9 - 2 * noise, "Bagging": 0.85, "CART": 0.6}[method]

    findings = findings_of(tmp_path, suite_of(12, noise=[0, 0.01, 0.1]), truth=truth, spread=0)
    assert answer(findings).headline == (
        "Overall, KFHE ranks best of three methods, significantly ahead of CART; "
        "under label noise, Bagging ranks best of three methods, significantly ahead of every other."
    )
    assert findings.clean.best == "KFHE"
    assert findings.noisy.ranks["Bagging"] == 1.5


def test_equal_ranks_share_the_headline(tmp_path):
    def truth(dataset, noise, method):
        first = (dataset in ("data0", "data1")) == (method == "KFHE")
        return 0.5 if method == "CART" else 0.9 if first else 0.8

    said = answer(findings_of(tmp_path, suite_of(4, noise=[0]), truth=truth, spread=0))
    assert said.headline == "KFHE and Bagging tie for the best rank of three methods, no other significantly behind."


def test_the_rank_of_all_levels_is_the_mean_of_their_ranks(tmp_path):
    def truth(dataset, noise, method):
        return {"KFHE": 0.9 - 2 * noise, "Bagging": 0.85, "CART": 0.6}[method]

    findings = findings_of(tmp_path, suite_of(3, noise=[0, 0.1, 0.2]), truth=truth, spread=0)
    per_level = pd.DataFrame({level: comparison.ranks for level, comparison in findings.levels.items()})
    assert findings.overall.ranks.to_dict() == per_level.mean(axis=1).to_dict()
    assert findings.overall.wins.between("KFHE", "Bagging") == (3, 0, 6)
    assert findings.overall.n_rows == 3


def test_few_datasets_show_large_differences_only(tmp_path):
    for n_datasets, significant in ((2, False), (9, True)):
        (tmp_path / str(n_datasets)).mkdir()
        text = text_of(page_of(tmp_path / str(n_datasets), suite_of(n_datasets)))
        assert f"With {count(n_datasets, 'dataset')}, only large differences can be significant." in text
        assert ("significantly ahead of CART" in text) == significant


def test_one_dataset_is_compared_over_its_folds(tmp_path):
    suite = dataclasses.replace(suite_of(1, noise=[0.0]), repeats=3, folds=5)
    text = text_of(page_of(tmp_path, suite))
    assert "KFHE scores best of three methods, significantly ahead of every other." in text
    assert "over 15 folds with the corrected resampled t-test" in text
    assert "This holds for this dataset only; it says nothing about others." in text
    assert "Friedman" not in text


def test_one_dataset_with_noise_pairs_the_folds_over_all_levels(tmp_path):
    suite = dataclasses.replace(suite_of(1), repeats=2, folds=5)
    findings = findings_of(tmp_path, suite)
    assert findings.overall.over_folds
    assert findings.overall.n_rows == 10
    assert len(findings.overall.cells) == 30


def test_a_single_method_has_nothing_to_beat(tmp_path):
    text = text_of(page_of(tmp_path, suite_of(3, methods=["CART"])))
    assert "Only CART finished, so there is nothing to compare it with." in text


def test_two_methods_are_enough(tmp_path):
    text = text_of(page_of(tmp_path, suite_of(12, methods=["KFHE", "CART"])))
    assert "KFHE ranks best of two methods" in text
    assert "Two methods are compared with Wilcoxon's signed-rank test over twelve datasets." in text


def test_failures_are_listed_plainly(tmp_path):
    page = page_of(tmp_path, suite_of(4), fails=lambda cell: cell.method == "Bagging" and cell.dataset == "data2")
    text = text_of(page)
    assert "Bagging failed on 9 of its 36 fits (data2): ValueError: <no> good" in text
    assert "<no>" not in page
    assert "they omit data2." in text
    assert "failed" in page


def test_a_method_that_never_works_is_left_out_of_ranks(tmp_path):
    findings = findings_of(tmp_path, suite_of(4), fails=lambda cell: cell.method == "CART")
    assert findings.overall.methods == ["KFHE", "Bagging"]
    assert findings.overall.left_out.methods == ("CART",)
    assert findings.overall.n_rows == 4


def test_nothing_finished_still_makes_a_page(tmp_path):
    text = text_of(page_of(tmp_path, suite_of(2), fails=lambda cell: True))
    assert "No method finished" in text
    assert "KFHE failed on 18 of its 18 fits (data0 and data1)" in text


def test_an_unfinished_run_says_so(tmp_path):
    page = page_of(tmp_path, suite_of(4), skip=lambda cell: cell.dataset == "data3" and cell.noise == 0.2)
    text = text_of(page)
    assert "The run is incomplete: 9 of 108 fits are missing." in text
    assert "over three datasets" in text


def test_a_method_that_could_not_run_is_named(tmp_path):
    page = page_of(tmp_path, suite_of(3), skip=lambda cell: cell.method == "CART")
    assert "CART did not run; the package is probably not installed." in text_of(page)
    assert "is incomplete" not in page


def test_tables_are_coloured_by_rank(tmp_path):
    page = page_of(tmp_path, suite_of(2, noise=[0]), spread=0)
    line = re.search(r'<th scope="row">data0</th>(.*?)</tr>', page, re.DOTALL).group(1)
    cells = re.findall(r'<td class="(.*?)" style="--s:(.*?)"[^>]*>([\d.]+)<small>(\d)</small>', line)
    assert cells == [
        ("rank best", "1.00", "0.9000", "1"),
        ("rank", "0.50", "0.8700", "2"),
        ("rank", "0.00", "0.8000", "3"),
    ]


def test_ours_minus_published_where_the_paper_has_a_cell(tmp_path):
    suite = Suite("kfhe", ["iris", "wine"], ["KFHE", "KFHE (pruned)", "CART"], noise=[0, 0.05], repeats=1, folds=2)

    def truth(dataset, noise, method):
        return {"iris": 0.9438, "wine": 0.9392}[dataset] + 0.06 * (method == "KFHE (pruned)")

    text = text_of(page_of(tmp_path, suite, truth=truth, spread=0))
    section = text[text.index("Comparison with the paper") :]
    assert "iris 0.0000 +0.0600 +0.0104" in section
    assert "The paper has 10 × 10 folds, this run 1 × 2" in section


def test_no_published_table_no_section(tmp_path):
    assert 'id="published"' not in page_of(tmp_path, suite_of(2))


def test_how_to_run_it_again(tmp_path):
    path = make_store(tmp_path / "results.db", suite_of(2))
    with patch("fuselearn.lab.reporting.report.draw", return_value=[]):
        text = text_of(render(collect(path, command="fuselearn compare 'my file.csv'"), traces=False))
    assert "fuselearn compare 'my file.csv'" in text
    assert "fuselearn 0.1.0, numpy 2.0.0, scikit-learn 1.6.0, python 3.11.0" in text
    assert "the suite and its seed, 0" in text
    assert "KFHEClassifier()" in text
    assert collect(path).command == ""


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("demo", "fuselearn demo"),
        ("robust", "fuselearn reproduce robust"),
        ("kfhe", "fuselearn reproduce kfhe"),
        ("kfhe-quick", "fuselearn reproduce kfhe --quick"),
        ("kfhe-homer", "fuselearn reproduce kfhe-homer"),
        ("kfhe-homer-quick", "fuselearn reproduce kfhe-homer --quick"),
        ("kfhe-homer-authors", "fuselearn reproduce kfhe-homer-authors"),
    ],
)
def test_every_suite_of_the_library_has_its_command(name, command):
    assert suggest_command(Suite.from_definition(get_suite(name).definition())) == command


def test_no_suite_of_the_library_lacks_a_command():
    assert all(map(suggest_command, SUITES.values()))


def test_the_command_says_what_differs_from_the_suite_of_the_library(tmp_path):
    suite = dataclasses.replace(get_suite("kfhe-homer"), datasets=["flags_ml", "birds"], repeats=1)
    path = make_store(tmp_path / "results.db", suite, truth=lambda *_: 0.5)
    assert collect(path).command == "fuselearn reproduce kfhe-homer --repeats 1 --datasets flags_ml,birds"
    # No option of a command changes the methods of a suite.
    assert suggest_command(dataclasses.replace(suite, methods=["CC"])) == ""
    assert suggest_command(dataclasses.replace(get_suite("demo"), repeats=2)) == ""


def test_the_command_of_a_table_has_its_options(tmp_path):
    path = tmp_path / "my fruit.csv"
    path.write_text("weight,kind\n" + "150,apple\n" * 9 + "120,pear\n" * 9)
    assert suggest_command(table_suite(path, "kind")) == "fuselearn compare 'my fruit.csv' --target kind --noise 0"
    read = table_suite(path, "kind", reading={"sep": ","}, cleaning={"keep": ["weight"]})
    assert suggest_command(read).endswith(" --target kind --sep , --keep weight --noise 0")
    suite = table_suite(path, "kind", methods=["KFHE", "CART"], noise=[0, 0.2], repeats=1, folds=3, seed=7)
    assert suggest_command(suite) == (
        "fuselearn compare 'my fruit.csv' --target kind --noise 0,0.2 "
        "--methods KFHE,CART --repeats 1 --folds 3 --seed 7"
    )


def test_every_shape_of_results_can_be_drawn(tmp_path):
    def captions(name, suite):
        page = page_of(tmp_path / name, suite, figures=True)
        return re.findall(r'<figure id="figure-(\w+)">', page)

    for name in ("many", "level", "dataset", "method"):
        (tmp_path / name).mkdir()
    assert captions("many", suite_of(2, noise=[0, 0.2])) == ["rank", "score", "difference0", "difference200", "time"]
    assert captions("level", suite_of(2, noise=[0.1])) == ["difference100", "time"]
    assert captions("dataset", suite_of(1, noise=[0, 0.1])) == ["score", "time"]
    assert captions("method", suite_of(1, noise=[0], methods=["CART"])) == []


def test_a_bare_table_of_results_will_do(tmp_path):
    with ResultStore(make_store(tmp_path / "results.db", suite_of(3))) as store:
        results = store.results()
    path = write_report(results, tmp_path / "deep" / "report.html", traces=False)
    assert "KFHE ranks best of three methods" in path.read_text(encoding="utf-8")


def test_bad_sources_are_refused(tmp_path):
    with pytest.raises(StoreError, match="There is no results store"):
        write_report(tmp_path / "absent.db", tmp_path / "report.html")
    with ResultStore(tmp_path / "empty.db") as store:
        store.register(suite_of(1), {})
    with pytest.raises(ValueError, match="The suite 'mine' has no results yet"):
        write_report(tmp_path / "empty.db", tmp_path / "report.html")


def test_traces_come_from_data_at_hand(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSELEARN_CACHE", str(tmp_path))
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)
    suite = Suite("mine", ["iris", "sonar"], ["KFHE"], noise=[0, 0.1, 0.2])
    traces = train_traces(suite)
    assert list(traces) == [0.0, 0.2]
    assert [list(fitted) for fitted in traces.values()] == [["iris"], ["iris"]]
    assert traces[0.2]["iris"].train_errors_[-1] > traces[0.0]["iris"].train_errors_[-1]


def test_the_control_may_lose(tmp_path):
    def truth(dataset, noise, method):
        return {"KFHE": 0.7, "Bagging": 0.8, "CART": 0.6}[method]

    comparison = findings_of(tmp_path, suite_of(15, noise=[0]), truth=truth).overall
    said = describe_pairs(comparison)
    assert said.startswith(
        "By Friedman's post-hoc test with Finner's correction for all pairs, KFHE is better than CART"
    )
    assert said.endswith("and worse than Bagging.")


def test_figures_follow_the_colours_of_the_page():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#0072B2", label="line")
    axes.plot([0], [0], color="black", marker="*")
    axes.set_title("two < three")
    svg = inline_svg(figure, prefix="x")
    assert "stroke: var(--fig-0072b2, #0072b2)" in svg
    assert "two &lt; three" in svg
    # Where matplotlib means black it writes no fill, and SVG's own default would stay black on a dark page.
    assert re.match(r'<svg[^>]* style="fill: currentColor"', svg)
    assert not re.search(r"(?<!, )#[0-9a-f]{6}", svg.replace('href="#', ""))
    assert not re.search(r"<svg[^>]* (width|height)=", svg)


def colours_of(block):
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block))


def contrast(first, second):
    """Compute the contrast ratio of two colours as the Web Content Accessibility Guidelines define it."""

    def luminance(colour):
        parts = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_method_stands_out_on_light_and_on_dark_paper(scheme):
    light, dark = (colours_of(block) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL))
    seen = light if scheme == "light" else light | dark
    for colour in COLOURS:
        shown = seen.get(f"--fig-{colour[1:].lower()}", colour)
        assert contrast(shown, seen["--paper"]) > (2 if scheme == "light" else 4), colour
    shades = {seen.get(f"--fig-{colour[1:].lower()}", colour.lower()) for colour in COLOURS}
    assert len(shades) == len(COLOURS)


def test_colours_are_variables_that_dark_pages_redefine():
    outside = re.sub(r":root \{.*?\}", "", CSS, flags=re.DOTALL)
    assert not re.search(r"#[0-9a-f]{3,6}\b|\b(black|white)\b(?!-)", outside)
    assert "prefers-color-scheme: dark" in CSS


def test_long_names_can_break_in_the_heads_of_columns(tmp_path):
    methods = ["KFHE (pruned)", "HistGradientBoosting", "RandomForest (leaf 3)", "my_own_model", "A<B"]
    page = page_of(tmp_path, suite_of(2, noise=[0], methods=methods), truth=lambda *_: 0.5)
    heads = re.findall(r'<th scope="col">(.*?)</th>', re.search(r"<thead>.*?</thead>", page, re.DOTALL).group())
    assert heads[1:] == [
        "KFHE (pruned)",
        "Hist<wbr>Gradient<wbr>Boosting",
        "Random<wbr>Forest (leaf 3)",
        "my_<wbr>own_<wbr>model",
        "A&lt;B",
    ]


def test_every_table_scrolls_in_a_region_that_shows_where_it_goes_on(tmp_path):
    page = page_of(tmp_path, suite_of(3))
    tables = page.count("<table")
    assert tables > 8
    assert len(re.findall(r'<div class="scroll" role="region" aria-label="[^"]+" tabindex="0"><table', page)) == tables
    rule = re.search(r"\.scroll \{(.*?)\}", CSS, re.DOTALL).group(1)
    assert "overflow-x: auto" in rule
    # The shadow stays at the edge; what covers it moves with the table.
    assert re.search(r"var\(--paper\).*no-repeat local,.*var\(--shade\).*no-repeat scroll", rule, re.DOTALL)


WORDS_OF_NOISE = re.compile(r"nois|corrupt|clean|wrong", re.IGNORECASE)


def test_a_run_without_noise_does_not_speak_of_it(tmp_path):
    for name, suite in (("many", suite_of(3, noise=[0])), ("one", suite_of(1, noise=[0]))):
        (tmp_path / name).mkdir()
        page = page_of(tmp_path / name, suite, figures=True)
        assert WORDS_OF_NOISE.findall(page) == []
        assert "mean over the classes" in page


def test_a_run_with_noise_says_what_is_wrong(tmp_path):
    text = text_of(page_of(tmp_path, suite_of(3, noise=[0, 0.1])))
    assert "Methods are trained on labels of which the given fraction is wrong, and scored on the true ones." in text
    assert "label noise 0 %, 10 %" in text
    assert "Mean macro F1, clean labels" in text
    assert "Noise is uniform" in text


def test_a_multilabel_run_speaks_of_labels(tmp_path):
    suite = suite_of(3, noise=[0], methods=["ECC", "CC"], task="multilabel")
    text = text_of(page_of(tmp_path, suite, truth=lambda *_: 0.5))
    assert "Macro F1 is the mean over the labels of" in text
    assert "A label that is neither in a test fold nor predicted counts as 1." in text
    assert "classes" not in text
    assert WORDS_OF_NOISE.findall(text) == []


@pytest.mark.parametrize(
    ("labels", "option"),
    [(None, ""), ("2", " --labels 2"), (-2, " --labels -2"), (["calm", "loud"], " --labels calm,loud")],
)
def test_the_command_of_a_multilabel_run_names_its_labels(tmp_path, labels, option):
    columns = "label:calm,label:loud" if labels is None else "calm,loud"
    (tmp_path / "songs.csv").write_text(f"tempo,{columns}\n" + "90,1,0\n120,0,1\n" * 5)
    command = suggest_command(table_suite(tmp_path / "songs.csv", labels=labels))
    assert command == f"fuselearn compare songs.csv{option} --noise 0"


def test_the_kind_of_a_bare_table_shows_in_its_scores(tmp_path):
    with ResultStore(make_store(tmp_path / "results.db", suite_of(1, noise=[0]))) as store:
        results = store.results()
    assert collect(results).suite.task == "multiclass"
    assert collect(results.assign(hamming_loss=0.1)).suite.task == "multilabel"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (count(1, "dataset"), "one dataset"),
        (count(19, "dataset"), "19 datasets"),
        (join(["a"]), "a"),
        (join(["a", "b", "c"], "or"), "a, b or c"),
        (signed(-0.01234), "−0.012"),
        (signed(0.0001), "0.000"),
        (noise_levels([0.1, 0.2]).replace("\N{NO-BREAK SPACE}", " "), "10 % and 20 %"),
    ],
)
def test_small_phrases(said, meant):
    assert said == meant


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """<script>
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
const ink = (node) => { const range = document.createRange(); range.selectNodeContents(node);
  return [...range.getClientRects()]; };
addEventListener("load", () => {
  const wide = [...document.querySelectorAll("body *")].filter(
    (node) => node.getBoundingClientRect().right > innerWidth + 1 && !node.closest(".scroll, svg"));
  const heads = [...document.querySelectorAll("thead tr")].flatMap((row) =>
    [...row.children].flatMap((one, place) => [...row.children].slice(place + 1).filter(
      (other) => ink(one).some((a) => ink(other).some((b) => overlap(a, b)))).map((other) => other.textContent)));
  document.title = JSON.stringify({
    overflow: document.documentElement.scrollWidth - innerWidth,
    wide: wide.map((node) => node.tagName + "." + node.className),
    heads: heads,
    figures: [...document.querySelectorAll("figure svg")].map((svg) => svg.getBoundingClientRect().height > 40),
  });
});
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_shows_ten_methods_on_a_desk_and_on_a_phone(tmp_path):
    suite = suite_of(4, noise=[0, 0.1], methods=["KFHE", "KFHE (pruned)", "AdaBoost", "Bagging", "CART", "RandomForest",
                     "RandomForest (leaf 3)", "ExtraTrees", "HistGradientBoosting", "LightGBM"])  # fmt: skip

    def truth(dataset, noise, method):
        return 0.9 - noise / 3 - len(method) / 200

    page = page_of(tmp_path, suite, truth=truth, figures=True)
    # Headless windows are never narrower than 500 pixels, so the phone is a frame of 400.
    (tmp_path / "inner.html").write_text(page.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    frames = "".join(f'<iframe src="inner.html" width="{width}" height="800"></iframe>' for width in (1280, 400))
    outer = (
        f"<style>iframe {{ border: 0 }}</style>{frames}<script>"
        'addEventListener("load", () => setTimeout(() => { document.body.append("FOUND" + JSON.stringify('
        '[...document.querySelectorAll("iframe")].map((frame) => JSON.parse(frame.contentDocument.title))) + "FOUND"); '
        "}, 300));</script>"
    )
    (tmp_path / "outer.html").write_text(f"<!DOCTYPE html><body>{outer}</body>", encoding="utf-8")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--allow-file-access-from-files",
        "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "outer.html").as_uri(),
    ]  # fmt: skip
    seen = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    for found in json.loads(seen.split("FOUND")[-2]):
        assert found["overflow"] <= 0
        assert found["wide"] == []
        assert found["heads"] == []
        assert found["figures"]
        assert all(found["figures"])
