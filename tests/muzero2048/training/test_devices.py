"""Tests that several devices, in one process or two, give the losses and checkpoints of training on one device."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import pytest

from muzero2048.muzero.learner import MuZeroLearner
from muzero2048.search.config import SearchConfig
from muzero2048.training.config import ReplayConfig
from muzero2048.training.devices import make_shardings
from tests.muzero2048.toy_model import small_config
from tests.settings import configured

# Tree search, value tables and all options of replay; sequences are drawn from the environments of all devices.
TABLES = configured(small_config("grounded").network, value_tables={"shapes": ("lines", "squares"), "bits": 16})
CONFIG = small_config(
    network=TABLES, rows=2, columns=2, num_envs=24, report_env_steps=24 * 8 * 2, env_steps=24 * 8 * 6, ema_decay=0.9,
    search=SearchConfig(simulations=6),
    replay=ReplayConfig(24 * 32, 64, priority_exponent=0.5, importance_exponent=1.0),
)  # fmt: skip

AGREEMENT = "swap/agreement"  # a share of 512 positions: if two moves are equal up to rounding, either can be chosen

# The program of each process. It restores a checkpoint of training on one device, and saves one for that training.
PROGRAM = f"""
import json, sys
from pathlib import Path
import jax

port, index, processes, devices = (int(word) for word in sys.argv[1:5])
one, other = (Path(word) for word in sys.argv[5:])
if processes > 1:
    jax.distributed.initialize(f"127.0.0.1:{{port}}", num_processes=processes, process_id=index)
from muzero2048.muzero.config import *
from muzero2048.networks.config import *
from muzero2048.networks.value_codec import *
from muzero2048.search.config import *
from muzero2048.training.config import *
from muzero2048.muzero import table_learning
from muzero2048.muzero.learner import MuZeroLearner

table_learning.MODEL_IS_RIGHT = 0.0
assert jax.device_count() == devices == processes * jax.local_device_count()
learner = MuZeroLearner({CONFIG!r}, seed=1)
first = learner.advance()
state = learner._state
for whole in (state.actor, state.replay.storage, state.replay.priority):
    for x in jax.tree.leaves(whole):
        assert [len(shard.data) for shard in x.addressable_shards] == [24 // devices] * jax.local_device_count()
for x in jax.tree.leaves((state.params, state.tables, state.average, state.optimizer)):
    assert x.sharding.is_fully_replicated and len(x.sharding.device_set) == devices
learner.save(other)
learner.restore(one)
second = learner.advance()
scores = learner.player().play(10, seed=0).score.tolist() if index == 0 else []  # only the first process plays
assert index or learner.diagnose().keys() >= {{"depth1/boards", "depth5/boards"}}
print(json.dumps([first, second, scores]))
"""


class OneDevice(NamedTuple):
    """Results of training `CONFIG` on one device."""

    learner: MuZeroLearner
    saved: Path  # after the first report
    first: dict[str, float]
    second: dict[str, float]
    scores: list[int]


@pytest.fixture(scope="module")
def one_device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneDevice]:
    with pytest.MonkeyPatch.context() as context:
        context.setattr(
            "muzero2048.muzero.table_learning.MODEL_IS_RIGHT", 0.0
        )  # the tables learn from the first update on
        learner = MuZeroLearner(CONFIG, seed=1)
        saved = tmp_path_factory.mktemp("one")
        first = learner.advance()
        learner.save(saved)
        second = learner.advance()
        yield OneDevice(learner, saved, first, second, learner.player().play(10, seed=0).score.tolist())


def losses(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith(("perf/", AGREEMENT))}


def assert_same(metrics: dict[str, float], expected: dict[str, float]) -> None:
    assert losses(metrics) == pytest.approx(losses(expected), rel=1e-5, abs=1e-6)
    assert metrics[AGREEMENT] == pytest.approx(expected[AGREEMENT], abs=0.005)


@pytest.mark.slow  # the most expensive test: each number of devices compiles the learner again
@pytest.mark.parametrize(("processes", "devices"), [(1, 2), (1, 4), (2, 2)])
def test_many_devices_are_as_one(one_device: OneDevice, tmp_path: Path, processes: int, devices: int) -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices // processes}"
    words = [str(word) for word in (processes, devices, one_device.saved, tmp_path)]
    port = str(free_port())
    outputs = run_together(
        [[sys.executable, "-c", PROGRAM, port, str(index), *words] for index in range(processes)],
        os.environ | {"XLA_FLAGS": flags},
    )
    scores = []
    for output in outputs:
        first, second, scores_here = json.loads(output.splitlines()[-1])
        assert_same(first, one_device.first)
        assert_same(second, one_device.second)
        scores += scores_here
    assert scores == one_device.scores
    one_device.learner.restore(tmp_path)
    assert_same(one_device.learner.advance(), one_device.second)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def run_together(commands: list[list[str]], environment: dict[str, str]) -> list[str]:
    """Run programs at the same time and return their output; no program still runs when this returns or fails."""
    running = [
        subprocess.Popen(
            command, env=environment, cwd=Path(__file__).parents[3], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for command in commands
    ]  # fmt: skip
    try:
        outputs = [process.communicate(timeout=300) for process in running]
    finally:
        for process in running:
            process.kill()
    for process, (_, errors) in zip(running, outputs, strict=True):
        assert process.returncode == 0, errors
    return [output for output, _ in outputs]


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        (5, "num_envs is 24: must be a multiple of the number of devices, 5"),
        (3, "replay.batch_size is 64: must be a multiple of the number of devices, 3"),
    ],
)
def test_what_cannot_be_cut_is_refused(devices: int, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        make_shardings(CONFIG, devices * tuple(jax.devices()))
    assert "\n" not in str(error.value)
