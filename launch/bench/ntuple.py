"""Moves per second of n-tuple training and 1-ply play, compared with TDL2048+ if its binary is given.

TDL2048+ (Guei, github.com/moporgic/TDL2048, `make`) is built outside this project. The environment variable TDL2048 is
the path of its binary; both programs are then measured in the same run.

Networks are trained before they are timed (warm-up), both programs with the same number of games: the games of a fresh
network use few entries, which all stay in the caches of the CPU.
"""

import itertools
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from launch.bench.rows import REPEATS, BenchRow
from launch.errors import UserError
from launch.experiment.interfaces import Player
from launch.progress import numbered, say
from launch.quantities import counted
from ntuple import NTupleConfig, NTupleLearner
from ntuple.core.settings import list_text
from ntuple.files.stored_network import StoredNetwork
from ntuple.tables.file_order import read_field
from ntuple.td.config import StepSizeConfig, TargetConfig

PEER = "TDL2048+"
PEER_VARIABLE = "TDL2048"
NETWORKS = ("4x6", "8x6")
THREADS = (1, 2)
WARM_MOVES = 30_000_000
TIMED_MOVES = 4_000_000  # moves of training in a repeat
TIMED_GAMES = 1_000  # games of play in a repeat


class UpdateRule(NamedTuple):
    """An update rule, in the settings of this project and of the peer."""

    v_init: float
    adaptive_fraction: float
    their_init: str  # suffix of the peer's network name
    their_rate: str  # arguments of the peer's option -a; "": it is not measured
    target: TargetConfig = TargetConfig()


METHODS = {
    "TD(0)": UpdateRule(0.0, 0.0, "", "0.1 fixed"),
    "OTD(0)": UpdateRule(320_000.0, 0.0, "=320000/norm", "0.1 fixed"),
    "TC": UpdateRule(0.0, 1.0, "", "1.0 coherence"),
    "delayed TC(0.5)": UpdateRule(0.0, 1.0, "", "", TargetConfig(method="delayed")),
}
Measure = Callable[[], float]  # returns moves per second


def bench(networks: tuple[str, ...] = NETWORKS, warm_moves: int = WARM_MOVES) -> list[BenchRow]:
    """Measure moves per second of each network, method and number of threads, best of five."""
    peer, rows = find_peer(), []
    for network, method in numbered([*itertools.product(networks, METHODS)], ", ".join):
        learner = warmed(network, METHODS[method], warm_moves)
        with tempfile.TemporaryDirectory() as folder:
            rows += _rows(learner, method, peer if METHODS[method].their_rate else None, Path(folder))
    return rows


def measured(name: str, ours: Measure, theirs: Measure | None) -> BenchRow:
    """Measure this program and the peer, if there is one, in turn: best of REPEATS."""
    our_speed, their_speed = 0.0, 0.0
    for repeat in range(REPEATS):
        say(f"{name}, repeat {repeat + 1} of {REPEATS}")
        our_speed = max(our_speed, ours())
        if theirs:
            their_speed = max(their_speed, theirs())
    return BenchRow(name, our_speed, "moves/s", {PEER: our_speed / their_speed} if theirs else {})


def _rows(learner: NTupleLearner, method: str, peer: Path | None, folder: Path) -> list[BenchRow]:
    """Measure one trained network. The peer's network is a file in `folder`."""
    network, rule = list_text(learner.config.network), METHODS[method]
    if peer:
        games = -(-learner.progress["games"] // max(THREADS))
        words = ["-n", f"{network}patt{rule.their_init}", "-a", *rule.their_rate.split()]
        words += ["-t", f"{max(THREADS)}x{games}", "-p", str(max(THREADS)), "-o", "warm.w"]
        run_peer(peer, words, folder)

    def theirs(threads: int, *what: str) -> Measure | None:
        words = ["-n", f"{network}patt", "-a", *rule.their_rate.split(), "-i", "warm.w", "-p", str(threads), *what]
        return (lambda: run_peer(peer, words, folder)) if peer else None

    rows = []
    for threads in THREADS:
        name, games = f"train {network}, {method}, {counted(threads, 'thread')}", TIMED_MOVES // 2_000 // threads
        peer_speed = theirs(threads, "-t", f"{threads}x{max(1, games)}")
        rows.append(measured(name, _training(learner, threads), peer_speed))
    for threads in THREADS if method == "TD(0)" else ():  # play reads only the weights: any method
        name = f"play 1-ply {network}, {counted(threads, 'thread')}"
        peer_speed = theirs(threads, "-e", f"{threads}x{TIMED_GAMES // threads}")
        rows.append(measured(name, _play(learner, threads), peer_speed))
    return rows


def warmed(network: str, rule: UpdateRule, moves: int) -> NTupleLearner:
    """Return a learner that was trained for some moves before it is timed."""
    config = NTupleConfig(
        network=(network,),
        env_steps=moves + (REPEATS + 1) * len(THREADS) * TIMED_MOVES,
        report_env_steps=moves,
        threads=max(THREADS),
        v_init=rule.v_init,
        target=rule.target,
        step_size=StepSizeConfig(adaptive_fraction=rule.adaptive_fraction),
    )
    say(f"warming up by {moves:,} moves")
    learner = NTupleLearner(config, seed=1)
    learner.advance()
    return learner


def trained(name: str, moves: int) -> StoredNetwork:
    """Return a network that was trained by TC for some moves."""
    learner = warmed(name, METHODS["TC"], moves)
    return StoredNetwork(learner.config, read_field(learner.network))


def going_on(learner: NTupleLearner, threads: int, moves: int) -> NTupleLearner:
    """Return a learner that continues with the network of `learner` in new games; it reports every `moves` moves."""
    config = replace(learner.config, threads=threads, report_env_steps=moves)
    return NTupleLearner(config, seed=2, network=learner.network)


def _training(learner: NTupleLearner, threads: int) -> Measure:
    measured = going_on(learner, threads, TIMED_MOVES)
    return lambda: measured.advance()["perf/moves_per_second"]


def _play(learner: NTupleLearner, threads: int) -> Measure:
    player = NTupleLearner(replace(learner.config, threads=threads), seed=3, network=learner.network).player()
    return lambda: play_speed(player, TIMED_GAMES, seed=4)


def play_speed(player: Player, games: int, seed: int) -> float:
    """Return the moves per second of a player, in whole games."""
    played = player.play(games, seed)
    return float(played.moves.sum() / played.seconds)


def find_peer() -> Path | None:
    """Return the binary of TDL2048+; None if the environment variable is not set, UserError if it is no program."""
    name = os.environ.get(PEER_VARIABLE)
    if not name:
        return None
    binary = Path(name).resolve()
    if not os.access(binary, os.X_OK) or binary.is_dir():
        raise UserError(f"{PEER_VARIABLE}={name} is not a program: name the binary that `make` of TDL2048+ built")
    return binary


def run_peer(binary: Path, words: list[str], folder: Path) -> float:
    """Run TDL2048+ in a folder; return its moves per second, the sum of its threads' lines. UserError if it fails."""
    done = subprocess.run([str(binary), *words], cwd=folder, capture_output=True, text=True, check=False)
    speeds = re.findall(r"^\d+/\d+ \d+ms ([\d.]+)ops", done.stdout, re.MULTILINE)
    if done.returncode or not speeds:
        raise UserError(f"{binary} {' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-200:]}")
    return sum(map(float, speeds))
