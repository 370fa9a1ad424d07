"""Install a built distribution into an empty environment outside of the checkout, and run the quick tests there.

The tests are those of the source distribution, without its sources, so that nothing but the installed package can be
imported. Arguments: the distribution to install, a wheel or a source distribution, beside which the latter lies.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from pathlib import Path

QUICK_TESTS = Path(__file__).resolve().with_name("quick-tests.txt")
OF_THE_INSTALLATION = ["tests/test_startup.py", "tests/test_extras.py"]


def main(distribution: Path) -> None:
    """Test one distribution."""
    (sources,) = distribution.parent.glob("*.tar.gz")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_"))}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder).resolve()
        with tarfile.open(sources) as archive:
            archive.extractall(place / "unpacked", filter="data")
        (root,) = (place / "unpacked").iterdir()
        (root / "src").rename(place / "out-of-the-way")
        venv.create(place / "environment", with_pip=True)
        python = place / "environment" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

        def run(*arguments: str) -> str:
            command = [str(python), *arguments]
            return subprocess.run(
                command, cwd=root, env=environment, check=True, stdout=subprocess.PIPE, text=True
            ).stdout

        run("-m", "pip", "install", "--quiet", f"{distribution}[test]")
        installed = Path(run("-c", "import fuselearn; print(fuselearn.__file__)").strip())
        if not installed.is_relative_to(place / "environment"):
            sys.exit(f"{installed} would be tested instead of {distribution.name}.")
        print(f"{distribution.name}: installed, testing", flush=True)
        started = time.monotonic()
        tests = [str(python), "-m", "pytest", "-n", "auto", "-p", "no:cacheprovider", f"@{QUICK_TESTS}"]
        subprocess.run([*tests, *OF_THE_INSTALLATION], cwd=root, env=environment, check=True)
        print(f"{distribution.name}: passed in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
