"""Whatever a function of the core is called with, it returns or raises a sentence: it never crashes, nor misreads.

Functions are found in the core, and called by ``core_calls.py`` in a process of their own.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("core_calls.py")
spec = importlib.util.spec_from_file_location("core_calls", PROGRAM)
core_calls = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core_calls)
NAMES = sorted(core_calls.find_callables())
FUNCTIONS = [name for name in NAMES if not isinstance(core_calls.find_callables()[name], property)]


def run(names, n_calls, *options):
    """Run the program, and return its status, its output and its errors; the status is None if it does not end."""
    command = [sys.executable, PROGRAM, ",".join(names), str(n_calls), *options]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, errors="replace") as process:
        try:
            output, errors = process.communicate(timeout=len(names) * (30 + n_calls / 20))
        except subprocess.TimeoutExpired:
            process.kill()
            return None, *process.communicate()
        return process.returncode, output, errors


def check(names, n_calls):
    status, output, errors = run(names, n_calls)
    if status == 0:
        for name, found in json.loads(output).items():
            assert not found["faults"], "\n".join(found["faults"][:5])
            assert found["returned"], (
                f"no accepted arguments of {name} were found; help with PLAUSIBLE in {PROGRAM.name}"
            )
    elif len(names) > 1:
        for name in names:
            check([name], n_calls)
        pytest.fail(f"status {status} of all together, and of none alone:\n{errors[-5000:]}")
    elif "AddressSanitizer: out-of-memory" in errors:
        pytest.skip("The sanitizer ends a process that asks for too much memory; otherwise, it is a MemoryError.")
    else:
        calls = [line for line in run(names, n_calls, "--trace")[2].splitlines() if line.startswith(names[0])]
        pytest.fail(f"status {status} after {calls[-1:]}:\n{errors[-5000:]}")


@pytest.mark.parametrize("first", range(0, len(FUNCTIONS), 12))
def test_any_arguments(first):
    """The functions of one process; if it crashes, each has one of its own."""
    check(FUNCTIONS[first : first + 12], 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_any_arguments_for_longer(name):
    check([name], 20_000)


def test_properties_of_objects_that_were_not_made():
    """``__new__`` alone, or an error in ``__init__``, leaves an object without content."""
    program = """
import warnings
from fuselearn import _core
warnings.simplefilter("ignore")
for kind in vars(_core).values():
    if isinstance(kind, type):
        empty = kind.__new__(kind)
        for name, member in vars(kind).items():
            if isinstance(member, property):
                try:
                    getattr(empty, name)
                except (TypeError, RuntimeError):
                    continue
                raise SystemExit(f"{kind.__name__}.{name} of an object without content")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
