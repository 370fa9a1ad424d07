"""The command line: thin commands over the lab and the datasets.

- `main`: the application and what every command shares.
- `commands`: one function per command.
- `running`: run a suite with a bar, print its table, write its files.
- `errors`: sentences and exit codes instead of tracebacks.
"""
