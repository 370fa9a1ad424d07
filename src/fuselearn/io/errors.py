"""What goes wrong with model files, in sentences."""


class ModelFileError(ValueError):
    """A model file that cannot be loaded, or a model that cannot be saved."""


class UnknownTypeError(ModelFileError):
    """A model file of another version, with a type that this version does not have."""
