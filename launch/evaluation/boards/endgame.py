"""`muzero2048 endgame`: tables of exact endgames of 2048 on 4x4."""

import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.errors import Option, OptionError, UserError
from launch.evaluation.boards.notation import format_position, parse_position
from launch.evaluation.records.endgame_loss import load_table
from launch.experiment.machine_info import project_version
from launch.files import check_new_file
from launch.memory import available_bytes, size_text
from launch.output import print_json
from launch.progress import progress_line
from launch.quantities import clock
from launch.signals import STOPPED, StopSignals
from ntuple.endgames.pattern import EXAMPLE, SIDE, Pattern, parse_pattern
from ntuple.endgames.table import EndgameTable, bytes_of, memory_of, solve_table
from ntuple.exact.solution import ACTIONS
from ntuple.game.bitboard import encode


class Request(NamedTuple):
    """Options of the command line; None for options that are not given."""

    pattern: str | None
    target: int | None  # tile to be built
    largest_sum: int | None  # of the free tiles
    out: Path | None  # new file for the table
    table: Path | None  # file with a table, read instead of computing one
    position: str | None  # board before a move to look up
    as_json: bool


def run_endgame(request: Request) -> int:
    """Compute a table or load one, print its figures, and look up a position; return the exit code."""
    if (request.pattern is None) == (request.table is None):
        raise UserError(f"give either a PATTERN, such as {EXAMPLE}, or --table for a file that --out wrote")
    position = None if request.position is None else parse_position(request.position, SIDE, SIDE)
    record: dict[str, Any] = {}
    if request.table is not None:
        table = load_table(request.table)
        given = (("target", request.target), ("largest-sum", request.largest_sum), ("out", request.out))
        for option, value in given:
            if value is not None:
                raise OptionError(Option(option, str(value)), f" is for a PATTERN; {request.table} has its own")
    else:
        pattern = _pattern(request)
        if position is not None and request.out is None:
            raise OptionError(Option("position"), " is looked up in a table: add ", Option("out", "FILE"))
        print(f"{pattern}: {pattern.boards:,} boards, a file of {size_text(bytes_of(pattern))}", flush=True)
        if request.out is None:
            print("add --out FILE to compute the table")
            if request.as_json:
                print_json(_about(pattern) | {"bytes": bytes_of(pattern)})
            return 0
        seconds = _compute(pattern, request.out)
        if seconds is None:
            return STOPPED
        record |= {"seconds": seconds, "saved": str(request.out)}
        table = load_table(request.out)
        print(f"saved to {request.out} in {seconds:.1f} s")
    record |= _about(table.pattern) | {"probability": table.promise, "version": project_version()}
    print(f"{table.pattern}: probability {table.promise:.6f} with empty free cells before a spawn")
    if position is not None:
        record["position"] = _position(table, position)
    if request.as_json:
        print_json(record)
    return 0


def _about(pattern: Pattern) -> dict[str, Any]:
    target = {"pattern": pattern.letters, "target": 1 << pattern.target}
    return target | {"largest_sum": pattern.largest_sum, "boards": pattern.boards}


def _pattern(request: Request) -> Pattern:
    if request.target is None:
        raise OptionError(Option("target"), " is missing: give the tile to be built, such as 256")
    try:
        return parse_pattern(request.pattern or "", request.target, request.largest_sum)
    except ValueError as error:
        raise UserError(str(error)) from error


def _compute(pattern: Pattern, out: Path) -> float | None:
    """Compute a table into a file; return the seconds, or None if a signal stopped it."""
    check_new_file(out, "--out")
    smaller = "give fewer free cells, or a smaller --target or --largest-sum"
    room, needed = shutil.disk_usage(out.absolute().parent).free, 2 * bytes_of(pattern)
    if needed > room:
        disk = f"{size_text(needed)} of disk while it is made and {size_text(room)} are free"
        raise UserError(f"the table takes {disk}; {smaller}")
    takes, there = memory_of(pattern), available_bytes()
    memory = f"{size_text(takes)} of {size_text(there)}"
    if takes > there:
        raise UserError(f"the table takes {memory} of memory; {smaller}")
    print(f"memory: {memory}; disk: {size_text(needed)} of {size_text(room)}", flush=True)
    began, shares = time.monotonic(), [0.0]

    def text() -> str:
        if not shares[0]:
            return "preparing ..."
        passed = time.monotonic() - began
        return f"{shares[0]:.1%}  {clock(passed / shares[0] * (1 - shares[0]))} left"

    def watch(share: float) -> None:
        shares[0] = share

    goes_on = f"the same command goes on from {out}.part"
    try:
        with StopSignals("saving and stopping", goes_on) as stop, progress_line(str(pattern), text):
            is_complete = solve_table(pattern, out, watch, lambda: stop.requested)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {out}: {error}" if isinstance(error, OSError) else str(error)) from error
    if not is_complete:
        print(f"stopped; {goes_on}")
        return None
    return time.monotonic() - began


def _position(table: EndgameTable, levels: NDArray[np.int8]) -> dict[str, Any]:
    """Print the probabilities of the moves of a board; return them as a record."""
    cells = format_position(levels)
    print(cells)
    values = table.look_up(np.array([encode(levels)], np.uint64))[0]
    if np.isnan(values).any():
        print("  it does not fit: see docs/endgames.md for what fits")
        return {"cells": cells, "moves": None}
    moves = {name: float(value) if value >= 0 else None for name, value in zip(ACTIONS, values, strict=True)}
    print("  " + ", ".join(f"{name} {'not legal' if p is None else f'{p:.6f}'}" for name, p in moves.items()))
    return {"cells": cells, "moves": moves}
