"""The commands for n-tuple networks, run by their command lines."""

import json
from pathlib import Path

import numpy as np
import pytest

from launch.cli import main
from launch.commands.network_tools import read_source
from launch.experiment import checkpoints
from launch.train.processes import Processes
from ntuple.files.stored_network import save_stored
from ntuple.files.tdl import Table, WeightFile, make_name, read_w, write_w

GOLDEN = Path(__file__).parents[2] / "golden" / "tdl2048"
CONFIG = """
learner: ntuple
run: {name: NAME, group: nets, seed: SEED, final_games: 20, save_minutes: 0}
ntuple: {network: '012,01,4', env_steps: 20000, report_env_steps: 10000, threads: 1}
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Train two runs with different seeds and return their folders."""
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        config = tmp_path / f"{seed}.yaml"
        config.write_text(CONFIG.replace("NAME", f"run{seed}").replace("SEED", str(seed)))
        assert main(["train", str(config)]) == 0
    return [tmp_path / "runs" / f"run{seed}" for seed in (1, 2)]


def _said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["network", *words]) == code
    printed = capsys.readouterr()
    return printed.err if code else printed.out


def test_average_fold_and_play(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    average, folded = tmp_path / "average", tmp_path / "folded"
    assert f"wrote {average}" in _said(capsys, "average", *map(str, runs), "--out", str(average))
    weights = [read_source(path, "").network.weights for path in (*runs, average)]
    np.testing.assert_allclose(weights[2], (weights[0] + weights[1]) / 2, rtol=1e-5, atol=1e-3)
    _said(capsys, "fold", str(average), "--out", str(folded))
    assert read_source(folded, "").network.config.network == ("012",)
    scores = []
    for path in (average, folded):
        assert main(["evaluate", str(path), "--games", "200", "--json"]) == 0
        scores.append(json.loads(capsys.readouterr().out.splitlines()[-1])["score_mean"])
    assert scores[0] == pytest.approx(scores[1], rel=0.1)  # rounding decides between moves of equal value


def test_there_and_back_by_a_w_file(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, back = tmp_path / "net.w", tmp_path / "back"
    _said(capsys, "convert", str(runs[0]), "--out", str(file))
    _said(capsys, "convert", str(file), "--out", str(back), "--half")
    there, here = (read_source(path, "").network.weights for path in (runs[0], back))
    np.testing.assert_allclose(here, there, rtol=1e-3, atol=1e-3)
    _said(capsys, "convert", str(GOLDEN / "stages.w"), "--stages", "0,256", "--out", str(tmp_path / "staged"))
    assert main(["evaluate", str(tmp_path / "staged"), "--games", "50"]) == 0


def test_inspect_shows_tables_and_extremes(capsys: pytest.CaptureFixture[str]) -> None:
    text = _said(capsys, "inspect", str(GOLDEN / "tc.w"))
    assert "2 tuples, 4,352 weights" in text
    for word in ("15", "012", "256", "4,096", "%"):
        assert word in text
    weights = np.sort(read_source(GOLDEN / "tc.w", "").network.weights)
    lines = text.strip().splitlines()[-10:]
    values = [float(line.split()[0].replace(",", "")) for line in lines]
    assert values == [round(float(weight)) for weight in [*weights[:-6:-1], *weights[4::-1]]]
    assert all("tuple" in line and "stage 0" in line for line in lines)


def test_mistakes_cost_one_line(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    stages, large, nan = str(GOLDEN / "stages.w"), str(tmp_path / "large.w"), str(tmp_path / "nan.w")
    for path, start, numbers in ((large, 0, [1e5]), (nan, 100, [np.nan, np.inf])):
        weights = np.zeros(4096, np.float32)
        weights[start : start + len(numbers)] = numbers
        write_w(Path(path), WeightFile((Table(make_name((0, 1, 2), 0, 1), (weights,)),), has_type_byte=False))
    for words, says in (
        (["convert", stages, "--out", out], "give the --stages it was trained with"),
        (["convert", str(tmp_path / "none.w"), "--out", out], "name a .w file"),
        (["convert", str(tmp_path / "none"), "--out", out], "there is no"),
        (["convert", str(runs[0]), "--out", str(runs[1])], "is there already"),
        (["convert", str(runs[0]), "--out", str(tmp_path / "no" / "out")], "there is no folder"),
        (["average", str(runs[0]), str(GOLDEN / "tc.w"), "--out", out], "they have no average"),
        (["convert", large, "--out", out, "--half"], "1 of 4,096 weights are above 65,504"),
        (["convert", large, "--out", f"{out}.w", "--half"], "1 of 4,096 weights are above 65,504"),
        (["inspect", nan], "nan.w: table '012' has 2 of 4,096 numbers that are infinite or NaN: use another file"),
    ):
        text = _said(capsys, *words, code=2)
        assert says in text
        assert text.count("\n") == 1
    assert not Path(out).exists()


def test_half_precision_w_files(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "half.w"
    _said(capsys, "convert", str(runs[0]), "--out", str(file), "--half")
    assert {block.dtype for table in read_w(file).tables for block in table.blocks} == {np.dtype(np.float16)}
    there, here = (read_source(path, "").network.weights for path in (runs[0], file))
    np.testing.assert_allclose(here, there, rtol=1e-3, atol=1e-3)


def test_a_checkpoint_of_no_numbers_is_not_played(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = read_source(runs[0], "")
    source.network.weights[5:12] = np.nan
    broken = tmp_path / "broken"
    save = (lambda folder: save_stored(source.network, folder), source.experiment, source.state, Processes())
    checkpoints.write_checkpoint(broken, *save)
    for words in (
        ["evaluate", str(broken), "--games", "5"],
        ["evaluate", str(broken), "--games", "5", "--search", "expectimax"],
        ["moves", str(broken), "--position", "2 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0"],
        ["network", "inspect", str(broken)],
        ["train", str(tmp_path / "1.yaml"), "run.name=x", f"run.begin_from={broken}"],
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert "weights.safetensors: weights has 7 of 4,368 numbers that are infinite or NaN" in error
        assert error.count("\n") == 1


def test_average_and_fold_of_a_promoted_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "1.yaml"
    config.write_text(CONFIG.replace("NAME", "one").replace("SEED", "1"))
    words = ["ntuple.stages='16,64,256'", "ntuple.promotion=both", "ntuple.v_init=320"]
    for name in ("one", "two"):
        assert main(["train", str(config), *words, f"run.name={name}", f"run.seed={len(name) + ord(name[0])}"]) == 0
    runs, network = [tmp_path / "runs" / name for name in ("one", "two")], {}
    _said(capsys, "average", *map(str, runs), "--out", str(tmp_path / "average"))
    _said(capsys, "fold", str(runs[0]), "--out", str(tmp_path / "folded"))
    _said(capsys, "convert", str(runs[0]), "--out", str(tmp_path / "half"), "--half")
    for path in (*runs, *(tmp_path / name for name in ("average", "folded", "half"))):
        network[path.name] = read_source(path, "").network
    mean = (network["one"].promoted().weights + network["two"].promoted().weights) / 2
    np.testing.assert_allclose(network["average"].weights, mean, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(network["half"].weights, network["one"].promoted().weights, rtol=1e-3)
    assert [network[name].config.promotion for name in ("one", "average", "folded", "half")] == ["both"] + ["none"] * 3
    # One row for each table. An entry does not count as updated if no run has updated it and no weight is promoted to
    # it.
    for name in ("average", "folded"):
        rows = [line.split() for line in _said(capsys, "inspect", str(tmp_path / name)).splitlines() if "%" in line]
        assert any(float(cell.rstrip("%")) < 90 for row in rows for cell in row if cell.endswith("%"))


def test_a_run_begins_with_the_network_of_another(runs: list[Path], tmp_path: Path, capsys) -> None:
    config, one_move = str(tmp_path / "1.yaml"), "ntuple.env_steps=1"
    for source in (runs[1], next((runs[1] / "checkpoints").iterdir())):
        name = f"run.name=from-{source.name}"
        assert main(["train", config, name, f"run.begin_from={source}", one_move]) == 0
        begun = read_source(tmp_path / "runs" / name.removeprefix("run.name="), "").network
        np.testing.assert_allclose(begun.weights, read_source(runs[1], "").network.weights, atol=60)
        assert np.count_nonzero(begun.weights != read_source(runs[1], "").network.weights) < 24
        # The sums of TC are taken over too, and a resumed run does not begin again with the other network.
        absolutes = begun.memory["second"]
        assert absolutes.sum() > 1000
    assert main(["train", config, name, f"run.begin_from={source}", "ntuple.env_steps=2000", "--resume"]) == 0


def test_a_run_begins_with_a_w_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "w.yaml"
    config.write_text(CONFIG.replace("NAME", "w").replace("SEED", "1"))
    # One stage is loaded into the first of two stages, and two stages into two. The order of tuples in the file does
    # not matter.
    for name, file_stages, network in (("tc", "", "012,15"), ("stages", "0,256", "01,15")):
        file = GOLDEN / f"{name}.w"
        words = ["ntuple.env_steps=1", "ntuple.stages='0,256'", f"ntuple.network='{network}'", f"run.name={name}"]
        assert main(["train", str(config), *words, f"run.begin_from={file}"]) == 0
        run, source = read_source(tmp_path / "runs" / name, "").network, read_source(file, file_stages).network
        trained = dict(zip(run.patterns, run.tables(run.weights), strict=True))
        for pattern, table in zip(source.patterns, source.tables(source.weights), strict=True):
            assert np.count_nonzero(trained[pattern][: len(table)] != table) < 24


def test_snapshots_stay_and_have_an_average(runs: list[Path], tmp_path: Path, capsys) -> None:
    words = ["run.name=kept", "run.snapshot_env_steps=10_000", "ntuple.env_steps=30000", "run.keep_checkpoints=1"]
    assert main(["train", str(tmp_path / "1.yaml"), *words]) == 0
    run = tmp_path / "runs" / "kept"
    snapshots = sorted((run / "snapshots").iterdir())
    assert [path.name for path in snapshots] == ["10000", "20000", "30000"]
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["30000"]
    _said(capsys, "average", *map(str, snapshots), "--out", str(tmp_path / "mean"))
    weights = [read_source(path, "").network.weights for path in (*snapshots, tmp_path / "mean")]
    np.testing.assert_allclose(weights[3], np.mean(weights[:3], axis=0), rtol=1e-4, atol=1e-2)
    assert main(["evaluate", str(snapshots[0]), "--games", "5"]) == 0


@pytest.mark.parametrize(
    ("begin_from", "says"),
    [
        ("nowhere", "there is no nowhere"),
        ("nowhere.w", "nowhere.w: No such file"),
        (str(GOLDEN / "tc.w"), "the config 012,01,4"),
    ],
)
def test_a_beginning_that_does_not_fit_is_refused(runs: list[Path], capsys, begin_from: str, says: str) -> None:
    assert main(["train", str(runs[0].parent.parent / "1.yaml"), "run.name=x", f"run.begin_from={begin_from}"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (runs[0].parent / "x").exists()
