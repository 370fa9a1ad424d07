"""Time of the import, and of the first fit and prediction of a process, right after an installation and later."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import fuselearn
from benchmarks.timing import SMALL, pick, print_limit

WINE = "from sklearn.datasets import load_wine; X, y = load_wine(return_X_y=True)"
LABELS = (
    "from sklearn.datasets import make_multilabel_classification; "
    "X, y = make_multilabel_classification(200, 20, n_classes=5, random_state=0)"
)
MODELS = {
    "KFHE": (WINE, "from fuselearn import KFHEClassifier as Model"),
    "Fused": (WINE, "from fuselearn import FusedClassifier as Model"),
    "fused multi-label": (LABELS, "from fuselearn import FusedMultilabelClassifier as Model"),
}
TURNS = pick(3, 1)
# A program that times statements, less what scikit-learn's own modules take. The library is a copy, not what is
# installed, which an editable installation would redirect to.
PROGRAM = """
import sys, time
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path.insert(0, {library!r})
from importlib import import_module
for name in {scikit_learn!r}:
    import_module(name)
{setting}
start = time.perf_counter()
{statements}
seconds = time.perf_counter() - start
assert sys.modules["fuselearn"].__file__.startswith({library!r})
print(seconds, *(name for name in sys.modules if name.partition(".")[0] == "sklearn"))
"""


def run(library: Path, statements: str, setting: str = "", scikit_learn: tuple[str, ...] = ()) -> tuple[float, list]:
    """Run statements in a new process; give their seconds, and the modules of scikit-learn that are loaded then."""
    program = PROGRAM.format(
        library=str(library), statements=statements, setting=setting, scikit_learn=list(scikit_learn)
    )
    # As for any user, Python keeps the bytecode of what it has once imported.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    seconds, *modules = done.stdout.split()
    return float(seconds), modules


def measure(statements: str, setting: str = "") -> tuple[float, float]:
    """Give the seconds of statements in the first process after an installation, and in later ones."""
    first, later = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(TURNS):
            library = Path(folder, str(turn))
            shutil.copytree(
                Path(fuselearn.__file__).parent, library / "fuselearn", ignore=shutil.ignore_patterns("__pycache__")
            )
            if turn == 0:
                scikit_learn = run(library, statements, setting)[1]
                for cache in list(library.rglob("__pycache__")):
                    shutil.rmtree(cache)
            first.append(run(library, statements, setting, scikit_learn)[0])
            later.append(run(library, statements, setting, scikit_learn)[0])
    return min(first), min(later)


def main() -> None:
    statements = ("import fuselearn", "from fuselearn import KFHEClassifier", "from fuselearn import multilabel")
    for statement in statements[: 1 if SMALL else None]:
        print_limit(f"{statement}, beyond scikit-learn", measure(statement)[1], 0.15, "s")
    for name, (setting, statement) in list(MODELS.items())[: 1 if SMALL else None]:
        first, later = measure(f"{statement}; Model(random_state=0).fit(X, y).predict(X)", setting)
        print_limit(f"{name}: first fit and predict after an installation", first, 1.5, "s")
        print(f"  the same in a later process: {later:.2f} s")


if __name__ == "__main__":
    main()
