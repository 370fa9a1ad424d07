"""Print what CHANGELOG.md says about a release, whose tag is the argument, as ``v0.2.0``.

Fails if the tag is not that of the version in the sources, or if the changelog has no dated section for it.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(tag: str) -> None:
    """Print the notes of one release."""
    source = (ROOT / "src" / "fuselearn" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)[1]
    if tag != f"v{version}":
        sys.exit(f"The tag is {tag}, but the version in the sources is {version}.")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if section is None:
        sys.exit(f"CHANGELOG.md has no section '## {version} - YYYY-MM-DD'.")
    print(section[1].strip())


if __name__ == "__main__":
    main(sys.argv[1])
