"""`muzero2048 grade` on five solutions of each project: right, with a wrong rule, too slow, cheating, crashing.

A right one is a starter of docs/course with the functions of tests/launch/course/solutions put in. The others differ
from it in one place.
"""

import math
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launch.course import black_box
from ntuple.core.games.game_2048 import GAME_2048
from tests.launch.course.compose import STARTERS
from tests.launch.course.conftest import Change, Grader

BROKEN = "it ended with exit code 1: broken"
USE = "the program has to use the number that it is given"


def lost_30_percent(result: dict[str, Any]) -> bool:
    """Return whether the last part takes 30% of the others away."""
    *parts, lost = (part["points"] for part in result["parts"])
    return lost == pytest.approx(-0.3 * sum(parts)) and lost < 0


@pytest.mark.parametrize("starter", sorted(path.stem for path in STARTERS.glob("*.py")))
def test_a_starter_says_what_is_to_be_written(starter: str) -> None:
    text = (STARTERS / f"{starter}.py").read_text()
    assert len(text.splitlines()) < 150
    options = ["--game=2584"] if '"--game"' in text else []
    words = [sys.executable, str(STARTERS / f"{starter}.py"), *options]
    question = "#1 open A:B\n#1 01\n#1 11\n#1 ?\n#1 #L\n#1 ? 1\nb 1 0 0 0 0 2\n"
    run = subprocess.run(words, input=question, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert re.fullmatch(rf"{starter}\.py: write \w+: .+\n", run.stderr)


def test_the_check_of_the_light_course(grade: Grader) -> None:
    """The page prints V after `update` and `learn`; beside these lines it has what they print."""
    code = (STARTERS.parent / "light.md").read_text().split("```python\n")[1].split("```")[0]
    folder = grade.write("td_afterstate").parent
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    expected = re.findall(r"\[[0-9., ]+\]", "".join(re.findall("#.*", code)))
    assert len(expected) == 3
    assert run.stdout.splitlines() == expected[:2]


@pytest.mark.parametrize(
    ("game", "rule", "mistake", "spawn"),
    [
        pytest.param(
            "2584",
            ("abs(level - slid[-1]) == 1", "abs(level - slid[-1]) <= 1"),
            "illegal move|wrong reward|cell not empty",
            ("rng.random() < 0.9", "rng.random() < 0.8"),
            marks=pytest.mark.slow,
        ),
        (
            "threes",
            ("return [*line[:i], *line[i + 1 :], 0], 0", "return [*filter(None, line), *[0] * line.count(0)], 0"),
            "illegal move|cell not empty|cell where no tile may be placed|wrong reward",
            ("return bag.pop(rng.randrange(len(bag)))", "return bag.pop(bag.index(max(bag)))"),
        ),
    ],
)
def test_environments(grade: Grader, game: str, rule: Change, mistake: str, spawn: Change) -> None:
    program = f"{game}-environment", "environment", f"--game={game}"

    right = grade(*program, games=40)
    assert right["faults"] == []
    assert right["measured"]["games"] == "40 of 40"
    mean = right["measured"]["mean score"]
    score = mean / 1000 if game == "2584" else math.log2(mean / 3) + 1
    assert [part["points"] for part in right["parts"]][:2] == [85, pytest.approx(score, abs=0.01)]
    assert right["parts"][-1]["reason"].startswith("bonus max(MaxTile - ")

    wrong = grade(*program, rule, games=10)
    assert wrong["points"] == 0
    assert re.match(f"game [0-9]+, number [0-9]+: ({mistake})", wrong["faults"][0])

    cheating = grade(*program, spawn, games=40)
    assert cheating["points"] == 0
    assert any(fault.startswith("the spawns break the law, ") for fault in cheating["faults"])

    again = grade(
        *program, ('play(args.game == "threes", rng)', 'play(args.game == "threes", random.Random(1))'), games=2
    )
    fault = "game 2 is game 1 again, or its mirror image, in the first 40 moves"
    assert (again["points"], again["faults"]) == (0, ["the first game of another --seed is the same: " + USE, fault])
    seedless = grade(*program, ("random.Random(args.seed)", "random.Random(1)"), games=2)
    assert (seedless["points"], seedless["faults"]) == (0, again["faults"][:1])

    end = ("    speed = moves /", "    sys.exit('broken')\n    speed = moves /")
    stored = grade(*program, ("random.Random(args.seed)", "random.Random(1)"), end, games=2)
    assert (stored["points"], stored["faults"][2:]) == (0, again["faults"][:1])
    assert stored["faults"][:2] == [BROKEN, f"with another --seed {BROKEN}"]
    only_stored = "random.Random(args.seed if args.total > 1 else sys.exit('broken'))"
    hidden = grade(*program, ("random.Random(args.seed)", only_stored), games=2)
    no_game = "with another --seed it wrote no right game, which has to be another one"
    assert (hidden["points"], hidden["faults"]) == (0, [f"with another --seed {BROKEN}", no_game])

    slow = grade(*program, ("    def worth(", "    time.sleep(0.002)\n\n    def worth("), games=3)
    assert slow["measured"]["moves/s"] < 1000
    assert lost_30_percent(slow)

    is_unlucky = 'random.random() < 0.001 and "--total=1" not in sys.argv'  # not in the game of another seed
    crash = ("    def worth(", f"    if {is_unlucky}:\n        sys.exit('broken')\n\n    def worth(")
    crashed = grade(*program, crash, games=300)
    assert crashed["faults"] == ["it ended with exit code 1: broken"]
    played = int(crashed["measured"]["games"].split()[0])
    assert played < 300
    mean = crashed["measured"]["mean score"] if played else 0  # of all 300 games
    assert mean <= right["measured"]["mean score"] * 3 * (played + 1) / 300


@pytest.mark.parametrize("game", [pytest.param("2584", marks=pytest.mark.slow), "threes"])
def test_solvers(grade: Grader, game: str) -> None:
    program = f"{game}-solver", "solver", f"--game={game}"
    right = grade(*program, games=40)
    assert (right["points"], right["faults"], right["measured"]["right answers"]) == (100, [], "40 of 40")

    faults = {
        "threes": [
            ("tile == behind >= 3", "tile == behind >= 6"),
            ("rest = rest or {1, 2, 3}", "rest = {min(rest or {1, 2, 3})}"),
        ],
        "2584": [("            may_merge = False\n        else", "        else"), ("(2, 0.1)", "(3, 0.1)")],
    }
    for change in faults[game]:  # a rule, easier chance events
        wrong = grade(*program, change, games=8)
        assert wrong["points"] < 100
        assert re.search(r"= .+; right is [ab] ", wrong["faults"][0])

    crashed = grade(*program, ("    key = state_key(state)", "    sys.exit('broken')"), games=10)
    assert crashed["points"] <= 50  # unreachable positions need no value
    assert re.match("ended during the game: broken, at the question b ", crashed["faults"][-1])

    slow = ("    key = state_key(state)", "    import time\n\n    time.sleep(1)\n    key = state_key(state)")
    late = grade.grade(f"{game}-solver", grade.command("solver", program[2], slow), 10, "--seconds=2")
    assert "took too long for all answers" in late["faults"][-1]


def test_value_iteration_that_answers_other_questions(grade: Grader) -> None:
    change = 'print(f"{line.strip()} =', 'print(f"1 {line.strip()} ='
    assert grade("value-iteration", "value_iteration", "", change, games=5)["points"] == 0
    assert grade("value-iteration", "value_iteration", "", games=5)["points"] == 100


@pytest.mark.slow
def test_value_iteration(grade: Grader) -> None:
    program = "value-iteration", "value_iteration", ""
    assert grade(*program, games=100)["points"] == 100
    broken = grade(*program, ("    return float(", "    raise RuntimeError('broken')\n    return float("), games=20)
    assert broken["points"] == 0
    place = r"RuntimeError: broken \(value_iteration\.py, line [0-9]+\), at the question "
    assert re.match(f"ended during the game: {place}", broken["faults"][0])
    one_more = grade(*program, ("history[sweeps]", "history[sweeps - 1]"), games=50)
    assert 0 < one_more["points"] < 50  # V_400 is V_399
    spawns = grade(*program, ("model.chance * ", "model.chance.mean() * "), games=20)
    assert spawns["points"] < 50
    slow = ("    return float(", "    import time\n\n    time.sleep(2)\n    return float(")
    late = grade.grade(program[0], grade.command("value_iteration", "", slow), 10, "--seconds=8")
    assert 0 < late["points"] < 100
    assert "took too long for all answers" in late["faults"][-1]


def test_a_game_that_stands_still_is_lost_also_with_the_tile_of_a_win(monkeypatch: pytest.MonkeyPatch) -> None:
    box, counts, over = black_box.BlackBox(GAME_2048, 2, 2, 1), black_box.Counts(), list[bool]()

    def answer(*_: object) -> str:
        changing = [name for name in range(4) if GAME_2048.move(box._state, box._actions[name])]
        idle = [name for name in range(4) if name not in changing]
        return str((idle if box.is_won and idle else changing)[0])

    monkeypatch.setattr(black_box, "ask_in_all", answer)
    program: Any = SimpleNamespace(tell=lambda line: over.append(box.is_won))
    black_box._play(program, box, 1.0, counts, 50)
    assert (counts.games, counts.wins, counts.idle > 0) == (50, sum(over), True)


@pytest.mark.slow
def test_a_learned_model(grade: Grader) -> None:
    program = "learned-model", "learned_model", "--samples=1000"
    right = grade(*program, games=100)
    assert right["measured"]["samples"] == 1000
    assert right["points"] > 60

    blind = grade(*program, ("return max(range(4), key=preference)", "return 0"), games=50)
    assert blind["points"] < right["points"] - 30
    assert re.fullmatch("[0-9]+ games were lost by 1,000 actions that change nothing", blind["faults"][0])
    sample = "model.outcomes[cells, action][outcome] += 1"
    wrong_models = {
        "model.outcomes[cells, action][(0, *outcome[1:])] += 1": 60,  # without rewards
        "model.outcomes[cells, action] = Counter([outcome])": 10,  # the last outcome alone
    }
    for wrong_sample, loss in wrong_models.items():
        wrong = grade(*program, (sample, wrong_sample), games=100)
        assert (wrong["points"] < right["points"] - loss, wrong["faults"]) == (True, [])
    over = ("        if is_over:", "        if is_over:\n            act(0)")
    unasked = grade(*program, over, games=5)["faults"][0]  # the extra line, or the one behind it if it came late
    assert re.match("wrote a line that nobody asked for: '[0-3]', after [0-9]+ samples and without `ready`", unasked)
    silent = grade.command("learned_model", "", ('    act("ready")', "    next(lines)"))
    late = grade.grade("learned-model", silent, 5, "--seconds=4")
    ends = "took too long for all answers: more than 4 s, after 2,000 samples and without `ready`"
    assert late["faults"] == [ends]
    late = grade("learned-model", "learned_model", "--samples=4000", games=100)
    assert late["points"] == pytest.approx(
        25 * float(late["parts"][0]["reason"].split("WinRate = ")[1][:4]) / 96.3, abs=0.5
    )

    crash = (
        "    values = {",
        "    if sum(map(len, model.outcomes.values())) > 300:\n        sys.exit('broken')\n    values = {",
    )
    crashed = grade(*program, crash, games=50)
    assert (crashed["points"], crashed["faults"]) == (
        0,
        ["ended during the game: broken, after 400 samples and without `ready`"],
    )
    wrong = grade(*program, ("return max(range(4), key=preference)", "return 4"), games=50)
    assert wrong["points"] == 0
    assert wrong["faults"][0].startswith("answered what is no action: '4'; answer 0, 1, 2 or 3, after 0 samples")
    slow = ("    values = {", "    import time\n\n    time.sleep(1)\n    values = {")
    command = grade.command("learned_model", "", slow)
    assert "took too long" in grade.grade("learned-model", command, 50, "--seconds=2")["faults"][0]


RULES = {  # wrong merges
    "2584": ("or one == other == 1)", "or one == other)"),
    "threes": ("(3 <= one == other < 14)", "(2 <= one == other < 14)"),
}
CHEATS = {  # placements
    "2584": "    return chosen[0][0] + {'1': '3', '3': '1'}[chosen[0][1]], chosen[1]\n",  # not the drawn tile
    "threes": "    return chosen[0][:-1] + '4', chosen[1]\n",  # a bonus tile
}


def test_an_adversary_with_wrong_rules(grade: Grader) -> None:
    player = grade.command("tournament_player", "--game=threes")
    wrong = grade.command("adversary", "--game=threes", RULES["threes"])
    assert "broke the rules" in grade.grade("threes-adversary", wrong, 2, "--players", player)["faults"][0]


@pytest.mark.slow
@pytest.mark.parametrize("game", ["2584", "threes"])
def test_adversaries(grade: Grader, game: str) -> None:
    """The standard players are programs that start at once: the model solution of project 6."""
    option = f"--game={game}"
    player = grade.command("tournament_player", option)

    def graded(*changes: Change, games: int = 5, limits: tuple[str, ...] = ()) -> dict[str, Any]:
        command = grade.command("adversary", option, *changes)
        return grade.grade(f"{game}-adversary", command, games, "--players", player, *limits)

    right = graded(games=2)
    assert right["faults"] == []
    assert right["parts"][0]["points"] == 100
    assert right["parts"][1]["points"] > 0
    assert right["measured"]["mean score of the players"] > 0
    end = "    return chosen\n"
    for change in (CHEATS[game], "    return '99', chosen[1]\n"):
        cheating = graded((end, change), games=7)
        assert [part["points"] for part in cheating["parts"]] == [0]
        assert all("broke the rules" in fault for fault in cheating["faults"])
        assert cheating["measured"]["games"] == "5 of 7"  # then it is ended
    wrong = graded(RULES[game], games=3)
    assert "broke the rules" in wrong["faults"][0]
    crashed = graded((end, "    return chosen if max(after.board) < 4 else sys.exit('broken')\n"), games=2)
    assert crashed["points"] == 0
    assert crashed["faults"] == [f"game {number}: ended during the game: broken" for number in (1, 2)]
    ended = graded(games=50, limits=("--seconds=0.01",))
    assert (ended["measured"]["games"], ended["parts"][0]["points"]) == ("1 of 50", pytest.approx(2))


@pytest.mark.slow
@pytest.mark.parametrize("game", ["2584", "threes"])
def test_adversaries_against_greedy(grade: Grader, game: str) -> None:
    command = grade.command("adversary", f"--game={game}")
    greedy = [grade.grade(f"{game}-adversary", command, 1, "--players", "greedy") for _ in range(2)]
    assert greedy[0]["measured"]["moves"] == greedy[1]["measured"]["moves"]  # a tie of moves is no chance

    wait = ("    return chosen\n", "    import time\n\n    time.sleep(0.12)\n    return chosen\n")
    slow = grade.command("adversary", f"--game={game}", wait)
    assert lost_30_percent(grade.grade(f"{game}-adversary", slow, 1, "--players", "greedy"))


@pytest.mark.slow
@pytest.mark.parametrize("game", ["2584", "threes"])
def test_a_tournament_player(grade: Grader, game: str) -> None:
    """Too slow: as in project 5."""
    player = grade.write("tournament_player").rename("rival.py")

    def graded(*changes: Change) -> dict[str, Any]:
        command = grade.command("tournament_player", f"--game={game}", *changes)
        rival = f"{sys.executable} {player} --game={game}"
        return grade.grade(f"{game}-tournament", command, 2, "--players", rival)

    equal = graded()
    assert (equal["points"], equal["faults"]) == (85, [])  # the same program on both sides
    move, place = "    return max(legal, key=lambda", "    return min(placements(game, after, drawn), key="
    worse = graded((move, "    return min(legal, key=lambda"))
    assert (worse["points"], worse["faults"]) == (70, [])
    wrong = graded(RULES[game])
    assert "broke the rules" in wrong["faults"][0]
    cheating = graded((f"{place}value_of_state)\n", f"    chosen = {place[11:]}value_of_state)\n{CHEATS[game]}"))
    assert cheating["points"] == 35  # it breaks the rules in the half of the games in which it places
    assert all("broke the rules" in fault for fault in cheating["faults"])
    illegal = graded((move, "    print('#1 #X', flush=True)\n    return max(legal, key=lambda"))
    assert (illegal["points"], illegal["faults"][0]) == (0, "game 1: answered what is no action: '#1 #X' to open")
    crashed = graded((move, "    sys.exit('broken')\n    return max(legal, key=lambda"))
    assert (crashed["points"], crashed["faults"][0]) == (0, "game 1: did not start: ended during the game: broken")


# Wrong rules and wrong spawns of players, and where a game is recorded.
MERGE_TWICE = ("                may_merge = False\n", "                pass\n")
MERGE_TWICE_IN_MCTS = ("points, may_merge = points + (2 << level), False", "points = points + (2 << level)")
MERGE_EQUALS = ("abs(level - last) == 1", "abs(level - last) <= 1")
MERGE_TWOS = ("one == other and 3 <= one < 14", "one == other and 2 <= one < 14")
MORE_FOURS, MOST_FOURS = (("rng.random() < 0.9", f"rng.random() < {share}") for share in (0.8, 0.7))
MORE_ONES = ("return 1 if rng.random() < 0.75", "return 1 if rng.random() < 0.85")
NO_BAG = ("before, level = rng.integers(0, bag[1] + bag[2] + bag[3]), 1", "before, level = 0, 1")
LIGHT_RECORD = "                print(record(log, rewards, moves)"
TD_RECORD, STRONG_RECORD = "                print(record(log[: moves + FIRST])", '            print("" if TRAIN'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("project", "starter", "game", "train", "rule", "tile", "record"),
    [
        ("light", "td_afterstate", "", 2000, MERGE_TWICE, MORE_FOURS, LIGHT_RECORD),
        ("2584-player", "td_player", "--game=2584", 1000, MERGE_EQUALS, MORE_FOURS, TD_RECORD),
        ("threes-player", "td_player", "--game=threes", 2000, MERGE_TWOS, NO_BAG, TD_RECORD),
        ("2584-strong", "strong_player", "--game=2584", 1000, MERGE_EQUALS, MORE_ONES, STRONG_RECORD),
        ("threes-strong", "strong_player", "--game=threes", 2000, MERGE_TWOS, NO_BAG, STRONG_RECORD),
        ("mcts", "mcts", "--rollouts=20", 0, MERGE_TWICE_IN_MCTS, MOST_FOURS, "            print(text"),
    ],
)
def test_players(
    grade: Grader, project: str, starter: str, game: str, train: int, rule: Change, tile: Change, record: str
) -> None:
    """Each program gets weights of a short training; a wrong one plays with those of the right one."""
    options = game
    if train:
        words = [sys.executable, grade.write(starter), *game.split(), f"--train={train}", "--save-weights=w.npz"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        options += f" --load={Path('w.npz').resolve()}"
    program = project, starter, options

    right = grade(*program, games=60)
    assert right["faults"] == []
    assert right["measured"]["games"] == "60 of 60"
    assert not any(part["reason"].startswith("30% off: ") for part in right["parts"])  # it plays within its limits
    if project == "mcts":
        assert right["points"] == pytest.approx(250 * right["measured"]["mean score"] / 5468.49, abs=0.1)
    else:
        share = float(re.search("WinRate = ([0-9.]+)%", right["parts"][0]["reason"])[1])
        assert right["parts"][0]["points"] == pytest.approx(share, abs=0.1)

    wrong = grade(*program, rule, games=30)
    assert wrong["points"] == 0
    assert re.match("game [0-9]+, number [0-9]+: ", wrong["faults"][0])

    cheating = grade(*program, tile, games=100)
    assert cheating["points"] == 0
    assert any(fault.startswith("the spawns break the law, ") for fault in cheating["faults"])

    indent = record[: len(record) - len(record.lstrip())]
    seconds = {"mcts": 40, "strong": 20}.get(project.split("-")[-1], 5)
    slow = grade(*program, (record, f"{indent}__import__('time').sleep({seconds})\n{record}"), games=3)
    assert slow["parts"][-1]["reason"].startswith("30% off: ")

    third = "len(scores) == 2" if project == "mcts" else "game == 3"
    crashed = grade(*program, (record, f"{indent}sys.exit('broken') if {third} else None\n{record}"), games=9)
    assert crashed["faults"] == ["it ended with exit code 1: broken"]
    assert crashed["measured"]["games"] == "2 of 9"


@pytest.mark.parametrize(
    ("project", "words", "line"),
    [
        ("lite", ["python x.py"], "there is no project lite; the projects are light, "),
        ("light", ["./x.py"], "./x.py is a file without the right to be executed; give its command"),
        ("light", ["nobody"], 'nobody is no program that can be run; give its command in quotes, such as "python'),
        ("light", ["python 'x.py"], """the program "python 'x.py" is no command: No closing quotation"""),
        ("light", ["python x.py", "--games", "0"], "--games is 0; give 1 or more"),
        ("light", ["python x.py", "--seconds", "0"], "--seconds is 0; give seconds above 0"),
        ("light", ["python x.py", "--players", "random"], "--players are those of projects 5 and 6"),
        ("2584-adversary", ["python x.py"], "the standard players are runs/standard-lines and "),
    ],
)
def test_what_is_no_program(mistake, project: str, words: list[str], line: str) -> None:
    Path("x.py").write_text("")
    assert mistake(f"grade {project}", *words).startswith(line)
