"""Which step to the next large tile ends games of 2048 on 4x4, and how often a player takes the last one.

python -m benchmarks.last_steps RECORDS [--tile 32768] [--chain 512] [--json]
python -m benchmarks.last_steps RECORDS --player RUN [--repeat 5] [--search NAME] [--plies N] [search.field=value ...]

RECORDS is a file of `muzero2048 evaluate --records`. A game comes to `--tile` by holding all smaller ones at once:
first 16384, then 16384 and 8192, and so on down to `--chain`. A row is such a step: the games that came to it, and the
share of them that built `--tile` in the end.

With --player the last step is played again, by any player and search: from the first board of each game that held the
whole chain, `--repeat` times with other spawns, until `--tile` is built or the game is over. The interval is of 95%,
as if these games were independent.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.script import interval_rows, run_script
from launch.bench.rows import BenchRow
from launch.commands.parser import Parser, add_json, add_search_options, search_options
from launch.errors import UserError
from launch.evaluation.boards.notation import DEFAULT_BOARD
from launch.evaluation.intervals import wilson
from launch.evaluation.loading import LoadedPlayer, load_player
from launch.evaluation.records.played import read_games
from ntuple.core.rules import Board, afterstate, spawn


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the words of the command line."""
    parser = Parser(prog="python -m benchmarks.last_steps", description="The steps to the next large tile.")
    parser.add_argument("records", type=Path, metavar="RECORDS", help="file of evaluate --records")
    parser.add_argument("overrides", nargs="*", metavar="search.field=value", help="sets a field of the search")
    parser.add_argument("--tile", type=int, default=32768, help="the tile to be built (default: 32768)")
    parser.add_argument("--chain", type=int, default=512, help="smallest tile of the chain (default: 512)")
    parser.add_argument("--player", metavar="RUN", help="plays the last step again")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="games from each board (default: 5)")
    add_search_options(parser)
    add_json(parser)
    arguments = parser.parse_intermixed_args(argv)
    for name in ("tile", "chain"):
        if (tile := getattr(arguments, name)) < 4 or tile & tile - 1:
            parser.error(f"--{name} {tile}: give a power of two from 4 on")
    if arguments.chain >= arguments.tile:
        parser.error(f"--chain {arguments.chain}: give a tile below --tile {arguments.tile}")
    if arguments.repeat < 1:
        parser.error(f"--repeat {arguments.repeat}: give 1 or more")
    return arguments


def measure(arguments: argparse.Namespace) -> list[BenchRow]:
    """Read the games, and play the last step again if there is a player; UserError if there is no such game."""
    goal, smallest = arguments.tile.bit_length() - 1, arguments.chain.bit_length() - 1
    games = [game.boards for game in read_games(arguments.records, DEFAULT_BOARD, None)[0]]
    rows = []
    for level in range(goal - 1, smallest - 1, -1):
        step = " ".join(str(1 << other) for other in range(goal - 1, level - 1, -1))
        found = [(board, game.max() >= goal) for game in games if (board := _first_with(game, level, goal)) is not None]
        if not found:
            raise UserError(f"{arguments.records}: no game holds {step} at once; give another --chain or --tile")
        boards, built = zip(*found, strict=True)
        rows.append(BenchRow(step, len(built), "games"))
        rows.append(BenchRow(f"  of these build {arguments.tile}", float(np.mean(built)), "share"))
    if arguments.player is None:
        return rows
    player = load_player(arguments.player, search_options(arguments, arguments.overrides))
    won = play_on(player, np.repeat(boards, arguments.repeat, axis=0), goal)
    return [*rows, *interval_rows("built by the player", wilson(won.mean(), won.size), "share")]


def _first_with(boards: NDArray[np.uint8], level: int, goal: int) -> NDArray[np.uint8] | None:
    """Return the first board [H, W] of a game that holds all levels from `level` to `goal` - 1, and not `goal` yet."""
    cells = boards.reshape(len(boards), -1, 1)
    holds = (cells == np.arange(level, goal)).any(axis=1).all(axis=1) & (cells < goal).all(axis=(1, 2))
    return boards[holds.argmax()] if holds.any() else None


def play_on(player: LoadedPlayer, boards: NDArray[np.uint8], goal: int) -> NDArray[np.bool_]:
    """Play B games on from their boards [B, H, W], and return whether each builds the level `goal`."""
    won = np.zeros(len(boards), np.bool_)
    games: list[tuple[int, Board, int]] = [(i, tuple(map(tuple, board.tolist())), i) for i, board in enumerate(boards)]
    seed = 0
    while games:
        advices = player.advise_all(np.array([board for _, board, _ in games]), seed)
        going = []
        for (i, board, stream), advice in zip(games, advices, strict=True):
            if advice.action_index is None:
                continue
            after, _ = afterstate(board, advice.action_index)
            if max(map(max, after)) >= goal:
                won[i] = True
                continue
            going.append((i, *spawn(after, stream)))
        games, seed = going, seed + 1
    return won


if __name__ == "__main__":
    sys.exit(run_script(parse, measure))
