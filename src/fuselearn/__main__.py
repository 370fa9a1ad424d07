"""The command ``fuselearn``, also as ``python -m fuselearn``."""

import os
import sys


def main() -> None:
    """Run the command line, or print which extra to install."""
    _write_utf8()
    try:
        from fuselearn.cli.main import app
    except ImportError as error:
        sys.exit(str(error))
    app(prog_name="fuselearn")


def _write_utf8() -> None:
    """Write UTF-8 to files and pipes; on Windows the default is the system's encoding."""
    for stream in (sys.stdout, sys.stderr):
        if "PYTHONIOENCODING" not in os.environ and hasattr(stream, "reconfigure") and not stream.isatty():
            stream.reconfigure(encoding="utf-8")


if __name__ == "__main__":
    main()
