"""What numba has no words for: a two-lane add, a prefetch, the place of the lowest bit.

All are written in LLVM's own language and hold on every processor that numba supports.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.cgutils import ir
from numba.extending import intrinsic

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_PAIR = ir.VectorType(_I64, 2)
_UNROLL = 4


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value).data


def _pair(builder: Any, low: Any, high: Any) -> Any:
    pair = builder.insert_element(ir.Constant(_PAIR, [0, 0]), low, _I32(0))
    return builder.insert_element(pair, high, _I32(1))


def _sums_step(builder: Any, acc: Any, entries: Any, factor: Any, votes: Any) -> Any:
    """The emitter of one step: entry n of a run, added to its accumulator."""
    both = votes is not None
    kind = _PAIR if both else _I64
    scale = _pair(builder, factor, _I64(0)) if both else factor
    base = _pair(builder, _I64(0), votes) if both else _I64(0)

    def step(n: Any) -> None:
        place = builder.shl(n, _I64(1))
        rank = builder.load(builder.gep(entries, [place]))
        value = builder.load(builder.gep(entries, [builder.or_(place, _I64(1))]))
        value = builder.sext(value, _I64)
        cell = builder.mul(builder.zext(rank, _I64), _I64(2 if both else 1))
        here = builder.bitcast(builder.gep(acc, [cell]), kind.as_pointer())
        product = builder.mul(scale, _pair(builder, value, _I64(0)) if both else value)
        total = builder.add(builder.load(here, align=8), builder.add(product, base))
        builder.store(total, here, align=8)

    return step


@intrinsic
def add_run(_: Any, acc: Any, entries: Any, begin: Any, end: Any, factor: Any, vote: Any) -> Any:
    """For every entry (rank, value) of a run: `acc[rank] += (factor * value, vote)`.

    With a one-dimensional `acc` only `factor * value` is added. Lane by lane this is the loop

        for n in range(begin, end):
            acc[entries[n, 0], 0] += factor * entries[n, 1]
            acc[entries[n, 0], 1] += vote

    which as it stands compiles to two loads and two stores an entry, where one of each will do:
    0.6 instead of 1.2 ns. `acc` and `entries` must be contiguous, the numbers int64, and `factor`
    within 32 bits.
    """
    signature = types.void(acc, entries, begin, end, factor, vote)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        sums = _data(context, builder, kinds[0], arguments[0])
        pairs = _data(context, builder, kinds[1], arguments[1])
        first, stop, multiplier, vote_term = arguments[2:]
        multiplier = builder.sext(builder.trunc(multiplier, _I32), _I64)
        votes = vote_term if kinds[0].ndim == 2 else None
        step = _sums_step(builder, sums, pairs, multiplier, votes)
        whole = builder.and_(builder.sub(stop, first), _I64(-_UNROLL))
        middle = builder.add(first, whole)
        with cgutils.for_range_slice(builder, first, middle, _I64(_UNROLL), _I64) as (n, _):
            for ahead in range(_UNROLL):
                step(builder.add(n, _I64(ahead)))
        with cgutils.for_range_slice(builder, middle, stop, _I64(1), _I64) as (n, _):
            step(n)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def prefetch(_: Any, array: Any, row: Any) -> Any:
    """Ask for the cache line of `array[row]`, a row of two; the row need not exist."""
    signature = types.void(array, row)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature.args[0], arguments[0])
        place = builder.gep(data, [builder.shl(arguments[1], _I64(1))])
        address = builder.bitcast(place, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, _I32, _I32, _I32])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(call, [address, _I32(0), _I32(3), _I32(1)])  # to read, keep, data
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def lowest_bit(_: Any, word: Any) -> Any:
    """The place of the lowest bit of a uint64 that is not 0."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(word), generate
