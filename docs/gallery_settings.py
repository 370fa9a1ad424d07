"""The gallery: the order of its examples, their time, and figures of fuselearn's own, which pyplot does not know."""

from time import process_time

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx.errors import ExtensionError
from sphinx_gallery.scrapers import figure_rst

MOST_SECONDS = 10

READING_ORDER = (
    "filter_at_work", "trace", "label_audit", "noise_rises", "prediction_sets", "explanation", "thresholds",
    "homer_hierarchy", "stacking_selection", "stacking_overfits", "output_codes", "bias_variance", "forest_grows",
    "own_sensor", "tuning", "csv_to_onnx",
)  # fmt: skip


class ReadingOrder:
    """Sort the examples as a reader would take them; a new one must be given its place."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, name):
        """Return the place of a file."""
        return READING_ORDER.index(name.removeprefix("plot_").removesuffix(".py"))


started = {}


def limit_time(gallery_conf, name, when):
    """Stop the build at an example that takes too long; processor time does not depend on what else is running."""
    if when == "before":
        started[name] = process_time()
    elif (seconds := process_time() - started[name]) > MOST_SECONDS:
        raise ExtensionError(f"{name} takes {seconds:.1f} s of processor time; an example may take {MOST_SECONDS} s.")


def scrape_figures(block, block_vars, gallery_conf):
    """Save the figure that a block has assigned to `figure`, once; those of pyplot are saved after this."""
    figure = block_vars["example_globals"].get("figure")
    if not isinstance(figure, Figure) or hasattr(figure, "is_shown"):
        return ""
    figure.is_shown = True
    if figure in [plt.figure(number) for number in plt.get_fignums()]:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=120)
    return figure_rst([path], gallery_conf["src_dir"])
