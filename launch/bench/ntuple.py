"""Moves per second of n-tuple training and 1-ply play, compared with TDL2048+ if its binary is given.

TDL2048+ (Guei, github.com/moporgic/TDL2048, `make`) is built outside this project. The environment variable TDL2048 is
the path of its binary; both programs are then measured in the same run.

Networks are trained before they are timed (warm-up), both programs with the same number of games: the games of a fresh
network use few entries, which all stay in the caches of the CPU.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ntuple
from launch.bench.host import load_rows, table_rows
from launch.bench.rows import REPEATS, Row
from launch.errors import UserError
from launch.experiment.interfaces import Player
from ntuple import NTupleConfig, NTupleLearner, make_rules
from ntuple.core.lists import list_text
from ntuple.learning.config import StepSizeConfig
from ntuple.tables.record_fields import read_field
from ntuple.td.step_sizes import SECOND, forget

PEER = "TDL2048+"
PEER_VARIABLE = "TDL2048"
NETWORKS = ("4x6", "8x6")
THREADS = (1, 2)
WARM_MOVES = 30_000_000
TIMED_MOVES = 4_000_000  # moves of training in a repeat
TIMED_GAMES = 1_000  # games of play in a repeat
COUNTED_MOVES = 100_000  # moves in a repeat of `_lost_updates`; few, so that float32 rounds little in the sums of TC
DRIFT_REPORTS = 20  # reports before that, so that games that began at the same time are in different phases
PER_MILLION = 1e6


class Method(NamedTuple):
    """An update rule, in the settings of this project and of the peer."""

    v_init: float
    adaptive_fraction: float
    their_init: str  # suffix of the peer's network name
    their_rate: str  # arguments of the peer's option -a


METHODS = {
    "TD(0)": Method(0.0, 0.0, "", "0.1 fixed"),
    "OTD(0)": Method(320_000.0, 0.0, "=320000/norm", "0.1 fixed"),
    "TC": Method(0.0, 1.0, "", "1.0 coherence"),
}
Measure = Callable[[], float]  # returns moves per second


class Cell(NamedTuple):
    """A figure to measure, with this program and with the peer."""

    name: str
    ours: Measure
    theirs: Measure | None  # None: no peer is given


def bench(networks: tuple[str, ...] = NETWORKS, warm_moves: int = WARM_MOVES) -> list[Row]:
    """Measure loads from memory, lines of a move, compile times, moves per second and lost updates.

    Moves per second are measured for each network, method and number of threads, best of five.

    Raises:
        UserError: the environment variable TDL2048 is not the path of a program.
    """
    peer = find_peer()
    rows = [*load_rows(), *_compile_times()]
    for network in networks:
        for method, rule in METHODS.items():
            learner = warmed(network, rule, warm_moves)
            if method == "TD(0)":
                config = learner.config
                rows += table_rows(make_rules(config.rows, config.columns), learner.network, network)
            with tempfile.TemporaryDirectory() as folder:
                rows += [measured(cell) for cell in _cells(learner, method, peer, Path(folder))]
            if method == "TC":
                rows += _lost_updates(learner)
    return rows


def measured(cell: Cell) -> Row:
    """Measure a cell: best of REPEATS, this program and the peer in turn."""
    ours, theirs = 0.0, 0.0
    for _ in range(REPEATS):
        ours = max(ours, cell.ours())
        if cell.theirs:
            theirs = max(theirs, cell.theirs())
    return Row(cell.name, ours, "moves/s", {PEER: ours / theirs} if theirs else {})


def _cells(learner: NTupleLearner, method: str, peer: Path | None, folder: Path) -> list[Cell]:
    """Return the cells of one trained network. The peer's network is a file in `folder`."""
    network, rule = list_text(learner.config.network), METHODS[method]
    if peer:
        games = -(-learner.progress["games"] // max(THREADS))
        words = ["-n", f"{network}patt{rule.their_init}", "-a", *rule.their_rate.split()]
        words += ["-t", f"{max(THREADS)}x{games}", "-p", str(max(THREADS)), "-o", "warm.w"]
        run_peer(peer, words, folder)

    def theirs(threads: int, *what: str) -> Measure | None:
        words = ["-n", f"{network}patt", "-a", *rule.their_rate.split(), "-i", "warm.w", "-p", str(threads), *what]
        return (lambda: run_peer(peer, words, folder)) if peer else None

    cells = []
    for threads in THREADS:
        games = max(1, TIMED_MOVES // 2_000 // threads)
        cells.append(
            Cell(
                f"train {network}, {method}, {_count(threads)}",
                _training(learner, threads),
                theirs(threads, "-t", f"{threads}x{games}"),
            )
        )
    if method == "TD(0)":  # play reads only the weights, so its speed does not depend on the method
        for threads in THREADS:
            games = TIMED_GAMES // threads
            cells.append(
                Cell(
                    f"play 1-ply {network}, {_count(threads)}",
                    _play(learner, threads),
                    theirs(threads, "-e", f"{threads}x{games}"),
                )
            )
    return cells


def _count(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


def warmed(network: str, rule: Method, moves: int) -> NTupleLearner:
    """Train a learner before it is timed.

    Args:
        network: name of the network.
        rule: the update rule.
        moves: moves of training.

    Returns:
        The trained learner.
    """
    config = NTupleConfig(
        network=(network,),
        env_steps=moves + (REPEATS + 1) * len(THREADS) * TIMED_MOVES + DRIFT_REPORTS * COUNTED_MOVES,
        report_env_steps=moves,
        threads=max(THREADS),
        v_init=rule.v_init,
        step_size=StepSizeConfig(adaptive_fraction=rule.adaptive_fraction),
    )
    learner = NTupleLearner(config, seed=1)
    learner.advance()
    return learner


def _going_on(learner: NTupleLearner, threads: int, moves: int) -> NTupleLearner:
    """Return a learner that continues with the network of `learner` in new games; it reports every `moves` moves."""
    config = replace(learner.config, threads=threads, report_env_steps=moves)
    return NTupleLearner(config, seed=2, network=learner.network)


def _lost_updates(learner: NTupleLearner) -> Iterator[Row]:
    """Yield how many of a million updates of an entry are lost because threads write at the same time.

    An update of TC adds |delta| to the sum A of each of its entries. Without losses, the sum of A over all entries is
    the sum of |delta| over updates and their entries:

        lost = 1 - sum of A / (mean |delta| * updates * entries per update)

    The row of one thread shows the error by rounding of float32.
    """
    for threads in THREADS:
        counted = _going_on(learner, threads, COUNTED_MOVES)
        for _ in range(DRIFT_REPORTS):
            counted.advance()
        added = found = 0.0
        for _ in range(REPEATS):
            forget(learner.network)
            before = counted.progress["updates"]
            error = counted.advance()["td/error_abs_mean"]
            entries = len(learner.network.symmetries) * len(learner.network.tables)
            added += error * (counted.progress["updates"] - before) * entries
            found += float(read_field(learner.network, SECOND).sum(dtype=np.float64))
        name = f"lost of a million updates, {list_text(learner.config.network)}, TC, {_count(threads)}"
        yield Row(name, PER_MILLION * (1 - found / added), "updates", {})


def _training(learner: NTupleLearner, threads: int) -> Measure:
    measured = _going_on(learner, threads, TIMED_MOVES)
    return lambda: measured.advance()["perf/moves_per_second"]


def _play(learner: NTupleLearner, threads: int) -> Measure:
    player = NTupleLearner(replace(learner.config, threads=threads), seed=3, network=learner.network).player()
    return lambda: play_speed(player, TIMED_GAMES, seed=4)


def play_speed(player: Player, games: int, seed: int) -> float:
    """Return the moves per second of a player.

    Args:
        player: the player.
        games: number of games to play.
        seed: seed of the games.

    Returns:
        Moves divided by the wall time of playing.
    """
    played = player.play(games, seed)
    return float(played.moves.sum() / played.seconds)


def find_peer() -> Path | None:
    """Return the binary of TDL2048+; None if the environment variable is not set.

    Raises:
        UserError: the environment variable is not the path of a program.
    """
    name = os.environ.get(PEER_VARIABLE)
    if not name:
        return None
    binary = Path(name).resolve()
    if not os.access(binary, os.X_OK) or binary.is_dir():
        raise UserError(f"{PEER_VARIABLE}={name} is not a program: name the binary that `make` of TDL2048+ built")
    return binary


def run_peer(binary: Path, words: list[str], folder: Path) -> float:
    """Run TDL2048+ and return its moves per second.

    It prints a line for each thread with the speed of the thread.

    Args:
        binary: the program.
        words: its arguments.
        folder: working directory.

    Returns:
        The sum of the speeds of all threads.

    Raises:
        UserError: the program fails.
    """
    done = subprocess.run([str(binary), *words], cwd=folder, capture_output=True, text=True, check=False)
    speeds = re.findall(r"^\d+/\d+ \d+ms ([\d.]+)ops", done.stdout, re.MULTILINE)
    if done.returncode or not speeds:
        raise UserError(f"{binary} {' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-200:]}")
    return sum(map(float, speeds))


def _compile_times() -> list[Row]:
    """Measure the seconds from the start of a process to its first update, with an empty and a filled kernel cache."""
    code = (
        "from ntuple import NTupleConfig, NTupleLearner;"
        "NTupleLearner(NTupleConfig(network='012345', env_steps=2, report_env_steps=2, threads=1), 1).advance()"
    )
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(Path(ntuple.__file__).parent.parent)}
        for name in ("compile training, first time", "compile training, from the cache"):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
            rows.append(Row(name, time.perf_counter() - began, "s", {}))
    return rows
