"""The work of a program: FLOP and bytes of its matrix products and convolutions, counted in its jaxpr.

XLA's own count contains the body of a loop once, and may count 0 for products that a library computes. All operations
other than products are left out: gathers, elementwise operations, the tree of a search.
"""

import math
from typing import Any, NamedTuple

from jax.extend.core import jaxprs_in_params
from jax.interpreters.partial_eval import dce_jaxpr


class Work(NamedTuple):
    """The work of one run of a program."""

    flops: float  # 2 for a multiply-add; multiply-adds with the zero padding of a convolution are included
    bytes: float  # operands and results of every product, as if caches kept nothing from one product to the next

    def __add__(self, other: Any) -> "Work":
        return Work(self.flops + other.flops, self.bytes + other.bytes)

    def times(self, number: int) -> "Work":
        """Return the work multiplied by `number`."""
        return Work(self.flops * number, self.bytes * number)


NOTHING = Work(0.0, 0.0)


def count_work(jaxpr: Any, platform: str, while_length: int | None = None) -> Work:
    """Count the work for the results of a closed jaxpr.

    The body of a scan is multiplied by its length, that of a `while` loop with products by `while_length`. Of the
    branches of a conditional, the one with the most work counts; of branches by platform, such as cpu or gpu, its own.

    Raises:
        ValueError: a `while` loop contains products and `while_length` is None.
    """
    needed, _ = dce_jaxpr(jaxpr.jaxpr, [True] * len(jaxpr.jaxpr.outvars))  # XLA removes dead code too
    return _of_equations(needed, platform, while_length)


def _of_equations(jaxpr: Any, platform: str, while_length: int | None) -> Work:
    return sum((_of_equation(equation, platform, while_length) for equation in jaxpr.eqns), NOTHING)


def _of_equation(equation: Any, platform: str, while_length: int | None) -> Work:
    name, params = equation.primitive.name, equation.params
    if name == "dot_general":
        left = equation.invars[0].aval
        return _product(equation, math.prod(left.shape[axis] for axis in params["dimension_numbers"][0][0]))
    if name == "conv_general_dilated":
        kernel, output_axis = equation.invars[1].aval, params["dimension_numbers"].rhs_spec[0]
        return _product(equation, kernel.size // kernel.shape[output_axis])
    if name == "cond" and params.get("branches_platforms"):
        own_names = {"gpu": {"cuda", "rocm"}}.get(platform, {platform})
        own = [names is None or not own_names.isdisjoint(names) for names in params["branches_platforms"]].index(True)
        return _of_equations(params["branches"][own].jaxpr, platform, while_length)
    parts = [_of_equations(inner, platform, while_length) for inner in jaxprs_in_params(params)]
    if name == "cond":
        return max(parts)
    work = sum(parts, NOTHING)
    if name == "scan":
        return work.times(params["length"])
    if name == "shard_map":
        return work.times(params["mesh"].size)
    if name == "while" and work.flops:
        if while_length is None:
            raise ValueError("a while loop holds products: give the passes that it makes")
        return work.times(while_length)
    return work


def _product(equation: Any, terms: int) -> Work:
    """Return the work of a product whose results are sums of `terms` terms each."""
    arrays = [variable.aval for variable in (*equation.invars, *equation.outvars)]
    return Work(2.0 * arrays[-1].size * terms, float(sum(x.size * x.dtype.itemsize for x in arrays)))
