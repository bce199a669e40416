"""The user's mistakes: each one clear line and exit code 2."""

import argparse
import functools
import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.cli import main, make_parser
from launch.evaluation.seeds import final_evaluation_seed
from ntuple.core.games.known import GOALS
from tests.slow import others_slow

ROOT = Path(__file__).parents[2]


def test_a_value_of_the_wrong_type(toy_yaml: Path, mistake):
    toy_yaml.write_text(toy_yaml.read_text().replace("rate: 0.25", "rate: fast"))
    line = mistake("train toy.yaml")
    assert line == "toy.yaml: toy.rate is 'fast'; give a number"


@pytest.mark.parametrize("command", ["train", "evaluate", "compare"])
def test_a_missing_path(command: str, mistake):
    assert "nowhere" in mistake(command, "nowhere")


@pytest.mark.parametrize("words", [["compare"], ["evaluate"], ["config"], ["judge"]])
def test_a_path_that_no_system_has(words: list[str], mistake):
    name = "x" * 5000
    line = mistake(*words, name)
    assert name in line
    assert "File name too long" in line


@pytest.mark.parametrize(
    "words",
    others_slow(
        ["evaluate random --games 4", "config ntuple", "moves heuristic --plies 1 --position", "solve --board 2x2"],
        "evaluate random --games 4",
        "config ntuple",
    ),
)
def test_json_is_alone_on_the_standard_output(words: str, capsys):
    position = ["2 0 0 2 / 0 0 0 0 / 0 0 0 0 / 0 0 0 4"] if words.endswith("--position") else []
    assert main([*words.split(), *position, "--json"]) == 0
    assert type(json.loads(capsys.readouterr().out)) is dict


@pytest.mark.parametrize(
    ("words", "package", "extra"), [("serve --port 0", "uvicorn", "view"), ("bench env", "pgx", "bench")]
)
def test_a_package_of_an_extra_is_missing(words: str, package: str, extra: str, monkeypatch, mistake):
    monkeypatch.delitem(sys.modules, "launch.viewing.serve.server", raising=False)  # it imports uvicorn at its head
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    assert mistake(words) == f"this needs {package}; install it by pip install 'muzero2048[{extra}]'"


@pytest.mark.parametrize(
    ("has_runs", "word"), [(False, "status"), (True, "status"), (False, "--help"), (False, "--version")]
)
def test_output_that_nobody_reads(has_runs: bool, word: str, toy_yaml: Path, unread):
    """Without runs the text is still in the buffer at the end; with runs rich prints a table."""
    assert not has_runs or main(["train", "toy.yaml"]) == 0
    with unread():
        assert main([word]) == 141


def test_keys_of_another_learner(toy_yaml: Path, mistake):
    line = mistake("train toy.yaml muzero.env_steps=5")
    assert line == "override muzero.env_steps=5: 'muzero' holds keys of another learner: this config has learner: toy"


def test_a_checkpoint_cut_short(toy_yaml: Path, mistake):
    main(["train", "toy.yaml"])
    file = Path("runs/one/checkpoints/100/toy.json")
    file.write_bytes(file.read_bytes()[:5])
    line = mistake("evaluate runs/one/checkpoints/100")
    assert line.startswith(f"{file} has 5 bytes instead of ")
    assert line.endswith("the checkpoint is damaged, use another one")


@pytest.mark.parametrize(
    ("moves", "words", "line"),
    [
        (50, "other.yaml --resume", "was made by the learner 'toy', the config asks for 'ntuple'; give another"),
        (50, "toy.yaml --resume run.seed=7", "was trained with run.seed = 0, which a resumed run keeps; leave out"),
        (100, "toy.yaml --resume toy.columns=4 run.save_minutes=3", "takes no other settings (toy.columns: 3 -> 4);"),
        (100, "toy.yaml", "runs/one holds a run; add --resume to go on with it, or give another run.name=..."),
    ],
)
def test_a_run_keeps_its_config(toy_yaml: Path, mistake, moves: int, words: str, line: str):
    Path("other.yaml").write_text("learner: ntuple\nrun: {name: one, group: toys}\nntuple: {}\n")
    main(["train", "toy.yaml", f"toy.env_steps={moves}"])
    before = Path("runs/one/config.yaml").read_text()
    assert line in mistake("train", *words.split())
    assert Path("runs/one/config.yaml").read_text() == before


def test_a_finished_run_takes_settings_that_change_nothing_or_train_on(toy_yaml: Path, capsys):
    main(["train", "toy.yaml"])
    capsys.readouterr()
    assert main(["train", "toy.yaml", "--resume", "run.save_minutes=3", "toy.report_env_steps=20"]) == 0
    assert "is finished" in capsys.readouterr().out
    assert main(["train", "toy.yaml", "--resume", "toy.columns=4", "toy.env_steps=120"]) == 0


def test_a_checkpoint_that_does_not_fit_the_config(toy_yaml: Path, mistake, monkeypatch):
    from toy import ToyLearner

    def refuse(self, folder: Path) -> None:
        raise ValueError("toy.json is of a 3x3 board")

    main(["train", "toy.yaml", "toy.env_steps=50"])
    before = Path("runs/one/config.yaml").read_text()
    monkeypatch.setattr(ToyLearner, "restore", refuse)
    line = mistake("train toy.yaml --resume toy.columns=4")
    assert line == "runs/one/checkpoints/50: toy.json is of a 3x3 board"
    assert Path("runs/one/config.yaml").read_text() == before


def test_settings_that_fit_no_learner_leave_no_run(toy_yaml: Path, mistake, monkeypatch):
    """The mended command needs no --resume."""
    from toy import ToyLearner

    def refuse(self, config, seed: int) -> None:
        raise ValueError("no tuple fits the board")

    with monkeypatch.context() as patch:
        patch.setattr(ToyLearner, "__init__", refuse)
        assert mistake("train toy.yaml") == "no tuple fits the board"
    assert main(["train", "toy.yaml"]) == 0


def test_a_bad_line_of_metrics_is_named(toy_yaml: Path, mistake):
    main(["train", "toy.yaml"])
    file = Path("runs/one/metrics.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    for bad, fault in (("{oops\n", "not JSON"), ("7\n", "not a row of metrics, it has no env_steps")):
        file.write_text("".join([lines[0], bad, *lines[2:]]))
        for words in (["compare", "runs/one"], ["train", "toy.yaml", "--resume", "toy.env_steps=200"]):
            assert mistake(*words) == f"{file}, line 2: {fault}; remove the line"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{\n"games": 4,\noops', "line 3: not JSON; delete the file and evaluate again"),
        ("null", "line 1: not an evaluation, it has no board; delete it and evaluate again"),
    ],
)
def test_a_bad_evaluation_is_named(toy_yaml: Path, mistake, text: str, fault: str):
    main(["train", "toy.yaml"])
    file = Path(f"runs/one/evaluations/100-1ply-4games-seed{final_evaluation_seed(0)}.json")
    file.write_text(text)
    assert mistake("compare runs/one") == f"{file}, {fault}"


@pytest.mark.parametrize("in_the_way", ["runs", "runs/one"])
def test_an_unwritable_run_folder(toy_yaml: Path, mistake, in_the_way: str):
    file = Path(in_the_way)
    file.parent.mkdir(exist_ok=True)
    file.write_text("a file, not a folder")  # tests may run as root, who can write everywhere
    line = mistake("train toy.yaml")
    assert line.startswith("cannot write the run folder runs/one: ")
    assert line.endswith("give another run.runs_folder=...")


WHOLE = "an option needs its whole name, see --help"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", "the following arguments are required: COMMAND; see `muzero2048 --help`"),
        ("train", "the following arguments are required: CONFIG; see `muzero2048 train --help`"),
        ("train toy.yaml --resum -x", f"there is no option --resum -x; {WHOLE}"),
        (
            "train toy.yaml toy.rats=1",
            "override toy.rats=1: there is no key 'toy.rats'; did you mean 'rate'?",
        ),
        ("moves random more --position 0x1", "one PATH at a time: random is one, leave out more"),
        ("evaluate random --game 4", f"there is no option --game; {WHOLE}"),
        (f"evaluate random --games {10**12}", "--games is 1000000000000; give 10000000 or less"),
        (
            "evaluate greedy search.chance=weighted --search 1ply",
            "greedy does not search; leave out --search 1ply search.chance=weighted",
        ),
        (
            "evaluate runs --simulations many",
            "argument --simulations: invalid int value: 'many'; see `muzero2048 evaluate --help`",
        ),
        (
            "evaluate random --board 5x5",
            "cannot read the board '5x5'; give rows x columns, each 2 to 4: 3x4, threes 4x4",
        ),
        ("evaluate random --games 1", "--games is 1; give 2 or more, since one game has no interval"),
        ("evaluate random --seed -1", "--seed is -1; give 0 to 4294967295"),
        (f"evaluate random --seed {2**32}", "--seed is 4294967296; give 0 to 4294967295"),
        (
            "evaluate runs --board 3x3",
            "--board is for random, greedy and heuristic; a checkpoint holds its own board",
        ),
        ("compare runs --tile 2047", f"--tile is 2047; give one of {', '.join(map(str, GOALS))}"),
    ],
)
def test_bad_words(toy_yaml: Path, mistake, words: str, line: str):
    assert mistake(words) == line


def _run(*words: str, code: str = "") -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "launch", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", "")}
    return subprocess.run(
        [sys.executable, *start], capture_output=True, text=True, env=environment, timeout=120, check=False
    )


def test_a_mistake_in_a_process_of_its_own():
    result = _run("train", "nowhere.yaml")
    assert result.returncode == 2
    assert result.stderr == "error: there is no config nowhere.yaml; give a YAML file such as those in configs/\n"
    assert result.stdout == ""


def test_help_and_mistakes_load_nothing_heavy():
    code = (
        "import sys; from launch.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert main(['train', 'nowhere.yaml']) == 2\n"
        "print(sorted({'jax', 'numba', 'wandb', 'matplotlib', 'muzero2048'} & set(sys.modules)))"
    )
    result = _run(code=code)
    assert result.stdout.splitlines()[-1] == "[]"


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        for part in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from _parsers(part)


def test_commands_name_functions_that_take_their_options():
    targets = [(parser, parser.get_default("run")) for parser in _parsers(make_parser())]
    named = [(parser, run.args) for parser, run in targets if isinstance(run, functools.partial)]
    assert len(named) > 10
    for parser, (module, function, names) in named:
        inspect.signature(getattr(importlib.import_module(module), function)).bind(*names)
        assert set(names) <= {action.dest for action in parser._actions}, parser.prog
