"""Look-ups in a solution, compared with plain Python that expands the game without symmetry, and with a dense table."""

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from reference import rules
from safetensors.numpy import load_file, save_file

from ntuple.exact.positions import LEVELS
from ntuple.exact.solution import CHUNK, Answer, Solution, Worth
from ntuple.exact.solution_file import FORMAT, digest_of
from ntuple.exact.solver import solve
from ntuple.game.bitboard import encode
from tests.ntuple.exact.solutions import NO_TILE, solution

GAMES = [(2, 2, NO_TILE, 4), (2, 3, 5, 4), (3, 2, 4, NO_TILE), (2, 4, 4, 4)]  # rows, columns, until, tile


class Plain(NamedTuple):
    """All positions of a game, in all their views, and their values."""

    states: dict[rules.Board, Worth]
    afters: dict[rules.Board, Worth]
    start: Worth


@functools.cache
def plain(rows: int, columns: int, until: int, tile: int) -> Plain:
    """Expand a game by the definition: two spawns on the empty board, then moves and spawns."""
    states: dict[rules.Board, Worth] = {}
    afters: dict[rules.Board, Worth] = {}

    def state(board: rules.Board) -> Worth:
        if board not in states:
            largest = max(rules.cells(board))
            found = [rules.afterstate(board, action) for action in rules.ACTIONS] if largest < until else []
            moves = [(reward, after_state(after)) for after, reward in found if after != board]
            r, optimal = max(moves, key=lambda move: move[0] + move[1].expected, default=(0, Worth(0, 0, 0, 0)))
            expected, best, worst = (r + optimal[i] for i in range(3))
            reach = 1.0 if largest >= tile else max((w.reach for _, w in moves), default=0.0)
            states[board] = Worth(expected, best, worst, reach)
        return states[board]

    def after_state(after: rules.Board) -> Worth:
        if after not in afters:
            afters[after] = chance(after, state)
        return afters[after]

    empty = ((0,) * columns,) * rows
    start = chance(empty, lambda board: chance(board, state))
    return Plain(states, afters, start)


def chance(board: rules.Board, value_of) -> Worth:
    found = [(float(p), value_of(rules.spawn(board, code))) for code, p in rules.chance_probabilities(board).items()]
    expected, reach = (sum(p * worth[i] for p, worth in found) for i in (0, 3))
    return Worth(expected, max(w.best for _, w in found), min(w.worst for _, w in found), reach)


def word(board: rules.Board) -> int:
    return int(encode(np.array(board)).lo)


def words(boards: list[rules.Board]) -> np.ndarray:
    return np.array([word(board) for board in boards], np.uint64)


def pick(boards, count: int) -> list[rules.Board]:
    """Return a random sample of boards, the same in every run."""
    boards = sorted(boards)
    rng = np.random.default_rng(0)
    return [boards[i] for i in rng.permutation(len(boards))[:count]]


@pytest.mark.parametrize("game", GAMES)
def test_the_worth_of_the_start_is_that_of_plain_python(game) -> None:
    assert solution(*game).start() == pytest.approx(plain(*game).start, rel=1e-12)


@pytest.mark.parametrize("game", GAMES)
def test_positions_in_all_their_views(game) -> None:
    truth = plain(*game)
    asked = solution(*game)
    kinds = set()
    for board in pick(truth.states.keys() | truth.afters.keys(), 1500):
        answer = asked.look_up(np.array(board))
        assert answer.is_reachable
        for found, known in ((answer.state, truth.states.get(board)), (answer.afterstate, truth.afters.get(board))):
            assert (found is None) == (known is None), board
            if found is not None and known is not None:
                assert found == pytest.approx(known, rel=1e-12)
        kinds.add((answer.state is not None, answer.afterstate is not None))
        for view in rules.symmetries(board)[1:]:
            assert asked.look_up(np.array(view)) == answer
    assert kinds == {(True, False), (False, True), (True, True)}  # a board may be a state and an afterstate


def test_positions_out_of_reach() -> None:
    game = GAMES[1]
    truth, asked = plain(*game), solution(*game)
    rng = np.random.default_rng(0)
    boards = [tuple(map(tuple, levels)) for levels in rng.integers(0, 7, (3000, 2, 3)).tolist()]
    for board in boards:
        answer = asked.look_up(np.array(board))
        assert (answer.state is not None, answer.afterstate is not None) == (
            board in truth.states,
            board in truth.afters,
        )
    # The empty board; the largest tile in all cells; a tile too large for a word; negative cells.
    for levels in (
        np.zeros((2, 3), int),
        np.full((2, 3), 15),
        np.array([[16, 0, 0], [0, 0, 1]]),
        -np.ones((2, 3), int),
    ):
        assert asked.look_up(levels) == Answer(None, None)


def test_a_position_of_another_board_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(3, 2\): the solved board is 2x3"):
        solution(*GAMES[1]).look_up(np.zeros((3, 2), int))


@pytest.mark.parametrize("game", GAMES)
def test_moves_and_losses(game) -> None:
    truth, asked = plain(*game), solution(*game)
    boards = pick(truth.states, 3000)
    values = asked.move_values(words(boards))
    wanted = np.full((len(boards), 4), -np.inf)
    for i, board in enumerate(boards):
        for action in rules.ACTIONS:
            after, reward = rules.afterstate(board, action)
            if after != board and max(rules.cells(board)) < game[2]:
                wanted[i, action] = reward + truth.afters[after].expected
    np.testing.assert_allclose(values, wanted, rtol=1e-12)
    rows, actions = np.nonzero(np.isfinite(wanted))
    losses = asked.losses(words(boards)[rows], actions.astype(np.int8))
    np.testing.assert_allclose(losses, wanted.max(axis=1)[rows] - wanted[rows, actions], rtol=1e-9, atol=1e-9)
    assert losses.max() > 0
    goes_on = np.flatnonzero(np.isfinite(wanted).any(axis=1))
    assert len(goes_on) < len(boards)
    assert not asked.losses(words(boards)[goes_on], values[goes_on].argmax(axis=1).astype(np.int8)).any()


def test_the_best_move_is_worth_the_state_to_the_bit() -> None:
    """The value of the best move equals V(s) bit for bit."""
    asked = solution(2, 3)
    best = asked.move_values(asked.solved.states).max(axis=1)
    np.testing.assert_array_equal(np.maximum(best, 0), asked.solved.values.expected)


def test_more_states_than_one_task_holds() -> None:
    asked = solution(2, 3)
    many = np.tile(asked.solved.states, 3)[: 2 * CHUNK + 7]
    one_by_one = np.concatenate([asked.move_values(many[i : i + 1]) for i in range(0, many.size, 97)])
    np.testing.assert_array_equal(asked.move_values(many)[::97], one_by_one)
    assert asked.move_values(many[:0]).shape == (0, 4)


@pytest.mark.parametrize(
    ("board", "action", "says"),
    [
        (((1, 0), (2, 0)), 3, "board 1, 2 0 / 4 0: move 3 (left) is not legal"),
        (((1, 2), (2, 1)), 0, "board 1, 2 4 / 4 2: move 0 (up) is not legal"),  # the game is over
        (((1, 0), (2, 0)), 4, "board 1, 2 0 / 4 0: move 4 (none of the four) is not legal"),
        (((1, 0), (2, 0)), -1, "board 1, 2 0 / 4 0: move -1 (none of the four) is not legal"),
        (((9, 0), (0, 0)), 1, "board 1, 512 0 / 0 0: no state of this game, play never brings the player there"),
        (((0, 0), (0, 0)), 1, "board 1, 0 0 / 0 0: no state of this game, play never brings the player there"),
        (((1, 0, 1), (2, 0, 0)), 1, "board 1, 2 0 / 4 0: no state of this game, play never brings the player there"),
    ],
)
def test_a_wrong_move_or_board_is_named(board: rules.Board, action: int, says: str) -> None:
    fine = ((1, 0), (0, 1))
    with pytest.raises(ValueError, match="board 1") as caught:
        solution(2, 2).losses(words([fine, board]), np.array([1, action], np.int8))
    assert str(caught.value) == says


@pytest.mark.parametrize("game", GAMES)
def test_a_file_gives_back_the_same(game, tmp_path: Path) -> None:
    path, asked = tmp_path / "game.solution", solution(*game)
    path.write_text("something older")
    asked.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["game.solution"]
    loaded = Solution.load(path)
    assert (loaded.rows, loaded.columns, loaded.until, loaded.tile) == game
    assert loaded.start() == asked.start()
    for board in pick(plain(*game).states, 50) + pick(plain(*game).afters, 50):
        assert loaded.look_up(np.array(board)) == asked.look_up(np.array(board))
    states = asked.solved.states
    np.testing.assert_array_equal(loaded.move_values(states), asked.move_values(states))
    assert ("reach" in load_file(path)) == (game[3] <= LEVELS)  # `reach` is saved only if a tile was given


def refusal(path: Path) -> str:
    with pytest.raises(ValueError, match=str(path)) as caught:
        Solution.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "game.solution"
    assert "missing or damaged, solve the game again" in refusal(path)
    assert "missing or damaged, solve the game again" in refusal(tmp_path)
    solution(*GAMES[1]).save(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], whole[:100], whole[: len(whole) // 2], whole[:-1], whole + b"more", b"text " * 99):
        path.write_bytes(damaged)
        assert "missing or damaged, solve the game again" in refusal(path)


def settings(**changed: object) -> str:
    return json.dumps({"rows": 2, "columns": 3, "until": 5, "tile": 4, "game": "2048"} | changed)


HEADER = {"format": FORMAT, "settings": settings()}


@pytest.mark.parametrize(
    ("change", "header", "says"),
    [
        ({"states": None}, HEADER, "'states'"),
        ({"reach": None}, HEADER, "'reach'"),
        ({"best": np.zeros(1, np.int32)}, HEADER, "best has 1 entries for"),
        ({"best": np.zeros(1, np.int64)}, HEADER, "best should be int32[N], found int64[1]"),
        ({"worst": np.zeros((1, 1), np.int32)}, HEADER, "worst should be int32[N], found int32[1, 1]"),
        ({"state_starts": np.array([0, 5], np.int64)}, HEADER, "state_starts does not divide the states"),
        ({"after_starts": np.array([0, 9, -9], np.int64)}, HEADER, "after_starts does not divide the afters"),
        ({"after_starts": np.zeros(0, np.int64)}, HEADER, "after_starts does not divide the afters"),
        ({"expected": np.nan}, HEADER, "expected has 2 of "),
        ({"reach": np.inf}, HEADER, "reach has 2 of "),
        ({}, None, "not a solved game: name a file that `muzero2048 solve --out` wrote"),
        ({}, {"format": "muzero2048 n-tuple network 1"}, "not a solved game"),
        ({}, HEADER | {"format": "muzero2048 solution 1"}, "saved by another version: solve the game again"),
        ({}, {"format": FORMAT}, "'settings'"),
        ({}, HEADER | {"settings": "{"}, "missing or damaged"),
        ({}, HEADER | {"settings": "[]"}, "missing or damaged"),
        ({}, HEADER | {"settings": settings(rows="two")}, "missing or damaged"),
        ({}, HEADER | {"settings": settings(rows=5)}, "missing or damaged"),
        ({}, HEADER | {"settings": settings(columns=4)}, "the boards with which a game begins are not among"),
    ],
)
def test_a_file_of_another_content_is_refused(
    change: dict[str, Any], header: dict[str, str] | None, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "game.solution"
    solution(*GAMES[1]).save(path)
    tensors = load_file(path)
    for name, array in change.items():
        if isinstance(array, float):  # the first and the last number are not finite
            tensors[name] = tensors[name].copy()
            tensors[name][[0, -1]] = array
        elif array is None:
            del tensors[name]
        else:
            tensors[name] = array
    if header and "settings" in header:
        header = header | {"sha256": digest_of(header["settings"], tensors)}
    save_file(tensors, path, header)
    assert says in refusal(path)


def test_a_changed_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "game.solution"
    solution(*GAMES[1]).save(path)
    whole = path.read_bytes()
    for at in (len(whole) - 1, len(whole) - 500, len(whole) // 2):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        assert "it was changed after saving" in refusal(path) or "does not divide" in refusal(path)


@pytest.mark.slow
def test_three_by_three(tmp_path: Path) -> None:
    """Takes one minute on two cores, 2.6 GB of memory and 1.4 GB of disk."""
    path = tmp_path / "game.solution"
    nine = Solution(3, 3, NO_TILE, NO_TILE, solve(3, 3))
    nine.save(path)
    del nine
    loaded = Solution.load(path)
    states = loaded.solved.states
    assert states.size == 48_713_519
    assert loaded.start().expected == pytest.approx(5468.486797, abs=1e-6)
    at = np.random.default_rng(0).integers(states.size, size=200_000)
    best = loaded.move_values(states[at]).max(axis=1)
    np.testing.assert_array_equal(np.maximum(best, 0), loaded.solved.values.expected[at])
