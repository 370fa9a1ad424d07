"""Make the figure of README.md from the suite of `fuselearn demo`: python docs/figures/wrong_labels.py."""

import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from fuselearn.lab import ResultStore, get_suite, run_suite, summarise
from fuselearn.lab.reporting.figures import score_against_noise

FIGURE = Path(__file__).with_suffix(".svg")


def draw_wrong_labels() -> Figure:
    """Draw the macro F1 of five ensembles against the fraction of wrong labels, for each dataset of the demo."""
    with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "results.db") as store:
        run_suite(get_suite("demo"), store, n_jobs=-1)
        return score_against_noise(summarise(store), columns=4)


if __name__ == "__main__":
    draw_wrong_labels().savefig(FIGURE, metadata={"Date": None})
    print(FIGURE)
