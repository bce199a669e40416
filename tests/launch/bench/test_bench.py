"""Small benchmarks, and the rows that they print."""

import json
from pathlib import Path

import numpy as np
import pytest
from reference import rules as game

from launch.bench import env, expectimax, learner, mcts, ntuple, rows, search
from launch.bench.rows import BenchRow
from launch.cli import main
from launch.errors import UserError
from launch.experiment.experiment import load_experiment
from muzero2048.muzero.config import MuZeroConfig
from ntuple import MCTSConfig, make_rules
from ntuple.game.bitboard import encode


def test_rows_are_printed_and_given_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = [BenchRow("fast", 12345.6, "steps/s", {"peer": 2.04}), BenchRow("small", 0.1234, "points", {})]
    monkeypatch.setattr(env, "bench", lambda: fast)
    assert main(["bench", "env"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("fast", "12,346", "steps/s", "x peer", "2.0", "small", "0.123"))
    assert main(["bench", "env", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "rows": [
            {"name": "fast", "value": 12345.6, "unit": "steps/s", "ratio": {"peer": 2.04}},
            {"name": "small", "value": 0.1234, "unit": "points", "ratio": {}},
        ]
    }


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("env my.yaml", "bench env takes no config, bench learner does: leave out my.yaml"),
        ("learner muzero.chunk=4", "there is no config for muzero.chunk=4 to change; give one before it"),
    ],
)
def test_a_config_is_for_the_benchmark_of_the_learner(words: str, line: str, mistake) -> None:
    assert mistake("bench", *words.split()) == line


@pytest.mark.parametrize("words", ["my.yaml a=1 --json", "--json my.yaml a=1", "my.yaml --json a=1"])
def test_a_config_may_stand_on_either_side_of_an_option(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(learner, "bench", lambda *what: asked.append(what) or [])
    assert main(["bench", "learner", *words.split()]) == 0
    assert asked == [(Path("my.yaml"), ["a=1"])]


def test_the_best_of_interleaved_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 3.0, 3.0, 4.0, 10.0, 12.0, 20.0, 25.0])
    monkeypatch.setattr(rows.time, "perf_counter", lambda: next(clock))
    order: list[str] = []
    runs = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    assert rows.best_seconds(runs, repeats=2) == {"a": 2.0, "b": 1.0}
    assert order == ["a", "b", "a", "b"]


@pytest.mark.slow
def test_rows_of_the_search_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BATCH", 3)
    monkeypatch.setattr(search, "SEARCHES", 2)
    found = {row.name: row for row in search.bench(simulations=(5,))}
    assert set(found["N = 5, gumbel"].ratio) == {"mctx stochastic", "engine mctx"}
    assert set(found) == {
        *(f"N = 5, {root}{what}" for root in ("gumbel", "puct") for what in ("", ": network")), "N = 5: a tree"
    }  # fmt: skip
    # Each of the 6 nodes has 64 + 32 + 4 + 4 floats (latent, prior, q, scalars), 2 * 32 words of 16 bits (children,
    # visits) and 2 flags. The bounds and the seed of the tree take 12 bytes.
    assert found["N = 5: a tree"].value == 6 * (4 * (64 + 32 + 4 + 4) + 2 * 64 + 2) + 12


def tiny(*overrides: str) -> MuZeroConfig:
    return load_experiment(learner.CONFIGS / "tiny.yaml", overrides).settings


@pytest.mark.slow
def test_rows_of_the_learner_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "CPU_PRODUCT", 64)
    config = tiny("muzero.search.simulations=4", "muzero.unroll_steps=1")  # compiles faster than a tree
    found = {(row.name, row.unit): row.value for row in learner.network_rows("small", config, (2,))}
    speed = "small, 128 games, batch 256: "
    measured = {(f"{speed}{kind}{what}", unit) for kind in ("play", "learn", "both") for what, unit in
                ((", of the peak", "%"), (", memory", "MB"), (", compiling", "s"))}  # fmt: skip
    measured |= {(speed + "play", "moves/s"), (speed + "both", "moves/s")}
    measured |= {(speed + kind, unit) for kind in ("learn", "both") for unit in ("updates/s", "samples/s")}
    work = {(f"small: a {what}", unit) for what in ("move", "sample") for unit in ("FLOP", "bytes of products")}
    best = {("small: best to play", "num_envs"), ("small: best to learn", "replay.batch_size")}
    peak = {("small: peak, float32", "GFLOP/s")}
    assert set(found) == measured | work | best | peak | {("small: best together", "num_envs")}
    assert all(value > 0 for value in found.values())
    assert found["small: best to learn", "replay.batch_size"] == 256
    assert found[speed + "both", "moves/s"] == pytest.approx(2 * found[speed + "both", "samples/s"])
    monkeypatch.setattr(learner, "device_bytes", lambda: 100.0)
    with pytest.raises(UserError, match=r"small: a batch takes more memory than the device has; lower muzero.num_envs"):
        learner.network_rows("small", config, (1,))


@pytest.mark.parametrize("simulations", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_the_work_of_a_move_is_that_of_its_evaluations(simulations: int) -> None:
    """A search evaluates the root, and one edge for each simulation.

    The count takes the more expensive kind of edge, a move. A search of one batch does not compute the chance codes of
    moves. Sizes: layers of 32 units, 24 planes, 4 actions, 32 bins, 8 codes. A value is decoded by a product with 32
    bins.
    """
    config = tiny(f"muzero.search.simulations={simulations}", "muzero.num_envs=128")
    block, heads = 2 * 32 * 32, 32 * 32 + 32
    root = 24 * 32 + block + heads + 32 * 4
    move = (32 + 4) * 32 + block + 2 * heads + (32 * 8 if simulations > 4 else 0)
    found = learner.works_of(config)["play"].flops / config.chunk_moves
    searches_a_move = (config.chunk + 1) / config.chunk  # one more search after the last move of a chunk
    assert found == pytest.approx(2 * searches_a_move * (root + simulations * move), rel=5e-3)


def test_long_chunks_are_shortened_and_sizes_scaled() -> None:
    config = tiny(
        "muzero.num_envs=50", "muzero.chunk=100", "muzero.replay={capacity: 10_000, batch_size: 250, ratio: 1}"
    )
    short = learner.shortened(config)
    assert (short.chunk, short.updates_per_chunk, short.replay.capacity) == (35, 7, 10_500)
    large = learner.scaled(short, 4)
    assert (large.num_envs, large.replay.batch_size, large.updates_per_chunk) == (200, 1000, 7)
    assert learner.shortened(tiny()) == tiny()


def test_the_learner_benchmark_is_of_muzero(toy_yaml: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner.jax.config, "update", lambda *setting: None)  # keep the cache of the other tests
    with pytest.raises(UserError, match=r"toy\.yaml is for the learner 'toy'; this benchmark measures muzero"):
        learner.bench(toy_yaml, [])


PEER = """#!/bin/sh
case "$*" in *-o*) touch warm.w ;; esac
echo "$*" >> LOG
echo "1000/1000 25ms 2000.5ops"
echo "1000/1000 25ms 1000.5ops"
"""


def test_rows_of_the_ntuple_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, peer = tmp_path / "log", tmp_path / "2048"
    peer.write_text(PEER.replace("LOG", str(log)))
    peer.chmod(0o755)
    monkeypatch.setenv("TDL2048", str(peer))
    for name, value in (("TIMED_MOVES", 4000), ("TIMED_GAMES", 4), ("REPEATS", 2)):
        monkeypatch.setattr(ntuple, name, value)
    found = {row.name: row for row in ntuple.bench(("0123",), warm_moves=20_000)}
    timed = [f"train 0123, {rule}, {n}" for rule in ("TD(0)", "OTD(0)", "TC") for n in ("1 thread", "2 threads")]
    timed += ["play 1-ply 0123, 1 thread", "play 1-ply 0123, 2 threads"]
    for name in timed:
        row = found.pop(name)
        assert row.unit == "moves/s"
        assert row.ratio == {"TDL2048+": pytest.approx(row.value / 3001)}
    for threads in ("1 thread", "2 threads"):
        row = found.pop(f"train 0123, delayed TC(0.5), {threads}")
        assert row.value > 0
        assert not row.ratio  # the peer has no such target
    assert not found
    calls = log.read_text()
    assert "-n 0123patt=320000/norm -a 0.1 fixed -t 2x" in calls
    assert "-n 0123patt -a 1.0 coherence -i warm.w -p 1 -t 1x2" in calls
    assert "-n 0123patt -a 0.1 fixed -i warm.w -p 2 -e 2x2" in calls


def test_a_peer_that_is_no_program_or_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDL2048", str(tmp_path))
    with pytest.raises(UserError, match="is not a program"):
        ntuple.bench(())
    monkeypatch.setenv("TDL2048", "/bin/false")
    with pytest.raises(UserError, match="failed"):
        ntuple.bench(("0123",), warm_moves=1000)


@pytest.mark.slow
def test_expectimax_is_measured_with_the_peer_on_one_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is small, and the peer checks its arguments."""
    peer = tmp_path / "peer"
    peer.write_text(
        '#!/bin/sh\nset -e\ntest -s network.w\ncase "$*" in *-d\\ 2p*) s=100;; *-d\\ 3p*) s=10;; esac\n'
        'echo "1/1 1ms $s.0ops"\n'
    )
    peer.chmod(0o755)
    monkeypatch.setenv("TDL2048", str(peer))
    monkeypatch.setattr(expectimax, "GAMES", {2: 1, 3: 1})
    monkeypatch.setattr(ntuple, "REPEATS", 1)
    two, three = expectimax.bench(networks=("2x4",), warm_moves=20_000)
    assert two.name == "play 2-ply 2x4, 1 thread"
    assert two.ratio["TDL2048+"] == pytest.approx(two.value / 100)
    assert three.ratio["TDL2048+"] == pytest.approx(three.value / 10)
    assert min(two.value, three.value) > 0


@pytest.mark.slow
def test_mcts_is_compared_by_the_boards_that_are_valued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcts, "POSITIONS", 40)
    monkeypatch.setattr(mcts, "COUNTED", 10)
    monkeypatch.setattr(mcts, "SEARCHES", {"N = 20": MCTSConfig(simulations=20)})
    plies, found, boards, memory = mcts.bench(networks=("2x4",), warm_moves=20_000)
    assert min(found.value, plies.value) > 0
    # 20 simulations make at most 20 states of at most four moves each.
    assert 20 < boards.value < 80
    assert 0.3 < found.ratio[mcts.PEER] < 30
    assert 50 < memory.value < 100


def test_boards_of_two_plies_are_counted_by_hand() -> None:
    """A 2 in the corner of a 2x2 board: two moves, each with three empty cells and spawns of 2 and 4."""
    board = encode(np.array([[1, 0], [0, 0]]))
    after_right = ((0, 1), (0, 0))
    spawned = [game.spawn(after_right, code) for code in game.chance_probabilities(after_right)]
    moves = sum(sum(game.legal_actions(one)) for one in spawned)
    assert len(spawned) == 6
    assert mcts.boards_of_two_plies(make_rules(2, 2), np.array([board], np.uint64)) == 2 * moves
