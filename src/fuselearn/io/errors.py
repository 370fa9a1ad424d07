"""Errors of model files."""


class ModelFileError(ValueError):
    """Raised if a model file cannot be loaded, or a model cannot be saved."""


class UnknownTypeError(ModelFileError):
    """Raised if a model file of another version has a type that this version lacks."""
