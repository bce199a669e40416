"""Training on two devices is training on one: the same losses, from the same checkpoints, on arrays that are cut."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from muzero2048.config import ReplayConfig, SearchConfig
from muzero2048.devices import make_shardings
from muzero2048.trainer import MuZeroLearner

from .toy_model import small_config

# A search in trees, value tables and all that replay can do; strata of three environments and eight sequences.
TABLES = dataclasses.replace(small_config("grounded").network, value_tuples="lines squares", table_bits=16)
CONFIG = small_config(
    network=TABLES, rows=2, columns=2, num_envs=24, report_env_steps=24 * 8 * 2, env_steps=24 * 8 * 6, ema_decay=0.9,
    search=SearchConfig(simulations=6),
    replay=ReplayConfig(24 * 32, 64, priority_exponent=0.5, importance_exponent=1.0, reanalyse=0.5),
)  # fmt: skip

PROGRAM = f"""
import json, sys
from pathlib import Path
import jax
from muzero2048.config import *
from muzero2048 import table_learner
from muzero2048.trainer import MuZeroLearner

table_learner.MODEL_IS_RIGHT = 0.0
assert jax.local_device_count() == 2
learner = MuZeroLearner({CONFIG!r}, seed=1)
first = learner.advance()
state = learner._state
for whole, half in ((state.actor, 12), (state.replay.storage, 12), (state.replay.priority, 12)):
    for x in jax.tree.leaves(whole):
        assert [len(shard.data) for shard in x.addressable_shards] == [half, half]
for x in jax.tree.leaves((state.params, state.tables, state.average, state.optimizer)):
    assert x.sharding.is_fully_replicated and len(x.sharding.device_set) == 2
learner.save(Path(sys.argv[2]))
learner.restore(Path(sys.argv[1]))
second = learner.advance()
games = learner.player().play(10, seed=0)
print(json.dumps([first, second, games.score.tolist()]))
"""


def losses(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith("perf/")}


def test_two_devices_are_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muzero2048.table_learner.MODEL_IS_RIGHT", 0.0)  # the tables move from the first update on
    learner = MuZeroLearner(CONFIG, seed=1)
    first = learner.advance()
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    learner.save(one)
    second = learner.advance()
    games = learner.player().play(10, seed=0)

    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(one), str(two)],
        env=os.environ | {"XLA_FLAGS": flags}, cwd=Path(__file__).parents[2], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first_of_two, second_of_two, scores = json.loads(done.stdout.splitlines()[-1])
    assert losses(first_of_two) == pytest.approx(losses(first), rel=1e-5, abs=1e-6)
    assert losses(second_of_two) == pytest.approx(losses(second), rel=1e-5, abs=1e-6)
    assert scores == games.score.tolist()

    learner.restore(two)
    assert losses(learner.advance()) == pytest.approx(losses(second), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        (5, "num_envs is 24: must be a multiple of the number of devices, 5"),
        (3, "replay.batch_size is 64: must be a multiple of the number of devices, 3"),
    ],
)
def test_what_cannot_be_cut_is_refused(monkeypatch: pytest.MonkeyPatch, devices: int, words: str) -> None:
    monkeypatch.setattr(jax, "local_device_count", lambda: devices)
    with pytest.raises(ValueError, match=words) as error:
        make_shardings(CONFIG)
    assert "\n" not in str(error.value)
