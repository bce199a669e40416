"""Moves a second of expectimax on one thread, and of TDL2048+ with the same network where its binary is at hand.

See launch.bench.ntuple for the peer and for why networks are warmed. Both play whole games from the start.
"""

import tempfile
from pathlib import Path

from launch.bench.ntuple import METHODS, NETWORKS, PEER, WARM_MOVES, find_peer, run_peer, warmed
from launch.bench.rows import REPEATS, Row
from ntuple import ExpectimaxConfig, ExpectimaxPlayer, make_rules
from ntuple.files.stored_network import StoredNetwork, filled_network
from ntuple.files.tdl import write_w
from ntuple.files.tdl_network import to_w
from ntuple.tables.network import read_field

GAMES = {2: 30, 3: 2}  # of a repeat, by plies: about a second each
SEED = 1


def bench_expectimax(networks: tuple[str, ...] = NETWORKS, warm_moves: int = WARM_MOVES) -> list[Row]:
    """Moves a second of each network and depth, best of five, interleaved with the peer.

    Raises:
        UserError: TDL2048 names no file that runs.
    """
    peer, rules, rows = find_peer(), make_rules(4, 4), []
    for name in networks:
        learner = warmed(name, METHODS["TC"], warm_moves)
        stored = StoredNetwork(learner.config, read_field(learner.network))
        network = filled_network(stored.config, stored.weights)
        with tempfile.TemporaryDirectory() as folder:
            if peer:
                write_w(Path(folder, "network.w"), to_w(stored))
            for plies, games in GAMES.items():
                player = ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=plies), threads=1)
                ours, theirs = 0.0, 0.0
                for _ in range(REPEATS):
                    played = player.play(games, SEED)
                    ours = max(ours, float(played.moves.sum()) / played.seconds)
                    if peer:
                        words = ["-n", f"{name}patt", "-i", "network.w", "-d", f"{plies}p", "-p", "1"]
                        theirs = max(theirs, run_peer(peer, [*words, "-e", f"1x{games}"], Path(folder)))
                ratio = {PEER: ours / theirs} if peer else {}
                rows.append(Row(f"play {plies}-ply {name}, 1 thread", ours, "moves/s", ratio))
    return rows
