"""Model files and ONNX export of an ensemble of 100 trees of 1,000 leaves."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.timing import pick, print_limit, seconds
from fuselearn import KFHEClassifier, load, save, to_onnx


def main() -> None:
    X, y = make_classification(pick(20_000, 200), 20, n_informative=10, n_classes=3, random_state=0)
    model = KFHEClassifier(n_estimators=pick(99, 3), random_state=0).fit(X, y)
    trees = [estimator.tree_ for estimator in model.estimators_]
    print(f"  {len(trees)} trees, {np.mean([tree.n_leaves for tree in trees]):.0f} leaves on average")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.fuse")
        save(model, path)
        load(path).predict(X[:1])
        print_limit("load", 1000 * min(seconds(lambda: load(path)) for _ in range(20)), 50, "ms")
        arrays = sum(part.nbytes for tree in trees for part in (tree.nodes, tree.values, tree.subsets))
        print_limit("size of the file, in sizes of the node arrays", os.path.getsize(path) / arrays, 2, "times")
    print_limit("ONNX export", min(seconds(lambda: to_onnx(model)) for _ in range(3)), 2, "s")


if __name__ == "__main__":
    main()
