"""Write the types of the compiled core, as its bindings declare them, to src/fuselearn/_core.pyi.

With ``--check``, write nothing, and fail if that file is not what would be written.
"""

import re
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from fuselearn import _core

STUBS = Path(__file__).resolve().parent.parent / "src" / "fuselearn" / "_core.pyi"
RUFF = [str(Path(sys.executable).with_name("ruff"))]


def make_stubs() -> str:
    """Return the text of the stub file."""
    generator = StubGen(_core, include_docstrings=False, quiet=True)
    generator.put(_core)
    # Signatures of bindings may name the type of arrays without its module.
    text = re.sub(r"(?<![\w.])NDArray\[", "numpy.typing.NDArray[", generator.get())
    if "import numpy.typing\n" not in text:
        text = text.replace("import numpy\n", "import numpy\nimport numpy.typing\n")
    return subprocess.run(
        [*RUFF, "format", "--stdin-filename", str(STUBS), "-"],
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    ).stdout


def main() -> None:
    """Write the stub file, or compare it."""
    text = make_stubs()
    if "--check" not in sys.argv:
        STUBS.write_text(text, encoding="utf-8")
    elif not STUBS.exists() or STUBS.read_text(encoding="utf-8") != text:
        sys.exit("src/fuselearn/_core.pyi is not what the core declares: run `make stubs` and commit the file.")


if __name__ == "__main__":
    main()
