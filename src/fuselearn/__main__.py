"""The command ``fuselearn``, also as ``python -m fuselearn``."""

import sys


def main() -> None:
    """Run the command line, or say which extra to install."""
    try:
        from fuselearn.cli.main import app
    except ImportError as error:
        sys.exit(str(error))
    app(prog_name="fuselearn")


if __name__ == "__main__":
    main()
