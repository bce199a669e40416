"""The notation of game records, and the judge compared with an independent replay in plain Python."""

import random

import numpy as np
import pytest
from reference import records as reference
from reference import rules

from launch.evaluation.records.judgement import judge_line, judge_record
from launch.evaluation.records.record import GameRecord, Kind, RecordError, parse_record, write_record
from tests.launch.evaluation.records.examples import EXAMPLE, PLACED

SHAPES = [(4, 4), (3, 3), (2, 3), (3, 2), (2, 2), (4, 3)]
# On 2x2 by hand: 2 2 / . .  left: 4 . / . .  spawn 2 at cell 1: 4 2 / . .
PAIR = "0111 #L [4] 11"


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
