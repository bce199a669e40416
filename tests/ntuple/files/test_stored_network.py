from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reference.positions import as_board

from ntuple import NTupleConfig, NTupleLearner, load_ntuple_player, make_rules
from ntuple.files.checkpoint_file import load_tensors, save_tensors
from ntuple.files.stored_network import StoredNetwork, filled_network, load_stored, save_stored
from ntuple.files.tdl import read_w, write_w
from ntuple.files.tdl_network import from_w, to_w
from ntuple.learning.learner import begin_from
from ntuple.tables.file_order import read_field
from ntuple.td.config import StepSizeConfig, TCConfig
from ntuple.td.step_sizes import FIRST, SECOND
from tests.ntuple.drivers import value

GOLDEN = Path(__file__).parents[2] / "golden" / "tdl2048"
CONFIG = NTupleConfig(network=("012", "45"), env_steps=3000, report_env_steps=1000, threads=1)


def test_files_of_tdl2048_come_back_to_the_byte(tmp_path: Path) -> None:
    for name, stages in (("tc.w", ""), ("stages.w", "0,256")):
        stored = from_w(read_w(GOLDEN / name), CONFIG, stages)
        write_w(tmp_path / name, to_w(stored))
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
    write_w(path, to_w(stored))
    again = from_w(read_w(path), learner.config, "64")
    np.testing.assert_array_equal(again.weights, stored.weights)
    touched = stored.memory["second"] > 0
    assert 0 < touched.sum() < touched.size
    for name in ("first", "second"):
        np.testing.assert_array_equal(again.memory[name][touched], stored.memory[name][touched])
        assert not again.memory[name][~touched].any()
    blocks = [table.blocks[1].reshape(2, -1) for table in read_w(path).tables]
    tiny = np.finfo(np.float32).tiny  # TDL2048+ writes this for an untouched entry, so that |E| / A = 1
    assert sum(int((block == tiny).all(axis=0).sum()) for block in blocks) == (~touched).sum()


def test_errors_are_on_the_scale_of_tdl2048() -> None:
    """If all errors of a weight w have one sign, w is their sum divided by S M.

    w = E / (S M) here, and w = E in TDL2048+, so E and A are scaled by S M.
    """
    theirs = from_w(read_w(GOLDEN / "tc.w"), CONFIG)
    learner = NTupleLearner(CONFIG, seed=1)
    learner.advance()
    ours = StoredNetwork(CONFIG, read_field(learner.network), {"first": read_field(learner.network, FIRST)})
    absolutes = read_field(learner.network, SECOND)
    for stored, sums in ((theirs, theirs.memory["second"]), (ours, absolutes)):
        errors = stored.memory["first"]
        one_sign = (sums > 0) & (abs(errors) == sums)
        assert one_sign.sum() > 50
        np.testing.assert_allclose(16 * stored.weights[one_sign], errors[one_sign], rtol=1e-5)
    both = StoredNetwork(CONFIG, ours.weights, {"first": ours.weights, "second": ours.weights + 32})
    table = to_w(both).tables[0]
    np.testing.assert_allclose(table.blocks[1][4096:], (ours.weights[:4096] + 32) / 16)


def test_sums_of_steps_have_the_unit_of_tdl2048() -> None:
    steps = replace(CONFIG, step_size=StepSizeConfig(tc=TCConfig(sums="steps")))
    file, errors = read_w(GOLDEN / "tc.w"), from_w(read_w(GOLDEN / "tc.w"), CONFIG).memory
    stored, learner = from_w(file, steps), NTupleLearner(replace(steps, network=("012", "15")), seed=1)
    assert [table.blocks[1].tobytes() for table in to_w(stored).tables] == [t.blocks[1].tobytes() for t in file.tables]
    begin_from(learner, GOLDEN / "tc.w", None)
    begun = StoredNetwork(learner.config, read_field(learner.network, FIRST))
    for m, pattern in enumerate(stored.patterns):
        theirs = stored.tables(stored.memory["first"])[m]
        np.testing.assert_array_equal(stored.tables(errors["first"])[m], 16 * theirs)
        np.testing.assert_array_equal(begun.tables(begun.weights)[begun.patterns.index(pattern)], theirs)
    assert np.count_nonzero(errors["first"]) > 50


STAGED = replace(CONFIG, network=("012", "01", "45"), stages=(16, 64, 256), v_init=2400.0)


def _partly_touched(config: NTupleConfig) -> StoredNetwork:
    """Return a network of random weights. Most are untouched, and later stages have fewer touched ones."""
    rng = np.random.default_rng(5)
    stored = StoredNetwork(config, np.zeros(4 * (4096 + 256 + 256), np.float32))
    stored.weights[:] = stored.initial
    stages = stored.weights.reshape(4, -1)
    for stage, share in zip(stages, (0.5, 0.1, 0.1, 0.05), strict=True):
        touched = rng.random(stage.size) < share
        stage[touched] += rng.normal(0, 100, touched.sum()).astype(np.float32)
    return stored


def _values(stored: StoredNetwork) -> list[float]:
    rules, network = make_rules(4, 4), filled_network(stored.config, stored.weights)
    rng = np.random.default_rng(6)
    boards = rng.integers(0, 9, (300, 4, 4)) * (rng.random((300, 4, 4)) < rng.random((300, 1, 1)))
    return [value(rules, network, as_board(board)) for board in boards]


@pytest.mark.parametrize("promotion", ["inter", "intra", "both"])
def test_promoted_weights_are_written_out_wherever_nothing_promotes(promotion: str) -> None:
    stored = _partly_touched(replace(STAGED, promotion=promotion))
    expected = _values(stored)
    assert np.abs(np.subtract(expected, _values(replace(stored, config=STAGED)))).max() > 100  # values change
    plain, folded = stored.promoted(), stored.folded()
    again = from_w(to_w(stored), NTupleConfig(), STAGED.stages)
    for made in (plain, folded, again):
        assert made.config.promotion == "none"
        np.testing.assert_allclose(_values(made), expected, rtol=1e-5, atol=0.05)
    np.testing.assert_array_equal(
        plain.weights[stored.weights != stored.initial], stored.weights[stored.weights != stored.initial]
    )
    assert folded.config.network == ("012", "45")
    # An entry that is untouched and has no promoted weight keeps the initial weight.
    for made in (plain, folded):
        assert made.initial == np.float32(2400 / 8 / len(made.patterns))
        assert 0 < np.count_nonzero(made.weights == made.initial) < 0.9 * made.weights.size


def test_a_training_begins_with_promoted_weights() -> None:
    stored = _partly_touched(replace(STAGED, promotion="both"))
    for changes in ({"promotion": "none"}, {"v_init": 100.0}):
        config = replace(stored.config, **changes)
        learner = NTupleLearner(config, seed=1)
        learner.begin_with(stored)
        begun = StoredNetwork(config, read_field(learner.network))
        np.testing.assert_allclose(_values(begun), _values(stored), rtol=1e-5, atol=0.05)


def test_what_a_w_file_cannot_be_is_refused() -> None:
    file = read_w(GOLDEN / "stages.w")
    with pytest.raises(ValueError, match=r"2 stage\(s\), not 1: give the --stages"):
        from_w(file, CONFIG)
    with pytest.raises(ValueError, match="lacks the tuple"):
        from_w(file._replace(tables=file.tables[:-1]), CONFIG, "256")
    small = StoredNetwork(replace(CONFIG, rows=3, columns=3), np.zeros(4096 + 256, np.float32))
    with pytest.raises(ValueError, match="4x4 boards"):
        to_w(small)


def test_numbers_that_are_not_finite_are_refused_by_every_reader(tmp_path: Path) -> None:
    learner = NTupleLearner(CONFIG, seed=1)
    learner.advance()
    learner.save(tmp_path)
    for file, name in (("weights", "weights"), ("training", "second")):
        path = tmp_path / f"{file}.safetensors"
        (tensors, _), whole = load_tensors(path, CONFIG), path.read_bytes()
        tensors[name][[3, 500, 4000]] = np.nan, np.inf, -np.inf
        save_tensors(path, tensors, CONFIG)
        for read in (learner.restore, lambda folder: load_stored(folder, CONFIG, with_memory=True)):
            with pytest.raises(ValueError, match=rf"{file}\.safetensors: {name} has 3 of 4,352 numbers") as caught:
                read(tmp_path)
            assert "\n" not in str(caught.value)
        path.write_bytes(whole)
    half = tmp_path / "half"
    half.mkdir()
    save_tensors(half / "weights.safetensors", {"weights": np.full(4352, np.inf, np.float16)}, CONFIG)
    with pytest.raises(ValueError, match="4,352 of 4,352"):
        load_ntuple_player(half, CONFIG)


def test_half_precision_has_no_large_weights(tmp_path: Path) -> None:
    weights = np.linspace(-65_504, 65_504, 4352, dtype=np.float32)
    stored = StoredNetwork(CONFIG, weights, {"first": weights, "second": abs(weights)})
    save_stored(stored, tmp_path, half=True)
    tables = to_w(stored, half=True).tables
    assert [[block.dtype for block in table.blocks] for table in tables] == [[np.float16]] * 2  # E and A are left out
    write_w(tmp_path / "half.w", to_w(stored, half=True))
    assert (tmp_path / "half.w").stat().st_size < 2 * 4352 + 100
    for again in (load_stored(tmp_path, CONFIG), from_w(read_w(tmp_path / "half.w"), CONFIG)):
        np.testing.assert_allclose(again.weights, weights, rtol=1e-3)
    weights[[7, 8]] = 65_505, -1e6
    for write in (lambda: save_stored(stored, tmp_path, half=True), lambda: to_w(stored, half=True)):
        with pytest.raises(ValueError, match=r"^2 of 4,352 weights are above 65,504.*leave out --half$"):
            write()
