"""The built site in a browser: no errors, nothing wider than the window, and the search finds what people look for.

`make test-docs` builds the site first. The browser is the one in the environment variable CHROMIUM, or on the path.
"""

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "_build" / "html"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PAGES, reason="The site is not built; `make docs` builds it."),
]


@pytest.fixture(scope="module")
def address():
    """Serve the site on a free port."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Handler, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def page():
    """Open a browser, whose messages of errors are collected in `page.errors`."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is part of the extra `docs`.")
    if CHROMIUM is None:
        pytest.skip("No Chromium on the path or in the environment variable CHROMIUM.")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.errors = []
        page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("requestfailed", lambda request: page.errors.append(f"not loaded: {request.url}"))
        yield page
        browser.close()


def widest(page):
    """Return how much wider than the window the page is, and the elements that reach beyond it."""
    return page.evaluate(
        """() => {
            const width = document.documentElement.clientWidth;
            const isBeyond = (element) => element.getBoundingClientRect().right > width + 1;
            const beyond = [...document.querySelectorAll("main *")].filter(isBeyond);
            const names = beyond.slice(0, 5).map((element) => element.tagName + "." + element.className);
            return [document.documentElement.scrollWidth - width, names];
        }"""
    )


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_the_window_and_reports_no_error(path, page, address):
    page.errors.clear()
    page.goto(f"{address}/{path}")
    for width, scheme in ((1280, "light"), (1280, "dark"), (400, "dark"), (400, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)
        excess, names = widest(page)
        assert excess <= 0, f"{excess} pixels too wide at {width}: {names}"
    assert page.errors == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("save a model", ("getting-started.html", "deploy.html")),
        ("label noise", ("wrong-labels.html", "robustness.html")),
        ("threshold", ("multilabel.html",)),
        ("Dask", ("scale.html",)),
    ],
)
def test_the_search_finds(words, expected, page, address):
    page.goto(f"{address}/search.html?q={words}")
    page.wait_for_function("document.querySelector('#search-results p.search-summary')?.innerText.includes('found')")
    found = page.eval_on_selector_all("#search-results li a", "links => links.map((link) => link.href)")
    names = [address.rsplit("/", 1)[-1].split("?")[0].split("#")[0] for address in found]
    assert set(expected) & set(names[:15]), names[:15]


def test_the_explorable_page_computes_what_the_library_does(page, address):
    page.goto(f"{address}/explore.html")
    gains, weights = page.evaluate(
        """() => [
            exploreRuns.map((run) => run.states.slice(1).map((state) => state.gain)),
            exploreRuns.map((run) => run.states.at(-1).weights),
        ]"""
    )
    fits = page.evaluate("exploreData.fits")
    for fit, computed_gains, computed_weights in zip(fits, gains, weights, strict=True):
        assert computed_gains == pytest.approx(fit["gains"], abs=1e-9)
        assert computed_weights == pytest.approx(fit["weights"], abs=1e-9)


def test_the_sliders_of_the_explorable_page_change_it(page, address):
    page.goto(f"{address}/explore.html")
    story = page.inner_text("#explore-story")
    assert story.startswith("Start:")
    page.click("#explore-next")
    after_one = page.inner_text("#explore-story")
    assert after_one.startswith("Member 1:")
    page.fill("#explore-noise", "3")
    assert page.inner_text("#explore-noise-value") == "30 %"
    assert page.inner_text("#explore-story") != after_one
    assert page.locator("#explore-points .ring").count() == 12
