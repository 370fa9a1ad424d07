"""The report shows what the results are, in one file, for results of every shape."""

import dataclasses
import html
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
from sklearn.naive_bayes import GaussianNB

from fuselearn.lab import ResultStore, StoreError, Suite, run_suite, write_report
from fuselearn.lab.figures import COLORS
from fuselearn.lab.report import MOST_LABELS, collect, inline_svg, render
from fuselearn.lab.store import Cell, Result
from fuselearn.lab.suites import SCORES

CSS = (files("fuselearn.lab") / "templates" / "report.css").read_text(encoding="utf-8")
VERSIONS = {"fuselearn": "0.1.0", "numpy": "2.0.0", "scikit_learn": "1.6.0", "python": "3.11.0"}
METHODS = ["KFHE", "Bagging", "CART"]
STRENGTH = {"KFHE": 0.90, "Bagging": 0.87, "CART": 0.80}


def better_kfhe(dataset, noise, method):
    return STRENGTH[method] - noise / 2


def make_store(
    path, suite, truth=better_kfhe, *, fails=lambda cell: False, spread=0.01, skip=lambda cell: False, command=""
):
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
    for number, cell in enumerate(cells):
        score = float(truth(cell.dataset, cell.noise, cell.method) + rng.normal(0, spread))
        if skip(cell):
            continue
        if fails(cell):
            results.append(Result(cell, seed=number, error="ValueError: <no> good", versions=VERSIONS))
            continue
        seconds = 0.001 if cell.method == "CART" else 0.1
        scores = dict.fromkeys(SCORES[suite.task], score)
        results.append(Result(cell, number, scores, seconds, 0.001, versions=VERSIONS))
    with ResultStore(path) as store:
        store.register(suite, {method: f"{method}Classifier()" for method in suite.methods})
        store.add(suite.name, results, run=store.start_run(suite.name, jobs=1, command=command))
    return path


def suite_of(n_datasets, noise=(0.0, 0.1, 0.2), methods=METHODS, **more):
    return Suite("mine", [f"data{i}" for i in range(n_datasets)], methods, noise=noise, repeats=1, folds=3, **more)


def page_of(path, suite, *, figures=False, label_scores=None, control=None, **more):
    """Make a page, most often without figures, which take seconds."""
    path.mkdir(exist_ok=True)
    with ResultStore(make_store(path / "results.db", suite, **more)) as store:
        material = collect(store, control=control)
    if label_scores is not None:
        material = dataclasses.replace(material, label_scores=label_scores)
    if figures:
        return render(material)
    with patch("fuselearn.lab.report.draw", return_value=[]):
        return render(material)


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


def test_the_page_opens_with_the_result(tmp_path):
    page = page_of(tmp_path, suite_of(12))
    headline = re.search(r"<h1>(.*?)</h1>", page).group(1)
    assert headline == "KFHE has the best average rank of 3 methods, significantly ahead of all others."
    assert page.index("<h1>") < page.index("Friedman&#39;s post-hoc test") < page.index("<table")


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
    with ResultStore(make_store(tmp_path / "results.db", suite_of(1, noise=[0]))) as store:
        assert render(collect(store)) == render(collect(store))


def test_every_shape_of_results_can_be_drawn(tmp_path):
    def names(name, suite):
        return re.findall(r'<figure id="figure-(\w+)">', page_of(tmp_path / name, suite, figures=True))

    assert names("many", suite_of(2, noise=[0, 0.2])) == ["rank", "score", "difference0", "difference200", "time"]
    assert names("level", suite_of(2, noise=[0.1])) == ["difference100", "time"]
    assert names("dataset", suite_of(1, noise=[0, 0.1])) == ["score", "time"]
    assert names("method", suite_of(1, noise=[0], methods=["CART"])) == []


def test_one_dataset_is_compared_over_its_folds(tmp_path):
    text = text_of(page_of(tmp_path, dataclasses.replace(suite_of(1), repeats=3, folds=5)))
    assert "corrected resampled t-test of the mean scores with Finner's correction for all pairs, 15 folds" in text
    assert "Friedman" not in text
    assert "Mean scores (tested)" in text


def test_failures_are_listed_plainly(tmp_path):
    page = page_of(tmp_path, suite_of(4), fails=lambda cell: cell.method == "Bagging" and cell.dataset == "data2")
    text = text_of(page)
    assert "Bagging: 9 of 36 fits (data2): ValueError: <no> good" in text
    assert "<no>" not in page
    assert "because of missing scores: data2." in text


def test_nothing_finished_still_makes_a_page(tmp_path):
    text = text_of(page_of(tmp_path, suite_of(2), fails=lambda cell: True))
    assert "No method finished." in text
    assert "KFHE: 18 of 18 fits (data0, data1)" in text


def test_an_unfinished_run_says_so(tmp_path):
    text = text_of(page_of(tmp_path, suite_of(4), skip=lambda cell: cell.dataset == "data3" and cell.noise == 0.2))
    assert "missing results 9" in text


def test_tables_are_colored_by_rank(tmp_path):
    page = page_of(tmp_path, suite_of(2, noise=[0]), spread=0)
    line = re.search(r'<th scope="row">data0</th>(.*?)</tr>', page, re.DOTALL).group(1)
    cells = re.findall(r'<td class="(.*?)" style="--s:(.*?)"[^>]*>([\d.]+)<small>(\d)</small>', line)
    assert cells == [
        ("rank best", "1.00", "0.9000", "1"),
        ("rank", "0.50", "0.8700", "2"),
        ("rank", "0.00", "0.8000", "3"),
    ]


def test_pairs_and_ranks_are_those_of_the_comparison(tmp_path):
    page = page_of(tmp_path, suite_of(12, noise=[0]), spread=0)
    rows = re.findall(r'<tr><th scope="row">(\w+)</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>', page)
    assert ("Bagging", "12 / 0 / 0", "+0.030", "0.021") in rows
    assert ("CART", "12 / 0 / 0", "+0.100", "&lt;0.0001") in rows
    assert "<td>0.9000</td><td>1.00</td></tr>" in page


def test_how_to_run_it_again(tmp_path):
    text = text_of(page_of(tmp_path, suite_of(2), command="fuselearn compare 'my file.csv'"))
    assert "fuselearn compare 'my file.csv'" in text
    assert "run_suite" not in text
    assert "fuselearn 0.1.0, numpy 2.0.0, scikit-learn 1.6.0, python 3.11.0" in text
    assert "KFHEClassifier()" in text


def test_the_code_of_a_suite_written_in_python_runs(tmp_path):
    suite = Suite("mine", ["iris"], ["cart", "Bayes"], noise=[0, 0.1], repeats=1, folds=3, seed=4)
    run_suite(suite, tmp_path / "first.db", estimators={"Bayes": GaussianNB()}, progress=None)
    page = write_report(tmp_path / "first.db", tmp_path / "report.html").read_text(encoding="utf-8")
    code = html.unescape(re.search(r"<pre><code>(.*?)</code>", page, re.DOTALL).group(1))
    assert "GaussianNB()" in code
    exec(code.replace("results.db", str(tmp_path / "again.db")), {"GaussianNB": GaussianNB})
    with ResultStore(tmp_path / "first.db") as first, ResultStore(tmp_path / "again.db") as again:
        assert first.suite() == again.suite()
        assert first.results()["macro_f1"].equals(again.results()["macro_f1"])


def test_every_level_shows_the_control_or_the_overall_best(tmp_path):
    def overtaken(dataset, noise, method):
        return STRENGTH[method] - noise * {"KFHE": 0.1, "Bagging": 0.6, "CART": 0.1}[method]

    suite = suite_of(12, noise=[0, 0.1, 0.2])
    page = page_of(tmp_path, suite, truth=overtaken, spread=0)
    assert set(re.findall(r'caption">(\w+) against each', page)) == {"KFHE"}
    chosen = page_of(tmp_path / "chosen", suite, truth=overtaken, spread=0, control="Bagging")
    assert set(re.findall(r'caption">(\w+) against each', chosen)) == {"Bagging"}
    assert "for the pairs with Bagging" in text_of(chosen)


def test_too_few_folds_are_said(tmp_path):
    text = text_of(page_of(tmp_path, dataclasses.replace(suite_of(1, noise=[0]), folds=2)))
    assert "by 2 folds alone; a test needs at least 5 folds." in text
    assert "No p-values: a test needs at least 5 folds." in text


def test_the_convention_of_f1_stands_beside_the_number(tmp_path):
    for zero_division, said in ((0, "has an F1 of 0, as in scikit-learn"), (1, "has an F1 of 1, as in many papers")):
        suite = suite_of(2, noise=[0], task="multilabel", zero_division=zero_division)
        assert said in text_of(page_of(tmp_path / str(zero_division), suite))
    assert "has an F1 of 0." in text_of(page_of(tmp_path / "classes", suite_of(2, noise=[0])))


def test_bad_sources_are_refused(tmp_path):
    with pytest.raises(StoreError, match="There is no results store"):
        write_report(tmp_path / "absent.db", tmp_path / "report.html")
    with ResultStore(tmp_path / "empty.db") as store:
        store.register(suite_of(1), {})
    with pytest.raises(ValueError, match="The suite 'mine' has no results yet"):
        write_report(tmp_path / "empty.db", tmp_path / "report.html")


def test_long_names_can_break_in_the_heads_of_columns(tmp_path):
    methods = ["KFHE (pruned)", "HistGradientBoosting", "lightgbm:LGBMClassifier(max_depth=3)", "A<B"]
    page = page_of(tmp_path, suite_of(2, noise=[0], methods=methods), truth=lambda *_: 0.5)
    heads = re.findall(r'<th scope="col">(.*?)</th>', re.search(r"<thead>.*?</thead>", page, re.DOTALL).group())
    assert heads[1:] == [
        "KFHE (<wbr>pruned)",
        "Hist<wbr>Gradient<wbr>Boosting",
        "lightgbm:<wbr>LGBMClassifier(<wbr>max_<wbr>depth=3)",
        "A&lt;B",
    ]


WORDS_OF_NOISE = re.compile(r"nois|corrupt|clean|wrong", re.IGNORECASE)


def test_noise_is_spoken_of_only_if_there_is_some(tmp_path):
    for name, suite in (("many", suite_of(3, noise=[0])), ("one", suite_of(1, noise=[0]))):
        page = page_of(tmp_path / name, suite, figures=True)
        assert WORDS_OF_NOISE.findall(page) == []
        assert "mean over the classes" in page
    text = text_of(page_of(tmp_path / "noisy", suite_of(3, noise=[0, 0.1])))
    assert "label noise 0 %, 10 %" in text
    assert "Mean macro F1, clean labels" in text


def label_table(n_labels):
    """Return scores of labels, of which the first is the rarest and the second has no AUC."""
    rows = [
        ("data0", 0.0, repeat, fold, "A", f"label {label}", label, label / 100, np.nan if label == 1 else 0.75)
        for repeat in range(2)
        for fold in range(2)
        for label in range(n_labels)
    ]
    return pd.DataFrame(
        rows, columns=["dataset", "noise", "repeat", "fold", "method", "label", "positives", "f1", "auc"]
    )


def test_a_multilabel_page_shows_every_measure_and_label(tmp_path):
    suite = suite_of(2, noise=[0], methods=["A", "B"], task="multilabel")
    levels = {("data0", "A"): 0.5, ("data0", "B"): 0.4, ("data1", "A"): 0.6, ("data1", "B"): 0.9}
    page = page_of(
        tmp_path, suite, truth=lambda dataset, _, method: levels[dataset, method], spread=0, label_scores=label_table(3)
    )

    def cells_of(label):
        line = re.search(rf'<th scope="row">{label}</th>(.*?)</tr>', page, re.DOTALL).group(1)
        return re.findall(r'<td class="rank( best)?"[^>]*>([\d.]+)<small>([\d.]*)</small>', line)

    assert cells_of("accuracy") == [("", "0.5500", "1.50"), (" best", "0.6500", "1.50")]
    assert cells_of("Hamming loss ↓") == [(" best", "0.5500", "1.50"), ("", "0.6500", "1.50")]
    shown = re.findall(r'<th scope="row">(label \d \(<wbr>\d\))', page)
    assert shown == ["label 2 (<wbr>4)", "label 1 (<wbr>2)", "label 0 (<wbr>0)"]
    assert cells_of(r"label 2 \(<wbr>4\)") == [(" best", "0.020", "0.750")]
    assert cells_of(r"label 1 \(<wbr>2\)") == [(" best", "0.010", "")]
    assert "classes" not in text_of(page)
    many = page_of(tmp_path / "many", suite, truth=lambda *_: 0.5, label_scores=label_table(MOST_LABELS + 7))
    assert "7 less frequent labels" in many


def test_figures_follow_the_colors_of_the_page():
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


def colors_of(block):
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block))


def contrast(first, second):
    """Compute the contrast ratio of two colors as the Web Content Accessibility Guidelines define it."""

    def luminance(color):
        parts = np.array([int(color[start : start + 2], 16) for start in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_method_stands_out_on_light_and_on_dark_paper(scheme):
    light, dark = (colors_of(block) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL))
    seen = light if scheme == "light" else light | dark
    for color in COLORS:
        shown = seen.get(f"--fig-{color[1:].lower()}", color)
        assert contrast(shown, seen["--paper"]) > (2 if scheme == "light" else 4), color
    shades = {seen.get(f"--fig-{color[1:].lower()}", color.lower()) for color in COLORS}
    assert len(shades) == len(COLORS)


def test_colors_are_variables_that_dark_pages_redefine():
    outside = re.sub(r":root \{.*?\}", "", CSS, flags=re.DOTALL)
    assert not re.search(r"#[0-9a-f]{3,6}\b|\b(black|white)\b(?!-)", outside)
    assert "prefers-color-scheme: dark" in CSS


def test_every_table_scrolls_in_a_region_that_shows_where_it_goes_on(tmp_path):
    page = page_of(tmp_path, suite_of(3))
    tables = page.count("<table")
    assert tables > 8
    assert len(re.findall(r'<div class="scroll" role="region" aria-label="[^"]+" tabindex="0"><table', page)) == tables
    rule = re.search(r"\.scroll \{(.*?)\}", CSS, re.DOTALL).group(1)
    assert "overflow-x: auto" in rule
    # The shadow stays at the edge; what covers it moves with the table.
    assert re.search(r"var\(--paper\).*no-repeat local,.*var\(--shade\).*no-repeat scroll", rule, re.DOTALL)


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
