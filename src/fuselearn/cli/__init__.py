"""The command line: thin commands over the rest of the library."""
