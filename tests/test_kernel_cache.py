"""Compiled kernels outlive their process wherever something is writable, whatever other processes do meanwhile.

An installation is a copy of the library with two more modules, on which programs are run.
"""

import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numba import config

import fuselearn
from fuselearn._kernels import kernel
from fuselearn.engines.svm.scoring import dot

posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has other permissions and no fork")

CALLEE = """
from fuselearn._kernels import kernel

@kernel
def double(x):
    return 2 * x
"""
CALLER = """
from fuselearn._kernels import kernel
from fuselearn.callee import double

@kernel
def total(values):
    result = 0.0
    for value in values:
        result += double(value)
    return result
"""
USE = """
    import json, numpy as np
    from fuselearn.caller import total
    from fuselearn.callee import double
    result = total(np.arange(4.0))
    hits, misses = (sum(getattr(total.stats, name).values()) for name in ("cache_hits", "cache_misses"))
    print(json.dumps({"result": result, "hits": hits, "misses": misses}))
"""
COMPILED = {"result": 12.0, "hits": 0, "misses": 1}
LOADED = {"result": 12.0, "hits": 1, "misses": 0}


def obey_permissions():
    """Give up root's right to write wherever it likes; an ordinary user has none.

    Called in the new process before it becomes a program, which starts with the rights of the bounding set.
    """
    drop_from_bounding_set, right_to_override = 24, 1
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(drop_from_bounding_set, right_to_override):
        raise OSError("this root cannot give up a right")


class Installation:
    """A copy of the library, and the directories that a user of it has."""

    def __init__(self, root):
        self.root = root
        self.library = root / "site-packages"
        self.home = root / "home"
        self.temporary = root / "tmp"
        shutil.copytree(
            Path(fuselearn.__file__).parent, self.library / "fuselearn", ignore=shutil.ignore_patterns("__pycache__")
        )
        (self.library / "fuselearn" / "callee.py").write_text(CALLEE)
        (self.library / "fuselearn" / "caller.py").write_text(CALLER)
        for directory in (self.home, self.temporary):
            directory.mkdir()

    def run(self, program=USE, *, before=""):
        """Run a program that minds permissions, and return what it printed and its standard error."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment |= {"PYTHONPATH": str(self.library), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"HOME": str(self.home), "TMPDIR": str(self.temporary)}
        environment.pop("FUSELEARN_CACHE", None)
        done = subprocess.run(
            [sys.executable, "-c", before + textwrap.dedent(program)],
            capture_output=True,
            text=True,
            cwd=self.root,
            env=environment,
            preexec_fn=obey_permissions,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def make_read_only(self, *places):
        """Take away the permission to write, below the places, too."""
        for place in places:
            for path in (place, *place.rglob("*")):
                path.chmod(0o555 if path.is_dir() else 0o444)

    def kernels(self, place):
        return sorted(path.name for path in place.rglob("*.nbc"))


@pytest.fixture
def installation(tmp_path):
    yield Installation(tmp_path)
    for path in tmp_path.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)


@posix_only
class TestReadOnlyInstallation:
    def test_kernels_go_to_the_users_cache(self, installation):
        installation.make_read_only(installation.library)
        assert installation.run() == (COMPILED, "")
        assert len(installation.kernels(installation.home / ".cache" / "fuselearn" / "kernels")) == 2
        assert installation.run() == (LOADED, "")

    def test_then_to_a_private_temporary_directory_with_one_sentence(self, installation):
        installation.make_read_only(installation.library, installation.home)
        found, said = installation.run(before="from fuselearn import KFHEClassifier, KFHEHOMERClassifier\n")
        assert found == COMPILED
        assert said.splitlines() == [
            "Compiled kernels can only be stored in a temporary directory. "
            "Set NUMBA_CACHE_DIR to a writable, persistent directory."
        ]
        (root,) = installation.temporary.iterdir()
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        assert installation.run() == (LOADED, "")

    def test_never_to_a_temporary_directory_that_others_can_write_to(self, installation):
        """They could have this user run their code."""
        installation.make_read_only(installation.library, installation.home)
        (installation.temporary / f"fuselearn-kernels-{os.getuid()}").mkdir(mode=0o777)
        found, said = installation.run()
        assert found == COMPILED
        assert said.startswith("Compiled kernels cannot be stored")

    def test_then_nowhere_with_one_sentence(self, installation):
        """A process that may not write a byte to any file, as with a full disk."""
        installation.make_read_only(installation.library)
        forbid = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        found, said = installation.run(before=forbid)
        assert found == COMPILED
        assert said.splitlines() == [
            "Compiled kernels cannot be stored, so each process compiles them again. "
            "Set NUMBA_CACHE_DIR to a writable, persistent directory."
        ]
        assert not [path for path in installation.root.rglob("*.nbc*") if path.stat().st_size]

    def test_kernels_that_an_image_brings_are_read(self, installation):
        """Root compiles when the image is built, an ordinary user runs it, and nothing is writable any more."""
        assert installation.run()[0] == COMPILED
        assert len(installation.kernels(installation.library)) == 2
        installation.make_read_only(installation.library, installation.home, installation.temporary)
        assert installation.run() == (LOADED, "")


def use_anew():
    """Use a kernel of the library as a new process would, and count the specialisations loaded and compiled."""
    fresh = kernel(dot.py_func)
    assert fresh(np.arange(4.0), np.arange(4.0)) == 14
    return {"loaded": fresh.stats.cache_hits.total(), "compiled": fresh.stats.cache_misses.total()}


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_named_directory_is_used(directory):
    assert use_anew() == {"loaded": 0, "compiled": 1}
    assert use_anew() == {"loaded": 1, "compiled": 0}
    (path,) = directory.rglob("*.*")
    assert path.name.startswith("scoring.dot.")


@pytest.mark.parametrize(
    "damage",
    [lambda whole: b"", lambda whole: whole[:-100], lambda whole: whole[:-2000] + bytes(2000)],
    ids=["empty", "cut off", "a block of zeros"],
)
def test_a_damaged_file_is_compiled_again(directory, damage):
    use_anew()
    (path,) = directory.rglob("*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    assert use_anew() == {"loaded": 0, "compiled": 1}
    assert use_anew() == {"loaded": 1, "compiled": 0}


def test_bounds_checks_have_kernels_of_their_own(directory, monkeypatch):
    """Else a run with checks would use code without."""
    use_anew()
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert use_anew() == {"loaded": 0, "compiled": 1}
    assert len(list(directory.rglob("*.nbc"))) == 2


def test_a_flush_deletes_all_files_of_a_kernel(directory):
    use_anew()
    dot._cache.flush()
    assert not list(directory.rglob("*.nbc"))


@posix_only
def test_an_edit_of_a_callee_reaches_its_callers(installation):
    """The machine code of a caller holds that of its callees; their files are told apart by all sources."""
    assert installation.run()[0] == COMPILED
    before = installation.kernels(installation.library)
    (installation.library / "fuselearn" / "callee.py").write_text(CALLEE.replace("2 * x", "3 * x"))
    assert installation.run()[0] == {**COMPILED, "result": 18.0}
    after = installation.kernels(installation.library)
    assert len(after) == 2
    assert not set(before) & set(after), "files of older sources are deleted"


RACE = """
    import json, multiprocessing
    import numpy as np
    from fuselearn.caller import total
    from fuselearn.callee import double

    KINDS = ["float64", "float32", "int64", "uint8", "int16"]

    def use(kinds):
        found = {kind: total(np.arange(4).astype(kind)) for kind in kinds}
        misses = sum(sum(one.stats.cache_misses.values()) for one in (total, double))
        return found, misses

    def save_together(kernel, barrier):
        save, meetings = kernel._cache.save_overload, [barrier]
        def wait_and_save(*what):
            if meetings:
                meetings.pop().wait()
            save(*what)
        kernel._cache.save_overload = wait_and_save

    def take_part(number, barrier, answers):
        save_together(double, barrier)
        save_together(total, barrier)
        answers.put(use(KINDS[number % 5:] + KINDS[:number % 5]))

    fork = multiprocessing.get_context("fork")
    barrier, answers = fork.Barrier(8, timeout=60), fork.Queue()
    processes = [fork.Process(target=take_part, args=(number, barrier, answers)) for number in range(8)]
    for process in processes:
        process.start()
    together = [answers.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    print(json.dumps({
        "together": [found for found, _ in together],
        "exits": [process.exitcode for process in processes],
        "afterwards": use(KINDS),
    }))
"""


@posix_only
def test_eight_processes_fill_an_empty_cache_together(installation):
    """They save different types of one kernel in the same moment, whose numbers numba's cache gets mixed up."""
    found, said = installation.run(RACE)
    right = dict.fromkeys(["float64", "float32", "int64", "uint8", "int16"], 12.0)
    assert found == {"together": [right] * 8, "exits": [0] * 8, "afterwards": [right, 0]}
    assert said == ""
    assert not [path for path in installation.root.rglob("*.nbc*") if not path.name.endswith(".nbc")]


NOTICE = """
    import json, logging, sys
    import numpy as np
    import fuselearn._compile_notice
    from fuselearn.caller import total

    def use(kind, noticeable):
        fuselearn._compile_notice.NOTICEABLE = noticeable
        total(np.arange(4).astype(kind))

    use("float64", 100.0)
    {between}
    use("int64", 0.0)
    use("uint8", 0.0)
    print(json.dumps("done"))
"""
SENTENCE = "fuselearn is compiling kernels for this kind of data"


@posix_only
class TestNotice:
    """One line tells of the first compilation that takes long, where somebody can read it."""

    def test_in_a_terminal(self, installation):
        reading, writing = os.openpty()
        program = textwrap.dedent(NOTICE.format(between="print('short', file=sys.stderr)"))
        environment = os.environ | {"PYTHONPATH": str(installation.library)}
        subprocess.run([sys.executable, "-c", program], stdout=-1, stderr=writing, env=environment, check=True)
        said = os.read(reading, 10_000).decode().splitlines()
        os.close(writing)
        os.close(reading)
        assert said[0] == "short"
        assert len(said) == 2
        assert said[1].startswith(SENTENCE)

    def test_elsewhere_only_as_a_log_record(self, installation):
        found, said = installation.run(NOTICE.format(between="logging.basicConfig(level=logging.INFO)"))
        assert found == "done"
        assert said.count("\n") == 1
        assert said.startswith(f"INFO:fuselearn:{SENTENCE}")
