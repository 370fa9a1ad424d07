"""Make the figure of README.md and its CSV file, a longer run of `fuselearn demo`: docs/figures/wrong_labels.py."""

import dataclasses
import tempfile
from pathlib import Path

import pandas as pd

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


def run_longer_demo() -> pd.DataFrame:
    """Return the means over all folds of each dataset of the demo."""
    suite = dataclasses.replace(DEMO, repeats=REPEATS, test_folds=None)
    with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "results.db") as store:
        run_suite(suite, store, n_jobs=1)
        return summarize(store).replace({"method": NAMES})


if __name__ == "__main__":
    summary = run_longer_demo()
    columns = ["dataset", "noise", "method", "n", "macro_f1", "fit_seconds"]
    summary[columns].round(6).to_csv(FIGURE.with_suffix(".csv"), index=False, lineterminator="\n")
    figure = score_against_noise(summary, columns=3)
    figure.set_figheight(3.4)
    figure.savefig(FIGURE, metadata={"Date": None})
    print(FIGURE)
