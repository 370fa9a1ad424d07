"""Flatten a model to a list of parts and a few large arrays, and restore it.

skops needs a few hundred bytes per value and one file per array, and does not support circular references. A hierarchy
of a thousand small models would take seconds and megabytes. So the structure of a model is written as one compact list,
and its arrays are joined to one per dtype. skops stores these, and the few objects that only skops supports: compiled
parts of scikit-learn, sparse matrices, functions, random states.

In the list, a value is a number, a string, a Boolean, null, or ``[k]`` for the ``k``-th part. A repeated value is
listed once. The parts are

    ["list", ...]    ["tuple", ...]    ["dict", key, value, ...]
    ["array", type, first, shape, order]    with the place of its first number among all arrays of the type
    ["scalar", type, place]    ["objects", shape, ...]
    ["named", class, ...]    ["mapping", class, key, value, ...]    ["object", class, state]
    ["bound"]    the training data that a model shares with its learner, which stay out of the file
    ["other", place]
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.io.trust import ModelFileError, find_class
from fuselearn.learners import Bound

Flat = dict[str, Any]

LONGEST_EMPTY = 10_000_000


def flatten(model: Any) -> Flat:
    """Flatten a model.

    Parameters
    ----------
    model : object

    Returns
    -------
    dict
        ``parts`` as bytes, ``arrays`` by the names of their types, and ``others``, a list of objects for skops.

    Examples
    --------
    >>> flat = flatten([1.5, ("a", None), np.array([1, 2])])
    >>> flat["parts"]
    b'[["list",1.5,[1],[2]],["tuple","a",null],["array","<i8",0,[2],"C"]]'
    >>> unflatten(flat)
    [1.5, ('a', None), array([1, 2])]
    """
    writer = _Writer()
    writer.write(model)
    return {
        "parts": json.dumps(writer.parts, separators=(",", ":")).encode(),
        "arrays": {kind: np.concatenate(pieces, dtype=kind) for kind, pieces in writer.pieces.items()},
        "others": writer.others,
    }


def unflatten(flat: Flat) -> Any:
    """Restore a model, after checking that all types in it are allowed."""
    return _Reader(json.loads(flat["parts"]), flat["arrays"], flat["others"]).build(0)


class _Writer:
    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.pieces: dict[str, list[npt.NDArray[Any]]] = {}
        self.others: list[Any] = []
        self._lengths: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps objects alive, since the id of a deleted object may be used again

    def write(self, value: Any) -> Any:
        """Add a value to the parts unless it is written directly, and return the reference to it."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if id(value) not in self._numbers:
            self._kept.append(value)
            self._numbers[id(value)] = len(self.parts)
            self.parts.append(None)
            self.parts[self._numbers[id(value)]] = self._describe(value)
        return [self._numbers[id(value)]]

    def _describe(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind in (list, tuple):
            return [kind.__name__, *map(self.write, value)]
        if kind is Bound:
            return ["bound"]
        if kind is dict:
            return ["dict", *self._write_items(value)]
        if kind is np.ndarray and _is_simple(value.dtype):
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            return ["array", *self._join(value.ravel(order=order)), list(value.shape), order]
        if kind is np.ndarray and value.dtype == object:
            return ["objects", list(value.shape), *map(self.write, value.ravel().tolist())]
        if isinstance(value, np.generic) and _is_simple(value.dtype):
            return ["scalar", *self._join(np.asarray(value).ravel())]
        name = f"{kind.__module__}.{kind.__qualname__}"
        form = _form_of(kind) if find_class(name) is kind else None
        if form == "named":
            return [form, name, *map(self.write, value)]
        if form == "mapping":
            return [form, name, *self._write_items(value)]
        if form == "object":
            return [form, name, self.write(value.__getstate__())]
        self.others.append(value)
        return ["other", len(self.others) - 1]

    def _write_items(self, mapping: dict[Any, Any]) -> list[Any]:
        return [self.write(value) for item in mapping.items() for value in item]

    def _join(self, numbers: npt.NDArray[Any]) -> tuple[str, int]:
        """Append numbers to the others of their type, and return the type and the position of the first one."""
        kind = numbers.dtype.str
        first = self._lengths.get(kind, 0)
        self.pieces.setdefault(kind, []).append(numbers)
        self._lengths[kind] = first + len(numbers)
        return kind, first


class _Reader:
    def __init__(self, parts: list[Any], arrays: dict[str, npt.NDArray[Any]], others: list[Any]) -> None:
        self._parts = parts
        self._arrays = arrays
        self._others = others
        self._built: dict[int, Any] = {}

    def read(self, value: Any) -> Any:
        """Return a plain value, or the part that it refers to."""
        return self.build(value[0]) if isinstance(value, list) else value

    def build(self, number: int) -> Any:
        """Return a part, building it on first use."""
        if number not in self._built:
            kind, *rest = self._parts[number]
            self._built[number] = getattr(self, f"build_{kind}")(number, *rest)
        return self._built[number]

    def build_list(self, number: int, *values: Any) -> list[Any]:
        made: list[Any] = []
        self._built[number] = made
        made.extend(map(self.read, values))
        return made

    def build_tuple(self, number: int, *values: Any) -> tuple[Any, ...]:
        return tuple(map(self.read, values))

    def build_dict(self, number: int, *items: Any) -> dict[Any, Any]:
        return self._fill(number, {}, items)

    def build_mapping(self, number: int, name: str, *items: Any) -> Any:
        return self._fill(number, _trusted(name, "mapping")(), items)

    def _fill(self, number: int, made: Any, items: tuple[Any, ...]) -> Any:
        self._built[number] = made
        for key, value in zip(items[::2], items[1::2], strict=True):
            made[_check_key(self.read(key))] = self.read(value)
        return made

    def build_array(self, number: int, kind: str, first: int, shape: list[int], order: Any) -> npt.NDArray[Any]:
        pool = self._arrays[kind]
        if 0 in shape and max(shape) > LONGEST_EMPTY:  # needs no memory, but much time
            raise ModelFileError("It contains an empty array with a shape that is too large.")
        return pool[first : first + math.prod(shape)].reshape(shape, order=order)

    def build_objects(self, number: int, shape: list[int], *values: Any) -> npt.NDArray[Any]:
        made = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):
            made[place] = self.read(value)
        return made.reshape(shape)

    def build_scalar(self, number: int, kind: str, place: int) -> Any:
        return self._arrays[kind][place]

    def build_named(self, number: int, name: str, *values: Any) -> Any:
        return _trusted(name, "named")(*map(self.read, values))

    def build_object(self, number: int, name: str, state: Any) -> Any:
        kind = _trusted(name, "object")
        made = kind.__new__(kind)
        self._built[number] = made  # its state may refer to it
        state = self.read(state)
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        elif state is not None:
            vars(made).update(state)
        return made

    def build_bound(self, number: int) -> Bound:
        return Bound()

    def build_other(self, number: int, place: int) -> Any:
        return self._others[place]


def _is_simple(dtype: np.dtype[Any]) -> bool:
    """Return whether the short name of a dtype describes it completely."""
    return dtype.kind in "biufcmMSU" and dtype.names is None


def _check_key(key: Any) -> Any:
    """Raise an error for nested tuples: if each contains another one twice, hashing takes exponential time."""
    if isinstance(key, tuple) and any(isinstance(value, tuple) for value in key):
        raise ModelFileError("It contains a mapping whose keys are tuples of tuples.")
    return key


def _form_of(kind: type) -> str | None:
    """Return how objects of a class are described; None if they are more than their state."""
    if issubclass(kind, tuple):
        return "named" if hasattr(kind, "_fields") else None
    if issubclass(kind, dict):
        return "mapping"
    is_plain = kind.__reduce__ is object.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__
    return "object" if is_plain else None


def _trusted(name: str, form: str) -> Any:
    """Return a class by its full name, if a file may contain its objects in this form."""
    kind = find_class(name)
    if kind is None or _form_of(kind) != form:
        raise ModelFileError(f"It contains {name}, which is not an allowed type in a model file.")
    return kind
