"""Save and load models.

A model file is a zip archive of three stored entries: ``header.json`` says what the model is; ``model.skops`` is the
model, taken apart by :mod:`fuselearn.io.flattening` and written by skops; ``digest.txt`` is the SHA-256 of the two, so
that damage is noticed before anything is read from them. Loading never runs code from the file;
:mod:`fuselearn.io.trust` says which types may be in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from fuselearn._replacing import replacing
from fuselearn.io.archive import DEFLATED_BYTES, check_archive
from fuselearn.io.contents import check_contents
from fuselearn.io.errors import ModelFileError, UnknownTypeError
from fuselearn.io.flattening import flatten, unflatten
from fuselearn.io.header import FORMAT, describe_model
from fuselearn.io.trust import refuse_foreign_estimators, refuse_untrusted

HEADER, MODEL, DIGEST = "header.json", "model.skops", "digest.txt"


def save(model: Any, path: str | os.PathLike[str], *, target: str | None = None) -> None:
    """Save a model to a file that :func:`load` can read without running code from it.

    The file is written beside the old one and then put in its place, so that a crash leaves the old file whole.

    Parameters
    ----------
    model : estimator
        Any fuselearn or scikit-learn estimator, or a pipeline of them.
    path : str or path
        By convention with the ending ``.fuse``.
    target : str, optional
        The name of the column of classes, by which ``fuselearn predict`` scores a file that has it.

    Raises
    ------
    ModelFileError
        If the model holds something that :func:`load` would refuse, such as a function of one's own, or an estimator of
        another package.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import fuselearn
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = fuselearn.KFHEClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "wine.fuse")
    ...     fuselearn.save(model, path)
    ...     same_model = fuselearn.load(path)
    >>> bool((same_model.predict(X) == model.predict(X)).all())
    True
    """
    skops = import_skops()
    with _refusing(f"{type(model).__name__} cannot be saved."):
        refuse_foreign_estimators(model)
        flat = flatten(model)
        content = skops.dumps(flat)
        if len(content) <= DEFLATED_BYTES:
            content = skops.dumps(flat, compression=zipfile.ZIP_DEFLATED)
        _trusted_types(skops, content)  # better to refuse now than when the model is needed
    described = describe_model(model) | ({} if target is None else {"target": target})
    header = json.dumps(described, indent=1, default=str).encode()
    entries = {HEADER: header, MODEL: content, DIGEST: _digest(header, content)}
    _write_whole(Path(path), entries)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that :func:`save` has written.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model file, was written by a newer version, or names a type outside of fuselearn,
        NumPy, SciPy and scikit-learn.
    """
    skops = import_skops()
    data = Path(path).read_bytes()
    with _refusing(f"{os.fspath(path)} cannot be loaded."), zipfile.ZipFile(io.BytesIO(data)) as file:
        header, content = _read_stored(file, HEADER), _read_stored(file, MODEL)
        described = _parse_header(header)
        _check_format(described)
        if _read_stored(file, DIGEST) != _digest(header, content):
            raise ModelFileError("It is damaged: its content does not match its digest.")
        del data
        try:
            model = unflatten(skops.loads(content, trusted=_trusted_types(skops, content)))
        except UnknownTypeError as error:
            writer = described.get("fuselearn")
            raise ModelFileError(f"{error} fuselearn {writer}, which wrote it, can load it; or fit it again.") from None
        check_contents(model)
        return model


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says about its model, without loading the model.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict
        ``format`` (version of the file format), ``fuselearn`` (version that wrote it), ``model`` (name of the class, or
        of the steps of a pipeline), ``date`` (ISO 8601, UTC), ``versions`` (of Python and other packages), and, as far
        as the model knows them, ``columns`` (each a dict with ``name``, and ``type`` and ``categories`` where the trees
        take the columns as they are, ``format`` and ``words`` where text is read as dates and numbers), ``left_out``
        (columns of the training table that are no features), ``classes`` or ``labels``, and ``training_shape`` (rows
        and columns).
    """
    with open(path, "rb") as file, _refusing(f"{os.fspath(path)} cannot be read."), zipfile.ZipFile(file) as archive:
        return _parse_header(_read_stored(archive, HEADER))


def import_skops() -> ModuleType:
    """Import what model files are written and read with, or say how to install it."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Model files need skops; install it with: pip install 'fuselearn[skops]'") from error
    return skops.io


@contextlib.contextmanager
def _refusing(sentence: str) -> Iterator[None]:
    """Turn whatever goes wrong with a file's content into a sentence for the user."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{sentence} {error}") from None
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelFileError(f"{sentence} It is no model file, or is damaged.") from error
    except (Exception, RecursionError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelFileError(f"{sentence} {reason}") from error


def _trusted_types(skops: ModuleType, content: bytes) -> list[str]:
    """Check the inside of a model file and give the types in it that skops does not accept by itself."""
    names: list[str] = skops.get_untrusted_types(data=check_archive(content))
    refuse_untrusted(names)
    return names


def _read_stored(file: zipfile.ZipFile, name: str) -> bytes:
    entry = file.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ModelFileError("It is no model file, or is damaged: its entries are not stored as they are.")
    return file.read(entry)


def _parse_header(content: bytes) -> dict[str, Any]:
    header = json.loads(content)
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFileError("Its header does not say which format it has.")
    return header


def _check_format(header: dict[str, Any]) -> None:
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"It was written by fuselearn {header.get('fuselearn')} in format {header['format']}; this version reads "
            f"formats up to {FORMAT}. Update fuselearn."
        )
    if header["format"] < 1:
        raise ModelFileError(f"Its format {header['format']} has never existed.")


def _digest(header: bytes, content: bytes) -> bytes:
    digest = hashlib.sha256(header)
    digest.update(content)
    return digest.hexdigest().encode()


def _write_whole(path: Path, entries: dict[str, bytes]) -> None:
    """Write an archive beside the old file and put it in its place."""
    with replacing(path, durable=True) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
