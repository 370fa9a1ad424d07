"""Make the figure of README.md, a longer run of the suite of `fuselearn demo`: python docs/figures/wrong_labels.py."""

import dataclasses
import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from fuselearn.lab import ResultStore, run_suite, summarize
from fuselearn.lab.figures import score_against_noise
from fuselearn.lab.suites import DEMO

FIGURE = Path(__file__).with_suffix(".svg")
REPEATS = 2
NAMES = dict(
    zip(
        DEMO.methods,
        ("Fused", "KFHE", "Random forest", "Random forest (leaf 3)", "Hist. gradient boosting"),
        strict=True,
    )
)


def draw_wrong_labels() -> Figure:
    """Draw the mean macro F1 against the fraction of wrong labels, for each dataset of the demo, over all folds."""
    suite = dataclasses.replace(DEMO, repeats=REPEATS, test_folds=None)
    with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "results.db") as store:
        run_suite(suite, store, n_jobs=1)
        summary = summarize(store)
    print(summary.pivot(index="method", columns=["dataset", "noise"], values="score").round(3).to_string())
    print(summary.groupby("method", sort=False)["fit_seconds"].mean().round(2).to_string())
    figure = score_against_noise(summary.replace({"method": NAMES}), columns=3)
    figure.set_figheight(3.4)
    return figure


if __name__ == "__main__":
    draw_wrong_labels().savefig(FIGURE, metadata={"Date": None})
    print(FIGURE)
