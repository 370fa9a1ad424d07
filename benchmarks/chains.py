"""Chains of many labels on support vector machines, against scikit-learn's ``ClassifierChain`` of ``SVC``.

One chain of 100 labels is trained by both on the same samples, with radial kernels and Platt's calibration over five
folds, on one thread. Then the time and the memory of an ensemble of 25 chains with 500 labels, its default.
"""

from __future__ import annotations

import subprocess
import sys
import warnings

from sklearn.calibration import CalibratedClassifierCV
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.pct_forest import MANY_LABELS, make_table
from benchmarks.timing import best_of_turns, print_limit, print_ratio
from fuselearn.multilabel import ChainClassifier

N_LABELS = 100
AT_LEAST = 20
MOST_SECONDS = 60
MOST_MEGABYTES = 500

PROGRAM = """
from benchmarks.pct_forest import MANY_LABELS, make_table
from benchmarks.timing import seconds
from fuselearn.multilabel import EnsembleOfChainsClassifier

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

X, Y = make_table(MANY_LABELS)
EnsembleOfChainsClassifier(random_state=0).fit(X[:100], Y[:100, :5]).predict(X[:100])
before = memory("VmRSS")
model = EnsembleOfChainsClassifier(random_state=0)
print(seconds(lambda: model.fit(X, Y)), memory("VmHWM") - before)
"""


def main() -> None:
    warnings.simplefilter("ignore")  # rare labels have fewer positive samples than there are folds
    X, Y = make_table(MANY_LABELS)
    some = Y[:, :N_LABELS]
    machine = CalibratedClassifierCV(SVC(gamma=1 / X.shape[1]), ensemble=False)
    ChainClassifier(random_state=0).fit(X[:100], Y[:100, :5])
    times = best_of_turns(
        lambda: ChainClassifier(random_state=0).fit(X, some),
        lambda: ClassifierChain(make_pipeline(StandardScaler(), machine)).fit(X, some),
        turns=1,
    )
    print_ratio(f"a chain of {N_LABELS} labels, {X.shape[0]} samples, fit", *times, AT_LEAST)
    printed = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
    taken, megabytes = map(float, printed.split())
    title = f"ECC, 25 chains, {X.shape[0]} samples, {MANY_LABELS.n_labels} labels"
    print_limit(f"{title}, fit", taken, MOST_SECONDS, "s")
    print_limit(f"{title}, memory", megabytes, MOST_MEGABYTES, "MB")


if __name__ == "__main__":
    main()
