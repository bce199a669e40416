"""The notation of game records, and the judge compared with an independent replay in plain Python."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from reference import records as reference
from reference import rules

from launch.cli import main
from launch.evaluation.records.judgement import judge_line, judge_record
from launch.evaluation.records.record import GameRecord, Kind, RecordError, parse_record, write_record

# Guei 2023, sec. 5.5.1: "the first 10 moves in an episode of 2048".
EXAMPLE = "11D1 (1) #L (2) 61 (3) #D [4] (3) 11 (2) #D (3) B1 (3) #L [4] (3) 61"
SHAPES = [(4, 4), (3, 3), (2, 3), (3, 2), (2, 2), (4, 3)]
# On 2x2 by hand: 2 2 / . .  left: 4 . / . .  spawn 2 at cell 1: 4 2 / . .
PAIR = "0111 #L [4] 11"
PLACED = "2048 places 2 (1), 4 (2)"


def _game(rng: random.Random, rows: int, columns: int, share_of_moves: float = 1.0) -> tuple[GameRecord, int, int]:
    """Play a random legal game by the plain rules; return its record, score and largest tile.

    After each move the game goes on with probability `share_of_moves`.
    """
    board: rules.Board = ((0,) * columns,) * rows
    actions, spawns, rewards = [], [], []

    def drawn() -> int:
        return rng.choice(list(rules.chance_probabilities(board)))

    opening = []
    for _ in range(2):
        opening.append(drawn())
        board = rules.spawn(board, opening[-1])
    while not rules.is_over(board) and rng.random() < share_of_moves:
        action = rng.choice([action for action in rules.ACTIONS if rules.legal_actions(board)[action]])
        board, reward = rules.afterstate(board, action)
        actions.append(action)
        rewards.append(reward)
        spawns.append(drawn())
        board = rules.spawn(board, spawns[-1])
    record = GameRecord(
        (opening[0], opening[1]),
        np.array(actions, np.int8),
        np.array(spawns, np.int16),
        np.array(rewards, np.int64) if rng.random() < 0.7 else None,
        np.array([rng.choice([0.0, 1.0, 17.0, 0.125, 1e-7]) for _ in actions]) if rng.random() < 0.5 else None,
    )
    return record, sum(rewards), 2 ** max(rules.cells(board))


def _equal(one: GameRecord, other: GameRecord) -> bool:
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("actions", "spawns", "rewards", "milliseconds")]
    same = [a is b if a is None or b is None else a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs]
    return one.opening == other.opening and all(same)


def test_the_example_of_the_dissertation():
    record = parse_record(EXAMPLE)
    assert record.opening == (2, 26)  # a 2 at cell 1, a 2 at cell 13
    np.testing.assert_array_equal(record.actions, np.array([3, 2, 2, 3], np.int8), strict=True)
    np.testing.assert_array_equal(record.spawns, np.array([12, 2, 22, 12], np.int16), strict=True)
    np.testing.assert_array_equal(record.rewards, np.array([0, 4, 0, 4]), strict=True)
    np.testing.assert_array_equal(record.milliseconds, np.array([2.0, 3.0, 3.0, 3.0]), strict=True)
    assert write_record(record) == "11D1 #L (2) 61 #D [4] (3) 11 #D (3) B1 #L [4] (3) 61"


def test_the_example_keeps_to_the_rules():
    # By hand: L brings both tiles to the left edge, D merges them at cell 12 (4 points), L merges cells 13 and 14 (4).
    judgement = judge_line(EXAMPLE, 4, 4)
    assert judgement == judge_record(parse_record(EXAMPLE), 4, 4)
    assert judgement == (8, 4, 4, False, 0.011, None)
    verdict = reference.judge(EXAMPLE, 4, 4)
    assert (verdict.mistake, verdict.score, verdict.max_tile, verdict.moves) == (None, 8, 4, 4)


@pytest.mark.parametrize("line", [EXAMPLE.replace(" ", ""), f"  {EXAMPLE}\t\r\n", EXAMPLE.replace(" ", " \t ")])
def test_blanks_are_free(line: str):
    assert _equal(parse_record(line), parse_record(EXAMPLE))


def test_an_opening_is_a_record():
    record = parse_record("02F1")
    assert (record.opening, len(record.actions), record.rewards, record.milliseconds) == ((1, 30), 0, None, None)
    assert judge_record(record, 4, 4) == (0, 4, 0, False, None, None)
    assert write_record(record) == "02F1"


@pytest.mark.parametrize(
    ("line", "kind", "number", "column", "detail"),
    [
        ("0121 #U 01", Kind.OCCUPIED, 4, None, "01"),
        ("0111 #U 21", Kind.ILLEGAL, 3, None, "#U"),
        ("0111 #L 11 #L 21", Kind.ILLEGAL, 5, None, "#L"),
        ("0101", Kind.OCCUPIED, 2, None, "01"),
        ("0141", Kind.OFF_BOARD, 2, None, "41 on 2x2"),
        ("01F1 #U 11", Kind.OFF_BOARD, 2, None, "F1 on 2x2"),
        ("0111 #L [8] 11", Kind.REWARD, 3, None, "#L claims 8 and earns 4"),
        ("0111 #L 11 #D [4] 01", Kind.REWARD, 3, None, "#L claims 0 and earns 4"),
        ("0111 #L 13", Kind.TILE, 4, 9, f"13; {PLACED}"),
        ("0011", Kind.TILE, 1, 1, f"00; {PLACED}"),
        ("0111 #L", Kind.NO_SPAWN, 4, 8, "the line ends"),
        ("0111 #L #R", Kind.NO_SPAWN, 4, 9, "found '#R'"),
        ("01 #L", Kind.NO_SPAWN, 2, 4, "found '#L'"),
        ("01", Kind.NO_SPAWN, 2, 3, "the line ends"),
        ("", Kind.NO_SPAWN, 1, 1, "the line ends"),
        ("0111 21 #L 31", Kind.NO_MOVE, 3, 6, "found '21 #L 31'"),
        ("0111 #X 21", Kind.TEXT, 3, 6, "found '#X 21'"),
        ("0111 #l 21", Kind.TEXT, 3, 6, "found '#l 21'"),
        ("0111 #L (3) [4] 11", Kind.TEXT, 4, 13, "found '[4] 11'"),
        ("0111 #L (-3) 11", Kind.TEXT, 4, 9, "found '(-3) 11'"),
        ("0111 #L [4.0] 11", Kind.TEXT, 4, 9, "found '[4.0] 11'"),
        ("0111 #L [4 11", Kind.TEXT, 4, 9, "found '[4 11'"),
        (f"0111 #L [{'9' * 5000}] 11", Kind.TEXT, 4, 9, "found '[99999999999'"),
        ("0111 #L (1e3) 11", Kind.TEXT, 4, 9, "found '(1e3) 11'"),
        ("0111 #L (\u0661) 11", Kind.TEXT, 4, 9, "found '(\\u0661) 11'"),
        ("0111 #L \ufffd1", Kind.TEXT, 4, 9, "found '\\ufffd1'"),
        ("0111 #L 11 \x0b", Kind.TEXT, 5, 12, "found '\\x0b'"),
        ("0111 #L 11 and more", Kind.TEXT, 5, 12, "found 'and more'"),
        ("hello", Kind.TEXT, 1, 1, "found 'hello'"),
        # The first mistake counts: here a broken rule comes before the text that cannot be read.
        ("0111 #U ?", Kind.ILLEGAL, 3, None, "#U"),
        ("0101 ?", Kind.OCCUPIED, 2, None, "01"),
        ("0111 #L [8]", Kind.REWARD, 3, None, "#L claims 8 and earns 4"),
    ],
)
def test_mistakes_by_hand(line: str, kind: Kind, number: int, column: int | None, detail: str):
    judgement = judge_line(line, 2, 2)
    assert judgement.mistake == (kind, number, detail, column)
    assert not judgement.is_over


def test_a_game_to_its_end_and_a_move_after_it():
    # 4 . / . 4   right: . 4 / . 4   spawn: 2 4 / . 4   left: 2 4 / 4 .   spawn: 2 4 / 4 2, which has no legal move
    line = "0232 #R 01 #L 31"
    assert judge_line(line, 2, 2) == (0, 4, 2, True, None, None)
    assert judge_line(f"{line} #U 01", 2, 2).mistake == (Kind.AFTER_END, 7, "#U", None)


def test_what_is_right_before_a_mistake_counts():
    judgement = judge_line(f"{PAIR} #L 21", 2, 2)  # 4 2 / . . does not move to the left
    assert (judgement.score, judgement.max_tile, judgement.moves) == (4, 4, 1)


@pytest.mark.parametrize("line", ["0111 #L", "0111 21", "hello", ""])
def test_a_text_that_is_no_record_is_refused(line: str):
    with pytest.raises(RecordError) as error:
        parse_record(line)
    assert error.value.mistake == judge_line(line, 4, 4).mistake


def test_the_record_of_a_game_off_the_rules_is_read_all_the_same():
    assert parse_record("0101 #U F2").spawns.tolist() == [31]


@pytest.mark.parametrize(
    "wrong",
    [
        {"opening": (0, 32)},
        {"opening": (0,)},
        {"opening": (0, 2, 4)},
        {"actions": np.array([4], np.int8)},
        {"spawns": np.array([-1], np.int16)},
        {"rewards": np.array([-4])},
        {"milliseconds": np.array([np.nan])},
        {"milliseconds": np.array([1e15])},
    ],
)
def test_impossible_records_are_refused(wrong: dict):
    good = {"opening": (0, 2), "actions": np.array([3], np.int8), "spawns": np.array([3], np.int16)}
    GameRecord(**good)
    with pytest.raises(ValueError, match=r"opening|outside"):
        GameRecord(**(good | wrong))


@pytest.mark.parametrize("shape", SHAPES)
def test_random_games(shape: tuple[int, int]):
    rng = random.Random(1)
    for _ in range(15):
        record, score, max_tile = _game(rng, *shape)
        line = write_record(record)
        judgement = judge_line(line, *shape)
        assert judgement[:4] == (score, max_tile, len(record.actions), True)
        assert judgement.mistake is None
        assert judge_record(record, *shape) == judgement
        if record.rewards is None or record.rewards.any():
            assert _equal(parse_record(line), record)
        assert judge_line(f"{line} #L 01", *shape).mistake[:2] == (Kind.AFTER_END, 3 + 2 * len(record.actions))


def _tokens_changed(rng: random.Random, line: str) -> str:
    words = line.split(" ")
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    kind = rng.randrange(7)
    if kind == 0:
        del words[i]
    elif kind == 1:
        words.insert(i, words[j])
    elif kind == 2:
        words[i], words[j] = words[j], words[i]
    elif kind == 3:
        moves = [k for k, word in enumerate(words) if word.startswith("#")] or [i]
        words[rng.choice(moves)] = "#" + rng.choice("URDL")
    elif kind == 4:
        words[i] = rng.choice("0123456789ABCDEF") + rng.choice("12")
    elif kind == 5:
        words += ["#" + rng.choice("URDL"), rng.choice("0123456789ABCDEF") + rng.choice("12")]
    else:
        words.insert(i, rng.choice(["[4]", "[0]", "(3)", "[8]", "(0.5)", "[]", "(", "#"]))
    return " ".join(words)


def _characters_changed(rng: random.Random, line: str) -> str:
    i = rng.randrange(len(line))
    character = rng.choice("0123456789ABCDEF#URDL[]() .-\tgu%\u0663\ufffd\x00\x0b")
    kind = rng.randrange(5)
    if kind == 0:
        return line[:i] + character + line[i + 1 :]
    if kind == 1:
        return line[:i] + character + line[i:]
    if kind == 2:
        return line[:i] + line[i + 1 :]
    if kind == 3:
        return line[:i] + line[i + 1 : i + 2] + line[i] + line[i + 2 :]
    return line[:i]


# The reference's name of each kind. It has one name for text that is no spawn, no move, or neither, such as #X.
NAMES = {
    Kind.ILLEGAL: "illegal", Kind.AFTER_END: "after end", Kind.OFF_BOARD: "off board", Kind.OCCUPIED: "occupied",
    Kind.REWARD: "reward", Kind.TILE: "tile", Kind.NO_SPAWN: "text", Kind.NO_MOVE: "text", Kind.TEXT: "text",
}  # fmt: skip


def test_mutated_records():
    """The judge and the plain replay agree on the mistake, its place and the score, and never raise an exception."""
    rng = random.Random(2)
    seen = set()
    for i in range(5000):
        if i % 20 == 0:
            shape = rng.choice(SHAPES)
            line = write_record(_game(rng, *shape, share_of_moves=rng.choice([0.95, 1.0]))[0])
        mutated = line
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutated = rng.choice([_tokens_changed, _characters_changed])(rng, mutated) or "?"
        judged_on = shape if rng.random() < 0.95 else rng.choice(SHAPES)
        judgement = judge_line(mutated, *judged_on)
        verdict = reference.judge(mutated, *judged_on)
        mistake, truth = judgement.mistake, verdict.mistake
        found = mistake and (mistake.number, NAMES[mistake.kind])
        truth = truth and (truth[0], NAMES.get(truth[1], truth[1]))
        assert found == truth, mutated
        what = (judgement.score, judgement.max_tile, judgement.moves, judgement.is_over)
        assert what == (verdict.score, verdict.max_tile, verdict.moves, verdict.is_over), mutated
        seen.add(mistake and mistake.kind)
    assert seen == {None, *Kind} - {Kind.NOT_OVER, Kind.PLACE, Kind.HINT}


CORRECT = "0232 #R 01 #L 31"  # 2x2, over, no points
LONGER = "0111 #L [4] (250) 11 (1)"  # 2x2, not over, 4 points


def _file(text: str) -> str:
    Path("games.txt").write_text(text, encoding="utf-8")
    return "games.txt"


def _judged(capsys, text: str, *words: str) -> tuple[int, list[str]]:
    """Return the exit code of `judge` and the lines that it prints."""
    capsys.readouterr()
    code = main(["judge", _file(text), *words])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out.splitlines()


def test_a_file_of_correct_games(capsys):
    code, lines = _judged(capsys, f"% board 2x2 by hand\n\n{CORRECT}\n% a comment\n{LONGER}\n")
    assert code == 0
    assert lines == [
        "games.txt: board 2x2, games 2, correct 2, without mistake but not over 1",
        "total:  avg=2 max=4 tile=4 win=0.00%",
        "tile     count   score    move     rate      win",
        "4            2       2       2  100.00%  100.00%",
        "mean 2 (95% interval -23 to 27), median 2, 2 games",  # 2 +- 12.706 * 2.828 / 1.414
        "spawns after a move 3: too few to test their law",
    ]


def test_times_give_the_speed(capsys):
    code, lines = _judged(capsys, f"{LONGER}\n{LONGER}", "--board", "2x2")
    assert code == 0
    assert lines[1] == "summary 500ms 4.00ops"  # two moves of 250 ms


def test_one_correct_game(capsys):
    code, lines = _judged(capsys, LONGER, "--board", "2x2")
    first = "games.txt: board 2x2, games 1, correct 1, without mistake but not over 1"
    assert (code, lines[:2]) == (0, [first, "score 4, largest tile 4, moves 1"])
    assert lines[2:] == ["spawns after a move 1: too few to test their law"]


def test_a_game_without_a_move(capsys):
    code, lines = _judged(capsys, "1121", "--board", "4x4")
    assert (code, lines[1:]) == (
        0,
        ["score 0, largest tile 2, moves 0", "spawns after a move 0: too few to test their law"],
    )


def test_wrong_games_are_named(capsys):
    code, lines = _judged(capsys, f"0101 #U 11\n\n{CORRECT}\n{CORRECT} #\n", "--board", "2x2")
    assert code == 2
    assert lines == [
        "games.txt, line 1, number 2: cell not empty, 01",
        "games.txt, line 4, number 7, column 18: unreadable text, found '#'",
        "games.txt: board 2x2, games 3, correct 1, without mistake but not over 0",
        "score 0, largest tile 4, moves 2",
        "spawns after a move 2: too few to test their law",
    ]


def test_whole_games_on_request(capsys):
    code, lines = _judged(capsys, f"{CORRECT}\n{LONGER}\n{CORRECT}", "--board", "2x2", "--whole")
    assert code == 2
    assert lines[0] == "games.txt, line 2, number 4: game not over, a move is legal after it"
    assert _judged(capsys, f"{CORRECT}\n{CORRECT}", "--board", "2x2", "--whole")[0] == 0


def test_the_result_as_json(capsys):
    code, lines = _judged(capsys, f"{CORRECT}\n{LONGER}\n0111 #L 13", "--board", "2x2", "--json")
    assert code == 2
    result = json.loads(lines[-1])
    assert result["wrong"] == [{"line": 3, "kind": "wrong tile", "number": 4, "detail": f"13; {PLACED}", "column": 9}]
    counts = {name: result[name] for name in ("file", "board", "games", "correct", "not_over")}
    assert counts == {"file": "games.txt", "board": "2x2", "games": 3, "correct": 2, "not_over": 1}
    assert (result["score_mean"], result["score_max"], result["max_tile"], result["moves_mean"]) == (2, 4, 4, 1.5)
    assert result["seconds"] is None  # one of the games has no move times
    assert result["score_high"] == pytest.approx(2 + 12.7062 * 2, rel=1e-5)


def test_the_result_of_wrong_games_alone_as_json(capsys):
    code, lines = _judged(capsys, "nonsense", "--json")
    assert code == 2
    wrong = {"line": 1, "kind": "unreadable text", "number": 1, "detail": "found 'nonsense'", "column": 1}
    counts = {"file": "games.txt", "board": "4x4", "games": 1, "correct": 0, "not_over": 0}
    assert json.loads(lines[-1]) == counts | {"wrong": [wrong], "spawns": []}


def test_bytes_that_are_no_text(capsys):
    Path("games.txt").write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode() + b"\r\n\xff\xfe\x00\n" + bytes(range(256)))
    assert main(["judge", "games.txt"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "games.txt, line 2, number 1, column 1: unreadable text, found '\\ufffd\\ufffd\\x00'"
    assert lines[-3].endswith(" correct 1, without mistake but not over 1")


def test_an_evaluation_is_noted_as_judged(capsys, mistake):
    """If the games are right, over, and its own; else it is left as it is."""
    assert (
        main(["evaluate", "random", "--board", "2x2", "--games", "20", "--seed", "1", "--records", "r.txt", "--json"])
        == 0
    )
    result = Path("result.json")
    result.write_text(capsys.readouterr().out)
    before, lines = json.loads(result.read_text()), Path("r.txt").read_text().splitlines()
    for wrong, line in (
        (lines[:-1], "result.json: its games is 20, that of games.txt is 19: other games"),
        ([*lines[:-1], max(lines, key=len)], "result.json: its score_mean is "),
        ([*lines[:-1], "0111 #L 11"], "games.txt: 1 games stop before they are over; result.json is left as it is"),
    ):
        assert mistake("judge", _file("\n".join(wrong)), "--result", "result.json").startswith(line)
    assert main(["judge", _file("\n".join([*lines[:-1], "0111 #R #L"])), "--result", "result.json"]) == 2
    assert mistake("judge r.txt --result none.json").startswith("cannot read none.json")
    assert json.loads(result.read_text()) == before
    assert main(["judge", "r.txt", "--result", "result.json"]) == 0
    assert "result.json: noted that its 20 games are judged" in capsys.readouterr().out
    after = json.loads(result.read_text())
    assert after.pop("judged") == {
        "spawns": sum(line.count("#") for line in lines), "false_alarm": 1e-6, "version": after["version"],
    }  # fmt: skip
    assert after == before


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", [], "games.txt holds no game; give a file with one game record a line"),
        ("% board 2x2\n", [], "games.txt holds no game; give a file with one game record a line"),
        (EXAMPLE, ["--board", "5x5"], "cannot read the board '5x5'; give rows x columns, each 2 to 4: 3x4, threes 4x4"),
        (f"% board 9\n{EXAMPLE}", [],
         "games.txt, line 1: cannot read the board '9'; give rows x columns, each 2 to 4: 3x4, threes 4x4"),
        (f"% board 3x3\n{EXAMPLE}", ["--board", "4x4"],
         "games.txt, line 1: the header says 3x3, the games are judged on 4x4; leave out one of the two"),
        (f"{EXAMPLE}\n% board 3x3", [],
         "games.txt, line 2: the header says 3x3, the games are judged on 4x4; leave out one of the two"),
    ],
)  # fmt: skip
def test_files_and_boards_that_are_refused(mistake, text: str, words: list[str], line: str):
    assert mistake("judge", _file(text), *words) == line


def test_a_file_that_cannot_be_read(mistake):
    for path in ("nowhere.txt", "."):
        line = mistake("judge", path)
        assert line.startswith(f"cannot read {path}: ")
        assert line.endswith("; give a file of game records")
