"""Tools for networks: `muzero2048 network inspect|average|fold|convert`. All but `convert` are for n-tuples alone.

Input: a checkpoint, a run (its newest checkpoint), or a .w file of TDL2048+. Output: a checkpoint that `evaluate`
plays, or a .w file.

A written checkpoint holds the weights alone, so no training can be resumed from it. A .w file written by `convert` also
holds E and A of TC learning if the input has them; a training can go on with these.
"""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from launch.errors import UserError
from launch.evaluation.loading import Checkpoint
from launch.experiment import checkpoints
from launch.experiment.checkpoints import State
from launch.experiment.experiment import Experiment, RunConfig
from launch.experiment.machine_info import project_version
from launch.experiment.processes import Processes
from launch.files import check_new_file
from ntuple import NTupleConfig
from ntuple.files.checkpoint_file import differences, shape_of
from ntuple.files.stored_network import StoredNetwork, load_stored, save_stored
from ntuple.files.tdl import read_w, write_w
from ntuple.files.tdl_network import from_w, to_w
from ntuple.tables.averaging import average
from ntuple.tables.patterns import count_actions, pattern_text

W_SUFFIX = ".w"
EXTREMES = 5  # number of the largest and of the smallest weights that are printed (Guei 2023, table 40)


class NetworkSource(NamedTuple):
    """A network and the experiment that it comes from."""

    network: StoredNetwork
    experiment: Experiment
    state: State


def read_source(path: Path, stages: str) -> NetworkSource:
    """Read a network from a run, a checkpoint or a .w file; UserError if there is no good file, or no n-tuple network.

    `stages` are the thresholds of a .w file with several stages, else "".
    """
    try:
        if path.suffix == W_SUFFIX:
            network = from_w(read_w(path), NTupleConfig(), stages)
            progress = {"env_steps": 0, "games": 0, "updates": 0}
            experiment = Experiment("ntuple", RunConfig(name=path.stem, group=path.stem), network.config)
            return NetworkSource(network, experiment, State("ntuple", progress, 0.0, 0, project_version()))
        checkpoint = checkpoints.find_checkpoint(path)
        experiment, state = checkpoints.read_checkpoint(checkpoint)
        if not isinstance(experiment.settings, NTupleConfig):
            raise UserError(f"{path} was trained by {experiment.learner}: these tools are for n-tuple networks")
        return NetworkSource(load_stored(checkpoint, experiment.settings, with_memory=True), experiment, state)
    except ValueError as error:
        raise UserError(str(error)) from error


def transform(tool: str, paths: list[Path], stages: str, out: Path, half: bool) -> None:
    """Average, fold or convert networks and write a checkpoint or a .w file, with `half` in half precision.

    All tools but average read the first path alone. UserError if networks have different shapes, or `out` exists.
    """
    check_new_file(out, "--out")
    if tool == "convert" and out.suffix != W_SUFFIX and (other := _of_another_learner(paths[0])):
        _write_for_play(other, out, half)
        return
    source = read_source(paths[0], stages)
    network = source.network
    try:
        if tool == "average":
            network = _averaged(source, paths, stages)
        elif tool == "fold":
            network = network.folded()
        if half:  # a rounded weight no longer shows that it is untouched, so promoted weights are written out
            network = network.promoted()
        if out.suffix == W_SUFFIX:
            write_w(out, to_w(network, half))
        else:
            experiment = dataclasses.replace(source.experiment, settings=network.config)
            checkpoints.write_checkpoint(
                out, lambda folder: save_stored(network, folder, half), experiment, source.state, Processes()
            )
    except ValueError as error:
        raise UserError(str(error)) from error
    print(f"wrote {out}")


def _of_another_learner(path: Path) -> Checkpoint | None:
    """Return the checkpoint of a path if its learner has no n-tuple network; UserError if there is no good one."""
    if path.suffix == W_SUFFIX:
        return None
    folder = checkpoints.find_checkpoint(path)
    checkpoint = Checkpoint(folder, *checkpoints.read_checkpoint(folder))
    return None if isinstance(checkpoint.experiment.settings, NTupleConfig) else checkpoint


def _write_for_play(checkpoint: Checkpoint, out: Path, half: bool) -> None:
    """Write the parameters of a checkpoint without the state that a training continues from."""
    source, experiment, state = checkpoint
    from muzero2048.training.array_files import PARAMETERS, copy_in_half  # needs JAX

    def copy(folder: Path) -> None:
        (copy_in_half if half else shutil.copytree)(source / PARAMETERS, folder / PARAMETERS)
        (folder / PARAMETERS / "commit_success.txt").unlink(missing_ok=True)  # orbax names its folder there

    checkpoints.write_checkpoint(out, copy, experiment, state, Processes())
    print(f"wrote {out}")


def _averaged(first: NetworkSource, paths: list[Path], stages: str) -> StoredNetwork:
    """Return the mean of networks. Entries that are untouched in all of them have the mean of the initial weights."""
    v_inits: list[float] = []

    def weights() -> Iterator[np.ndarray]:
        for network in _networks(first, paths, stages):
            v_inits.append(network.config.v_init)
            yield network.promoted().weights

    mean = average(weights())
    config = dataclasses.replace(first.network.config, promotion="none", v_init=sum(v_inits) / len(v_inits))
    return StoredNetwork(config, mean)


def _networks(first: NetworkSource, paths: list[Path], stages: str) -> Iterator[StoredNetwork]:
    yield first.network
    for path in paths[1:]:
        network = read_source(path, stages).network
        for key, theirs, ours in differences(shape_of(network.config), shape_of(first.network.config)):
            raise UserError(f"{path} has {key} = {theirs!r}, {paths[0]} has {ours!r}: they have no average")
        yield network


def inspect(path: Path, stages: str) -> None:
    """Print a network: one row for each table, and the most extreme weights with their tiles."""
    network = read_source(path, stages).network
    table = Table("part", "cells", "weights", "touched", "mean", "smallest", "largest")
    initial = network.initial
    for m, values in enumerate(network.tables(network.weights)):
        cells = pattern_text(network.patterns[m])
        for part, weights in enumerate(values):
            touched = weights[weights != initial]
            numbers = (touched.mean(), touched.min(), touched.max()) if touched.size else (initial,) * 3
            share = f"{touched.size / weights.size:.2%}"
            formatted = (f"{number:,.0f}" for number in numbers)
            table.add_row(_part_name(network.config, part), cells, f"{weights.size:,}", share, *formatted)
    print(f"{path}: {len(network.patterns)} tuples, {network.weights.size:,} weights")
    Console().print(table)
    order = np.argsort(network.weights, kind="stable")
    for index in [*order[: -EXTREMES - 1 : -1].tolist(), *order[EXTREMES - 1 :: -1].tolist()]:
        print(f"{network.weights[index]:>12,.0f}  {_feature(network, index)}")


def _part_name(config: NTupleConfig, part: int) -> str:
    """Name the stage of a part, and its hint if the hint is an input."""
    stage, hint = divmod(part, config.num_hints)
    return f"stage {stage}" + (f", hint {config.rules_of_game.hint_name(hint + 1)}" if config.num_hints > 1 else "")


def _feature(network: StoredNetwork, number: int) -> str:
    """Format the tiles of a weight's cells, its tuple and its part.

    `*` is the value that no tile has. With `ntuple.places` it marks a cell where the next tile may land.
    """
    config, sizes, levels = network.config, network.table_sizes, network.config.num_levels
    part, place = divmod(number, sum(sizes))
    m = int(np.searchsorted(np.cumsum(sizes), place, side="right"))
    pattern, index = network.patterns[m], place - sum(sizes[:m])
    digits = [index // levels**i % levels for i in range(len(pattern))]
    tiles = config.rules_of_game.tiles
    names = [str(tiles[digit]) if digit < len(tiles) else "*" for digit in digits]
    features = " ".join(f"{cell:x}:{name}" for cell, name in zip(pattern, names, strict=True))
    action = f", action {index // levels ** len(pattern)}" if count_actions(config.values) > 1 else ""
    return f"{features}  (tuple {pattern_text(pattern)}, {_part_name(config, part)}{action})"
