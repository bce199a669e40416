"""What the moves of a player lose against exact play, at positions of 4x4 that are the same for all players.

python -m benchmarks.endgame_moves TABLE RECORDS PLAYER [--positions 1024] [--seed 1] [--json]
                                   [--search NAME] [--plies N] [--simulations N] [search.field=value ...]

TABLE is a file of `muzero2048 endgame --out`, RECORDS one of `muzero2048 evaluate --records`. Positions are drawn from
those of the games that fit the table and where at least two legal moves differ. The loss of a move is the best
probability to build the target of the table minus that of the move, and a row "from 0.9" has the positions whose best
probability is at least 0.9 and below the next one. A move gives the target up if it cannot be built any more: mostly it
shifts a large tile, and in a real game the player may be right to do so.

`muzero2048 evaluate PLAYER --endgame TABLE` measures games of the player itself, so a strong player is measured at
other positions than a weak one. The interval is of 95%, as if the positions were independent.
"""

import argparse
import itertools
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
from launch.evaluation.intervals import student
from launch.evaluation.loading import load_player
from launch.evaluation.records.endgame_loss import load_table
from launch.evaluation.records.played import read_games
from launch.evaluation.seeds import check_seed
from launch.progress import progress_line
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.endgames.pattern import SIDE
from ntuple.endgames.table import EndgameTable
from ntuple.game.any_game import make_game_rules
from ntuple.game.bitboard import words_of_cells

BATCH = 128  # positions in a call of the player
MISTAKE = 0.01  # a larger loss is counted
LOST_BY_OTHERS = "lost by a move that goes on"  # one that does not give the target up
PROMISES = (0.0, 0.5, 0.9, 0.99, np.inf)  # rows by the best probability


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the words of the command line."""
    parser = Parser(prog="python -m benchmarks.endgame_moves", description="What moves lose where a table knows.")
    parser.add_argument("table", type=Path, metavar="TABLE", help="file of muzero2048 endgame --out")
    parser.add_argument("records", type=Path, metavar="RECORDS", help="file of evaluate --records")
    parser.add_argument("player", metavar="PLAYER", help="a run folder, a checkpoint, or a name as of evaluate")
    parser.add_argument("overrides", nargs="*", metavar="search.field=value", help="sets a field of the search")
    parser.add_argument("--positions", type=int, default=1024, metavar="N", help="positions at most (default: 1024)")
    parser.add_argument("--seed", type=int, default=1, help="of the positions and of the player (default: 1)")
    add_search_options(parser)
    add_json(parser)
    arguments = parser.parse_intermixed_args(argv)
    if arguments.positions < 2:
        parser.error(f"--positions {arguments.positions}: give 2 or more, since one has no interval")
    check_seed(arguments.seed)
    return arguments


def measure(arguments: argparse.Namespace) -> list[BenchRow]:
    """Draw the positions and ask the player for its moves; UserError if no position fits the table."""
    player = load_player(arguments.player, search_options(arguments, arguments.overrides))
    boards, chances = draw_positions(load_table(arguments.table), arguments)
    actions: list[int | None] = []
    with progress_line(player.name, lambda: f"{len(actions):,} of {len(boards):,} positions"):
        for batch in np.array_split(boards, range(BATCH, len(boards), BATCH)):
            actions += [advice.action_index for advice in player.advise_all(batch, arguments.seed)]
    return rows_of(chances, np.array(actions))


def draw_positions(table: EndgameTable, arguments: argparse.Namespace) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return N boards [N, 4, 4] before moves, and the probability [N, 4] of each move, NaN where it is illegal."""
    boards = np.concatenate([game.boards for game in read_games(arguments.records, DEFAULT_BOARD, None)[0]])
    rules = make_game_rules(GAME_2048.name, SIDE, SIDE)
    chances = table.look_up(words_of_cells(rules, boards))
    chances[chances < 0] = np.nan
    differ = np.flatnonzero(moves_differ(chances))
    if len(differ) < 2:
        raise UserError(f"{arguments.records}: fewer than 2 positions fit {table.pattern}; give other games")
    chosen = np.random.default_rng(arguments.seed).permutation(differ)[: arguments.positions]
    return boards[chosen], chances[chosen]


def moves_differ(chances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether two legal moves of each position differ, [N]; False where the position does not fit."""
    with np.errstate(invalid="ignore"):  # of a comparison with NaN, if no move has a probability
        return np.fmax.reduce(chances, axis=1) > np.fmin.reduce(chances, axis=1)


def rows_of(chances: NDArray[np.float64], actions: NDArray[np.int64]) -> list[BenchRow]:
    """Return the rows of N moves, given the probabilities [N, 4] of all moves."""
    best = np.nanmax(chances, axis=1)
    chosen = chances[np.arange(len(actions)), actions]
    losses, goes_on = best - chosen, chosen > 0
    random = best - np.nanmean(chances, axis=1)
    rows = [
        BenchRow("positions", len(best), "positions"),
        *interval_rows("lost by a move", student(losses), "probability"),
    ]
    rows += [
        BenchRow("lost by a random legal move", random.mean(), "probability"),
        BenchRow("moves that give it up", 1 - goes_on.mean(), "share"),
    ]
    if goes_on.sum() >= 2:
        rows += interval_rows(LOST_BY_OTHERS, student(losses[goes_on]), "probability")
    rows.append(BenchRow(f"moves that lose more than {MISTAKE}", (losses > MISTAKE).mean(), "share"))
    for first, end in itertools.pairwise(PROMISES):
        among = (best >= first) & (best < end)
        if among.any():
            name = f"lost from {first}, {among.sum():,} positions"
            rows.append(BenchRow(name, losses[among].mean(), "probability"))
    return rows


if __name__ == "__main__":
    sys.exit(run_script(parse, measure))
