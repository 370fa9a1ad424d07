"""Run every benchmark: ``python -m benchmarks``, or some: ``python -m benchmarks small_data prediction``.

Some take hours, and run only if they are asked for; the names after them are the datasets to run them on.
"""

from __future__ import annotations

import importlib
import platform
import sys

import numpy as np
import sklearn

import fuselearn

ALL = (
    "startup",
    "small_data",
    "large_data",
    "forest",
    "prediction",
    "scaling",
    "stratification",
    "codes",
    "combining",
    "model_files",
    "predict_command",
    "svm",
    "large_svm",
    "homer",
    "pct_forest",
    "chains",
    "sparse_trees",
    "calibration",
    "fused",
    "label_audit",
    "cleaned",
    "explaining",
    "scale",
)

ON_REQUEST = (
    "boosters",
    "chain_votes",
    "consensus",
    "cost",
    "fused_members",
    "fused_multilabel",
    "gradient_boosting",
    "prediction_sets",
)


def main() -> None:
    first, *others = sys.argv[1:] or [""]
    chosen, arguments = ([first], others) if first in ON_REQUEST else (sys.argv[1:] or ALL, [])
    unknown = set(chosen) - {*ALL, *ON_REQUEST}
    if unknown:
        sys.exit(f"There is no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(ALL + ON_REQUEST)}.")
    print(
        f"fuselearn {fuselearn.__version__}, scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}, {platform.machine()}"
    )
    for name in chosen:
        print(f"\n{name}: {importlib.import_module(f'benchmarks.{name}').__doc__.splitlines()[0]}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main(*arguments)


if __name__ == "__main__":
    main()
