"""All commands with mutated configs, overrides, words and files: no traceback, no hang, no silent change of play.

    make test-slow, or for 500 inputs a command:
    FUZZ=500 .venv/bin/python -m pytest -m slow tests/launch/test_fuzz.py [--hypothesis-seed 1]

Each input is a command in a new copy of a workplace with small runs of all learners. It must end with one of these
exit codes:

    0          success
    1          only for a training that diverged
    2          with one line on stderr that begins with "error: "
    75, 130    only after a signal to stop

If a file was mutated and `evaluate` or `solve` still ends with 0, the games and values must equal those of the original
file, or a warning must name the file.
"""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launch.cli import main

INPUTS = int(os.environ.get("FUZZ", "30"))  # of each command
STOP_SECONDS = 20  # time until a command gets SIGTERM, because a mutated budget may take days
SECONDS = 300  # time after which a command counts as hanging; the first of a kind compiles, perhaps on a busy machine
LEARNERS = ("ntuple", "muzero", "deep_td")

SMALL = """\
  rows: 2
  columns: 2
  env_steps: 16
  report_env_steps: 8
  num_envs: 2
  chunk: 4
  network: {blocks: 1, width: 4, tile_levels: 6}
  value: {bins: 8, h_max: 14}
  replay: {capacity: 16, batch_size: 4, ratio: 0.5}"""
FILES = {
    "ntuple.yaml": """\
learner: ntuple
run: {name: ntuple, group: g, final_games: 4, save_minutes: 0}
ntuple: {rows: 2, columns: 2, network: ['0123'], env_steps: 400, report_env_steps: 200, threads: 1, stages: [0, 8]}
""",
    "muzero.yaml": f"""\
learner: muzero
run: {{name: muzero, group: g, final_games: 4, save_minutes: 0}}
muzero:
{SMALL}
  unroll_steps: 2
  chance: {{encoder: oracle, codes: 8}}
  search: {{simulations: 2, gumbel: {{considered_actions: 2}}}}
""",
    "deep_td.yaml": f"""\
learner: deep_td
run: {{name: deep_td, group: g, final_games: 4, save_minutes: 0}}
deep_td:
{SMALL}
""",
    "table.yaml": """\
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
""",
    "rows.txt": "ntuple.gamma=0.9\nntuple.report_env_steps=100\n",
}
PREPARE = """\
train ntuple.yaml
train muzero.yaml
train deep_td.yaml
train ntuple.yaml run.name=other
train ntuple.yaml ntuple.rows=4 ntuple.columns=4 ntuple.stages=[] ntuple.network=['01'] run.name=square
network convert runs/square --out square.w
evaluate random --games 4 --board 2x2 --records games.txt
solve --board 2x2 --out solved
evaluate runs/square --games 100
"""
# A word of a command, with a choice in <>: names in capitals are strategies, see `_strategies`. `?`: left out in two of
# three inputs. `*`: up to three times. `$rule`: the words of another rule. mutated.* is a mutated copy of MUTATED.
COMMANDS = {
    "train_ntuple": "train <ntuple|mutated.ntuple>.yaml run.name=new *<NTUPLE_KEY>=<LIKELY|VALUE>",
    "train_muzero": "train <muzero|mutated.muzero>.yaml run.name=new *<MUZERO_KEY>=<LIKELY|VALUE>",
    "train_deep_td": "train <deep_td|mutated.deep_td>.yaml run.name=new *<DEEP_TD_KEY>=<LIKELY|VALUE>",
    "resume": "train runs/ntuple --resume *<NTUPLE_KEY>=<LIKELY|VALUE>",
    "resume_network": "train runs/deep_td --resume *<DEEP_TD_KEY>=<LIKELY|VALUE>",
    "evaluate": "evaluate $player --games <4|4|4|NUMBER> ?--seed=<NUMBER> ?--part=<1/2|2/1|0/0|1/1|x|1/> $search",
    "moves": "moves $player --position <POSITION> $search",
    "inspect": "network inspect <NETWORK> ?--stages=<VALUE>",
    "network": "network <average|fold|convert> <NETWORK> *<NETWORK> ?--stages=<VALUE> ?--half --out <out|out.w>",
    "judge": "judge mutated.txt ?--whole ?--board=<2x2|4x4|3|nan|>",
    "replay": """replay <games.txt|games.txt|mutated.txt|runs/ntuple|PLAYER> --out page.html ?--games=<3|3|NUMBER>
        ?--game=<best|median|1|0|nan|\uff12> ?--player=<PLAYER> ?--judge=<solved|games.txt|PLAYER>
        ?--judge-plies=<NUMBER> ?--judge-every=<1|2|NUMBER> ?--board=<2x2|4x4|x> $search""",
    "solution": "solve --solution mutated.solution ?--tile=<NUMBER> ?--position=<POSITION> --json",
    "solve": """solve --board <2x2|2x2|2x3|1x4|4x4|x|0x3|-1x2> ?--until=<8|16|3|0|-8|1e3|nan|99999999999999999999999>
        ?--tile=<NUMBER> ?--position=<POSITION> --json""",
    "damaged": "evaluate mutated.<ntuple|ntuple|muzero|deep_td> --games 4 --json",
    "damaged_resume": "train mutated.ntuple --resume ntuple.env_steps=600",
    "damaged_run": "<compare|config|leaderboard|replay> mutated.ntuple ?--out=<compared>",
    "snapshots": "evaluate <runs/ntuple|runs/deep_td|runs|random> --snapshots --games <4|4|NUMBER> $results $search",
    "several": "evaluate runs/<ntuple|other> <runs/square|runs/deep_td|PLAYER> --games <4|4|NUMBER> $results $search",
    "compare": """compare *<runs/ntuple|runs/other|runs/muzero|runs/*|g|none|[> --out <compared|compared|UNWRITABLE>
        *--where=<run.group=g|learner=ntuple|ntuple.rows=2|ntuple.threads=1|run.group=VALUE> ?--by=<KEY>,<KEY>
        ?--since=<2020-01-01|2020-01-01T08:00|20200101|0001-01-01|9999-12-31|VALUE> ?--tile=<2048|8192|VALUE>
        ?--x=<env_steps|games|wall_hours|hours>""",
    "leaderboard": "leaderboard ?runs/<ntuple|square> mutated.json --out <board.md|board.md|UNWRITABLE> ?--check",
    "reproduce": """reproduce <table|table|mutated.table|none|ntuple>.yaml --budget <0.5|1|0.25|NUMBER>
        ?--games=<2|NUMBER> ?--rows=<a|b|a,b|again|lost|a,a|,|VALUE> ?--seeds=<1-2|3|2-1|1,1|VALUE>
        ?--csv=<table.csv|UNWRITABLE>""",
    "submit": """submit ntuple.yaml ?<NTUPLE_KEY>=<LIKELY|VALUE> ?ntuple.threads=<1,2|2,3,4|1,1|,|[1],[2]|1,,2>
        ?--then-evaluate ?--seeds=<1-2|7|2-1|1,1|VALUE> ?--group=<new|VALUE> ?--rows=<rows.txt|mutated.rows|none|runs>
        ?--on=<local|none|table.yaml> --dry-run""",
    "submit_evaluations": """submit evaluate runs/<ntuple|other|square|none> ?<PLAYER> --games 4 ?--parts=<1|2|4|NUMBER>
        $search ?--dry-run""",
}
RULES = COMMANDS | {
    "player": "<PLAYER> ?--board=<2x2|2x2|2x3|4|9x9|x>",
    "search": """?--search=<1ply|expectimax|expectimax|mcts|mcts|gumbel|puct|none> ?--plies=<NUMBER>
        ?--simulations=<NUMBER> ?search.<SEARCH_KEY>=<LIKELY|VALUE>""",
    "results": "?--csv=<table.csv|UNWRITABLE> ?--json ?--keep ?--part=1/2 ?--records=records.txt ?--board=2x2",
}
MUTATED = {
    **{f"mutated.{learner}.yaml": f"{learner}.yaml" for learner in LEARNERS},
    **{f"mutated.{learner}": f"runs/{learner}" for learner in LEARNERS},
    "mutated.w": "square.w", "mutated.txt": "games.txt", "mutated.solution": "solved", "mutated.rows": "rows.txt",
    "mutated.table.yaml": "table.yaml", "mutated.json": "result.json",
}  # fmt: skip
LIKELY = ("0", "0.5", "1", "2", "4", "8", "16", "1e-3", "true", "false", "-1", ".nan", ".inf", "1e300", "1e9", "65536")
VALUES = (
    *(".nan", "nan", ".inf", "-.inf", "inf", "1e400", "-1e400", "1e-400", "-0.0", "0", "-1", "1", "2", "-2147483649"),
    *("4294967296", "9223372036854775808", "10000000000000000000000", "1e22", "0.5", "1.5", "1e300", "true", "null"),
    *("~", "''", '""', "abc", "[]", "[1, 2]", "{}", "{a: 1}", "???", "${run.seed}", "${oc.env:HOME}", "0x10", "1_000"),
    *("2020-01-01", "!!python/object:os.system", "é", "\u202e", "'a b'", "x" * 5000, "9" * 5000, "1:2", "0.5:0.1"),
    *("..", "/", "../../x", "8192", "0,8,16", "2^3", "tuples", "lines"),
)
SEARCH_KEYS = (
    *("plies", "limits", "seconds", "rectified", "least_probability", "downgrade", "leaf_bits", "node_bits", "root"),
    *("takes_deeper", "simulations", "value_scale", "chance", "range_floor", "normalization", "heuristic.empty"),
    *("gumbel.c_scale", "gumbel.c_visit", "gumbel.scale", "puct.c_init", "heuristic.sum_power"),
)
STATISTICS = ("games", "score_mean", "score_median", "score_max", "moves_mean", "expected", "best", "worst", "states")


class Result(NamedTuple):
    code: Any
    out: str
    error: str


class Hang(BaseException):
    """A command takes more than SECONDS."""


def _hang(*_: Any) -> None:
    raise Hang


@contextlib.contextmanager
def _limited(stop_seconds: float) -> Iterator[None]:
    """Send SIGTERM after `stop_seconds`, and raise `Hang` after SECONDS."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN), signal.signal(signal.SIGALRM, _hang)
    signal.alarm(SECONDS)
    stop = threading.Timer(stop_seconds, lambda: os.kill(os.getpid(), signal.SIGTERM))
    stop.start()
    try:
        yield
    finally:
        stop.cancel()
        signal.alarm(0)
        for number, handler in zip((signal.SIGTERM, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


def run(words: list[str], stop_seconds: float = SECONDS) -> Result:
    """Run a command in this process, and send it SIGTERM after `stop_seconds`."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error), _limited(stop_seconds):
        try:
            code: Any = main(words)
        except SystemExit as stop:  # --help
            code = stop.code or 0
    return Result(code, out.getvalue(), error.getvalue())


def played(out: str) -> dict[str, Any]:
    """Return the statistics in the last line of an evaluation or a solution; {} if the line is no JSON."""
    with contextlib.suppress(ValueError):
        record = json.loads(out.rstrip("\n").rpartition("\n")[2])
        return {name: record[name] for name in STATISTICS if name in record}
    return {}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Return a folder with small runs of all learners and other files, and what evaluations of them print."""
    folder = tmp_path_factory.mktemp("workplace")
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "disabled")
        for name, text in FILES.items():
            Path(name).write_text(text)
        for line in PREPARE.splitlines():
            assert run(line.split()).code == 0, line
        shutil.copy(next(Path("runs/square/evaluations").glob("*.json")), "result.json")
        truth = [run(f"evaluate runs/{learner} --games 4 --json".split()) for learner in LEARNERS]
        truth.append(run(["solve", "--solution", "solved", "--json"]))
    return folder, [played(result.out) for result in truth]


def _keys(learner: str) -> list[str]:
    keys = json.loads(run(["config", learner, "--json"]).out.splitlines()[-1])["keys"]
    return [key["name"] for key in keys if not key["name"].endswith(("runs_folder", "begin_from"))]


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
values = st.sampled_from(VALUES) | text | st.integers().map(str) | st.floats().map(str)
cells = st.sampled_from(["0", "2", "4", "1024", "131072", "1", "-2", "3", "x", "/", ""])
boards = st.sampled_from(["2 4 / 0 2", "0x1201", "0 0 / 0 0", "131072 131072 / 2 2", "2 4 2 / 4 2 4"])
runs = ["runs/ntuple", "runs/other", "runs/deep_td", "runs/muzero", "runs", "none"]
STRATEGIES: dict[str, st.SearchStrategy[str]] = {
    **{f"{name.upper()}_KEY": st.deferred(lambda name=name: st.sampled_from(_keys(name))) for name in LEARNERS},
    "VALUE": values,
    "LIKELY": st.sampled_from(LIKELY),
    "NUMBER": st.integers(-1, 9).map(str) | values,
    "POSITION": boards | st.lists(cells, max_size=9).map(" ".join),
    "PLAYER": st.sampled_from(["random", "greedy", "heuristic", *runs]),
    "NETWORK": st.sampled_from(["mutated.w", "square.w", "runs/square", *runs, "games.txt"]),
    "KEY": st.sampled_from(["run.group", "run.name", "learner", "ntuple.threads", "muzero.num_envs", "run", ""]),
    "SEARCH_KEY": st.sampled_from(SEARCH_KEYS),
    "UNWRITABLE": st.sampled_from(["none/new", "runs", "runs/ntuple", "", "x" * 300]),
}


def words_of(draw: Callable[..., Any], rule: str) -> list[str]:
    """Draw the words of a rule."""

    def choose(match: re.Match[str]) -> str:
        choice = draw(st.sampled_from(match[1].split("|")))
        return re.sub("[A-Z_]{3,}", lambda name: draw(STRATEGIES[name[0]]), choice)

    words: list[str] = []
    for word in RULES[rule].split():
        count = draw(st.sampled_from({"?": (0, 0, 1), "*": (0, 1, 2, 3)}.get(word[0], (1,))))
        for _ in range(count):
            if word.startswith("$"):
                words += words_of(draw, word[1:])
            else:
                words.append(re.sub("<(.*?)>", choose, word.lstrip("?*")))
    return words


def mutated(draw: Callable[..., Any], content: bytes) -> bytes:
    """Cut a content, replace a part or a word of it, or flip some bits."""
    first, last = sorted((draw(st.integers(0, len(content))), draw(st.integers(0, len(content)))))
    kind = draw(st.sampled_from(["cut", "insert", "remove", "double", "reverse", "flip", "word"]))
    if kind == "flip" and content:
        places = draw(st.lists(st.integers(0, 8 * len(content) - 1), min_size=1, max_size=8, unique=True))
        changed = bytearray(content)
        for place in places:
            changed[place // 8] ^= 1 << place % 8
        return bytes(changed)
    inserted = st.binary(max_size=8) | st.sampled_from([*VALUES, *":{}[]-#'\"\n\t&*!|>%@`\0"]).map(str.encode)
    if kind == "word" and (words := list(re.finditer(rb"[-\w.]+", content[:10_000]))):
        first, last = draw(st.sampled_from(words)).span()
    part = content[first:last]
    new = {"insert": draw(inserted), "word": draw(inserted), "double": 2 * part, "reverse": part[::-1]}.get(kind, b"")
    return content[:first] if kind == "cut" else content[:first] + new + content[last:]


def mutate_files(draw: Callable[..., Any], words: list[str]) -> bool:
    """Make the mutated files and folders that a command names; of a folder, one file is mutated or removed."""
    names = [name for name in MUTATED if name in words or f"--rows={name}" in words]
    for name in names:
        shutil.copytree(MUTATED[name], name) if Path(MUTATED[name]).is_dir() else shutil.copy(MUTATED[name], name)
        files = sorted(path for path in [Path(name), *Path(name).rglob("*")] if path.is_file())
        file = draw(st.sampled_from(files))
        if len(files) > 1 and draw(st.integers(0, 9)) == 9:
            file.unlink()
        else:
            file.write_bytes(mutated(draw, file.read_bytes()))
    return bool(names)


def check(words: list[str], result: Result, seconds: float, *, is_mutated: bool, truth: list[dict[str, Any]]) -> None:
    """Check the exit code, the lines on stderr, and that a mutated file plays as before or is named."""
    errors = [line for line in result.error.splitlines() if line.startswith("error: ")]
    if result.code in (75, 130):
        assert seconds >= STOP_SECONDS
        return
    assert result.code in (0, 1, 2)
    failed = words[0] == "submit" and ": failed, exit code 2: error: " in result.out  # the error of the task
    assert result.code != 1 or "training stopped" in result.error or failed
    assert result.code != 2 or words[0] == "judge" or len(errors) == 1, result.error[-500:]
    assert result.code != 0 or not errors, errors
    reads = words[0] in ("evaluate", "solve") and not any("--position" in word for word in words)
    if result.code == 0 and is_mutated and reads and "warning" not in result.error:
        assert played(result.out) in ({}, *truth)


def check_command(draw: Callable[..., Any], words: list[str], workplace: tuple[Path, list[dict[str, Any]]]) -> None:
    """Run a command in a copy of the workplace."""
    source, truth = workplace
    shutil.rmtree("place", ignore_errors=True)
    shutil.copytree(source, "place")
    with contextlib.chdir("place"):
        is_mutated = mutate_files(draw, words)
        began = time.monotonic()
        result = run(words, STOP_SECONDS)
        check(words, result, time.monotonic() - began, is_mutated=is_mutated, truth=truth)


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
fuzz = settings(max_examples=INPUTS, derandomize="FUZZ" not in os.environ, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("rule", COMMANDS)
@fuzz
@given(data=st.data())
def test_mutated_inputs(workplace: tuple[Path, list[dict[str, Any]]], rule: str, data: st.DataObject):
    check_command(data.draw, words_of(data.draw, rule), workplace)


@settings(fuzz, max_examples=5 * INPUTS)
@given(data=st.data())
def test_a_word_of_a_command_is_mutated_removed_or_doubled(workplace, data: st.DataObject):
    words = words_of(data.draw, data.draw(st.sampled_from(sorted(COMMANDS))))
    at = data.draw(st.integers(0, len(words) - 1))
    text = mutated(data.draw, words[at].encode()).replace(b"\0", b"").decode(errors="replace")
    words[at : at + 1] = data.draw(st.sampled_from([[], 2 * [words[at]], [text], [data.draw(STRATEGIES["VALUE"])]]))
    check_command(data.draw, words, workplace)
