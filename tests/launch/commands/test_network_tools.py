"""The commands for n-tuple networks, run by their command lines."""

import json
from pathlib import Path

import numpy as np
import pytest

from launch.cli import main
from launch.commands.network_tools import NetworkSource, read_source
from launch.experiment import checkpoints
from launch.experiment.checkpoints import State
from launch.experiment.experiment import Experiment, RunConfig
from launch.experiment.processes import Processes
from ntuple import NTupleConfig
from ntuple.files.stored_network import StoredNetwork, save_stored
from ntuple.files.tdl import FileTable, WeightFile, make_name, read_w, write_w

GOLDEN = Path(__file__).parents[2] / "golden" / "tdl2048"
CONFIG = """
learner: ntuple
run: {name: one, group: nets, final_games: 20, save_minutes: 0}
ntuple: {network: ['012', '01', '4'], env_steps: 20000, report_env_steps: 10000, threads: 1}
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Train two runs with different seeds and return their folders."""
    folder = tmp_path_factory.mktemp("nets")
    (folder / "1.yaml").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("WANDB_MODE", "disabled")
        for seed in (1, 2):
            assert main(["train", "1.yaml", f"run.name=run{seed}", f"run.seed={seed}"]) == 0
    return [folder / "runs" / f"run{seed}" for seed in (1, 2)]


@pytest.fixture
def runs(trained: list[Path]) -> list[Path]:
    """Return the two runs; the working folder holds their config."""
    Path("1.yaml").write_text(CONFIG)
    return trained


def _printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["network", *map(str, words)]) == 0
    return capsys.readouterr().out


def _weights(path: Path) -> np.ndarray:
    return read_source(path, "").network.weights


def _write(source: NetworkSource, folder: Path) -> None:
    save = (lambda path: save_stored(source.network, path), source.experiment, source.state, Processes())
    checkpoints.write_checkpoint(folder, *save)


def test_average_fold_and_play(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    average, folded = tmp_path / "average", tmp_path / "folded"
    assert f"wrote {average}" in _printed(capsys, "average", *runs, "--out", average)
    np.testing.assert_allclose(_weights(average), sum(map(_weights, runs)) / 2, rtol=1e-5, atol=1e-3)
    _printed(capsys, "fold", average, "--out", folded)
    assert read_source(folded, "").network.config.network == ("012",)
    scores = []
    for path in (average, folded):
        assert main(["evaluate", str(path), "--games", "200", "--json"]) == 0
        scores.append(json.loads(capsys.readouterr().out.splitlines()[-1])["score_mean"])
    assert scores[0] == pytest.approx(scores[1], rel=0.1)  # rounding decides between moves of equal value


def test_to_a_w_file_and_back(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, half, back = tmp_path / "net.w", tmp_path / "half.w", tmp_path / "back"
    _printed(capsys, "convert", runs[0], "--out", file)
    _printed(capsys, "convert", runs[0], "--out", half, "--half")
    _printed(capsys, "convert", file, "--out", back, "--half")
    assert {block.dtype for table in read_w(half).tables for block in table.blocks} == {np.dtype(np.float16)}
    for path in (half, back):
        np.testing.assert_allclose(_weights(path), _weights(runs[0]), rtol=1e-3, atol=1e-3)
    _printed(capsys, "convert", GOLDEN / "stages.w", "--stages", "0,256", "--out", tmp_path / "staged")
    assert main(["evaluate", str(tmp_path / "staged"), "--games", "50"]) == 0


def test_inspect_shows_tables_and_extremes(capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, "inspect", GOLDEN / "tc.w")
    assert "2 tuples, 4,352 weights" in text
    for word in ("15", "012", "256", "4,096", "%"):
        assert word in text
    weights = np.sort(_weights(GOLDEN / "tc.w"))
    lines = text.strip().splitlines()[-10:]
    values = [float(line.split()[0].replace(",", "")) for line in lines]
    assert values == [round(float(weight)) for weight in [*weights[:-6:-1], *weights[4::-1]]]
    assert all("tuple" in line and "stage 0" in line for line in lines)


def test_inspect_names_tiles_and_hints_of_the_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = NTupleConfig(
        game="threes-small", rows=1, columns=4, symmetry=False, network="012", stages="0,384", places=True
    )
    # Weights of a part: 16^3. Part 4: stage 1, hint 2. Cells 0, 1, 2: level 3 (tile 3), 5 (tile 12), 15 (a place).
    weights = np.zeros(2 * 3 * 16**3, np.float32)
    weights[4 * 16**3 + 3 + 16 * 5 + 256 * 15] = 777
    experiment = Experiment("ntuple", RunConfig(name="t", group="t"), config)
    state = State("ntuple", {"env_steps": 0, "games": 0, "updates": 0}, 0.0, 0, "1")
    _write(NetworkSource(StoredNetwork(config, weights), experiment, state), tmp_path / "net")
    text = _printed(capsys, "inspect", tmp_path / "net")
    assert "777  0:3 1:12 2:*  (tuple 012, stage 1, hint 2)" in text
    assert "stage 0, hint 1" in text
    assert "stage 1, hint 3" in text


def test_mistakes_cost_one_line(runs: list[Path], mistake) -> None:
    stages, convert = GOLDEN / "stages.w", ("convert", "large.w", "--half", "--out")
    for path, start, numbers in (("large.w", 0, [1e5]), ("nan.w", 100, [np.nan, np.inf])):
        weights = np.zeros(4096, np.float32)
        weights[start : start + len(numbers)] = numbers
        write_w(Path(path), WeightFile((FileTable(make_name((0, 1, 2), 0, 1), (weights,)),), has_type_byte=False))
    for words, line in (
        (("convert", stages, "--out", "out"), "give the --stages it was trained with"),
        (("convert", "none.w", "--out", "out"), "name a .w file"),
        (("convert", "none", "--out", "out"), "there is no"),
        (("convert", runs[0], "--out", runs[1]), "is there already"),
        (("convert", runs[0], "--out", "no/out"), "there is no folder"),
        (("convert", runs[0], "--out", "/proc/out"), "--out /proc/out: cannot write to /proc: "),
        (("average", runs[0], GOLDEN / "tc.w", "--out", "out"), "they have no average"),
        (("inspect", runs[0], "--stages", "abc"), "--stages is of a .w file, and a run or checkpoint has its own"),
        (("fold", runs[0], "--stages", "0,256", "--out", "out"), "--stages is of a .w file, and a run or checkpoint"),
        ((*convert, "out"), "1 of 4,096 weights are above 65,504"),
        ((*convert, "out.w"), "1 of 4,096 weights are above 65,504"),
        (("inspect", "nan.w"), "nan.w: table '012' has 2 of 4,096 numbers that are infinite or NaN: use another file"),
    ):
        assert line in mistake("network", *map(str, words))
    assert not Path("out").exists()


def test_a_checkpoint_of_no_numbers_is_not_played(runs: list[Path], tmp_path: Path, mistake) -> None:
    source = read_source(runs[0], "")
    source.network.weights[5:12] = np.nan
    broken = tmp_path / "broken"
    _write(source, broken)
    for words in (
        ["evaluate", str(broken), "--games", "5"],
        ["evaluate", str(broken), "--games", "5", "--search", "expectimax"],
        ["moves", str(broken), "--position", "2 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0"],
        ["network", "inspect", str(broken)],
        ["train", "1.yaml", "run.name=x", f"run.begin_from={broken}"],
    ):
        assert "weights.safetensors: weights has 7 of 4,368 numbers that are infinite or NaN" in mistake(*words)


@pytest.mark.slow
def test_average_and_fold_of_a_promoted_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("1.yaml").write_text(CONFIG)
    words = ["ntuple.stages=[16,64,256]", "ntuple.promotion=both", "ntuple.v_init=320"]
    for seed, name in enumerate(("one", "two")):
        assert main(["train", "1.yaml", *words, f"run.name={name}", f"run.seed={seed}"]) == 0
    runs, network = [tmp_path / "runs" / name for name in ("one", "two")], {}
    _printed(capsys, "average", *runs, "--out", tmp_path / "average")
    _printed(capsys, "fold", runs[0], "--out", tmp_path / "folded")
    _printed(capsys, "convert", runs[0], "--out", tmp_path / "half", "--half")
    for path in (*runs, *(tmp_path / name for name in ("average", "folded", "half"))):
        network[path.name] = read_source(path, "").network
    mean = (network["one"].promoted().weights + network["two"].promoted().weights) / 2
    np.testing.assert_allclose(network["average"].weights, mean, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(network["half"].weights, network["one"].promoted().weights, rtol=1e-3)
    assert [network[name].config.promotion for name in ("one", "average", "folded", "half")] == ["both"] + ["none"] * 3
    # One row for each table. An entry counts as updated if a run has updated it or a weight is promoted to it.
    for name in ("average", "folded"):
        rows = [line.split() for line in _printed(capsys, "inspect", tmp_path / name).splitlines() if "%" in line]
        assert any(float(cell.rstrip("%")) < 90 for row in rows for cell in row if cell.endswith("%"))


def test_a_run_begins_with_the_network_of_another(runs: list[Path]) -> None:
    for source in (runs[1], next((runs[1] / "checkpoints").iterdir())):
        words = [f"run.name=from-{source.name}", f"run.begin_from={source}"]
        assert main(["train", "1.yaml", *words, "ntuple.env_steps=1"]) == 0
        begun, weights = read_source(Path("runs", f"from-{source.name}"), "").network, _weights(runs[1])
        np.testing.assert_allclose(begun.weights, weights, atol=60)
        assert np.count_nonzero(begun.weights != weights) < 24
        assert begun.memory["second"].sum() > 1000  # the sums of TC are taken over too
    # A resumed run does not begin again with the other network.
    assert main(["train", "1.yaml", *words, "ntuple.env_steps=2000", "--resume"]) == 0


def test_a_run_begins_with_a_w_file() -> None:
    Path("w.yaml").write_text(CONFIG)
    # One stage is loaded into the first of two stages, and two stages into two. The order of tuples in the file does
    # not matter.
    for name, file_stages, network in (("tc", "", "012,15"), ("stages", "0,256", "01,15")):
        file = GOLDEN / f"{name}.w"
        words = ["ntuple.env_steps=1", "ntuple.stages=[0,256]", f"ntuple.network='{network}'", f"run.name={name}"]
        assert main(["train", "w.yaml", *words, f"run.begin_from={file}"]) == 0
        run, source = read_source(Path("runs", name), "").network, read_source(file, file_stages).network
        tables = dict(zip(run.patterns, run.tables(run.weights), strict=True))
        for pattern, table in zip(source.patterns, source.tables(source.weights), strict=True):
            assert np.count_nonzero(tables[pattern][: len(table)] != table) < 24


def test_snapshots_stay_and_have_an_average(tmp_path: Path, capsys) -> None:
    Path("1.yaml").write_text(CONFIG)
    words = ["run.snapshot_env_steps=10_000", "ntuple.env_steps=30000", "run.keep_checkpoints=1"]
    assert main(["train", "1.yaml", *words]) == 0
    run = tmp_path / "runs" / "one"
    snapshots = sorted((run / "snapshots").iterdir())
    assert [path.name for path in snapshots] == ["10000", "20000", "30000"]
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["30000"]
    _printed(capsys, "average", *snapshots, "--out", tmp_path / "mean")
    mean = np.mean([_weights(path) for path in snapshots], axis=0)
    np.testing.assert_allclose(_weights(tmp_path / "mean"), mean, rtol=1e-4, atol=1e-2)
    assert main(["evaluate", str(snapshots[0]), "--games", "5"]) == 0


@pytest.mark.parametrize(
    ("begin_from", "line"),
    [
        ("nowhere", "there is no nowhere"),
        ("nowhere.w", "nowhere.w: No such file"),
        (str(GOLDEN / "tc.w"), "the config 012,01,4"),
    ],
)
def test_a_beginning_that_does_not_fit_is_refused(mistake, begin_from: str, line: str) -> None:
    Path("1.yaml").write_text(CONFIG)
    assert line in mistake("train 1.yaml run.name=x", f"run.begin_from={begin_from}")
    assert not Path("runs/x").exists()
