from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ntuple import NTupleConfig, NTupleLearner, load_player
from ntuple.config import StepSizeConfig
from ntuple.ensemble import average
from ntuple.network import num_weights
from ntuple.stored import StoredNetwork, from_w, load_stored, save_stored
from ntuple.tdl import read_w, write_w

GOLDEN = Path(__file__).parent.parent / "golden" / "tdl2048"
CONFIG = NTupleConfig(network="012,45", env_steps=3000, report_env_steps=1000, threads=1)


def test_files_of_tdl2048_come_back_to_the_byte(tmp_path: Path) -> None:
    for name, stages in (("tc.w", ""), ("stages.w", "0,256")):
        stored = from_w(read_w(GOLDEN / name), CONFIG, stages)
        write_w(tmp_path / name, stored.to_w())
        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()
        assert bool(stored.memory) == (name == "tc.w")


def test_a_trained_network_goes_there_and_back(tmp_path: Path) -> None:
    learner = NTupleLearner(replace(CONFIG, stages="64"), seed=1)
    for _ in range(3):
        learner.advance()
    learner.save(tmp_path)
    stored = load_stored(tmp_path, learner.config, with_memory=True)
    assert set(stored.memory) == {"first", "second"}
    path = tmp_path / "ours.w"
    write_w(path, stored.to_w())
    again = from_w(read_w(path), learner.config, "64")
    np.testing.assert_array_equal(again.weights, stored.weights)
    touched = stored.memory["second"] > 0
    assert 0 < touched.sum() < touched.size
    for name in ("first", "second"):
        np.testing.assert_array_equal(again.memory[name][touched], stored.memory[name][touched])
        assert (again.memory[name][~touched] == np.finfo(np.float32).tiny).all()  # |E| / A = 1 there


def test_what_a_w_file_cannot_be_is_refused() -> None:
    file = read_w(GOLDEN / "stages.w")
    with pytest.raises(ValueError, match=r"2 stage\(s\), not 1: give the --stages"):
        from_w(file, CONFIG)
    with pytest.raises(ValueError, match="lacks the tuple"):
        from_w(file._replace(tables=file.tables[:-1]), CONFIG, "256")
    small = StoredNetwork(replace(CONFIG, rows=3, columns=3), np.zeros(4096 + 256, np.float32))
    with pytest.raises(ValueError, match="4x4 boards"):
        small.to_w()


def test_half_precision_plays_nearly_the_same(tmp_path: Path) -> None:
    config = replace(CONFIG, env_steps=300_000, report_env_steps=300_000, step_size=StepSizeConfig())
    learner = NTupleLearner(config, seed=1)
    learner.advance()
    learner.save(tmp_path)
    half = tmp_path / "half"
    half.mkdir()
    stored = load_stored(tmp_path, config)
    save_stored(stored, half, half=True)
    size = (half / "weights.safetensors").stat().st_size
    assert size < 0.55 * (tmp_path / "weights.safetensors").stat().st_size
    np.testing.assert_allclose(load_stored(half, config).weights, stored.weights, rtol=1e-3, atol=1e-3)
    scores = [load_player(folder, config).play(2000, 1).score.mean() for folder in (tmp_path, half)]
    assert scores[0] == pytest.approx(scores[1], rel=0.1)
    assert scores[0] > 3000


def test_an_average_is_the_mean_of_every_weight() -> None:
    rng = np.random.default_rng(1)
    networks = [rng.normal(0, 1000, 500).astype(np.float32) for _ in range(7)]
    np.testing.assert_allclose(average(iter(networks)), np.mean(networks, axis=0), rtol=1e-5, atol=1e-2)
    np.testing.assert_array_equal(average(networks[:1]), networks[0])
    with pytest.raises(ValueError, match="at least one"):
        average([])
    assert num_weights(NTupleLearner(CONFIG, 1).network) == 4096 + 256
