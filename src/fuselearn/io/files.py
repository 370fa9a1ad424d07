"""Save and load models.

A model file is a zip archive of three uncompressed entries: ``header.json`` describes the model; ``model.skops`` is the
model, flattened by :mod:`fuselearn.io.flattening` and written by skops; ``digest.txt`` is the SHA-256 of the two, so
that damage is detected before they are read. Loading never runs code from the file; :mod:`fuselearn.io.trust` lists the
allowed types.
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
from typing import Any, BinaryIO

from fuselearn import __version__
from fuselearn._messages import find_file
from fuselearn._replacing import replacing
from fuselearn.io.checks import DEFLATED_BYTES, check_archive, check_contents
from fuselearn.io.flattening import flatten, unflatten
from fuselearn.io.header import FORMAT, describe_model
from fuselearn.io.trust import ModelFileError, refuse_foreign_estimators, refuse_untrusted

HEADER, MODEL, DIGEST = "header.json", "model.skops", "digest.txt"
PICKLED = b"\x80"
"""The first byte of a pickle of any protocol since 2."""


def save(model: Any, path: str | os.PathLike[str], *, target: str | None = None) -> None:
    """Save a model to a file that :func:`fuselearn.load` reads without running code from it.

    The file is written under a temporary name and then renamed, so a crash leaves the old file intact.

    Parameters
    ----------
    model : estimator
        Any fuselearn or scikit-learn estimator, or a pipeline of them.
    path : str or path
        Usually with the extension ``.fuse``.
    target : str, optional
        Name of the target column. ``fuselearn predict`` scores the predictions of files that contain it.

    Raises
    ------
    ModelFileError
        If the model contains an object that :func:`fuselearn.load` does not accept, such as a user-defined function or
        an estimator of another package.

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
    from skops import io as skops  # slow import

    with _refusing(f"{type(model).__name__} cannot be saved."):
        refuse_foreign_estimators(model)
        flat = flatten(model)
        content = skops.dumps(flat)
        if len(content) <= DEFLATED_BYTES:
            content = skops.dumps(flat, compression=zipfile.ZIP_DEFLATED)
        _trusted_types(skops, content)  # fail now rather than when the model is needed
    described = describe_model(model) | ({} if target is None else {"target": target})
    header = json.dumps(described, indent=1, default=str).encode()
    entries = {HEADER: header, MODEL: content, DIGEST: _digest(header, content)}
    _write_whole(Path(path), entries)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model written by :func:`fuselearn.save`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, was written by a newer version, or contains a type that is not from
        fuselearn, NumPy, SciPy or scikit-learn.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import fuselearn
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tree.fuse")
    >>> fuselearn.save(fuselearn.CARTClassifier().fit([[0.0], [1.0]], ["low", "high"]), path)
    >>> fuselearn.load(path)
    CARTClassifier()
    """
    from skops import io as skops  # slow import

    data = find_file(path).read_bytes()
    with _refusing(f"{os.fspath(path)} cannot be loaded."), _open_archive(io.BytesIO(data)) as file:
        header, content = _read_stored(file, HEADER), _read_stored(file, MODEL)
        described = _parse_header(header)
        _check_format(described)
        if _read_stored(file, DIGEST) != _digest(header, content):
            raise ModelFileError("It is damaged: its content does not match its digest.")
        del data
        try:
            model = unflatten(skops.loads(content, trusted=_trusted_types(skops, content)))
        except ModelFileError as error:
            if (writer := described.get("fuselearn")) != __version__:
                raise ModelFileError(f"{error} It was written by fuselearn {writer}; this is {__version__}.") from None
            raise
        check_contents(model)
        return model


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a model file without loading the model.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict
        ``format`` (version of the file format), ``fuselearn`` (version that wrote it), ``model`` (name of the class, or
        of the steps of a pipeline), ``date`` (ISO 8601, UTC), ``versions`` (of Python and other packages), and, if
        available, ``columns`` (each a dict with ``name``, with ``type`` and ``categories`` if trees use the column
        directly, and with ``format`` and ``words`` if text is read as dates or numbers), ``left_out`` (columns of the
        training table that are not features), ``classes`` or ``labels``, and ``training_shape`` (number of samples and
        features).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import fuselearn
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tree.fuse")
    >>> fuselearn.save(fuselearn.CARTClassifier().fit([[0.0], [1.0]], ["low", "high"]), path)
    >>> header = fuselearn.io.read_header(path)
    >>> header["model"], header["classes"], header["training_shape"]
    ('CARTClassifier', ['high', 'low'], [2, 1])
    """
    with (
        find_file(path).open("rb") as file,
        _refusing(f"{os.fspath(path)} cannot be read."),
        _open_archive(file) as archive,
    ):
        return _parse_header(_read_stored(archive, HEADER))


def _open_archive(file: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        file.seek(0)
        if file.read(1) != PICKLED:
            raise
        raise ModelFileError(
            "It looks like a pickle, and loading a pickle can run any program. Save models with fuselearn.save."
        ) from None


@contextlib.contextmanager
def _refusing(sentence: str) -> Iterator[None]:
    """Convert errors about the content of a file to messages for the user."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{sentence} {error}") from None
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelFileError(f"{sentence} It is not a model file, or it is damaged.") from error
    except (Exception, RecursionError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelFileError(f"{sentence} {reason}") from error


def _trusted_types(skops: Any, content: bytes) -> list[str]:
    """Check the content of a model file, and return the types in it that skops does not trust by default."""
    names: list[str] = skops.get_untrusted_types(data=check_archive(content))
    refuse_untrusted(names)
    return names


def _read_stored(file: zipfile.ZipFile, name: str) -> bytes:
    entry = file.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ModelFileError("It is not a model file, or it is damaged: its entries are compressed.")
    return file.read(entry)


def _parse_header(content: bytes) -> dict[str, Any]:
    header = json.loads(content)
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFileError("Its header does not state the file format.")
    return header


def _check_format(header: dict[str, Any]) -> None:
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"It was written by fuselearn {header.get('fuselearn')} in format {header['format']}; this version reads "
            f"format {FORMAT}. Update fuselearn."
        )
    if header["format"] < FORMAT:
        raise ModelFileError(
            f"It was written by fuselearn {header.get('fuselearn')}, whose files this version does not read. Load it "
            "with that version, or fit the model again."
        )


def _digest(header: bytes, content: bytes) -> bytes:
    digest = hashlib.sha256(header)
    digest.update(content)
    return digest.hexdigest().encode()


def _write_whole(path: Path, entries: dict[str, bytes]) -> None:
    """Write an archive and replace the old file with it."""
    with replacing(path, durable=True) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
