"""Configuration of the site, which `make docs` builds."""

import inspect
import os
import re
import sys
import warnings
from pathlib import Path

import fuselearn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from quoted import QUOTED  # noqa: E402

project = "fuselearn"
author = "The fuselearn developers"
copyright = f"2026, {author}"
version = release = fuselearn.__version__

extensions = [
    "llms_txt",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "gallery/*.ipynb", "gallery/*.py", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
ROOT_PAGES = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md"}
nitpicky = True
default_role = "code"
highlight_language = "none"
toc_object_entries_show_parents = "hide"

# The inventories of other projects are on the net, and a build must succeed without it: the hosted workflow asks
# for links to them, and elsewhere their names stay plain text.
intersphinx_mapping = {}
nitpick_ignore_regex = []
OTHERS = {
    "sklearn": "https://scikit-learn.org/stable/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "pandas": "https://pandas.pydata.org/docs/",
    "matplotlib": "https://matplotlib.org/stable/",
}
if os.environ.get("FUSELEARN_DOCS_ONLINE"):
    intersphinx_mapping = {name: (address, None) for name, address in OTHERS.items()}
else:
    nitpick_ignore_regex = [("py:.*", rf"({'|'.join(OTHERS)})(\..*)?")]

myst_enable_extensions = ["colon_fence", "substitution"]
myst_substitutions = QUOTED
myst_heading_anchors = 4

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_settings.ReadingOrder",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "gallery_settings.limit_time"),
    "reset_modules_order": "both",
    "matplotlib_animations": True,
    "image_scrapers": ("gallery_settings.scrape_figures", "matplotlib"),
    "backreferences_dir": "api/backreferences",
    "doc_module": ("fuselearn",),
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
}
# A figure is meant for the page; that it is not shown in a window is no news.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "fuselearn"
html_favicon = "_static/favicon.svg"
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_context = {"default_mode": "auto"}
html_static_path = ["_static", "_build/explore"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "install": [], "getting-started": [], "comparison": [], "explore": []}
html_theme_options = {
    "logo": {"text": "fuselearn", "image_light": "_static/favicon.svg", "image_dark": "_static/favicon.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "explore": []},
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def skip_inherited(app, what, name, member, skip, options):
    """Leave members that scikit-learn defines to scikit-learn's own reference."""
    module = getattr(inspect.unwrap(member) if callable(member) else member, "__module__", None) or ""
    return True if module.startswith("sklearn") or name.endswith("_request") else None


def prepare_source(app, docname, source):
    """Take pages whose text is in the root of the repository from there; let animations use the theme's icons."""
    source[0] = re.sub(r'<link rel="stylesheet"\s+href="https://[^"]*font-awesome[^"]*">', "", source[0])
    if docname in ROOT_PAGES:
        path = HERE.parent / ROOT_PAGES[docname]
        app.env.note_dependency(str(path))
        source[0] = path.read_text("utf-8").replace("](docs/", "](")
        for name, original in ROOT_PAGES.items():
            source[0] = source[0].replace(f"]({original}", f"]({name}.md")
    # Numbers of one cell of a table stay on one line.
    gap = re.compile(r"(?<=[\d*]) (?=[/:±] [\d*]|\([\d*−+])|(?<=[\d*] [/:±]) (?=[\d*])")
    rows = re.compile(r"^\|.*$", re.MULTILINE)
    source[0] = rows.sub(lambda row: gap.sub("\N{NO-BREAK SPACE}", row[0]), source[0])


def resolve_short_names(app, env, node, contnode):
    """Link `fuselearn.KFHEClassifier` to the page of the package that defines it."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target.startswith("fuselearn."):
        return None
    name, _, member = target.removeprefix("fuselearn.").partition(".")
    for package, names in fuselearn._PACKAGES.items():
        if name in names:
            full = ".".join(filter(None, (f"fuselearn.{package}", name, member)))
            domain = env.get_domain("py")
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, contnode)
    return None


def setup(app):
    """Connect what is above."""
    from explore_data import write_explore_data

    write_explore_data(HERE / "_build" / "explore")
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("source-read", prepare_source)
    app.connect("missing-reference", resolve_short_names)
