"""Save, load and export models."""

from fuselearn.io.errors import ModelFileError
from fuselearn.io.export import register_converters, to_onnx
from fuselearn.io.files import load, read_header, save

__all__ = [
    "ModelFileError",
    "load",
    "read_header",
    "register_converters",
    "save",
    "to_onnx",
]
