"""How long the rows of a table would take on this machine."""

import functools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from launch.evaluation.search_options import SearchOptions
from launch.experiment.experiment import Experiment, load_experiment
from launch.jobs.run_states import measured_runs
from launch.report.papers.plan import Scale, Trained, base_of, run_name, settings_of, trained_row, why_not, with_firsts
from launch.report.papers.table import PaperRow, PaperTable
from ntuple.core.learner_spec import EXPECTIMAX, MCTS

MOVES_OF_A_GAME = 10_000  # of a well-trained player: 10^10 moves are about 10^6 games (Guei 2023, sec. 4.4.4)
# Evaluated boards of a move by depth, relative to 1-ply: Guei 2023, table 14, which stops at 5 plies.
COST_OF_PLIES = {1: 1.0, 2: 139.04 / 4.56, 3: 4383.83 / 4.56, 4: 139_966.40 / 4.56, 5: 4_419_503.73 / 4.56}
COST_OF_6_PLIES = COST_OF_PLIES[5] ** 2 / COST_OF_PLIES[4]  # as 5 to 4
TIME_LIMIT = "search.seconds="
# Keys of a learner that decide the speed of its training first.
SHAPE = ("rows", "columns", "network", "stages", "promotion", "target")
Network = tuple[Any, ...]  # as `network_of` returns it
LEAST_MOVES = 50_000_000  # of a training whose speed counts: short ones measure how long a process takes to begin


class Estimate(NamedTuple):
    """Hours on this machine."""

    training: float
    playing: float
    is_measured: bool  # whether all speeds of training were measured here


def measured_speeds(runs_folder: Path) -> dict[Network, float]:
    """Return the moves per second of training on this machine, by network: the median over runs."""
    by_network: dict[Network, list[float]] = {}
    for experiment, speed in measured_runs(runs_folder):
        if experiment.settings.env_steps >= LEAST_MOVES:
            by_network.setdefault(network_of(experiment), []).append(speed)
    return {network: statistics.median(speeds) for network, speeds in by_network.items()}


def estimate(table: PaperTable, rows: Sequence[PaperRow], scale: Scale, speeds: Mapping[Network, float]) -> Estimate:
    """Return the hours that rows would take from nothing, for all seeds; finished runs count too.

    A run that several rows share counts once. The time of play assumes games of MOVES_OF_A_GAME moves, boards that are
    evaluated as fast as the table's file says, and no transposition table: too long for a search. `speeds` are those of
    `measured_speeds`.
    """
    training, playing, measured = {}, {}, True
    for row in rows:
        if why_not(table, row):
            continue
        for trained in with_firsts(trained_row(table, row)):
            known = speeds.get(network_of_row(trained)) if speeds else None  # a learner's settings may import jax
            measured = measured and known is not None
            speed = known or trained.row.moves_per_second or trained.table.moves_per_second
            training[run_name(trained, scale, 1)] = scale.moves(trained.table.moves_of(trained.row)) / speed / 3600
        speed = trained_row(table, row).table.moves_per_second
        for column in table.columns:
            if column.statistic and column.name in row.paper:
                play = column.play.over(row.play)
                games = scale.games(table.games_of(row, column))
                playing[row.name, play, games] = games * MOVES_OF_A_GAME * _seconds(play, speed) / 3600
    count = len(scale.seeds)
    return Estimate(count * sum(training.values()), count * sum(playing.values()), measured)


def network_of(experiment: Experiment) -> Network:
    """Return what decides the speed of a training first: learner, board, network and target."""
    return experiment.learner, *(getattr(experiment.settings, key, None) for key in SHAPE)


def network_of_row(trained: Trained) -> Network:
    """Return `network_of` the experiment of a row."""
    shaping = tuple(word for word in settings_of(trained) if _group_of(word) in SHAPE)
    return _network_of(base_of(trained), shaping)


@functools.lru_cache(maxsize=256)
def _network_of(base: Path, overrides: tuple[str, ...]) -> Network:
    """Return `network_of` an experiment config with some overrides of its learner."""
    return network_of(load_experiment(base, overrides))


def _group_of(override: str) -> str:
    """Return the second part of the key of an override: `target` of ntuple.target.steps=3."""
    return override.partition("=")[0].partition(".")[2].partition(".")[0]


def _seconds(play: SearchOptions, speed: float) -> float:
    """Return the seconds of a move where a move by 1-ply takes 1 / speed."""
    limits = [word for word in play.overrides if word.startswith(TIME_LIMIT)]
    if limits:
        return float(limits[-1].removeprefix(TIME_LIMIT))
    if play.search == MCTS:
        return (play.simulations or 1) / speed
    if play.search == EXPECTIMAX and play.plies:
        return COST_OF_PLIES.get(play.plies, COST_OF_6_PLIES) / speed
    return 1.0 / speed
