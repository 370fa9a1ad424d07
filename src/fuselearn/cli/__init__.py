"""The command line: thin commands over the lab and the datasets.

- `main`: the application.
- `comparing`: compare, demo, report and methods; `training`: train, and `large` from disk; `predicting`: predict and
  export, and `scoring` the scores of predictions; `inspecting`: info and audit.
- `tables`: the options for reading tables, and notes about their columns.
- `guarding`: messages and exit codes instead of tracebacks, and checks of output files.
"""

from fuselearn._extras import require

require("The command line", "typer", "rich", "pyarrow")
