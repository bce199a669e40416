"""Moves a second of n-tuple training and 1-ply play, and of TDL2048+ in the same run where its binary is at hand.

TDL2048+ (Guei, github.com/moporgic/TDL2048, `make`) is built outside this project; the environment variable TDL2048
names its binary. Networks are warmed first: in the games of a fresh one few entries are ever met, and all lie in the
caches. Both programs learn from the same number of games before they are timed.
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
from launch.bench.rows import REPEATS, Row
from launch.errors import UserError
from ntuple import NTupleConfig, NTupleLearner
from ntuple.learning.config import StepSizeConfig
from ntuple.learning.step_sizes import SECOND, forget
from ntuple.tables.network import read_field

PEER = "TDL2048+"
PEER_VARIABLE = "TDL2048"
NETWORKS = ("4x6", "8x6")
THREADS = (1, 2)
WARM_MOVES = 30_000_000
TIMED_MOVES = 4_000_000  # of training, a repeat
TIMED_GAMES = 1_000  # of play, a repeat
COUNTED_MOVES = 100_000  # of training, a repeat: while sums of TC are small, float32 counts every update
DRIFT_REPORTS = 20  # before that: games that began together drift apart
PER_MILLION = 1e6


class Method(NamedTuple):
    """A rule of learning, here and there."""

    v_init: float
    adaptive_fraction: float
    their_init: str  # behind the name of their network
    their_rate: str


METHODS = {
    "TD(0)": Method(0.0, 0.0, "", "0.1 fixed"),
    "OTD(0)": Method(320_000.0, 0.0, "=320000/norm", "0.1 fixed"),
    "TC": Method(0.0, 1.0, "", "1.0 coherence"),
}
Measure = Callable[[], float]  # moves a second


class Cell(NamedTuple):
    """One figure to be measured, here and there."""

    name: str
    ours: Measure
    theirs: Measure | None


def bench_ntuple(networks: tuple[str, ...] = NETWORKS, warm_moves: int = WARM_MOVES) -> list[Row]:
    """Compile times, moves a second of each network, method and number of threads, best of five, and lost updates.

    Raises:
        UserError: TDL2048 names no file that runs.
    """
    peer = find_peer()
    rows = list(_compile_times())
    for network in networks:
        for method, rule in METHODS.items():
            learner = warmed(network, rule, warm_moves)
            with tempfile.TemporaryDirectory() as folder:
                rows += [_measured(cell) for cell in _cells(learner, method, peer, Path(folder))]
            if method == "TC":
                rows += _lost_updates(learner)
    return rows


def _measured(cell: Cell) -> Row:
    ours, theirs = 0.0, 0.0
    for _ in range(REPEATS):
        ours = max(ours, cell.ours())
        if cell.theirs:
            theirs = max(theirs, cell.theirs())
    return Row(cell.name, ours, "moves/s", {PEER: ours / theirs} if theirs else {})


def _cells(learner: NTupleLearner, method: str, peer: Path | None, folder: Path) -> list[Cell]:
    """The cells of one warmed network; the peer's is a file in `folder`."""
    network, rule = learner.config.network, METHODS[method]
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
    if method == "TD(0)":  # play reads the weights alone, however they were learned
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
    """A learner that has made so many moves."""
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
    """A learner that goes on with a warmed network, in games of its own, and reports every so many moves."""
    config = replace(learner.config, threads=threads, report_env_steps=moves)
    return NTupleLearner(config, seed=2, network=learner.network)


def _lost_updates(learner: NTupleLearner) -> Iterator[Row]:
    """How many of a million updates of a weight are lost where threads write at once.

    Every update of TC adds |delta| to the A of each of its entries: what is missing of that in their sum was lost. The
    row of one thread shows what float32 rounds away.
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
        name = f"lost of a million updates, {learner.config.network}, TC, {_count(threads)}"
        yield Row(name, PER_MILLION * (1 - found / added), "updates", {})


def _training(learner: NTupleLearner, threads: int) -> Measure:
    measured = _going_on(learner, threads, TIMED_MOVES)
    return lambda: measured.advance()["perf/moves_per_second"]


def _play(learner: NTupleLearner, threads: int) -> Measure:
    player = NTupleLearner(replace(learner.config, threads=threads), seed=3, network=learner.network).player()

    def measure() -> float:
        games = player.play(TIMED_GAMES, seed=4)
        return float(games.moves.sum() / games.seconds)

    return measure


def find_peer() -> Path | None:
    """The binary of TDL2048+, or None if the user has named none."""
    name = os.environ.get(PEER_VARIABLE)
    if not name:
        return None
    binary = Path(name).resolve()
    if not os.access(binary, os.X_OK) or binary.is_dir():
        raise UserError(f"{PEER_VARIABLE}={name} is not a program: name the binary that `make` of TDL2048+ built")
    return binary


def run_peer(binary: Path, words: list[str], folder: Path) -> float:
    """Moves a second that TDL2048+ reports: a line a thread, each with its own speed."""
    done = subprocess.run([str(binary), *words], cwd=folder, capture_output=True, text=True, check=False)
    speeds = re.findall(r"^\d+/\d+ \d+ms ([\d.]+)ops", done.stdout, re.MULTILINE)
    if done.returncode or not speeds:
        raise UserError(f"{binary} {' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-200:]}")
    return sum(map(float, speeds))


def _compile_times() -> list[Row]:
    """Seconds of a new process from its start to its first learned move: compiled anew, and read from the cache."""
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
