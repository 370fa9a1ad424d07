"""Errors of model files."""


class ModelFileError(ValueError):
    """Raised if a model file cannot be loaded, or a model cannot be saved.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import fuselearn
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.fuse")
    >>> _ = path.write_text("not a model")
    >>> try:
    ...     fuselearn.load(path)
    ... except fuselearn.io.ModelFileError as error:
    ...     print(str(error).replace(str(path), "model.fuse"))
    model.fuse cannot be loaded. It is not a model file, or it is damaged.
    """
