"""Save, load and export models."""

from fuselearn.io.errors import ModelFileError
from fuselearn.io.files import load, read_header, save
from fuselearn.io.onnx_models import to_onnx
from fuselearn.io.onnx_pipelines import register_converters

__all__ = [
    "ModelFileError",
    "load",
    "read_header",
    "register_converters",
    "save",
    "to_onnx",
]
