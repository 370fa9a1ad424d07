"""Run the code of README.md in the environment of this interpreter: its Python blocks, then its commands.

It needs nothing but what README installs, and the blocks need no extra: the argument ``blocks`` runs only them. The
working directory should be empty.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def main() -> None:
    """Run everything, and stop at the first error."""
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], check=True)
    if sys.argv[1:] == ["blocks"]:
        print(f"README: {len(blocks)} blocks ran.")
        return
    section = text[text.index("## From a CSV file") :].partition("\n\n")[2]
    commands = re.findall(r"^    (.+)$", section.partition("\n\n")[0], flags=re.MULTILINE)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        print(f"$ {command}", flush=True)
        subprocess.run(command, shell=True, check=True, env={**os.environ, "PATH": programs})
    print(f"README: {len(blocks)} blocks and {len(commands)} commands ran.")


if __name__ == "__main__":
    main()
