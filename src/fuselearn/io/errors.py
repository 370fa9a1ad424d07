"""What goes wrong with model files, in sentences."""


class ModelFileError(ValueError):
    """A model file that cannot be loaded, or a model that cannot be saved."""
