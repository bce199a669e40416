"""Run all commands with mutated configs, overrides, words and files: no traceback, no hang, no silent change of play.

python tests/launch/fuzz.py --cases 10000 --seed 1 [--only train_muzero ...]

Case i depends only on the seed, i and --only, so a case that fails is repeated with `--first i --cases 1`. Each worker
is a process that runs commands in its copy of a workplace with small runs of all learners. A command must end with one
of these exit codes:

    0          success
    1          only for a training that diverged
    2          with one line on stderr that begins with "error: "
    75, 130    only after a signal to stop

If a file was mutated and `evaluate` still ends with 0, the games must equal those of the original file, or a warning
must name the file.
"""

import argparse
import collections
import contextlib
import io
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
STOP_SECONDS = 20  # time until a command is sent SIGTERM, because a mutated budget may take days
SECONDS = 300  # time after which a command counts as hanging; the first of a kind compiles, perhaps on a busy machine
STOPPED = (75, 130)
QUICK = {"WANDB_MODE": "disabled"}

TINY = {
    "ntuple": """\
learner: ntuple
run: {name: ntuple, group: g, final_games: 4, save_minutes: 0}
ntuple: {rows: 2, columns: 2, network: '0123', env_steps: 400, report_env_steps: 200, threads: 1, stages: '0,8'}
""",
    "muzero": """\
learner: muzero
run: {name: muzero, group: g, final_games: 4, save_minutes: 0}
muzero:
  rows: 2
  columns: 2
  env_steps: 16
  report_env_steps: 8
  num_envs: 2
  chunk: 4
  unroll_steps: 2
  network: {blocks: 1, width: 4, tile_levels: 6}
  value: {bins: 8, h_max: 14}
  chance: {encoder: oracle, codes: 8}
  search: {simulations: 2, considered_actions: 2}
  replay: {capacity: 16, batch_size: 4, ratio: 0.5}
""",
    "deep_td": """\
learner: deep_td
run: {name: deep_td, group: g, final_games: 4, save_minutes: 0}
deep_td:
  rows: 2
  columns: 2
  env_steps: 16
  report_env_steps: 8
  num_envs: 2
  chunk: 4
  network: {blocks: 1, width: 4, tile_levels: 6}
  value: {bins: 8, h_max: 14}
  replay: {capacity: 16, batch_size: 4, ratio: 0.5}
""",
}
TABLE = """\
title: A table
source: Nobody, table 1
conditions: none
caveat: none
base: ntuple.yaml
env_steps: 400
training_games: 10
seeds: 2
games: 4
moves_per_second: 100
columns:
  - {name: score, statistic: score_mean, unit: 10}
  - {name: "2048 [%]", statistic: reach_2048, unit: 0.01}
rows:
  - {name: a, paper: {score: [7.5, 0.5], "2048 [%]": [80]}}
  - {name: b, paper: {score: [9]}, env_steps: 200, overrides: [ntuple.report_env_steps=100]}
  - {name: again, paper: {score: [7.6]}, of: a, games: 3}
  - {name: lost, paper: {score: [1]}, why: nobody knows}
"""
LIKELY = ("0", "0.5", "1", "2", "4", "8", "16", "1e-3", "true", "false", "-1", ".nan", ".inf", "1e300", "1e9", "65536")
VALUES = (
    ".nan", "nan", ".inf", "-.inf", "inf", "1e400", "-1e400", "1e-400", "-0.0", "0", "-1", "1", "2", "-2147483649",
    "4294967296", "9223372036854775808", "10000000000000000000000", "1e22", "0.5", "1.5", "-0.5", "1e300", "-1e300",
    "true", "false", "null", "~", "''", '""', "abc", "[]", "[1, 2]", "{}", "{a: 1}", "???", "${run.seed}", "${nothing}",
    "${oc.env:HOME}", "0x10", "0o17", "1_000", "2020-01-01", "!!python/object:os.system", "é", "\u202e", "'a b'",
    "x" * 5000, "9" * 5000, "1:2", "a:b:c", "0.5:0.1", "..", "/", "../../x", "8192", "0,8,16", "2^3", "tuples", "lines",
)  # fmt: skip

UNWRITABLE = ("none/new", "runs", "runs/ntuple", "", "x" * 300)


class Case(NamedTuple):
    """A command that runs in a workplace."""

    words: list[str]
    files: bool = False  # the command reads a mutated file


class Result(NamedTuple):
    """The result of a case."""

    number: int
    kind: str
    words: list[str]
    code: int | str
    fault: str  # "" if the case passed
    seconds: float


def make_workplace(folder: Path) -> None:
    """Make small runs of all learners, a network file, records and a solution."""
    from launch.cli import main

    for learner, text in TINY.items():
        (folder / f"{learner}.yaml").write_text(text)
        if main(["train", f"{learner}.yaml"]) != 0:
            raise RuntimeError(f"the run of {learner} did not end well")
    shutil.copytree("runs/ntuple", "runs/other")
    assert main(["train", "ntuple.yaml", "ntuple.rows=4", "ntuple.columns=4", "ntuple.stages=''", "ntuple.network='01'",
                 "run.name=square"]) == 0  # fmt: skip
    assert main(["network", "convert", "runs/square", "--out", "square.w"]) == 0
    assert main(["evaluate", "random", "--games", "4", "--board", "2x2", "--records", "games.txt"]) == 0
    assert main(["solve", "--board", "2x2", "--out", "solved"]) == 0
    assert main(["evaluate", "runs/square", "--games", "100"]) == 0  # enough for the leaderboard
    (folder / "table.yaml").write_text(TABLE)


def keys_of_learner(learner: str) -> list[str]:
    from launch.experiment.describe import learner_keys

    return [key.name for key in learner_keys(learner) if not key.name.endswith(("runs_folder", "begin_from"))]


def _override(rng: random.Random, learner: str) -> str:
    key = rng.choice(keys_of_learner(learner))
    if rng.random() < 0.1:
        key = _mutated_text(rng, key)
    return f"{key}={rng.choice(VALUES if rng.random() < 0.4 else LIKELY)}"


def _mutated_text(rng: random.Random, text: str) -> str:
    """Return the text with a random part removed, doubled, reversed or replaced."""
    at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    piece = text[at:end]
    return (
        text[:at]
        + rng.choice(["", piece * 2, piece[::-1], rng.choice(VALUES), rng.choice(":{}[]-#'\"\n\t&*!|>%@`\0")])
        + text[end:]
    )


def _mutated_bytes(rng: random.Random, content: bytes) -> bytes:
    """Return the content cut, with bytes appended, or with some bits flipped."""
    kind = rng.randrange(4)
    if kind == 0 or not content:
        return content[: rng.randrange(len(content) + 1)]
    if kind == 1:
        return content + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
    changed = bytearray(content)
    for _ in range(1 if kind == 2 else rng.randrange(2, 9)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _train(learner: str) -> Callable[[random.Random], Case]:
    def make(rng: random.Random) -> Case:
        name = f"{learner}.yaml"
        words = ["train", name, f"run.name=new{rng.randrange(10**9)}"]
        if rng.random() < 0.5:
            Path("mutated.yaml").write_text(_mutated_text(rng, TINY[learner]), errors="replace")
            words[1] = "mutated.yaml"
        words += [_override(rng, learner) for _ in range(rng.randrange(1, 3))]
        return Case(words)

    return make


def _resume(rng: random.Random) -> Case:
    learner = rng.choice(["ntuple", "ntuple", "ntuple", "deep_td", "muzero"])
    return Case(
        ["train", f"runs/{learner}", "--resume", *(_override(rng, learner) for _ in range(rng.randrange(1, 3)))]
    )


def _number(rng: random.Random) -> str:
    return rng.choice(VALUES[:27]) if rng.random() < 0.5 else str(rng.randrange(-1, 10))


def _search_words(rng: random.Random, path: str) -> list[str]:
    words: list[str] = []
    if rng.random() < 0.5:
        words += [
            "--search",
            rng.choice(["1ply", "expectimax", "expectimax", "mcts", "mcts", "gumbel", "puct", "none"]),
        ]
    if rng.random() < 0.3:
        words += ["--plies", _number(rng)]
    if rng.random() < 0.3:
        words += ["--simulations", _number(rng)]
    if rng.random() < 0.4:
        keys = ["plies", "limits", "seconds", "rectified", "least_probability", "downgrade", "leaf_bits", "node_bits",
                "takes_deeper", "simulations", "c_scale", "c_visit", "value_scale", "root", "chance", "range_floor",
                "gumbel_scale", "normalization", "pb_c_init", "heuristic.empty", "heuristic.sum_power"]  # fmt: skip
        words.append(f"search.{rng.choice(keys)}={rng.choice(VALUES if rng.random() < 0.4 else LIKELY)}")
    return words


def _player(rng: random.Random) -> str:
    return rng.choice(["random", "greedy", "heuristic", "heuristic", "runs/ntuple", "runs/ntuple", "runs/ntuple",
                       "runs/other", "runs/deep_td", "runs/muzero", "runs/muzero", "runs", "none"])  # fmt: skip


def _evaluate(rng: random.Random) -> Case:
    path = _player(rng)
    words = ["evaluate", path, "--games", "4" if rng.random() < 0.7 else _number(rng)]
    if path in ("random", "greedy", "heuristic") and rng.random() < 0.8:
        words += ["--board", rng.choice(["2x2", "2x3", "2x2", "0x0", "4", "x", "9x9", "\uff12x2", "nan"])]
    for option in ("--seed", "--part"):
        if rng.random() < 0.2:
            words += [
                option,
                _number(rng) if option == "--seed" else rng.choice(["1/2", "2/1", "0/0", "1/1", "x", "1/"]),
            ]
    return Case([*words, *_search_words(rng, path)])


def _moves(rng: random.Random) -> Case:
    position = rng.choice(["2 4 / 0 2", "0x1201", "0 0 / 0 0", "131072 131072 / 2 2", "2 4 2 / 4 2 4"])
    if rng.random() < 0.5:
        position = _mutated_text(rng, position)
    path = _player(rng)
    board = ["--board", "2x2"] if path in ("random", "greedy", "heuristic") else []
    return Case(["moves", path, "--position", position, *board, *_search_words(rng, path)])


def _network(rng: random.Random) -> Case:
    tool = rng.choice(["inspect", "average", "fold", "convert"])
    if rng.random() < 0.6:
        Path("mutated.w").write_bytes(_mutated_bytes(rng, Path("square.w").read_bytes()))
    there = ["mutated.w", "square.w", "runs/ntuple", "runs/square", "runs/other", "runs/muzero", "none", "games.txt"]
    paths = rng.sample(there, rng.randrange(1, 3) if tool == "average" else 1)
    words = ["network", tool, *paths]
    if rng.random() < 0.2:
        words += ["--stages", rng.choice(VALUES)]
    if tool != "inspect":
        words += ["--out", f"out{rng.randrange(10**9)}{rng.choice(['', '.w'])}"]
        words += ["--half"] if rng.random() < 0.3 else []
    return Case(words, files=True)


def _judge(rng: random.Random) -> Case:
    content = Path("games.txt").read_bytes()
    mutated = (
        _mutated_text(rng, content.decode()).encode(errors="replace")
        if rng.random() < 0.5
        else _mutated_bytes(rng, content)
    )
    Path("mutated.txt").write_bytes(mutated)
    words = ["judge", "mutated.txt", *(["--whole"] if rng.random() < 0.3 else [])]
    return Case([*words, *(["--board", rng.choice(["2x2", "4x4", "3", "", "nan"])] if rng.random() < 0.3 else [])])


def _replay(rng: random.Random) -> Case:
    path = _player(rng)
    if rng.random() < 0.6:
        path = "games.txt"
    if rng.random() < 0.3:
        path = "mutated.txt"
        Path(path).write_bytes(_mutated_bytes(rng, Path("games.txt").read_bytes()))
    words = ["replay", path, "--out", "page.html", *(_search_words(rng, path) if rng.random() < 0.3 else [])]
    options = {
        "--games": _number(rng) if rng.random() < 0.3 else "3",
        "--game": rng.choice(["best", "median", "1", "0", "nan", "\uff12"]),
        "--player": _player(rng),
        "--judge": rng.choice(["solved", "solved", "games.txt", _player(rng)]),
        "--judge-every": rng.choice(["1", "2", _number(rng)]),
        "--judge-plies": _number(rng),
        "--board": rng.choice(["2x2", "2x2", "4x4", "x"]),
    }
    for option, value in options.items():
        if rng.random() < 0.15:
            words += [option, value]
    return Case(words)


def _solve(rng: random.Random) -> Case:
    if rng.random() < 0.5:
        Path("mutated").write_bytes(_mutated_bytes(rng, Path("solved").read_bytes()))
        words = ["solve", "--solution", "mutated"]
    else:
        words = ["solve", "--board", rng.choice(["2x2", "2x3", "1x4", "4x4", "x", "0x3", "-1x2"])]
        words += ["--until", rng.choice(["8", "16", "3", "0", "-8", "1e3", "nan", str(2**70)])]
    if rng.random() < 0.3:
        words += ["--tile", _number(rng)]
    if rng.random() < 0.5:
        words += ["--position", _mutated_text(rng, "2 4 / 0 2")]
    return Case([*words, "--json"], files="mutated" in words)


def _mostly(rng: random.Random, good: Sequence[str], bad: Sequence[str]) -> str:
    return rng.choice(good if rng.random() < 0.85 else bad)


def _output(rng: random.Random, name: str) -> str:
    return _mostly(rng, [name], UNWRITABLE)


def _several(rng: random.Random) -> Case:
    """Return an evaluation of several players, or of all checkpoints of a run, with a table of the results."""
    if rng.random() < 0.5:
        words = [
            "evaluate",
            _mostly(rng, ["runs/ntuple", "runs/other", "runs/deep_td"], ["runs", "random"]),
            "--snapshots",
        ]
    else:
        trained = ["runs/ntuple", "runs/other", "runs/deep_td", "runs/square"]
        words = ["evaluate", *rng.sample(trained, rng.randrange(2, 4)), *([_player(rng)] if rng.random() < 0.2 else [])]
    words += ["--games", _mostly(rng, ["4"], [_number(rng)])]
    words += ["--csv", _output(rng, f"table{rng.randrange(10**9)}.csv")] if rng.random() < 0.7 else []
    for option in ("--json", "--keep", "--part=1/2", "--records=records.txt", "--board=2x2"):
        words += [option] if rng.random() < 0.1 else []
    return Case([*words, *(_search_words(rng, words[1]) if rng.random() < 0.3 else [])])


def _compare(rng: random.Random) -> Case:
    runs = ["runs/ntuple", "runs/other", "runs/muzero", "runs/*", "runs", "g"]
    words = ["compare", *(_mostly(rng, runs, ["none", "[", "games.txt", ""]) for _ in range(rng.randrange(3)))]
    words += ["--out", _output(rng, "compared")]
    known = ["run.group=g", "learner=ntuple", "ntuple.rows=2", "ntuple.threads=1", "run.final_games=4"]
    for _ in range(rng.randrange(3)):
        words += ["--where", _mostly(rng, known, [f"run.group={rng.choice(VALUES)}", _mutated_text(rng, known[0])])]
    if rng.random() < 0.4:
        times = ["2020-01-01", "2020-01-01T08:00", "2020-01-01T08:00+02:00", "20200101", "0001-01-01"]
        words.append(f"--since={_mostly(rng, times, ['9999-12-31', *VALUES, _mutated_text(rng, times[2])])}")
    if rng.random() < 0.6:
        keys = ["run.group", "run.name", "learner", "ntuple.network", "ntuple.threads", "muzero.num_envs", "run.seed"]
        by = ",".join(rng.choices(keys, k=rng.randrange(1, 4)))
        words.append(f"--by={_mostly(rng, [by], ['', ',', 'run', _mutated_text(rng, by)])}")
    words += ["--x", _mostly(rng, ["env_steps", "games", "wall_hours"], ["hours"])] if rng.random() < 0.3 else []
    words += ["--tile", _mostly(rng, ["2048", "8192"], VALUES[:27])] if rng.random() < 0.2 else []
    return Case(words)


def _leaderboard(rng: random.Random) -> Case:
    """Return a command that writes or checks a page of results, of which one file may be mutated."""
    files = sorted(str(path) for path in Path("runs").glob("*/evaluations/*.json"))
    paths = [
        _mostly(rng, [*files, "runs/ntuple", "runs/square"], ["none", "games.txt"]) for _ in range(rng.randrange(4))
    ]
    if rng.random() < 0.7:
        content = Path(rng.choice(files)).read_text()
        if rng.random() < 0.7:
            result = json.loads(content)
            result[rng.choice(list(result))] = rng.choice([None, -1, 0, 1e300, "", "x", [], {}, True, "9" * 5000])
            content = json.dumps(result)
        else:
            content = _mutated_text(rng, content)
        Path("mutated.json").write_text(content, errors="replace")
        paths.append("mutated.json")
    check = ["--check"] if rng.random() < 0.3 else []
    return Case(["leaderboard", *paths, "--out", _output(rng, "board.md"), *check])


def _reproduce(rng: random.Random) -> Case:
    Path("mutated.yaml").write_text(_mutated_text(rng, TABLE), errors="replace")
    words = ["reproduce", _mostly(rng, ["table.yaml", "table.yaml", "mutated.yaml"], ["none", "ntuple.yaml"])]
    words += ["--budget", _mostly(rng, ["0.5", "1", "0.25"], VALUES[:27])] if rng.random() < 0.7 else []
    words += (
        ["--rows", _mostly(rng, ["a", "b", "a,b", "again"], ["lost", "a,a", ",", *VALUES])]
        if rng.random() < 0.5
        else []
    )
    words += ["--seeds", _mostly(rng, ["1-2", "3"], ["2-1", "1,1", *VALUES[:27]])] if rng.random() < 0.3 else []
    words += ["--games", _mostly(rng, ["2", "4"], [_number(rng)])] if rng.random() < 0.3 else []
    words += ["--csv", _output(rng, f"table{rng.randrange(10**9)}.csv")] if rng.random() < 0.3 else []
    words += ["--on", rng.choice(["none", "table.yaml"])] if rng.random() < 0.05 else []
    return Case(words)


def _submit(rng: random.Random) -> Case:
    """Return a plan of trainings or evaluations; one in ten is done, in processes of its own."""
    words = ["submit"]
    if rng.random() < 0.6:
        runs = ["runs/ntuple", "runs/other", "runs/square", "runs/deep_td"]
        words += ["evaluate", *(_mostly(rng, runs, [_player(rng)]) for _ in range(rng.randrange(1, 3))), "--games", "4"]
        words += ["--parts", _mostly(rng, ["1", "2", "4"], [_number(rng)])] if rng.random() < 0.4 else []
        words += _search_words(rng, words[-1]) if rng.random() < 0.3 else []
    else:
        words += ["ntuple.yaml", *([_override(rng, "ntuple")] if rng.random() < 0.3 else [])]
        lists = (["1,2", "2,3,4"], ["1,1", ",", "[1],[2]", "1,,2"])
        words += [f"ntuple.threads={_mostly(rng, *lists)}"] if rng.random() < 0.5 else []
        words += ["--then-evaluate", *_search_words(rng, "")] if rng.random() < 0.3 else []
        words += ["--seeds", _mostly(rng, ["1-2", "7"], ["2-1", "1,1", *VALUES[:27]])] if rng.random() < 0.5 else []
        words += ["--group", _mostly(rng, ["new"], VALUES)] if rng.random() < 0.3 else []
        if rng.random() < 0.3:
            rows = "ntuple.gamma=0.9\nntuple.report_env_steps=100\n"
            Path("rows.txt").write_text(rng.choice([rows, _mutated_text(rng, rows)]), errors="replace")
            words += ["--rows", _mostly(rng, ["rows.txt"], ["none", "runs"])]
    words += ["--on", _mostly(rng, ["local"], ["none", "table.yaml"])] if rng.random() < 0.2 else []
    return Case([*words, *(["--dry-run"] if rng.random() < 0.9 else [])])


def _damaged_checkpoint(rng: random.Random) -> Case:
    """Return a command that evaluates, resumes or reads a run of which one file was mutated or removed."""
    learner = rng.choice(["ntuple", "ntuple", "ntuple", "deep_td", "muzero"])
    shutil.rmtree("damaged", ignore_errors=True)
    shutil.copytree(f"runs/{learner}", "damaged")
    file = rng.choice(sorted(path for path in Path("damaged").rglob("*") if path.is_file()))
    if rng.random() < 0.1:
        file.unlink()
    else:
        file.write_bytes(_mutated_bytes(rng, file.read_bytes()))
    more = [
        ["evaluate", "damaged", "--games", "4", "--json"],
        ["train", "damaged", "--resume", f"{learner}.env_steps=600"],
        ["compare", "damaged", "--out", "compared"],
        ["config", "damaged"],
    ]
    if learner == "ntuple":
        more.append(["network", "inspect", "damaged"])
    return Case(rng.choice([more[0], *more]), files=True)


def _words(rng: random.Random) -> Case:
    """Return a valid command with one word mutated, replaced, doubled or removed."""
    good = """\
        evaluate runs/ntuple --games 4 --json
        train ntuple.yaml run.name=ntuple --resume
        compare runs/ntuple --x games --tile 2048 --out compared
        compare g --where run.group=g --since 2026-11-24 --by run.name,learner --out compared
        evaluate runs/ntuple runs/other --games 4 --csv table.csv
        evaluate runs/ntuple --snapshots --games 4
        leaderboard runs/square --out board.md
        reproduce table.yaml --budget 0.5 --rows a --csv table.csv
        submit evaluate runs/ntuple --games 4 --parts 2 --dry-run
        config ntuple.yaml --json
        judge games.txt --json
        solve --board 2x2 --json
        bench nothing
        network inspect runs/ntuple
        moves runs/ntuple --position 0x1201"""
    words = rng.choice(good.splitlines()).split()
    at = rng.randrange(len(words))
    word = rng.choice([[], [words[at]] * 2, [_mutated_text(rng, words[at])], [rng.choice(VALUES)]])
    return Case([*words[:at], *word, *words[at + 1 :]])


# Kind of case -> its weight in the random draw, and the function that makes a case.
KINDS: dict[str, tuple[int, Callable[[random.Random], Case]]] = {
    "train_ntuple": (20, _train("ntuple")),
    "train_muzero": (8, _train("muzero")),
    "train_deep_td": (5, _train("deep_td")),
    "resume": (8, _resume),
    "evaluate": (14, _evaluate),
    "moves": (12, _moves),
    "network": (10, _network),
    "judge": (8, _judge),
    "replay": (8, _replay),
    "solve": (8, _solve),
    "damaged_checkpoint": (10, _damaged_checkpoint),
    "words": (10, _words),
    "several": (6, _several),
    "compare": (8, _compare),
    "leaderboard": (6, _leaderboard),
    "reproduce": (6, _reproduce),
    "submit": (6, _submit),
}


class _HangError(BaseException):
    pass


def _hang(*_: Any) -> None:
    raise _HangError


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # no effect where the command cannot be stopped
    signal.signal(signal.SIGALRM, _hang)
    signal.alarm(SECONDS)
    stop = threading.Timer(STOP_SECONDS, lambda: os.kill(os.getpid(), signal.SIGTERM))
    stop.start()
    try:
        yield
    finally:
        stop.cancel()
        signal.alarm(0)


def run_case(number: int, kind: str, case: Case, truth: dict[str, str]) -> Result:
    """Run a command in this process and check its result.

    Args:
        number: number of the case.
        kind: key of KINDS.
        case: the command.
        truth: see `_truth`.

    Returns:
        The result, with the fault that was found.
    """
    from launch.cli import main

    out, error = io.StringIO(), io.StringIO()
    began, code, fault = time.monotonic(), "", ""
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error), _limited():
            code = main(case.words)
    except _HangError:
        fault = f"hangs: {SECONDS} s"
    except SystemExit as stop:  # --help
        code = stop.code or 0
    except BaseException as broken:  # a user would see a traceback
        frames = traceback.extract_tb(broken.__traceback__)
        own = [frame for frame in frames if str(ROOT) in frame.filename and ".venv" not in frame.filename]
        places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in own[-3:]]
        fault = f"traceback: {type(broken).__name__}: {str(broken)[:200]!r} at {places}"
    is_stopped = code in STOPPED and time.monotonic() - began >= STOP_SECONDS
    if not (fault or is_stopped):
        fault = _fault_of(code, out.getvalue(), error.getvalue(), case, truth)
    return Result(number, kind, case.words, code, fault, time.monotonic() - began)


def _fault_of(code: Any, out: str, error: str, case: Case, truth: dict[str, str]) -> str:
    errors = [line for line in error.splitlines() if line.startswith("error: ")]
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code == 1 and "training stopped" not in error:
        return f"exit code 1: {error[-300:]!r}"
    if code == 2 and case.words[:1] != ["judge"] and len(errors) != 1:
        return f"exit code 2 with {len(errors)} lines of error: {error[-300:]!r}"
    if code == 0 and errors:
        return "exit code 0 with an error"
    if (
        code == 0
        and case.files
        and "warning" not in error
        and case.words[0] in ("evaluate", "solve")
        and "--position" not in case.words
    ):
        found = played(out)
        if found and found not in truth.values():
            return f"other play without a word: {found[:200]}"
    return ""


def played(out: str) -> str:
    """Return the statistics in the last line of an evaluation or a solution; "" if the line is no JSON."""
    try:
        record = json.loads(out.rstrip("\n").rpartition("\n")[2])
    except ValueError:
        return ""
    names = ("games", "score_mean", "score_median", "score_max", "moves_mean", "expected", "best", "worst", "states")
    return json.dumps({name: record[name] for name in names if name in record})


def _truth() -> dict[str, str]:
    """Return the statistics of each original file; an undetected mutation must not change them."""
    from launch.cli import main

    found = {}
    for learner in TINY:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert main(["evaluate", f"runs/{learner}", "--games", "4", "--json"]) == 0
        found[learner] = played(out.getvalue())
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["solve", "--solution", "solved", "--json"]) == 0
    found["solved"] = played(out.getvalue())
    return found


def draw(seed: int, number: int, only: Sequence[str]) -> tuple[str, Case]:
    """Draw case `number`, and write its mutated files into the working folder.

    Args:
        seed: seed of the program.
        number: number of the case.
        only: kinds from which the case is drawn.

    Returns:
        The kind and the case.
    """
    rng = random.Random(f"{seed}/{number}")
    kind = rng.choices(only, [KINDS[name][0] for name in only])[0]
    return kind, KINDS[kind][1](rng)


def work(source: Path, seed: int, numbers: range, only: Sequence[str], results: Any) -> None:
    """Run cases in a copy of the workplace; a new copy is made every 200 cases, because commands write runs into it.

    Args:
        source: the workplace.
        seed: seed of the program.
        numbers: numbers of the cases.
        only: kinds from which the cases are drawn.
        results: queue for the results; None at the end.
    """
    os.environ |= QUICK
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        shutil.copytree(source, place)
        os.chdir(place)
        truth = _truth()
        for count, number in enumerate(numbers):
            if count % 200 == 199:
                os.chdir(folder)
                shutil.rmtree(place)
                shutil.copytree(source, place)
                os.chdir(place)
            kind, case = draw(seed, number, only)
            results.put(("begun", number, kind, case.words))
            results.put(run_case(number, kind, case, truth))
    results.put(None)


def main() -> int:
    """Run the cases and print all faults; return exit code 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", choices=KINDS, nargs="+", default=list(KINDS))
    arguments = parser.parse_args()
    os.environ |= QUICK
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            make_workplace(Path(folder))
        results = []
        for result in _results(arguments, Path(folder)):
            results.append(result)
            if len(results) % 500 == 0:
                print(f"{len(results):,} of {arguments.cases:,} cases", flush=True)
        return _report(results)


def _results(arguments: argparse.Namespace, source: Path) -> Iterator[Result]:
    """Yield the results of the workers; if a worker crashes, its case has a fault and another worker replaces it."""
    context = multiprocessing.get_context("spawn")
    last = arguments.first + arguments.cases
    workers: dict[int, tuple[Any, Any, int]] = {}

    def start(slot: int, first: int) -> None:
        results = context.Queue()
        numbers = range(first, last, arguments.workers)
        process = context.Process(target=work, args=(source, arguments.seed, numbers, arguments.only, results))
        process.start()
        workers[slot] = (process, results, first)

    for slot in range(arguments.workers):
        start(slot, arguments.first + slot)
    begun: dict[int, tuple[int, str, list[str]]] = {}
    while workers:
        for slot, (process, results, _) in list(workers.items()):
            try:
                message = results.get(timeout=0.2)
            except Exception:  # no result yet (queue.Empty), or the worker died while it wrote
                if process.is_alive():
                    continue
                number, kind, words = begun[slot]
                yield Result(number, kind, words, process.exitcode or 0, f"crash: exit code {process.exitcode}", 0.0)
                del workers[slot]
                start(slot, number + arguments.workers)
                continue
            if message is None:
                process.join()
                del workers[slot]
            elif isinstance(message, Result):
                if message.fault:
                    print(
                        f"case {message.number} ({message.kind}): {message.fault}\n    {_shown(message.words)}",
                        flush=True,
                    )
                yield message
            else:
                begun[slot] = message[1:]


def _shown(words: list[str]) -> str:
    return " ".join(repr(word) if re.search(r"[^\w=./-]", word) or not word else word for word in words)[:400]


def _report(results: list[Result]) -> int:
    codes = collections.Counter((result.kind, result.code) for result in results)
    for kind in sorted({result.kind for result in results}):
        parts = ", ".join(f"exit {code}: {count}" for (of, code), count in sorted(codes.items(), key=str) if of == kind)
        print(f"{kind}: {parts}")
    faults = [result for result in results if result.fault]
    slowest = max(results, key=lambda result: result.seconds)
    print(f"slowest: case {slowest.number}, {slowest.seconds:.0f} s, {_shown(slowest.words)}")
    print(f"{len(results):,} cases, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
