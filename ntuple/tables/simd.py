"""Vector instructions for kernels, and the prefetch of memory.

Training and play spend most of their time on finding the entries of a board and on waiting for them.

    index_views   finds the entries of all eight views of one tuple in about ten instructions, on x86 with AVX2
    AVAILABLE     whether this processor has AVX2; else ntuple.tables.entries uses plain arithmetic
    load          loads array[first + place]; the address is one instruction, `first` is added once for all places
    prefetch      begins to load array[first + place] into the caches before it is used, on all processors
"""

import platform
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ntuple.tables.layout import ABOVE_A_LINE, PAIR_SHIFT, SCRAMBLE_SHIFTS

READ, KEEP_IN_ALL_CACHES, DATA = 0, 3, 1  # arguments of LLVM's prefetch

BYTE, WORD, LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
BYTES = ir.VectorType(BYTE, 32)
INDICES = ir.VectorType(WORD, 8)
LOW_NIBBLES = ir.Constant(LONG, 0x0F0F0F0F0F0F0F0F)
HIGH_NIBBLES = ir.Constant(LONG, ~0x0F0F0F0F0F0F0F0F)


def _has_avx2() -> bool:
    """Return whether numba compiles for a processor with AVX2: for this one, or for that of NUMBA_CPU_NAME if set."""
    config: Any = numba.config
    if config.CPU_NAME is not None or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return bool(llvmlite.binding.get_host_cpu_features().get("avx2"))


AVAILABLE = _has_avx2()


def _address(context: Any, builder: Any, array: Any, value: Any, index: Any) -> Any:
    """Return the address of array[index], for an array with one axis."""
    data = context.make_array(array)(context, builder, value).data
    size = ir.Constant(LONG, context.get_abi_sizeof(context.get_data_type(array.dtype)))
    return builder.gep(builder.bitcast(data, BYTE.as_pointer()), [builder.mul(index, size)])


def _splat(value: int) -> ir.Constant:
    return ir.Constant(INDICES, [ir.Constant(WORD, value)] * 8)


def _address_of_place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of array[first + place] as (address of array[first]) + place."""
    (array, first, place), (array_type, _, place_type) = arguments, signature.args
    element = context.get_data_type(array_type.dtype).as_pointer()
    table = builder.bitcast(_address(context, builder, array_type, array, first), element)
    return builder.gep(table, [context.cast(builder, place, place_type, types.uint64)])


def _load(typing_context: Any, array: Any, first: Any, place: Any) -> tuple[Any, Callable[..., Any]]:
    """load(array, first, place): array[first + place]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address_of_place(context, builder, signature, arguments))

    return array.dtype(array, first, place), generate


def _prefetch(typing_context: Any, array: Any, first: Any, place: Any) -> tuple[Any, Callable[..., Any]]:
    """prefetch(array, first, place): begin to load the cache line of array[first + place] and return at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch", [BYTE.as_pointer()], ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), WORD, WORD, WORD])
        )
        address = builder.bitcast(_address_of_place(context, builder, signature, arguments), BYTE.as_pointer())
        builder.call(hint, [address, *(ir.Constant(WORD, flag) for flag in (READ, KEEP_IN_ALL_CACHES, DATA))])
        return context.get_dummy_value()

    return types.void(array, first, place), generate


def _everywhere(builder: Any, value: Any) -> Any:
    """Copy a number of 32 bits into all eight lanes of a vector."""
    lane = builder.insert_element(ir.Constant(INDICES, ir.Undefined), value, ir.Constant(WORD, 0))
    return builder.shuffle_vector(lane, ir.Constant(INDICES, ir.Undefined), _splat(0))


def _cells_of_views(
    context: Any, builder: Any, word: Any, fifth: Any, shuffles_type: Any, shuffles: Any, m: Any
) -> list[Any]:
    """Load the cells of tuple m on the eight views, one byte each.

    Args:
        word: the low four bits of the level of each cell, one nibble each.
        fifth: its fifth bit, at bit 0 of the nibble; None: 0.

    Returns:
        Two vectors of 32 bytes, four bytes for each view: the cells at even positions of the tuple, and those at odd
        positions.
    """
    even = builder.and_(word, LOW_NIBBLES)
    odd = builder.and_(builder.lshr(word, ir.Constant(LONG, 4)), LOW_NIBBLES)
    if fifth is not None:
        even = builder.or_(even, builder.shl(builder.and_(fifth, LOW_NIBBLES), ir.Constant(LONG, 4)))
        odd = builder.or_(odd, builder.and_(fifth, HIGH_NIBBLES))
    eight_bytes = ir.VectorType(BYTE, 8)
    in_order = [cell // 2 + 8 * (cell % 2) for cell in range(16)] * 2  # one byte for each cell, in both halves
    cells = builder.shuffle_vector(
        builder.bitcast(even, eight_bytes),
        builder.bitcast(odd, eight_bytes),
        ir.Constant(ir.VectorType(WORD, 32), [ir.Constant(WORD, byte) for byte in in_order]),
    )
    shuffle = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(BYTES, [BYTES, BYTES]), "llvm.x86.avx2.pshuf.b"
    )
    first = builder.mul(m, ir.Constant(LONG, 64))
    masks = builder.bitcast(_address(context, builder, shuffles_type, shuffles, first), BYTES.as_pointer())
    halves = []
    for half in range(2):
        mask = builder.load(builder.gep(masks, [ir.Constant(LONG, half)]), align=1)
        halves.append(builder.bitcast(builder.call(shuffle, [cells, mask]), INDICES))
    return halves


def _least_bytes(builder: Any, one: Any, other: Any) -> Any:
    """Return the smaller of each pair of bytes."""
    a, b = builder.bitcast(one, BYTES), builder.bitcast(other, BYTES)
    return builder.bitcast(builder.select(builder.icmp_unsigned("<", a, b), a, b), INDICES)


def _store_indices(context: Any, builder: Any, out_type: Any, out: Any, at: Any, indices: Any) -> Any:
    target = builder.bitcast(_address(context, builder, out_type, out, at), INDICES.as_pointer())
    builder.store(indices, target, align=4)
    return context.get_dummy_value()


def _of_tuple(context: Any, builder: Any, array_type: Any, array: Any, m: Any) -> Any:
    """Return a vector with array[m], of 32 bits, in all eight lanes."""
    address = _address(context, builder, array_type, array, m)
    return _everywhere(builder, builder.load(builder.bitcast(address, WORD.as_pointer()), align=4))


def _index_views(
    typing_context: Any, word: Any, shuffles: Any, paired: Any, salts: Any, tuple_number: Any, out: Any, at: Any
) -> tuple[Any, Callable[..., Any]]:
    """index_views(word, shuffles, paired, salts, m, out, at): out[at + v] = place of tuple m on view v, v = 0..7.

    `word` is a board with one nibble for each cell. For tuple m, `shuffles`, uint8[64 M], has 32 bytes with the cells
    of the even nibbles of the eight indices, four bytes for each index, then 32 bytes for the odd nibbles. The
    remaining arithmetic is that of layout.pair and layout.scramble.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, shuffles, paired, salts, m, out, at = arguments
        _, shuffles_type, paired_type, salts_type, _, out_type, _ = signature.args
        even, odd = _cells_of_views(context, builder, word, None, shuffles_type, shuffles, m)
        indices = builder.or_(even, builder.shl(odd, _splat(4)))
        moved = builder.xor(indices, builder.lshr(indices, _splat(PAIR_SHIFT)))
        moved = builder.and_(moved, _of_tuple(context, builder, paired_type, paired, m))
        indices = builder.xor(indices, builder.xor(moved, builder.shl(moved, _splat(PAIR_SHIFT))))
        higher = [builder.lshr(indices, _splat(shift)) for shift in SCRAMBLE_SHIFTS]
        indices = builder.xor(indices, builder.and_(builder.xor(*higher), _splat(ABOVE_A_LINE)))
        indices = builder.xor(indices, _of_tuple(context, builder, salts_type, salts, m))
        return _store_indices(context, builder, out_type, out, at, indices)

    return types.void(types.uint64, shuffles, paired, salts, types.uint64, out, types.uint64), generate


def _index_views_in_base(
    typing_context: Any, word: Any, fifth: Any, shuffles: Any, levels: Any, tuple_number: Any, out: Any, at: Any
) -> tuple[Any, Callable[..., Any]]:
    """index_views_in_base(word, fifth, shuffles, levels, m, out, at): `index_views` in base `levels`, uint32.

    It is not scrambled. `fifth` has the fifth bit of each level. Cells larger than levels - 1 count as levels - 1.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, fifth, shuffles, levels, m, out, at = arguments
        _, _, shuffles_type, _, _, out_type, _ = signature.args
        even, odd = _cells_of_views(context, builder, word, fifth, shuffles_type, shuffles, m)
        base = _everywhere(builder, levels)
        largest = builder.mul(_everywhere(builder, builder.sub(levels, ir.Constant(WORD, 1))), _splat(0x01010101))
        even, odd = (_least_bytes(builder, half, largest) for half in (even, odd))
        indices = _splat(0)
        for byte in (3, 2, 1, 0):  # Horner's rule, from the last cell to the first
            for half in (odd, even):
                cell = builder.and_(builder.lshr(half, _splat(8 * byte)), _splat(0xFF))
                indices = builder.add(builder.mul(indices, base), cell)
        return _store_indices(context, builder, out_type, out, at, indices)

    return types.void(types.uint64, types.uint64, shuffles, types.uint32, types.uint64, out, types.uint64), generate


load: Any = intrinsic(_load)
prefetch: Any = intrinsic(_prefetch)
index_views: Any = intrinsic(_index_views)
index_views_in_base: Any = intrinsic(_index_views_in_base)
