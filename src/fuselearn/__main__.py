"""Lets ``python -m fuselearn`` do what the command ``fuselearn`` does."""

from fuselearn.cli.main import app

if __name__ == "__main__":
    app(prog_name="fuselearn")
