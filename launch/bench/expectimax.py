"""Moves per second of expectimax on one thread, compared with TDL2048+ on the same network if its binary is given.

launch/bench/ntuple.py describes the peer and the warm-up of networks. Both programs play whole games from the start.
"""

import functools
import tempfile
from pathlib import Path

from launch.bench.ntuple import NETWORKS, WARM_MOVES, find_peer, measured, play_speed, run_peer, trained
from launch.bench.rows import BenchRow
from launch.progress import numbered
from ntuple import ExpectimaxConfig, ExpectimaxPlayer, make_rules
from ntuple.files.stored_network import filled_network
from ntuple.files.tdl import write_w
from ntuple.files.tdl_network import to_w

GAMES = {2: 30, 3: 2}  # games of a repeat, by plies; a repeat takes about a second
SEED = 1


def bench(networks: tuple[str, ...] = NETWORKS, warm_moves: int = WARM_MOVES) -> list[BenchRow]:
    """Measure moves per second of each network and depth, best of five, interleaved with the peer."""
    peer, rules, rows = find_peer(), make_rules(4, 4), []
    for name in numbered(networks):
        stored = trained(name, warm_moves)
        network = filled_network(stored.config, stored.weights)
        with tempfile.TemporaryDirectory() as folder:
            if peer:
                write_w(Path(folder, "network.w"), to_w(stored))
            for plies, games in GAMES.items():
                player = ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=plies), threads=1)
                words = ["-n", f"{name}patt", "-i", "network.w", "-d", f"{plies}p", "-p", "1", "-e", f"1x{games}"]
                ours = functools.partial(play_speed, player, games, SEED)
                theirs = functools.partial(run_peer, peer, words, Path(folder)) if peer else None
                rows.append(measured(f"play {plies}-ply {name}, 1 thread", ours, theirs))
    return rows
