"""Records of 2584 and Threes! and their judge, against games that are played by the plain definition."""

import functools
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from launch.errors import UserError
from launch.evaluation.records.judge import SAME_MOVES, Line, judge_lines
from launch.evaluation.records.judgement import Spawned, judge_line, judge_with_spawns
from launch.evaluation.records.positions import write_positions
from launch.evaluation.records.record import GameRecord, Kind, RecordError, parse_record, write_record
from launch.evaluation.records.spawn_law import SpawnLaw
from ntuple.core.games.definition import Afterstate, Event, Game, State
from ntuple.core.games.event_codes import PlacedTile, event_code, event_of
from ntuple.core.games.known import GAMES, find_game

OTHERS = [name for name in GAMES if name != "2048"]
SHAPES = {"threes-small": (2, 3)}
Draw = Callable[[random.Random, Sequence[Event], Afterstate], Event]


def right(rng: random.Random, events: Sequence[Event], after: Afterstate) -> Event:
    return rng.choices(events, [float(event.chance) for event in events])[0]


def placed(before: Afterstate, event: Event) -> PlacedTile:
    """Return what an event places."""
    columns = len(before.board[0])
    for row, (line, other) in enumerate(zip(before.board, event.state.board, strict=True)):
        for column, (level, now) in enumerate(zip(line, other, strict=True)):
            if level != now:
                return PlacedTile(row * columns + column, now, event.state.hint)
    raise AssertionError(event)


def every_cell(state: State) -> Afterstate:
    """Return the afterstate before a first tile."""
    cells = [(r, c) for r, line in enumerate(state.board) for c, level in enumerate(line) if not level]
    return Afterstate(state.board, tuple(cells), state.hint, state.bag)


class Played:
    """A game of random moves by the definition, whose events `draw` chooses."""

    def __init__(self, game: Game, shape: tuple[int, int], rng: random.Random, draw: Draw = right) -> None:
        board, hint, bag = ((0,) * shape[1],) * shape[0], 0, ()
        if game.bag:
            hint = rng.randint(1, game.bag.kinds)
            bag = next(rest for _, kind, rest in game.bag.draws(game.bag.full) if kind == hint)
        state, self.score, self.codes = State(board, hint, bag), 0, list[int]()
        self.actions, self.rewards, self.afters = list[int](), list[int](), list[Afterstate]()

        def place(before: Afterstate, draw: Draw) -> State:
            event = draw(rng, list(game.events(before)), before)
            self.codes.append(event_code(game, placed(before, event)))
            self.score += event.points
            return event.state

        for _ in range(game.initial_tiles):
            state = place(every_cell(state), right)
        while legal := [action for action in range(4) if game.move(state, action)]:
            self.actions.append(rng.choice(legal))
            move = game.move(state, self.actions[-1])
            assert move
            self.rewards.append(move.points)
            self.score += move.points
            self.afters.append(move.after)
            state = place(move.after, draw)
        self.last, first = state, game.initial_tiles
        self.record = GameRecord(
            tuple(self.codes[:first]),
            np.array(self.actions, np.int8),
            np.array(self.codes[first:], np.int16),
            np.array(self.rewards, np.int64),
            game=game,
        )


@pytest.mark.parametrize("name", OTHERS)
def test_games_by_the_definition_are_right(name: str) -> None:
    shape, rng = SHAPES.get(name, (4, 4)), random.Random(1)
    game = find_game(name, *shape)
    for _ in range(10):
        played = Played(game, shape, rng)
        line = write_record(played.record)
        read, judgement = parse_record(line, game), judge_line(line, *shape, game)
        assert (read.opening, read.actions.tolist()) == (played.record.opening, played.actions)
        assert read.spawns.tolist() == played.record.spawns.tolist()
        largest = game.tiles[max(map(max, played.last.board))]
        assert judgement == (played.score, largest, len(played.actions), True, None, None)
        spawned = judge_with_spawns(line, *shape, game)[1]
        for t, after in enumerate(played.afters):
            assert spawned.afterstates[t].tolist() == [level for line in after.board for level in line]
            assert [divmod(cell, shape[1]) for cell in np.flatnonzero(spawned.places[t])] == list(after.places)


def image(record: GameRecord, rows: int, columns: int, is_across: bool) -> str:
    """Return the record of a game that is mirrored left to right, or across the main diagonal."""

    def moved(code: int) -> int:
        tile = event_of(record.game, code)
        row, column = divmod(tile.cell, columns)
        cell = column * rows + row if is_across else row * columns + columns - 1 - column
        return event_code(record.game, tile._replace(cell=cell))

    other = np.array([3, 2, 1, 0] if is_across else [0, 3, 2, 1], np.int8)[record.actions]  # of up, right, down, left
    spawns = np.array(list(map(moved, record.spawns.tolist())), np.int16)
    return write_record(GameRecord(tuple(map(moved, record.opening)), other, spawns, game=record.game))


@pytest.mark.parametrize("name", ["2584", "threes-far-side"])
def test_a_game_is_known_again(name: str) -> None:
    """Also with other blanks, without its rewards, mirrored, or with another end; two games of chance are different."""
    game, rng = find_game(name), random.Random(4)
    records = [Played(game, (4, 4), rng).record for _ in range(20)]
    first, mirrored = write_record(records[0]), image(records[0], 4, 4, is_across=False)
    across = image(records[1], 4, 4, is_across=True)
    turned = image(parse_record(image(records[2], 4, 4, is_across=True), game), 4, 4, is_across=False)
    other_end = write_record(
        GameRecord(records[0].opening, records[0].actions[:SAME_MOVES], records[0].spawns[:SAME_MOVES], game=game)
    )
    texts = [*map(write_record, records), first.replace(" ", "  "), mirrored, across, turned, other_end]
    judged = judge_lines([Line(n, text, f"{name} 4x4", "") for n, text in enumerate(texts, 1)], False, 1e-6)
    assert judged is not None
    assert judged.wrong == []
    assert judged.same == [(21, 1), (22, 1), (23, 2), (24, 3), (25, 1)]


@pytest.mark.parametrize("name", OTHERS)
def test_an_event_is_wrong_if_the_definition_has_none_like_it(name: str) -> None:
    shape, rng = SHAPES.get(name, (4, 4)), random.Random(2)
    game, kinds = find_game(name, *shape), set()
    cells, hints = shape[0] * shape[1], range(1, game.num_hints + 1) if game.bag else (0,)
    for _ in range(8):
        played = Played(game, shape, rng)
        for _ in range(60):
            t = rng.randrange(len(played.actions))
            after = played.afters[t]
            change = PlacedTile(rng.randrange(cells), rng.choice(game.placed_levels), rng.choice(hints))
            if rng.random() < 0.7:  # near a right event: one of the three may differ
                near = placed(after, rng.choice(list(game.events(after))))
                change = near._replace(**{(field := rng.choice(change._fields)): getattr(change, field)})
            is_right = change in [placed(after, event) for event in game.events(after)]
            first = game.initial_tiles
            codes = np.array([*played.codes[first : first + t], event_code(game, change)], np.int16)
            record = GameRecord(played.record.opening, played.record.actions[: t + 1], codes, game=game)
            judgement = judge_line(write_record(record), *shape, game)
            assert (judgement.mistake is None) == is_right, (after, change)
            if judgement.mistake:
                assert judgement.mistake.number == first + 2 * t + 2
                kinds.add(judgement.mistake.kind)
            if not is_right:
                level = after.board[change.cell // shape[1]][change.cell % shape[1]]
                is_place = divmod(change.cell, shape[1]) in after.places
                levels = {placed(after, event).level for event in game.events(after)}
                kind = Kind.HINT if change.level in levels else Kind.TILE
                assert judgement.mistake.kind == (Kind.OCCUPIED if level else kind if is_place else Kind.PLACE)
    assert kinds >= {Kind.OCCUPIED} | ({Kind.TILE, Kind.HINT, Kind.PLACE} if game.bag else set())


def test_records_by_hand() -> None:
    # 2x3: the first tile is a 1 at cell 0, the next one a 3; right moves it to cell 1, and the 3 comes to column 1.
    small = find_game("threes", 2, 3)
    assert judge_line("01+3 #R 33+2", 2, 3, small) == (3, 3, 1, False, None, None)  # a placed 3 has 3 points
    assert judge_line("01+3 #R 43+2", 2, 3, small).mistake == (Kind.PLACE, 3, "43+2", None)
    assert judge_line("01+3 #R 32+2", 2, 3, small).mistake == (Kind.TILE, 3, "32+2", None)
    assert judge_line("01+3 #R 33+1", 2, 3, small).mistake == (Kind.HINT, 3, "33+1", None)  # the bag held 2 alone
    assert judge_line("01+1", 2, 3, small).mistake == (Kind.HINT, 1, "01+1", None)
    message = "found '33'; \\+1 to \\+3 follows a tile"
    with pytest.raises(RecordError, match=message):
        parse_record("01+3 #R 33", small)
    framework = "dummy:random@1537878040221|01+3(1)#R(2)33+2|random@1537878040433"
    assert judge_line(framework, 2, 3, small) == (3, 3, 1, False, 0.002, None)
    wrong = judge_line(framework.replace("#R", "#X"), 2, 3, small).mistake
    assert wrong == (Kind.TEXT, 2, "found '#X(2)33+2'", framework.index("#R") + 1)
    hard = GAMES["2584-hard"]
    assert judge_line("0111 #L [2] 13", 4, 4, hard) == (2, 3, 1, False, None, None)  # 1 and 1 make 2; a 3 is placed
    assert judge_line("0112", 4, 4, hard).mistake == (Kind.TILE, 2, "12; 2584-hard places 1 (1), 3 (3)", 3)


def no_one(rng: random.Random, events: Sequence[Event], after: Afterstate) -> Event:
    """Draw again, once, if the next hint is a 1."""
    event = right(rng, events, after)
    return right(rng, events, after) if event.state.hint == 1 else event


def near_the_corner(rng: random.Random, events: Sequence[Event], after: Afterstate) -> Event:
    """Draw two events, and take that of the lower cell."""
    return min((right(rng, events, after) for _ in range(2)), key=lambda event: placed(after, event).cell)


def small_bonus(rng: random.Random, events: Sequence[Event], after: Afterstate) -> Event:
    """Place no bonus tile but the smallest."""
    return min((right(rng, events, after) for _ in range(8)), key=lambda event: placed(after, event).level)


def second_tiles(rng: random.Random, events: Sequence[Event], after: Afterstate) -> Event:
    """Draw again, once, if the tile is the most frequent one."""
    event = right(rng, events, after)
    return right(rng, events, after) if placed(after, event).level == 1 else event


@functools.cache
def spawned(name: str, draw: Draw, count: int) -> list[Spawned]:
    rng, game = random.Random(3), GAMES[name]
    return [
        judge_with_spawns(write_record(Played(game, (4, 4), rng, draw).record), 4, 4, game)[1] for _ in range(count)
    ]


def broken(name: str, draw: Draw, count: int) -> set[str]:
    law = SpawnLaw(GAMES[name], 4, 4, 1e-6)
    for one in spawned(name, draw, count):
        law.add(one)
    return {finding.name for finding in law.findings() if finding.broken}


@pytest.mark.parametrize(
    ("name", "draw", "found"),
    [
        ("threes", no_one, "share of each hint"),
        ("threes", near_the_corner, "cell"),
        ("2584-hard", second_tiles, "share of the 3"),
    ],
)
def test_a_planted_bias_is_found(name: str, draw: Draw, found: str) -> None:
    assert found in broken(name, draw, 60)


@pytest.mark.parametrize("name", ["threes", "2584-hard"])
def test_right_events_pass(name: str) -> None:
    assert not broken(name, right, 60)


def test_bonus_tiles_have_their_law() -> None:
    """Boards with a 384 allow bonus tiles of four levels; random play rarely reaches them."""
    game, rng = GAMES["threes"], random.Random(4)
    board = ((10, 1, 2, 1), (2, 1, 2, 1), (1, 2, 1, 0), (0, 0, 0, 0))
    for draw, is_found in ((right, False), (small_bonus, True)):
        law = SpawnLaw(game, 4, 4, 1e-6)
        after = Afterstate(board, ((3, 0), (3, 1), (3, 2), (3, 3)), game.bonus_hint, (4, 4, 4))
        events = list(game.events(after))
        tiles = [placed(after, draw(rng, events, after)) for _ in range(200)]
        cells, levels, hints = np.array(tiles, np.int64).T
        flat = np.array([[level for line in board for level in line]] * len(tiles), np.uint8)
        draws = np.full(len(tiles), game.bonus_hint | 4 << 3 | 4 << 6 | 4 << 9, np.uint16)
        places = np.broadcast_to(np.arange(16) >= 12, flat.shape)
        actions = np.zeros(len(tiles), np.int8)
        law.add(Spawned(flat, places, draws, actions, cells, levels, hints, (cells, levels, hints)))
        found = {finding.name for finding in law.findings() if finding.broken}
        assert ("bonus tile" in found) == is_found


@pytest.mark.parametrize("name", ["2048", "2584"])
def test_positions_are_afterstates_of_the_games_equally_many_of_each_stage(name: str, tmp_path: Path) -> None:
    rng, game, sums = random.Random(4), find_game(name, 3, 3), (8, 30, 45, 60)
    games = [Played(game, (3, 3), rng) for _ in range(12)]
    files = tmp_path / "some.txt", tmp_path / "others.txt"
    for file, some in zip(files, (games[:5], games[5:]), strict=True):
        lines = [f"% board {name} 3x3", *(write_record(played.record) for played in some)]
        file.write_text("\n".join(lines))
    write_positions(files, sums, a_game=4, seed=1, out=tmp_path / "positions.npy")

    boards = np.load(tmp_path / "positions.npy")
    totals = np.array(game.tiles)[boards].sum(axis=(1, 2))
    counts, _ = np.histogram(totals, sums)
    assert counts.tolist() == [counts[0]] * 3
    assert (np.diff(np.digitize(totals, sums)) != 0).sum() > len(boards) / 3  # the stages are mixed
    found = [tuple(map(tuple, board)) for board in boards.tolist()]
    of_game = [{after.board for after in played.afters} for played in games]
    assert {*found} <= set().union(*of_game)

    files[0].write_text(f"% board {name} 3x3\n{write_record(max(games, key=lambda played: played.score).record)}")
    write_positions(files[:1], sums, a_game=4, seed=1, out=tmp_path / "positions.npy")
    assert len(np.load(tmp_path / "positions.npy")) == 3 * 4

    write_positions(files, sums, a_game=4, seed=1, out=tmp_path / "raised.npy", raise_from=game.tiles[3])
    write_positions(files, sums, a_game=4, seed=1, out=tmp_path / "positions.npy")
    boards = np.load(tmp_path / "positions.npy")
    following = {0: 0, 1: 1, 2: 2, **{level: level + 1 for level in range(3, 12)}}
    expected = [[[following[level] for level in line] for line in board] for board in boards.tolist()]
    assert np.load(tmp_path / "raised.npy").tolist() == expected


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("2048", {"sums": (8,)}, "--sums 8: give two or more sums, ascending"),
        ("2048", {"sums": (30, 8)}, "--sums 30 8: give two or more"),
        ("2048", {"sums": (8, 30, 2**16, 2**17)}, "no game has a board with a sum of tiles from 65536 to below 131072"),
        ("2048", {"a_game": 0}, "--a-game is 0"),
        ("2048", {"raise_from": 12}, "--raise-from 12 is no tile of 2048; give one as 256"),
        ("2048", {"out": Path("positions")}, "whose name ends with .npy"),
        ("2048", {"out": Path("none/positions.npy"), "files": [Path("none.txt")]}, "positions.npy: there is no folder"),
        ("2048", {"out": Path("folder.npy")}, "cannot write folder.npy: Is a directory; give another --out"),
        ("threes", {}, "a board is not all of threes; give games of 2048 or 2584"),
    ],
)
def test_positions_that_cannot_be_had(name: str, changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    Path("folder.npy").mkdir()
    path = tmp_path / "games.txt"
    played = Played(find_game(name, 4, 4), (4, 4), random.Random(1))
    path.write_text(f"% board {name} 4x4\n{write_record(played.record)}")
    request = {"files": [path], "sums": (8, 30), "a_game": 60, "seed": 0, "out": tmp_path / "positions.npy"}
    with pytest.raises(UserError, match=re.escape(says)):
        write_positions(**request | changes)


def test_positions_are_of_one_board(tmp_path: Path) -> None:
    files = tmp_path / "one.txt", tmp_path / "other.txt"
    for file, shape in zip(files, ((3, 3), (3, 4)), strict=True):
        played = Played(find_game("2048", *shape), shape, random.Random(1))
        file.write_text(f"% board {shape[0]}x{shape[1]}\n{write_record(played.record)}")
    with pytest.raises(UserError, match="games on 3x4, the file before on 3x3"):
        write_positions(files, (8, 30), 60, 0, tmp_path / "positions.npy")
