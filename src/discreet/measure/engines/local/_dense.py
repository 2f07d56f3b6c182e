"""The product of a dense block with itself, in registers, on the caller's own thread.

A BLAS does the same, but brings threads of its own, which wait for each other by spinning: on a
busy machine that costs more than the product.

A block is float64[panels, users, 16]: panel p holds the columns 16 p to 16 p + 15 of all users.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.core import cgutils, types
from numba.core.cgutils import ir
from numba.core.codegen import ll
from numba.extending import intrinsic

PANEL = 16
_WIDE = bool(ll.get_host_cpu_features().get("avx512f"))
# A tile fills most registers: 16 of 32 with 8 lanes each, or 8 of 16 with 4.
_LANES, _HEIGHT = (8, 8) if _WIDE else (4, 4)
_VECTORS = 2
_WIDTH = _LANES * _VECTORS

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), _LANES)


def _vector_at(builder: Any, data: Any, place: Any) -> Any:
    return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())


def _everywhere(builder: Any, number: Any) -> Any:
    blank = ir.Constant(_VECTOR, ir.Undefined)
    lanes = ir.Constant(ir.VectorType(_I32, _LANES), [0] * _LANES)
    return builder.shuffle_vector(builder.insert_element(blank, number, _I32(0)), blank, lanes)


def _multiply(builder: Any, left: Any, right: Any, users: Any, sums: Any) -> None:
    """Emit the loop over users: add each one's products to the tile."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{_LANES}f64")
    with cgutils.for_range(builder, users, intp=_I64) as loop:
        row = builder.mul(loop.index, _I64(PANEL))
        here = builder.gep(right, [row])
        columns = [
            builder.load(_vector_at(builder, here, _I64(_LANES * v)), align=8)
            for v in range(_VECTORS)
        ]
        for height, line in enumerate(sums):
            number = builder.load(builder.gep(left, [builder.add(row, _I64(height))]))
            factor = _everywhere(builder, number)
            for column, total in zip(columns, line, strict=True):
                builder.store(builder.call(fma, [factor, column, builder.load(total)]), total)


@intrinsic
def _add_tile(_: Any, block: Any, left: Any, right: Any, out: Any, place: Any, users: Any) -> Any:
    """Add one tile of a block's product with itself to `out`, all places being flat.

    For a below the tile's height, b below its width, and every user u:

        out[place + stride a + b] += block[left + 16 u + a] * block[right + 16 u + b]
    """
    signature = types.void(block, left, right, out, place, users)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        outs = context.make_array(signature.args[3])(context, builder, arguments[3])
        stride = builder.extract_value(outs.shape, 1)
        zero = ir.Constant(_VECTOR, [0.0] * _LANES)
        sums = [
            [cgutils.alloca_once_value(builder, zero) for _ in range(_VECTORS)]
            for _ in range(_HEIGHT)
        ]
        lefts, rights = (builder.gep(data, [arguments[n]]) for n in (1, 2))
        _multiply(builder, lefts, rights, arguments[5], sums)
        for height, line in enumerate(sums):
            row = builder.add(arguments[4], builder.mul(stride, _I64(height)))
            for v, total in enumerate(line):
                here = _vector_at(builder, outs.data, builder.add(row, _I64(_LANES * v)))
                new = builder.fadd(builder.load(here, align=8), builder.load(total))
                builder.store(new, here, align=8)
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True, nogil=True)
def add_stripe(block: Any, panel: int, out: Any) -> None:
    """Add the rows of one panel of the block's product with itself, from its own columns on.

    `out` is square, float64[16 panels, 16 panels]; exact while all sums are whole and below 2^53.
    """
    panels, users, _ = block.shape
    size = users * PANEL
    for other in range(panel, panels):
        for a in range(0, PANEL, _HEIGHT):
            for b in range(0, PANEL, _WIDTH):
                place = (panel * PANEL + a) * out.shape[1] + other * PANEL + b
                _add_tile(block, panel * size + a, other * size + b, out, place, users)


def aligned_zeros(*shape: int) -> npt.NDArray[np.float64]:
    """Zeros that begin with a cache line, so that no vector straddles two."""
    size = int(np.prod(shape))
    room = np.zeros(size + 8)
    skip = -room.ctypes.data % 64 // 8
    return room[skip : skip + size].reshape(shape)
