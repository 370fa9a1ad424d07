"""Save, load and export models."""

from fuselearn.io.export import to_onnx
from fuselearn.io.files import load, read_header, save
from fuselearn.io.trust import ModelFileError

__all__ = [
    "ModelFileError",
    "load",
    "read_header",
    "save",
    "to_onnx",
]
