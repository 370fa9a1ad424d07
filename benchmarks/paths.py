"""How many files of the library a user's call passes through: those in which a function is called."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.datasets import load_wine

import fuselearn
from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import KFHEHOMERClassifier

HOME = str(Path(fuselearn.__file__).parent)


@contextmanager
def noting_files() -> Iterator[set[str]]:
    """Collect the files of the library in which a function is called."""
    files: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HOME) and frame.f_code.co_filename.endswith(".py"):
            files.add(frame.f_code.co_filename[len(HOME) + 1 :])

    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)


def compare() -> None:
    """Run a comparison of the command line."""
    from fuselearn.cli.main import app

    with TemporaryDirectory() as folder:
        path = Path(folder, "wine.csv")
        X, y = load_wine(return_X_y=True, as_frame=True)
        X.assign(kind=y.map({0: "a", 1: "b", 2: "c"})).to_csv(path, index=False)
        options = ["--fresh", "-t", "kind", "-m", "kfhe", "-m", "cart", "--repeats", "1", "--folds", "2", "--jobs", "1"]
        app(["compare", str(path), *options, "--out", folder], standalone_mode=False)


def main() -> None:
    X, y = load_wine(return_X_y=True)
    Z, Y = make_digit_pairs(60, random_state=0)
    kfhe = fuselearn.KFHEClassifier(n_estimators=3, random_state=0)
    paths: dict[str, tuple[Callable[[], Any], int]] = {
        "KFHE fit": (lambda: kfhe.fit(X, y), 12),
        "KFHE prediction": (lambda: kfhe.predict(X), 8),
        "KFHE-HOMER fit": (lambda: KFHEHOMERClassifier(n_estimators=3, random_state=0).fit(Z, Y), 18),
        "fused fit": (lambda: fuselearn.FusedClassifier(n_estimators=3, random_state=0).fit(X, y), 20),
        "compare": (compare, 20),
    }
    for name, (call, aim) in paths.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()  # modules are imported, whose bodies count as calls
            with noting_files() as files:
                call()
        called = {file for file in files if not file.endswith("__init__.py")}
        print(f"{name:16} {len(called):3} files (aim {aim}): {', '.join(sorted(called))}")


if __name__ == "__main__":
    main()
