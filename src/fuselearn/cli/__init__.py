"""The command line: thin commands over the lab and the datasets.

- `main`: the application and what every command shares.
- `commands`: one function per command of the lab.
- `models`: train, predict and export; `information`: info.
- `reading`: the options by which tables are read, and what is said about their columns.
- `outputs`: where a command may write.
- `running`: run a suite with a bar, print its table, write its files.
- `errors`: sentences and exit codes instead of tracebacks.
"""

from fuselearn._extras import require

require("The command line", "typer", "rich", "pandas", "pyarrow")
