"""Count the kernel launches and the waits of the host in a compiled program, from the text of its HLO.

Limits of the count:

- An operation counts as one kernel. Some operations, such as a sort, are several kernels.
- XLA may combine kernels into a CUDA graph, which the host launches once. The text does not show this.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

# Operations without a kernel: they only name memory.
FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id"})
COLLECTIVES = frozenset({"all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute"})
BYTES = {  # size of an element by type; 4 for a type that is not listed
    "token": 0, "pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2,
    "s64": 8, "u64": 8, "f64": 8, "c64": 8,
}  # fmt: skip


class Launches(NamedTuple):
    """Counts for one run of a program. A loop with an unknown number of iterations counts as one iteration."""

    kernels: int
    waits: int  # executions of loops and branches for which the host reads a value from the device
    bytes: int  # size of all operands and results of kernels, in full even if a kernel reads only one row
    sent: int  # bytes that a device sends in collectives, such as the sum of gradients

    def __add__(self, other: Any) -> "Launches":
        return Launches(*(x + y for x, y in zip(self, other, strict=True)))

    def times(self, number: int) -> "Launches":
        """Return the counts multiplied by `number`."""
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
    """Count the launches of a program, from the text of its optimised module (`jax.stages.Compiled.as_text`).

    Of the branches of a conditional, the one with the largest counts.

    Raises:
        ValueError: a line is not an operation of an HLO module.
    """
    return _of_computation("ENTRY", dict(_computations(text)))


def _computations(text: str) -> Iterator[tuple[str, list[Operation]]]:
    """Yield the name and the operations of each computation; the main computation has the name ENTRY."""
    for block in re.split(r"\n(?=%|ENTRY )", text):
        head, *lines = block.splitlines()
        if head.endswith("{"):
            name = "ENTRY" if head.startswith("ENTRY") else head.split()[0].lstrip("%")
            yield name, [_operation(line) for line in lines if " = " in line]


def _operation(line: str) -> Operation:
    name, _, rest = line.strip().removeprefix("ROOT ").partition(" = ")
    # The type may be a nested tuple with comments. The kind is the first word after it that precedes a parenthesis.
    parts = re.match(r"(.*?[\])}]) ([\w-]+)\(([^)]*)\)(.*)", rest)
    if parts is None:
        raise ValueError(f"no operation of an HLO module: {line}")
    type_text, kind, operands, attributes = parts.groups()
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
    name = re.search(rf"{what}=%?([\w.-]+)", attributes)
    if name is None:
        raise ValueError(f"an operation names no {what}: {attributes}")
    return name[1]


def _size(type_text: str) -> int:
    """Return the bytes of a type such as f32[64,256]{1,0}, or of a tuple of types."""
    arrays = re.findall(r"(\w+)\[([\d,]*)\]", type_text)
    return sum(BYTES.get(kind, 4) * math.prod(int(n) for n in shape.split(",") if n) for kind, shape in arrays)
