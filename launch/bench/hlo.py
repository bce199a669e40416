"""What the host has to launch and to wait for in a compiled program, read from the text of its HLO.

An operation counts as a kernel, though a sort is several of them. XLA may put kernels together into a CUDA graph, which
the host launches once; the text does not tell.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

# Operations that no kernel runs for: they name memory.
FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id"})
COLLECTIVES = frozenset({"all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute"})
BYTES = {  # of a type; 4 if it is not here
    "token": 0, "pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2,
    "s64": 8, "u64": 8, "f64": 8, "c64": 8,
}  # fmt: skip


class Launches(NamedTuple):
    """Of one run of a program. A loop whose passes the program does not tell counts as one pass."""

    kernels: int
    waits: int  # loops and branches about which the host must ask the device, each time it comes to one
    bytes: int  # operands and results of all kernels, whole, also where a kernel reads a row of them
    sent: int  # bytes that a device gives to what all devices do together, such as the sum of gradients

    def __add__(self, other: Any) -> "Launches":
        return Launches(*(x + y for x, y in zip(self, other, strict=True)))

    def times(self, number: int) -> "Launches":
        """So many times this."""
        return Launches(*(number * x for x in self))


NOTHING, WAIT = Launches(0, 0, 0, 0), Launches(0, 1, 0, 0)


class Operation(NamedTuple):
    """One line of a computation: %name = type kind(%operand, ...), attributes."""

    name: str
    type: str
    kind: str
    operands: Sequence[str]
    attributes: str


def count_launches(text: str) -> Launches:
    """Launches of a program, of branches those with most.

    Args:
        text: of the optimised module, as `jax.stages.Compiled.as_text` gives it.
    """
    computations = dict(_computations(text))
    return _of_computation("ENTRY", computations)


def _computations(text: str) -> Iterator[tuple[str, list[Operation]]]:
    """Names, ENTRY for the one that is run, and operations."""
    for block in re.split(r"\n(?=%|ENTRY )", text):
        head, *lines = block.splitlines()
        if head.endswith("{"):
            name = "ENTRY" if head.startswith("ENTRY") else head.split()[0].lstrip("%")
            yield name, [_operation(line) for line in lines if " = " in line]


def _operation(line: str) -> Operation:
    name, _, rest = line.strip().removeprefix("ROOT ").partition(" = ")
    # The type may be a tuple of tuples, with comments in it: what follows it is the first word before a parenthesis.
    found = re.match(r"(.*?[\])}]) ([\w-]+)\(([^)]*)\)(.*)", rest)
    if found is None:
        raise ValueError(f"no operation of an HLO module: {line}")
    type_text, kind, operands, attributes = found.groups()
    return Operation(name.lstrip("%"), type_text, kind, re.findall(r"%([\w.-]+)", operands), attributes)


def _of_computation(name: str, computations: dict[str, list[Operation]]) -> Launches:
    sizes = {operation.name: _size(operation.type) for operation in computations[name]}
    total = NOTHING
    for operation in computations[name]:
        total += _of_operation(operation, sizes, computations)
    return total


def _of_operation(operation: Operation, sizes: dict[str, int], computations: dict[str, list[Operation]]) -> Launches:
    kind, attributes = operation.kind, operation.attributes
    if kind in FREE or kind.endswith("-done"):
        return NOTHING
    if kind == "while":
        body = _of_computation(_named(attributes, "body"), computations)
        passes = re.search(r'"known_trip_count":\{"n":"(\d+)"', attributes)
        return body.times(int(passes[1])) if passes else body + WAIT
    if kind == "call":
        return _of_computation(_named(attributes, "to_apply"), computations)
    if kind == "conditional":
        listed = re.search(r"branch_computations=\{(.*?)\}", attributes)
        names = re.findall(r"%([\w.-]+)", listed[1]) if listed else [
            _named(attributes, "true_computation"), _named(attributes, "false_computation")
        ]  # fmt: skip
        return max(_of_computation(name, computations) for name in names) + WAIT
    given = sum(sizes[operand] for operand in operation.operands)
    return Launches(1, 0, sizes[operation.name] + given, given if kind.removesuffix("-start") in COLLECTIVES else 0)


def _named(attributes: str, what: str) -> str:
    found = re.search(rf"{what}=%?([\w.-]+)", attributes)
    if found is None:
        raise ValueError(f"an operation names no {what}: {attributes}")
    return found[1]


def _size(type_text: str) -> int:
    """Bytes of a type such as f32[64,256]{1,0}, or of a tuple of them."""
    arrays = re.findall(r"(\w+)\[([\d,]*)\]", type_text)
    return sum(BYTES.get(kind, 4) * math.prod(int(n) for n in shape.split(",") if n) for kind, shape in arrays)
