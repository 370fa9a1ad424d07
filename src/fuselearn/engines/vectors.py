"""Vector instructions, written like arithmetic on arrays.

A few loops matter enough to say how they use vector lanes, rather than to hope that the compiler finds out. They are
intrinsics of numba: functions that write instructions when a kernel is compiled. With `Vector` such a function reads
like the arithmetic that it stands for; the compiler picks what the processor has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

INDEX = ir.IntType(64)
DOUBLE = ir.DoubleType()
_PLACE = ir.IntType(32)


def whole(bits: int) -> Any:
    """Give the type of a lane that holds a whole number."""
    return ir.IntType(bits)


class Vector:
    """Lanes of numbers, in a function that is being compiled.

    Operators work lane by lane, on another vector or on one Python number for all lanes. Whole numbers compare, shift
    to the right and grow as signed or unsigned as the method says; comparisons give masks.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    value : llvmlite value
        Of a vector type.
    """

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    @classmethod
    def constant(cls, builder: Any, lane: Any, numbers: Sequence[float]) -> Vector:
        """Make a vector of known numbers."""
        return cls(builder, ir.Constant(ir.VectorType(lane, len(numbers)), list(numbers)))

    @classmethod
    def spread(cls, builder: Any, scalar: Any, n_lanes: int) -> Vector:
        """Copy one number into all lanes."""
        none = ir.Constant(ir.VectorType(scalar.type, n_lanes), ir.Undefined)
        first = builder.insert_element(none, scalar, ir.Constant(_PLACE, 0))
        everywhere = ir.Constant(ir.VectorType(_PLACE, n_lanes), [0] * n_lanes)
        return cls(builder, builder.shuffle_vector(first, none, everywhere))

    @classmethod
    def load(cls, builder: Any, place: Any, n_lanes: int, align: int) -> Vector:
        """Read neighbouring numbers, the first of which a pointer is for."""
        kind = ir.VectorType(place.type.pointee, n_lanes)
        return cls(builder, builder.load(builder.bitcast(place, kind.as_pointer()), align=align))

    def store(self, place: Any, align: int) -> None:
        """Write the lanes to neighbouring places, the first of which a pointer is for."""
        pointer = self.builder.bitcast(place, self.value.type.as_pointer())
        self.builder.store(self.value, pointer, align=align)

    @property
    def n_lanes(self) -> int:
        """How many there are."""
        return int(self.value.type.count)

    @property
    def lane(self) -> Any:
        """The type of a lane."""
        return self.value.type.element

    def __add__(self, other: Vector | float) -> Vector:
        """Add. A product of doubles may be added in the same instruction."""
        if self.lane == DOUBLE:
            return self._new(self.builder.fadd(self.value, self._like(other), flags=["contract"]))
        return self._new(self.builder.add(self.value, self._like(other)))

    def __sub__(self, other: Vector | float) -> Vector:
        """Subtract whole numbers."""
        return self._new(self.builder.sub(self.value, self._like(other)))

    def __mul__(self, other: Vector | float) -> Vector:
        """Multiply."""
        if self.lane == DOUBLE:
            return self._new(self.builder.fmul(self.value, self._like(other), flags=["contract"]))
        return self._new(self.builder.mul(self.value, self._like(other)))

    def __and__(self, other: Vector | int) -> Vector:
        """Keep the bits that both have."""
        return self._new(self.builder.and_(self.value, self._like(other)))

    def __xor__(self, other: Vector | int) -> Vector:
        """Keep the bits that one of both has."""
        return self._new(self.builder.xor(self.value, self._like(other)))

    def __lshift__(self, bits: Vector | int) -> Vector:
        """Shift to the left."""
        return self._new(self.builder.shl(self.value, self._like(bits)))

    def __rshift__(self, bits: Vector | int) -> Vector:
        """Shift to the right, as unsigned numbers."""
        return self._new(self.builder.lshr(self.value, self._like(bits)))

    def exceeds(self, other: Vector | float) -> Vector:
        """Compare doubles, or whole numbers as signed ones."""
        compare = self.builder.fcmp_ordered if self.lane == DOUBLE else self.builder.icmp_signed
        return self._new(compare(">", self.value, self._like(other)))

    def exceeds_unsigned(self, other: Vector | int) -> Vector:
        """Compare unsigned whole numbers."""
        return self._new(self.builder.icmp_unsigned(">", self.value, self._like(other)))

    def equals(self, other: Vector | int) -> Vector:
        """Compare whole numbers."""
        return self._new(self.builder.icmp_unsigned("==", self.value, self._like(other)))

    def choose(self, yes: Vector, no: Vector | float) -> Vector:
        """Take lanes from one vector where a mask is set, and from another where it is not."""
        return self._new(self.builder.select(self.value, yes.value, yes._like(no)))

    def part(self, lanes: Sequence[int]) -> Vector:
        """Take some of the lanes."""
        none = ir.Constant(self.value.type, ir.Undefined)
        wanted = ir.Constant(ir.VectorType(_PLACE, len(lanes)), list(lanes))
        return self._new(self.builder.shuffle_vector(self.value, none, wanted))

    def doubles(self) -> Vector:
        """Turn signed whole numbers into doubles."""
        return self._new(self.builder.sitofp(self.value, ir.VectorType(DOUBLE, self.n_lanes)))

    def extend(self, bits: int) -> Vector:
        """Give signed whole numbers more bits."""
        return self._new(self.builder.sext(self.value, ir.VectorType(whole(bits), self.n_lanes)))

    def count(self, bits: int) -> Vector:
        """Turn a mask into whole numbers 0 and 1."""
        return self._new(self.builder.zext(self.value, ir.VectorType(whole(bits), self.n_lanes)))

    def recast(self, bits: int) -> Vector:
        """Look at the same bits as lanes of another width."""
        n_lanes = self.n_lanes * self.lane.width // bits
        return self._new(self.builder.bitcast(self.value, ir.VectorType(whole(bits), n_lanes)))

    def total(self) -> Any:
        """Add up the lanes, whole numbers, to one."""
        name = f"llvm.vector.reduce.add.v{self.n_lanes}i{self.lane.width}"
        kind = ir.FunctionType(self.lane, [self.value.type])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), [self.value])

    def _new(self, value: Any) -> Vector:
        return Vector(self.builder, value)

    def _like(self, other: Vector | float) -> Any:
        if isinstance(other, Vector):
            return other.value
        return ir.Constant(self.value.type, [other] * self.n_lanes)


class Variable:
    """A vector that changes in a loop; the compiler keeps it in a register.

    Parameters
    ----------
    start : Vector
        Its first value, set anew wherever the function starts over.
    """

    def __init__(self, start: Vector) -> None:
        self.builder = start.builder
        self.place = cgutils.alloca_once(start.builder, start.value.type)
        self.set(start)

    def get(self) -> Vector:
        """Read it."""
        return Vector(self.builder, self.builder.load(self.place))

    def set(self, vector: Vector) -> None:
        """Change it."""
        self.builder.store(vector.value, self.place)


def open_arrays(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> list[Any]:
    """Give the arguments of an intrinsic, with arrays as structures that have a shape and a pointer to the data."""
    return [
        context.make_array(kind)(context, builder, arg) if isinstance(kind, types.Array) else arg
        for kind, arg in zip(signature.args, args, strict=True)
    ]


def at(builder: Any, data: Any, index: Any) -> Any:
    """Give a pointer to an entry of an array."""
    return builder.gep(data, [index if not isinstance(index, int) else ir.Constant(INDEX, index)])
