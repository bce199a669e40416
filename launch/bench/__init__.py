"""Benchmarks: `muzero2048 bench WHAT` prints a table, and with --json also one JSON object."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from launch.bench.rows import Row
from launch.errors import UserError

MOST_GPUS = 4096  # limit of --gpus: XLA keeps a record of each device
OF_A_CONFIG = ("learner", "gpu")  # benchmarks that measure any MuZero config; the others have settings of their own


def run_bench(what: str, config: Path | None, overrides: Sequence[str], gpus: int, as_json: bool) -> int:
    """Run one benchmark and print its rows.

    Args:
        what: env, search, ntuple, expectimax, mcts, learner, gpu or accuracy.
        config: config file for the benchmarks learner and gpu; None: their four configs.
        overrides: "key=value" that change the config.
        gpus: number of GPUs that the benchmark gpu compiles for.
        as_json: print the rows as one JSON object in the last line.

    Returns:
        The exit code 0.

    Raises:
        UserError: a config is given to a benchmark that takes none, or the benchmark cannot run.
    """
    if not 1 <= gpus <= MOST_GPUS:
        raise UserError(f"--gpus is {gpus}; give 1 to {MOST_GPUS}")
    if config and what not in OF_A_CONFIG:
        raise UserError(f"bench {what} takes no config, bench {' and '.join(OF_A_CONFIG)} do: leave out {config}")
    if overrides and not config:
        raise UserError(f"there is no config for {' '.join(overrides)} to change; give one before it")
    rows = _measure(what, config, overrides, gpus)
    peers = list(dict.fromkeys(peer for row in rows for peer in row.ratio))
    table = Table("", "value", "unit", *(f"x {peer}" for peer in peers))
    for row in rows:
        ratios = (f"{row.ratio[peer]:.1f}" if peer in row.ratio else "" for peer in peers)
        table.add_row(row.name, row.text, row.unit, *ratios)
    Console().print(table)
    if as_json:
        print(json.dumps({"rows": [row._asdict() for row in rows]}))
    return 0


def _measure(what: str, config: Path | None, overrides: Sequence[str], gpus: int) -> list[Row]:
    # Imports are local: pgx, jumanji and other peers are installed only with the dependency group `bench`.
    if what == "env":
        from launch.bench.env import bench_env

        return bench_env()
    if what == "search":
        from launch.bench.search import bench_search

        return bench_search()
    if what == "ntuple":
        from launch.bench.ntuple import bench_ntuple

        return bench_ntuple()
    if what == "expectimax":
        from launch.bench.expectimax import bench_expectimax

        return bench_expectimax()
    if what == "mcts":
        from launch.bench.mcts import bench_mcts

        return bench_mcts()
    if what == "learner":
        from launch.bench.learner import bench_learner

        return bench_learner(config, overrides)
    if what == "gpu":
        from launch.bench.gpu import bench_gpu

        return bench_gpu(config, overrides, gpus)
    from launch.bench.accuracy import bench_accuracy

    return bench_accuracy()
