"""The command line: thin commands over the lab and the datasets.

- `main`: the application and what every command shares.
- `commands`: one function per command of the lab.
- `models`: train, predict and export; `large`: training from disk; `scoring`: scores of predictions.
- `inspecting`: info and audit.
- `reading`: the options for reading tables, and the notes that are printed about their columns.
- `outputs`: which files a command may write.
- `running`: runs a suite with a progress bar, prints its table and writes its files.
- `errors`: messages and exit codes instead of tracebacks.
"""

from fuselearn._extras import require

require("The command line", "typer", "rich", "pyarrow")
