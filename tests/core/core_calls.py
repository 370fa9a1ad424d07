"""A program that calls functions of the core with arguments of all kinds, and prints what should not have happened.

``python core_calls.py NAMES N_CALLS [--trace]``: functions, or CLASS.METHOD, with commas between. Arguments are made
from the signature alone, so that new functions are called, too: from random ones, the messages of errors lead to
arguments that are accepted. These are then changed, one or two at a time, into what nobody should pass. ``PLAUSIBLE``
helps where the messages do not lead far enough.
"""

import ast
import json
import os
import re
import signal
import sys
import warnings
from types import SimpleNamespace

import numpy as np

from fuselearn import _core

SIZES = [6, 6, 6, 30, 2]  # lengths of arrays, which one call has in common
PATIENCE = 1500  # attempts to find arguments that are accepted
SECONDS = 0.5  # a call may take; then it must be possible to interrupt it
GIGABYTE = 1 << 30
EXPECTED = (TypeError, ValueError, OverflowError, MemoryError)
INTEGERS = [0, 1, 2, 3, -1, 5, 100, 2**15, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63)]
FLOATS = [0.0, 1.0, -1.0, 0.5, 2.0, 1e300, 5e-324, np.nan, np.inf, -np.inf]
OTHERS = [None, "text", b"bytes", [1, 2], (), {}, object(), 1j, 1.5, 3, True, np.float32(2), np.int8(3), Ellipsis]
DTYPES = [
    "f8",
    "f4",
    "f2",
    "i8",
    "i4",
    "i2",
    "i1",
    "u8",
    "u4",
    "u2",
    "u1",
    "?",
    "c16",
    "O",
    "U3",
    "M8[s]",
    ">f8",
    ">i4",
]
LAYOUTS = ["strided", "reversed", "transposed", "unaligned", "read-only", "memory map", "subclass"]


def spread(rng, n):
    """Offsets that begin with 0 and never fall."""
    return np.concatenate([[0], rng.integers(0, 4, max(n - 1, 0)).cumsum()])[:n]


class SlowError(Exception):
    """A call has taken long, and could be interrupted."""


def find_callables():
    """Find the functions of the core, the constructors and methods of its classes by name, and the properties."""
    found = {}
    for name, value in vars(_core).items():
        if isinstance(value, type) and hasattr(value, "__module__") and value.__module__ == _core.__name__:
            found |= {f"{name}.{key}": member for key, member in vars(value).items() if is_callable(member)}
        elif is_callable(value):
            found[name] = value
    return found


def is_callable(member):
    return isinstance(member, property) or hasattr(member, "__nb_signature__")


def read_signature(function):
    """Read the names and types of parameters, and the type that is returned."""
    text = re.sub(r"= \\\d+", "= ...", re.sub(r"^def \(", "def f(", function.__nb_signature__[0][0]))
    definition = ast.parse(f"{text}: ...").body[0]
    listed = definition.args
    parameters = [
        SimpleNamespace(name=one.arg, kind=ast.unparse(one.annotation) if one.annotation else "object", keyword=keyword)
        for group, keyword in ((listed.posonlyargs + listed.args, False), (listed.kwonlyargs, True))
        for one in group
    ]
    return parameters, ast.unparse(definition.returns) if definition.returns else "object"


class Made:
    """An object of the core that every call makes anew, as a call may change it."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __repr__(self):
        return f"{self.function}({describe(self.arguments)})"


class Maker:
    """Makes arguments, of objects of the core by calling what returns them."""

    def __init__(self, rng, trace=False):
        self.rng = rng
        self.trace = trace
        self.callables = find_callables()
        self.signatures = {name: read_parameters(name, member) for name, member in self.callables.items()}
        self.recipes = {}  # by the name of a class: calls that return an object of it
        self.making = set()

    def choose(self, options):
        return options[self.rng.integers(len(options))]

    def array(self, dtype, hint):
        """Make an array that may be accepted."""
        rng, n = self.rng, hint.n
        length = (
            hint.length if hint.length is not None and rng.random() < 0.9 else self.choose([n, n, n, n + 1, 3, 1, 0])
        )
        shape = {1: (length,), 2: (length, self.choose([n, 3, 3, 1])), 3: (length, 3, 2)}.get(hint.n_dimensions, ())
        if hint.width is not None and len(shape) > 1:
            shape = (length, hint.width)
        if dtype.kind == "f":
            table = [rng.random(shape), rng.normal(size=shape), np.ones(shape), np.zeros(shape)]
            table.append(np.sort(rng.random(shape)))
            table.append(np.where(rng.random(shape) < 0.5, -1.0, 1.0))
            return self.choose(table).astype(dtype)
        if dtype.kind == "b":
            return rng.random(shape) < self.choose([0, 0.5, 1])
        if dtype.kind not in "iu":
            return np.zeros(shape, dtype)
        largest = hint.largest if hint.largest is not None else self.choose([1, 2, n - 1, 5])
        table = [rng.integers(0, largest + 1, shape), np.zeros(shape), np.ones(shape)]
        if len(shape) == 1:
            table += [spread(rng, length), np.arange(length), np.arange(length) % (largest + 1)]
            table.append(np.linspace(0, hint.n, length).astype(int) if length else np.zeros(0))
        return self.choose(table).astype(dtype)

    def value(self, parameter, hint):
        """Make an argument that may be accepted."""
        return self.of_kind(parameter.kind, hint)

    def of_kind(self, kind, hint):
        kinds = [part.strip() for part in split_union(kind)]
        kind = self.choose(kinds)
        if array := re.search(r"NDArray\[(?:numpy\.)?(\w+)\]", kind):
            if re.match(r"(collections\.abc\.)?(Sequence|list)\[", kind):
                return [self.array(np.dtype(array[1].rstrip("_")), hint) for _ in range(self.choose([1, 2, 3]))]
            return self.array(np.dtype(array[1].rstrip("_")), hint)
        if inner := re.fullmatch(r"(?:collections\.abc\.)?(?:Sequence|list)\[(.*)\]", kind):
            return [self.of_kind(inner[1], hint) for _ in range(self.choose([1, 1, 2, 3]))]
        if inner := re.fullmatch(r"tuple\[(.*)\]", kind):
            return tuple(self.of_kind(part, hint) for part in split_comma(inner[1]))
        name = kind.rpartition(".")[2]
        if kind == "None":
            return None
        if kind == "bool":
            return bool(self.rng.random() < 0.5)
        if kind == "int":
            return self.choose([hint.n, 1, 2, 3, 0, 5, hint.length or 1, (hint.largest or 0) + 1])
        if kind == "float":
            return self.choose([0.5, 1.0, 0.0, 0.01, 1e-3, 10.0])
        if kind == "str":
            return self.choose(hint.words or ["text"])
        if isinstance(getattr(_core, name, None), type):
            return self.instance(name)
        if hint.dtype == "NODE":
            return make_nodes(self.rng, hint)
        dtype = hint.dtype or self.choose(["f8", "i4", "i8", "u1", "u2", "f4"])
        return self.array(np.dtype(dtype), hint)

    def instance(self, name):
        """Make a new object of a class; None if no call is known that returns one."""
        if name not in self.making:
            recipes = self.recipes.setdefault(name, [])
            patience = PATIENCE if not recipes else 100 if len(recipes) < 50 and self.rng.random() < 0.1 else 0
            self.making.add(name)
            for known, (_, returned) in self.signatures.items():
                if patience and returned.rpartition(".")[2] == name:
                    recipes += search(self, known, patience, 4)
            self.making.discard(name)
        recipes = self.recipes.get(name)
        return Made(*self.choose(recipes)) if recipes else None


def count_for_a_level(maker):
    """Make a tree and the counts of its root's samples."""
    n = maker.choose(SIZES)
    codes = maker.rng.integers(0, 3, (n, 2)).astype(np.uint8)
    n_codes, bounds = np.full(2, 3, np.int32), np.arange(6.0)
    table = Made(
        "Table.__init__", {"codes": codes, "n_codes": n_codes, "lower": bounds, "upper": bounds, "is_category": None}
    )
    classes = maker.rng.integers(0, 3, n).astype(np.int32)
    settings = {"min_split": 2, "min_leaf": 1, "complexity": 0.0}
    tree = {"table": table, "totals": np.bincount(classes, minlength=3), "settings": _core.TreeSettings(**settings)}
    drawn = {"samples": np.arange(n, dtype=np.uint32), "copies": np.ones(n, np.int32), "ends": np.array([n])}
    drawn |= {"codes": codes, "features": np.arange(2), "n_codes": n_codes, "classes": classes, "n_classes": 3}
    bins = Made("count_bins", drawn | {"nodes": np.array([0]), "squared": False})
    self = Made("GrowingTree.__init__", tree | {"seed": 0, "most_kept": 0})
    return {"self": self, "first": 0, "end": 1, "bins": bins}


# Arguments of functions to which the messages of errors do not lead.
PLAUSIBLE = {"GrowingTree.split": count_for_a_level}


def split_union(kind):
    return split_at(kind, "|")


def split_comma(kind):
    return [part.strip() for part in split_at(kind, ",")]


def split_at(text, separator):
    parts, depth = [""], 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def make_nodes(rng, hint):
    """Make a tree of one split or none."""
    nodes = np.zeros(3 if rng.random() < 0.7 else 1, _core.NODE)
    nodes["feature"] = -1
    if len(nodes) == 3:
        nodes["left"][0], nodes["feature"][0] = 1, rng.integers(0, 2)
    nodes["count"], nodes["weight"] = 4, 4
    return nodes


def new_hint(n):
    return SimpleNamespace(n=n, n_dimensions=1, length=None, width=None, largest=None, dtype=None, words=None)


def learn(hint, message):
    """Take from a message what an argument must be."""
    if found := re.search(r"with (\d) dimension", message):
        hint.n_dimensions = int(found[1])
    if found := re.search(r"array of (\w+) with", message):
        hint.dtype = found[1]
    if found := re.search(r"(?:as long as [^(]*\(|have length |must have |length must be |hold )(\d+)", message):
        hint.length = int(found[1])
    if found := re.search(r"(\d+) columns", message):
        hint.width = int(found[1])
    if found := re.search(r"from 0 to (-?\d+)", message):
        hint.largest = max(int(found[1]), 0)
    if found := re.findall(r"'(\w+)'", message):
        hint.words = found


def call(maker, function, arguments):
    """Call a function or a method by its name, with copies of arrays, which it may change."""
    if maker.trace and function == sys.argv[1]:
        print(f"{function}({describe(arguments)})", file=sys.stderr, flush=True)
    given = {name: renew(maker, value) for name, value in arguments.items()}
    member, parameters = maker.callables[function], maker.signatures[function][0]
    owner, _, method = function.rpartition(".")
    by_position = [given[p.name] for p in parameters if not p.keyword]
    by_name = {p.name: given[p.name] for p in parameters if p.keyword}
    if isinstance(member, property):
        member = member.fget
    elif method == "__init__":
        member = getattr(_core, owner)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return member(*by_position, **by_name)
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def renew(maker, value):
    if isinstance(value, Made):
        return call(maker, value.function, value.arguments)
    if isinstance(value, list | tuple):
        return type(value)(renew(maker, part) for part in value)
    return value.copy() if type(value) is np.ndarray and value.flags.owndata and value.flags.writeable else value


def read_parameters(name, member):
    """Read the parameters of a function, a method or a property, and what it returns."""
    owner, _, method = name.rpartition(".")
    if isinstance(member, property):
        return [SimpleNamespace(name="self", kind=owner, keyword=False)], "object"
    parameters, returned = read_signature(member)
    if owner and parameters[0].name == "self":
        parameters[0].kind = owner
    return (parameters[1:], owner) if method == "__init__" else (parameters, returned)


def search(maker, function, patience, n_wanted):
    """Search arguments that are accepted, led by the messages of errors; they may be none."""
    parameters, _ = maker.signatures[function]
    found, arguments, hints, rng = [], None, {}, maker.rng
    for attempt in range(patience):
        if arguments is None or attempt % 60 == 59:
            n = maker.choose(SIZES)
            hints = {p.name: new_hint(n) for p in parameters}
            arguments = {p.name: make(maker, function, p, hints[p.name]) for p in parameters}
            if function in PLAUSIBLE:
                arguments = PLAUSIBLE[function](maker)
        try:
            call(maker, function, arguments)
        except EXPECTED as error:
            named = [p for p in parameters if re.search(rf"\b{p.name}\b", str(error))]
            first = str(error).split(" ")[0]
            chosen = next((p for p in named if p.name == first and rng.random() < 0.7), None)
            if chosen is None:
                chosen = maker.choose(named if named and rng.random() < 0.8 else parameters)
            learn(hints[chosen.name], str(error))
            arguments[chosen.name] = make(maker, function, chosen, hints[chosen.name])
        except SlowError:
            arguments = None
        else:
            found.append((function, arguments))
            if len(found) == n_wanted:
                break
            arguments = None
    return found


def make(maker, function, parameter, hint):
    if function.endswith("__setstate__") and parameter.name != "self":
        made = maker.instance(function.partition(".")[0])
        return None if made is None else renew(maker, made).__getstate__()
    return maker.value(parameter, hint)


def change(maker, value):
    """Make of an argument that is accepted one that perhaps should not be."""
    rng = maker.rng
    if isinstance(value, np.ndarray) and rng.random() < 0.9:
        return change_array(maker, value)
    if isinstance(value, list | tuple) and len(value) and rng.random() < 0.8:
        at, parts = rng.integers(len(value)), list(value)
        action = maker.choose(["change", "change", "change", "drop", "double", "none"])
        parts[at : at + 1] = {
            "change": [change(maker, parts[at])], "drop": [], "double": [parts[at]] * 2, "none": [None],
        }[action]  # fmt: skip
        return type(value)(parts)
    if isinstance(value, bool | int | float) and rng.random() < 0.8:
        return maker.choose(INTEGERS + FLOATS)
    if isinstance(value, Made) and rng.random() < 0.7:
        name = maker.signatures[value.function][1].rpartition(".")[2]
        return maker.instance(name) if rng.random() < 0.8 else getattr(_core, name).__new__(getattr(_core, name))
    if rng.random() < 0.2:
        others = [kind for kind in maker.recipes if maker.recipes[kind]]
        return maker.instance(maker.choose(others)) if others else None
    return maker.choose(OTHERS)


def change_array(maker, array):
    rng = maker.rng
    action = maker.choose(["value", "value", "value", "all", "length", "shape", "dtype", "order", "other", "fields"])
    array = array.copy()
    if action in ("value", "all") and array.dtype.names:
        field = maker.choose(array.dtype.names)
        if array.size:
            column = array[field].copy().ravel()
            column[rng.integers(column.size)] = hostile(maker, column.dtype)
            array[field] = column.reshape(array.shape)
    elif action == "value" and array.size and array.dtype.kind in "fiub":
        flat = array.reshape(-1)
        flat[rng.integers(flat.size)] = hostile(maker, array.dtype)
    elif action == "all" and array.dtype.kind in "fiub":
        array[...] = hostile(maker, array.dtype)
    elif action == "length":
        n = maker.choose([0, 1, max(len(array) - 1, 0), len(array) + 1, 2 * len(array)]) if array.ndim else 1
        array = np.resize(array, (n, *array.shape[1:]))
    elif action == "shape":
        shapes = [(), (0,), (0, 0), (1, *array.shape), (*array.shape, 1), array.shape[::-1], (-1,), (0, 3), (3, 0)]
        shape = maker.choose(shapes)
        array = np.resize(array, shape) if shape != (-1,) else array.reshape(-1)
    elif action == "dtype":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                array = array.astype(maker.choose(DTYPES))
            except (TypeError, ValueError, OverflowError, RuntimeError):
                array = np.zeros(array.shape, maker.choose(DTYPES))
    elif action == "order" and array.ndim:
        array = maker.choose([lambda: array[::-1].copy(), lambda: rng.permutation(array)])()
    elif action == "other":
        return maker.choose([array.tolist(), memoryview(array.tobytes()), *OTHERS])
    return array


def hostile(maker, dtype):
    if dtype.kind == "f":
        return maker.choose(FLOATS)
    if dtype.kind == "b":
        return maker.rng.random() < 0.5
    limits = np.iinfo(dtype)
    return maker.choose([0, 1, limits.max, limits.min, limits.max - 1, min(7, limits.max), min(31, limits.max)])


def rearrange(array, layout):
    """Lay out the values of an array in another way; None where an array has no such layout."""
    if layout == "strided":
        spaced = np.zeros([2 * n for n in array.shape], array.dtype)[tuple(slice(None, None, 2) for _ in array.shape)]
    elif layout == "reversed":
        spaced = np.zeros(array.shape, array.dtype)[tuple(slice(None, None, -1) for _ in array.shape)]
    elif layout == "transposed":
        spaced = np.zeros(array.shape[::-1], array.dtype).T
    elif layout == "unaligned":
        room = np.zeros(array.nbytes + 1, np.uint8)[1:]
        spaced = room.view(array.dtype).reshape(array.shape)
    elif layout == "subclass":
        spaced = np.zeros(array.shape, array.dtype).view(np.ma.MaskedArray if array.dtype.names else np.recarray)
        if spaced.dtype != array.dtype:
            return None
    else:
        spaced = array.copy()
    spaced[...] = array
    if layout in ("read-only", "memory map"):
        spaced.flags.writeable = False
    return spaced


def same(a, b):
    """Whether two results are equal, objects of the core by their state."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype.names:  # there may be anything between the fields
        return a.dtype == b.dtype and all(same(a[name].copy(), b[name].copy()) for name in a.dtype.names)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(type(a), "__getstate__") and type(a).__module__ == _core.__name__:
        return "__getstate__" not in vars(type(a)) or same(a.__getstate__(), b.__getstate__())
    return a == b or (a != a and b != b)


def judge(function, parameters, error):
    """Return what is wrong with an error, or None."""
    message = str(error)
    if isinstance(error, MemoryError | OverflowError | SlowError):
        return None
    if not isinstance(error, EXPECTED):
        return f"raised {type(error).__name__}: {message}"
    if isinstance(error, TypeError) and "incompatible function arguments" in message:
        return None
    if not re.fullmatch(r"[A-Za-z].*\.", message, re.DOTALL):
        return f"raised {type(error).__name__} without a sentence: {message!r}"
    if function.endswith("__setstate__"):  # its parts have names that only the message tells
        return None
    words = {form for p in parameters for form in forms(p)}
    if not any(re.search(rf"\b{re.escape(word)}", message, re.IGNORECASE) for word in words):
        return f"raised {type(error).__name__} that names no argument: {message!r}"
    return None


def forms(parameter):
    """The words that a message may use for an argument: its name, or its class."""
    yield parameter.name
    yield parameter.name.replace("_", " ")
    yield parameter.name.rstrip("s")
    yield parameter.kind.rpartition(".")[2]


def describe(arguments):
    """Describe arguments in one line."""
    parts = []
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            text = np.array2string(value, threshold=40, edgeitems=10, separator=",").replace("\n", "")
            parts.append(f"{name}={value.dtype.str if not value.dtype.names else 'record'}{value.shape}{text}")
        else:
            parts.append(f"{name}={value!r}"[:300])
    return ", ".join(parts)


def attack(maker, function, n_calls):
    """Call a function with all kinds of arguments; return how often it returned, and what was wrong."""
    parameters, _ = maker.signatures[function]
    accepted = search(maker, function, PATIENCE, 6)
    faults, n_returned = [], len(accepted)

    def attempt(arguments, what):
        try:
            return call(maker, function, arguments), None
        except Exception as error:
            wrong = judge(function, parameters, error)
            if wrong:
                faults.append(f"{what}: {function}({describe(arguments)}) {wrong}")
            return None, error

    start = accepted or [
        (function, {p.name: make(maker, function, p, new_hint(6)) for p in parameters}) for _ in range(10)
    ]
    for _ in range(n_calls):
        if not parameters or len(faults) > 20:
            break
        arguments = dict(maker.choose(start)[1])
        for _ in range(maker.choose([1, 1, 1, 2])):
            name = maker.choose(parameters).name
            arguments[name] = change(maker, arguments[name])
        _, error = attempt(arguments, "changed")
        n_returned += error is None
    for _, arguments in accepted:
        faults += check_layouts(maker, parameters, arguments, attempt)
        faults += check_threads(arguments, attempt)
    return n_returned, faults


def check_layouts(maker, parameters, arguments, attempt):
    """Arrays in any layout give the same result, or an error."""
    expected, error = attempt(arguments, "again")
    if error is not None:
        return [f"accepted arguments were not accepted again: {error}"]
    faults = []
    for parameter in parameters:
        array = arguments.get(parameter.name)
        if type(array) is not np.ndarray or not array.ndim:
            continue
        for layout in LAYOUTS:
            changed = rearrange(array, layout)
            if changed is None:
                continue
            found, error = attempt(arguments | {parameter.name: changed}, layout)
            if error is None and not same(found, expected):
                faults.append(f"{layout}: {parameter.name} gives another result: {describe(arguments)}")
    return faults


def check_threads(arguments, attempt):
    """Results do not depend on the number of threads."""
    if "n_threads" not in arguments:
        return []
    results = [attempt(arguments | {"n_threads": n}, "threads") for n in (1, 2, 5)]
    if any(error is not None for _, error in results):
        return [f"not accepted with other numbers of threads: {describe(arguments)}"]
    if not all(same(results[0][0], other) for other, _ in results[1:]):
        return [f"the result depends on n_threads: {describe(arguments)}"]
    return []


def limit_memory():
    """Let allocations of terabytes fail, as they would not everywhere; AddressSanitizer needs terabytes itself."""
    try:
        import resource
    except ImportError:
        return
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (4 * GIGABYTE, 4 * GIGABYTE))


def main():
    functions, n_calls = sys.argv[1].split(","), int(sys.argv[2])

    def give_up(*_):
        raise SlowError("The call takes long.")

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, give_up)
    limit_memory()
    warnings.simplefilter("ignore")
    found = {}
    for function in functions:
        maker = Maker(np.random.default_rng([len(function), *function.encode()]), "--trace" in sys.argv)
        n_returned, faults = attack(maker, function, n_calls)
        found[function] = {"returned": n_returned, "faults": faults}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
