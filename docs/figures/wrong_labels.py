"""Make the figure of README.md from the suite of `fuselearn demo`: python docs/figures/wrong_labels.py."""

import dataclasses
import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from fuselearn import BaggedClassifier, CARTClassifier, FusedClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.lab import ResultStore, run_suite, summarize
from fuselearn.lab.figures import score_against_noise
from fuselearn.lab.suites import DEMO

FIGURE = Path(__file__).with_suffix(".svg")
METHODS = {
    "Fused": FusedClassifier(),
    "KFHE": KFHEClassifier(),
    "AdaBoost": SAMMEClassifier(),
    "Bagging": BaggedClassifier(),
    "CART": CARTClassifier(),
}


def draw_wrong_labels() -> Figure:
    """Draw the macro F1 of five ensembles against the fraction of wrong labels, for each dataset of the demo."""
    with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "results.db") as store:
        run_suite(dataclasses.replace(DEMO, methods=list(METHODS)), store, estimators=METHODS, n_jobs=-1)
        return score_against_noise(summarize(store), columns=4)


if __name__ == "__main__":
    draw_wrong_labels().savefig(FIGURE, metadata={"Date": None})
    print(FIGURE)
