"""`fuselearn predict` on a CSV file of 1,000,000 rows, against pandas reading that file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from typer.testing import CliRunner

from benchmarks.timing import best_of_turns, pick, print_ratio
from fuselearn import CARTClassifier, KFHEClassifier, save
from fuselearn.cli.main import app

N_ROWS = pick(1_000_000, 300)
TRAINING_ROWS = pick(1000, 100)


def main() -> None:
    X, y = make_classification(N_ROWS, 10, n_informative=6, n_classes=3, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(10)])
    classes = np.array(["low", "medium", "high"])[y[:TRAINING_ROWS]]
    with tempfile.TemporaryDirectory() as folder:
        rows, answers = Path(folder, "rows.csv"), Path(folder, "answers.csv")
        frame.to_csv(rows, index=False)
        print(f"  {rows.stat().st_size / 1e6:.0f} MB, 10 columns of numbers")
        for estimator in (CARTClassifier(), KFHEClassifier(n_estimators=10), KFHEClassifier()):
            model = estimator.set_params(random_state=0, n_jobs=-1).fit(frame[:TRAINING_ROWS], classes)
            path = Path(folder, "model.fuse")
            save(model, path)
            trees = len(model.estimators_) if hasattr(model, "estimators_") else 1
            times = best_of_turns(
                lambda path=path: _run("predict", path, rows, "-o", answers),  # type: ignore[misc]
                lambda: pd.read_csv(rows),
                3,
            )
            print_ratio(f"predict, {type(model).__name__}, {trees} trees", *times, 0.5)


def _run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


if __name__ == "__main__":
    main()
