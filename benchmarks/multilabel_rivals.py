"""Other packages' multi-label classifiers, each in a process of its own, since some of them may crash.

``python multilabel_rivals.py NAME FOLDER`` reads X, Y and new from FOLDER/data.npz, fits the rival, and writes
FOLDER/answer.npz: ``labels`` that it predicts for the new samples, ``scores`` with their probabilities, for boosted
trees the processor's ``seconds`` for one fit and, for rivals whose thresholds are learned, ``held_out`` with
out-of-fold probabilities of the training samples. The file imports nothing of this repository, so that any Python with
the packages can run it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SEED = 0
N_FOLDS = 5


def boomer(**parameters: Any) -> Callable[..., dict[str, Any]]:
    def answer(X: Any, Y: Any, new: Any) -> dict[str, Any]:
        from mlrl.boosting import BoomerClassifier

        model = BoomerClassifier(random_state=SEED + 1, **parameters).fit(X.astype(np.float32), Y)
        return {"labels": model.predict(new.astype(np.float32)), "scores": model.predict_proba(new.astype(np.float32))}

    return answer


def lightgbm(X: Any, Y: Any, new: Any) -> dict[str, Any]:
    from sklearn.model_selection import KFold

    start = time.process_time()
    scores = lightgbm_scores(X, Y, new)
    seconds = time.process_time() - start
    held_out = np.empty(Y.shape)
    for inside, outside in KFold(N_FOLDS, shuffle=True, random_state=SEED).split(X):
        held_out[outside] = lightgbm_scores(X[inside], Y[inside], X[outside])
    return {"labels": scores > 0.5, "scores": scores, "held_out": held_out, "seconds": seconds}


def lightgbm_scores(X: Any, Y: Any, new: Any) -> Any:
    from lightgbm import LGBMClassifier

    scores = np.empty((len(new), Y.shape[1]))
    for j, y in enumerate(Y.T):
        if y.min() == y.max():
            scores[:, j] = y[0]
        else:
            model = LGBMClassifier(random_state=SEED, n_jobs=1, verbosity=-1).fit(X, y)
            scores[:, j] = model.predict_proba(new)[:, 1]
    return scores


def xgboost(X: Any, Y: Any, new: Any) -> dict[str, Any]:
    from xgboost import XGBClassifier

    model = XGBClassifier(multi_strategy="multi_output_tree", tree_method="hist", random_state=SEED, n_jobs=1)
    start = time.process_time()
    scores = model.fit(X, Y).predict_proba(new)
    return {"labels": scores > 0.5, "scores": scores, "seconds": time.process_time() - start}


def multilearn_powerset(X: Any, Y: Any, new: Any) -> dict[str, Any]:
    from skmultilearn.problem_transform import LabelPowerset

    model = LabelPowerset(classifier=forest(), require_dense=[True, True]).fit(X, Y)
    scores = model.predict_proba(new).toarray()
    return {"labels": model.predict(new).toarray(), "scores": scores}


def multilearn_rakel(X: Any, Y: Any, new: Any) -> dict[str, Any]:
    """Run RAkELo with the numbers that its documentation recommends; it gives labels, no probabilities."""
    from skmultilearn.ensemble import RakelO

    model = RakelO(
        base_classifier=forest(),
        base_classifier_require_dense=[True, True],
        labelset_size=3,
        model_count=2 * Y.shape[1],
    )
    labels = model.fit(X, Y).predict(new).toarray()
    return {"labels": labels, "scores": labels}


def forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=SEED, n_jobs=1)


RIVALS: dict[str, Callable[..., dict[str, Any]]] = {
    "BOOMER, decomposable, GFM": boomer(loss="logistic-decomposable", binary_predictor="gfm"),
    "BOOMER, non-decomposable": boomer(loss="logistic-non-decomposable", head_type="complete"),
    "LightGBM per label": lightgbm,
    "XGBoost, vector leaves": xgboost,
    "scikit-multilearn, powerset": multilearn_powerset,
    "scikit-multilearn, RAkELo": multilearn_rakel,
}


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    data = np.load(folder / "data.npz")
    answer = RIVALS[name](data["X"], data["Y"], data["new"])
    np.savez(folder / "answer.npz", **{key: np.asarray(table, dtype=np.float64) for key, table in answer.items()})


if __name__ == "__main__":
    main()
