"""Saving, loading and exporting models."""

from fuselearn.io.errors import ModelFileError
from fuselearn.io.files import load, read_header, save

__all__ = ["ModelFileError", "load", "read_header", "save"]
