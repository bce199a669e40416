"""A clock for kernels: seconds since a fixed moment, as time.perf_counter counts them. numba itself has none."""

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CLOCK_MONOTONIC = 6 if sys.platform == "darwin" else 1  # value in <time.h>
NANOSECOND = 1e-9


def _seconds(typing_context: Any) -> tuple[Any, Callable[..., Any]]:
    """Define seconds(): clock_gettime(CLOCK_MONOTONIC) of the C library as float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        long, word, double = ir.IntType(64), ir.IntType(32), ir.DoubleType()
        timespec = ir.LiteralStructType([long, long])
        read = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word, timespec.as_pointer()]), "clock_gettime"
        )
        now = cgutils.alloca_once(builder, timespec)
        builder.call(read, [ir.Constant(word, CLOCK_MONOTONIC), now])
        whole_seconds, nanoseconds = (
            builder.sitofp(builder.load(cgutils.gep_inbounds(builder, now, 0, part)), double) for part in (0, 1)
        )
        return builder.fadd(whole_seconds, builder.fmul(nanoseconds, ir.Constant(double, NANOSECOND)))

    return types.float64(), generate


seconds: Any = intrinsic(_seconds)
