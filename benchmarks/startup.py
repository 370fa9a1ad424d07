"""Time of the import with a warm cache, and of the first fit after an installation, which compiles the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.timing import print_limit, seconds

FIRST_FIT = """
import time
start = time.perf_counter()
from fuselearn import KFHEClassifier
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
KFHEClassifier(random_state=0).fit(X, y).predict(X)
print(time.perf_counter() - start)
"""


def _run(program: str, **environment: str) -> str:
    # As for any user, Python keeps the bytecode of what it has once imported.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | environment
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def _time(statement: str, turns: int) -> float:
    """Give the least time of a statement in a new process, less that of a process which does nothing."""
    return min(seconds(lambda: _run(statement)) - seconds(lambda: _run("")) for _ in range(turns))


def main() -> None:
    for statement in ("import fuselearn", "from fuselearn import KFHEClassifier"):
        _run(statement)
        print_limit(f"{statement}, warm cache", _time(statement, 5), 1.5, "s")
    print(f"  of which sklearn.base alone takes {_time('import sklearn.base', 3):.2f} s")
    with tempfile.TemporaryDirectory() as cache:
        first = float(_run(FIRST_FIT, NUMBA_CACHE_DIR=cache))
        second = float(_run(FIRST_FIT, NUMBA_CACHE_DIR=cache))
    print_limit("first KFHE fit and predict after an installation", first, 20, "s")
    print(f"  the same in a new process, kernels cached: {second:.2f} s, with all imports")


if __name__ == "__main__":
    main()
