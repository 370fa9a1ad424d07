"""A cache of compiled kernels in files.

numba's own cache has an index and numbered files for each function. Two processes that write to it at the same time can
leave an index that points to machine code for other types, a damaged file raises an error at every start, and the code
of an edited function stays in the files of its callers. Here each specialisation has one file, named by a digest of all
that its code depends on, written under a temporary name and renamed. Whatever other processes do, a file is complete
and matches its name, or does not exist.

Directories, in this order: ``NUMBA_CACHE_DIR``, ``__pycache__`` next to the sources, the user's cache, a temporary
directory. Kernels are written to the first writable one. Those before it are read as well, so that an image may contain
compiled kernels in a read-only file system.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import pickle
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from fuselearn._replacing import replacing

__all__ = ["KernelCache", "find_storage"]

_logger = logging.getLogger("fuselearn")
_DIGEST_SIZE = hashlib.sha256().digest_size
# Top-level imports of this package in a module. An indented one may not have been executed.
_IMPORT = re.compile(r"^(?:from|import) (fuselearn[\w.]*)(?: import (.*))?$", re.MULTILINE)
_NOT_COMPILED = {__name__, "fuselearn._compile_notice"}
_HINT = "Set NUMBA_CACHE_DIR to a writable, persistent directory."


class KernelCache(_Cache):
    """The compiled specialisations of one kernel, with the interface of numba's caches."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._file = Path(inspect.getfile(function))

    @property
    def cache_path(self) -> str:
        """The preferred directory."""
        return str(next(_directories(self._file)))

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing: the cache is always on."""

    def flush(self) -> None:
        """Delete the files of all specialisations."""
        for directory in _directories(self._file):
            self._delete(directory, but=None)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the specialisation for a signature, or None if it must be compiled."""
        target_context.refresh()
        if self._stamp is None:
            return None
        name = self._name(sig, target_context.codegen())
        for directory in _directories(self._file):
            payload = _read(directory / name)
            if payload is not None:
                signature, reduced = pickle.loads(payload)
                return CompileResult._rebuild(target_context, *reduced) if signature == sig else None
            if _is_writable(directory):
                break
        return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Store a specialisation in the first writable directory."""
        if self._stamp is None or data.lifted or data.library.has_dynamic_globals:
            return
        name = self._name(sig, data.codegen)
        payload = dumps((sig, data._reduce()))
        for directory in _directories(self._file):
            if _is_writable(directory) and _write(directory / name, payload):
                self._delete(directory, but=f"{self._prefix}{self._stamp}-")
                _tell_where(directory)
                return
        _log_once(logging.WARNING, f"Compiled kernels cannot be stored, so each process compiles them again. {_HINT}")

    @cached_property
    def _prefix(self) -> str:
        """The common prefix of all files of this kernel."""
        qualified = re.sub("[<>]", "", self._function.__qualname__)
        return f"{self._file.stem}.{qualified}.{sys.implementation.cache_tag}-"

    @property
    def _stamp(self) -> str | None:
        return _source_stamp(self._function.__module__)

    def _name(self, sig: Any, codegen: Any) -> str:
        cells = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        identity = (str(sig), numba.__version__, codegen.magic_tuple(), config.BOUNDSCHECK, config.OPT, dumps(cells))
        return f"{self._prefix}{self._stamp}-{hashlib.sha256(repr(identity).encode()).hexdigest()[:20]}.nbc"

    def _delete(self, directory: Path, but: str | None) -> None:
        """Delete the files of this kernel whose names do not start with ``but``."""
        with suppress(OSError):
            for path in directory.glob(f"{self._prefix}*.nbc"):
                if but is None or not path.name.startswith(but):
                    path.unlink(missing_ok=True)


def find_storage(file: Path) -> Path | None:
    """Return the directory in which kernels of a module are stored, None if no directory is writable."""
    return next(filter(_is_writable, _directories(file)), None)


@cache
def _source_stamp(module: str) -> str | None:
    """Return a digest of the sources of a module and of all modules of this package that it imports, if there are any.

    The machine code of a kernel contains that of the kernels it calls, so it is out of date when one of them changes.
    """
    sources: dict[str, str] = {}
    waiting = {module}
    while waiting:
        name = waiting.pop()
        source = _source(name)
        if source is None:
            return None
        sources[name] = source
        waiting |= {imported for imported in _imports(source) if imported not in sources} - _NOT_COMPILED
    return hashlib.sha256("\0".join(sources[name] for name in sorted(sources)).encode()).hexdigest()[:12]


def _source(module: str) -> str | None:
    loader: Any = getattr(sys.modules.get(module), "__loader__", None)
    return loader.get_source(module) if hasattr(loader, "get_source") else None


def _imports(source: str) -> Iterator[str]:
    for package, names in _IMPORT.findall(source):
        yield package
        yield from (module for name in re.findall(r"\w+", names) if (module := f"{package}.{name}") in sys.modules)


def _directories(file: Path) -> Iterator[Path]:
    """Yield the directories for the kernels of a module, the preferred one first."""
    folder = file.absolute().parent
    # A directory shared by all installations needs a subdirectory for each.
    shared = f"{folder.name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}"
    if config.CACHE_DIR:
        yield _named_root(config.CACHE_DIR) / shared
    yield folder / "__pycache__"
    for root in (_user_root, _temporary_root):
        found = root()
        if found is not None:
            yield found / shared


@cache
def _named_root(name: str) -> Path:
    return Path(name).absolute()  # once, since a program may change its working directory


@cache
def _user_root() -> Path | None:
    named = os.environ.get("FUSELEARN_CACHE", "")
    try:
        root = Path(named).expanduser() if named else Path.home() / ".cache" / "fuselearn"
    except RuntimeError:  # a user without a passwd entry, as in many containers
        return None
    return root / "kernels"


@cache
def _temporary_root() -> Path | None:
    """Return a temporary directory that only this user can access: whoever can write a kernel can run code."""
    try:
        if not hasattr(os, "getuid"):  # Windows has a temporary directory for each user
            return Path(tempfile.gettempdir()) / "fuselearn-kernels"
        root = Path(tempfile.gettempdir()) / f"fuselearn-kernels-{os.getuid()}"
        root.mkdir(mode=0o700, exist_ok=True)
        status = root.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return root if private else None


@cache
def _is_writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError:
        return False
    return True


def _read(path: Path) -> bytes | None:
    """Return the payload of a file; delete a damaged one."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    if hashlib.sha256(payload).digest() == digest:
        return payload
    with suppress(OSError):
        path.unlink()
    return None


def _write(path: Path, payload: bytes) -> bool:
    """Write a digest and a payload, unless another process has; return whether the file exists."""
    try:
        if not path.exists():
            with replacing(path) as file:
                file.write(hashlib.sha256(payload).digest() + payload)
    except OSError:
        # Windows refuses to replace a file that another process reads, which has then been written by a third one.
        return path.exists()
    return True


def _tell_where(directory: Path) -> None:
    if directory.parent == _user_root():
        _log_once(logging.INFO, "The installation is read-only: compiled kernels are stored in the user's cache.")
    elif directory.parent == _temporary_root():
        _log_once(logging.WARNING, f"Compiled kernels can only be stored in a temporary directory. {_HINT}")


@cache
def _log_once(level: int, sentence: str) -> None:
    _logger.log(level, sentence)
