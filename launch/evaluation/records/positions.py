"""`muzero2048 positions`: afterstates of recorded games, from which games of a training can begin.

A learner seldom comes to the late states of a game, and a player with search often: from its games a network can learn
them (`ntuple.start.kind=positions`). The file is an array uint8 [N, H, W] of levels in the format of numpy.

Positions that no game at hand reaches are made of those that come one level before: with the tiles from `raise_from` on
raised by one level, an order of 8192, 4096 and 2048 is one of 16384, 8192 and 4096.

Shapes: `N` positions, `H, W` board.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from launch.errors import UserError
from launch.evaluation.boards.notation import parse_named_board
from launch.evaluation.records.judge import read_right_games
from launch.files import check_output
from launch.output import print_json
from launch.progress import progress_line


def write_positions(
    files: Sequence[Path],
    sums: Sequence[int],
    a_game: int,
    seed: int,
    out: Path,
    raise_from: int = 0,
    as_json: bool = False,
) -> None:
    """Write as many positions of each stage as the rarest one has, in random order, and print their number.

    Args:
        sums: sums of the tiles in the games, ascending; a stage is from one to below the next.
        a_game: most positions of a game in a stage.
        raise_from: this tile and larger ones become the next tile of the game; 0: none.

    Raises:
        UserError: an argument is wrong, a file cannot be read or written, games are of several boards or of a game
            whose boards do not tell all, or no game comes to one of the stages.
    """
    if len(sums) < 2 or list(sums) != sorted(set(sums)) or sums[0] < 0:
        raise UserError(f"--sums {' '.join(map(str, sums))}: give two or more sums, ascending, such as 28672 32768")
    if a_game < 1 or seed < 0:
        raise UserError(f"--a-game is {a_game} and --seed {seed}; give at least 1 and 0")
    if out.suffix != ".npy":
        raise UserError(f"--out {out}: give a file whose name ends with .npy")
    check_output(out, "--out")
    rng, board = np.random.default_rng(seed), ""
    found: list[list[NDArray[np.uint8]]] = [[] for _ in sums[1:]]
    for path in files:
        with progress_line("", f"reading {path.name} ..."):
            for line, spawned in read_right_games(path, None):
                name, (kind, rows, columns) = line.board, parse_named_board(line.board)
                if board not in ("", name):
                    raise UserError(f"{path} has games on {name}, the file before on {board}; give games of one board")
                if not kind.is_its_board:
                    raise UserError(f"{path}: a board is not all of {kind.name}; give games of 2048 or 2584")
                board = name
                if raise_from and raise_from not in kind.tiles:
                    raise UserError(f"--raise-from {raise_from} is no tile of {kind.name}; give one as {kind.tiles[8]}")
                afters = spawned.afterstates.reshape(-1, rows, columns)
                drawn = _draw(afters, np.array(kind.tiles)[afters].sum(axis=(1, 2)), sums, a_game, rng)
                for parts, boards in zip(found, drawn, strict=True):
                    parts.append(boards)
    stages = [np.concatenate(parts) for parts in found]
    for (first, end), stage in zip(itertools.pairwise(sums), stages, strict=True):
        if not len(stage):
            raise UserError(f"no game has a board with a sum of tiles from {first} to below {end}; leave out {end}")
    count = min(map(len, stages))
    chosen = np.concatenate([rng.permutation(stage)[:count] for stage in stages])
    if raise_from:
        chosen += chosen >= kind.tiles.index(raise_from)
    try:
        np.save(out, rng.permutation(chosen))
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}; give another --out") from None
    if as_json:
        print_json({"board": board, "positions": len(chosen), "stages": len(stages)})
    print(f"{len(chosen):,} positions on {board}, {count:,} of each of {len(stages)} stages: {out}")


def _draw(
    afters: NDArray[np.uint8], totals: NDArray[np.int64], sums: Sequence[int], a_game: int, rng: np.random.Generator
) -> Iterator[NDArray[np.uint8]]:
    """Yield afterstates of a game in each stage, by their sums of tiles, drawn without replacement."""
    for first, end in itertools.pairwise(sums):
        among = np.flatnonzero((totals >= first) & (totals < end))
        yield afters[rng.choice(among, min(a_game, len(among)), replace=False)]
