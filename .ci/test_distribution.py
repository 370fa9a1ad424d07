"""Test what is to be published: each distribution in an empty environment outside of the checkout, by the quick tests.

The tests are those of the source distribution, without its sources, so that nothing but the installed package can be
imported. The argument is a folder with a source distribution, which is compared with the files of the repository, and a
wheel; or one distribution beside a source distribution. README's Python blocks run after a plain installation, and all
of its code in the environment that README installs, before anything else is installed there. For a folder, the wheel
for all versions from Python 3.12 on is built, too, and is tested with each of them that is there.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUICK_TESTS = ROOT / ".ci" / "quick-tests.txt"
OF_THE_INSTALLATION = ["tests/test_startup.py", "tests/test_extras.py"]
README = ROOT / ".ci" / "run_readme.py"
LATER_PYTHONS = ["python3.12", "python3.13", "python3.14"]
BIN = Path(sys.executable).parent


def main(given: Path) -> None:
    """Test one distribution, or all that belong to a release."""
    if given.is_file():
        test(given, sys.executable)
        return
    (sources,), (wheel,) = given.glob("*.tar.gz"), given.glob("*.whl")
    check_sources(sources)
    test(sources, sys.executable)
    test(wheel, sys.executable)
    found = [python for python in LATER_PYTHONS if runs(python)]
    if found and "abi3" not in wheel.name:
        call(found[0], "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(given), str(sources))
    for stable in given.glob("*-abi3-*.whl"):
        call(str(BIN / "abi3audit"), "--strict", "--report", str(stable))
        for python in found:
            test(stable, python)
    if len(found) < 2:
        print(f"The wheel for several versions was tested with {len(found)} of {', '.join(LATER_PYTHONS)}: no others.")
    if sys.platform == "linux":
        for built in given.glob("*.whl"):
            call(str(BIN / "auditwheel"), "show", str(built))
    call(sys.executable, "-m", "twine", "check", "--strict", *map(str, given.iterdir()))


def check_sources(sources: Path) -> None:
    """Check that a source distribution has the files of the repository that it should have, and no others."""
    with tarfile.open(sources) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    folders, files = (
        ["src", "cpp", "tests", "reproduction", "docs"],
        ["CMakeLists.txt", "pyproject.toml", "CITATION.cff", "LICENSE"],
    )
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders, *files, ":(glob)*.md"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    tracked = set(listed.stdout.split("\0")) - {""}
    if shipped != tracked:
        sys.exit(f"{sources.name} and the repository differ in {', '.join(sorted(shipped ^ tracked))}.")


def test(distribution: Path, python: str) -> None:
    """Install a distribution for a Python into an empty environment, and run the quick tests there."""
    (sources,) = distribution.parent.glob("*.tar.gz")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder).resolve()
        shutil.unpack_archive(sources, place / "unpacked")
        (root,) = (place / "unpacked").iterdir()
        (root / "src").rename(place / "out-of-the-way")
        call(python, "-m", "venv", str(place / "environment"))
        installed = str(place / "environment" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))

        def run(*arguments: str) -> str:
            return subprocess.run(
                [installed, *arguments], cwd=root, env=environment, check=True, stdout=subprocess.PIPE, text=True
            ).stdout

        (extra,) = set(re.findall(r'pip install "fuselearn(\[.*?\])"', (root / "README.md").read_text("utf-8")))
        for installation, code in ((str(distribution), ["blocks"]), (f"{distribution}{extra}", [])):
            run("-m", "pip", "install", "--quiet", installation)
            with tempfile.TemporaryDirectory() as empty:
                subprocess.run([installed, str(README), *code], cwd=empty, env=environment, check=True)
        run("-m", "pip", "install", "--quiet", f"{distribution}[test]")
        library = Path(run("-c", "import fuselearn; print(fuselearn.__file__)").strip())
        if not library.is_relative_to(place / "environment"):
            sys.exit(f"{library} would be tested instead of {distribution.name}.")
        print(f"{distribution.name}: installed with {run('--version').strip()}, testing", flush=True)
        started = time.monotonic()
        tests = [installed, "-m", "pytest", "-n", "auto", "-p", "no:cacheprovider", f"@{QUICK_TESTS}"]
        subprocess.run([*tests, *OF_THE_INSTALLATION], cwd=root, env=environment, check=True)
        print(f"{distribution.name}: passed in {time.monotonic() - started:.0f} s", flush=True)


def runs(python: str) -> bool:
    """Return whether there is a program of this name, and it starts."""
    try:
        return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def call(*command: str) -> None:
    """Run a program, which prints for itself, and which must succeed."""
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
