"""Tests of the games of the family on the device against their plain definition; of random draws by chi-square."""

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from muzero2048.game.env import STEP_DRAWS, BoardGame, Game2048
from muzero2048.game.family_env import FamilyGame
from muzero2048.game.symmetry import symmetries, view_cells, view_spawn_codes
from ntuple.core.games.definition import Afterstate, Game, State
from ntuple.core.games.event_codes import event_of
from ntuple.core.games.known import GAMES
from ntuple.core.rules import DOWN, LEFT, RIGHT, UP
from tests.slow import others_slow

NAMES = sorted(GAMES)
SHAPES = [(4, 4), (2, 3), (3, 2)]
BATCH = 1024  # positions per call: one shape, so one compilation for each game and board


def functions(game: BoardGame) -> dict[str, Callable[..., Any]]:
    """Return the functions of a game on observations uint8[B, O]."""

    def moves(seen: jax.Array) -> tuple[jax.Array, ...]:
        board = game.from_observation(seen)

        def move(action: jax.Array) -> tuple[jax.Array, ...]:
            after, points = game.afterstate(board, jnp.full(len(seen), action))
            return game.observe(after), points, game.expected_reward(after, points)

        moved = jax.vmap(move, out_axes=1)(jnp.arange(4))  # a quarter of the program of four calls
        return (*moved, game.legal_actions(board), game.is_over(board))

    def place(seen: jax.Array, code: jax.Array) -> tuple[jax.Array, ...]:
        return game.observe(game.place(game.from_observation(seen), code)), game.placed_points(code)

    def chances(seen: jax.Array) -> jax.Array:
        return game.chance_probabilities(game.from_observation(seen))

    def spawn(bits: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        board, code = game.spawn_from_bits(bits, game.from_observation(seen))
        return game.observe(board), code

    def step(bits: jax.Array, seen: jax.Array, action: jax.Array) -> tuple[jax.Array, Any]:
        board, transition = game.step_from_bits(bits, game.from_observation(seen), action)
        return game.observe(board), transition

    def init(bits: jax.Array) -> tuple[jax.Array, jax.Array]:
        board = game.init_from_bits(bits)
        return game.observe(board), game.opening_points(board)

    return {function.__name__: jax.jit(function) for function in (moves, place, chances, spawn, step, init)}


@functools.cache
def jitted(name: str, rows: int, columns: int) -> dict[str, Callable[..., Any]]:
    return functions(FamilyGame(GAMES[name], rows, columns))


def observation(game: Game, position: State | Afterstate) -> list[int]:
    """Return the bytes of a state or an afterstate, written from the description in family_env.py."""
    cells = [list(line) for line in position.board]
    if isinstance(position, Afterstate) and game.placement != "anywhere":
        for row, column in position.places:
            cells[row][column] = len(game.tiles)
    return [*itertools.chain(*cells), *((position.hint, *position.bag) if game.bag else ())]


def padded(rows: list[Any]) -> np.ndarray:
    """Return rows and, after them, copies of the first one up to BATCH."""
    return np.array([*rows, *[rows[0]] * (BATCH - len(rows))])


def events_by_code(game: Game, after: Afterstate) -> dict[int, Any]:
    """Return the events of an afterstate by their codes."""
    levels, hints = game.placed_levels, len({1, 2, 3, game.bonus_hint} - {0}) if game.bag else 1
    if game.bag and not game.bag.bonus_share:
        hints = game.bag.kinds
    found = {}
    for event in game.events(after):
        flat = zip(itertools.chain(*after.board), itertools.chain(*event.state.board), strict=True)
        ((cell, level),) = [(i, y) for i, (x, y) in enumerate(flat) if x != y]
        hint = event.state.hint - 1 if game.bag else 0
        found[(cell * len(levels) + levels.index(level)) * hints + hint] = event
    return found


def check_moves(name: str, states: list[State]) -> list[Afterstate]:
    """Check the four moves of states of one board size against the definition; return the afterstates of legal ones."""
    game, shape = GAMES[name], (len(states[0].board), len(states[0].board[0]))
    afterstates = []
    for some in (states[i : i + BATCH] for i in range(0, len(states), BATCH)):
        seen = padded([observation(game, state) for state in some]).astype(np.uint8)
        after, points, expected, legal, over = map(np.asarray, jitted(name, *shape)["moves"](seen))
        for i, state in enumerate(some):
            moves = [game.move(state, action) for action in range(4)]
            assert legal[i].tolist() == [move is not None for move in moves], state
            assert over[i] == (not any(moves)), state
            for action, move in enumerate(moves):
                if move is None:
                    assert after[i, action].tolist() == observation(game, state), (state, action)
                    assert points[i, action] == 0
                    continue
                assert after[i, action].tolist() == observation(game, move.after), (state, action)
                assert points[i, action] == move.points, (state, action)
                mean = move.points + sum(event.chance * event.points for event in game.events(move.after))
                np.testing.assert_allclose(expected[i, action], float(mean), rtol=1e-6)
                afterstates.append(move.after)
    return afterstates


def check_chances(name: str, afterstates: list[Afterstate]) -> None:
    """Check probabilities, states and points of all chance events of afterstates against the definition."""
    game, shape = GAMES[name], (len(afterstates[0].board), len(afterstates[0].board[0]))
    seen, codes, expected = [], [], []
    for some in (afterstates[i : i + BATCH] for i in range(0, len(afterstates), BATCH)):
        views = padded([observation(game, after) for after in some]).astype(np.uint8)
        found = np.asarray(jitted(name, *shape)["chances"](views))
        for i, after in enumerate(some):
            events = events_by_code(game, after)
            wanted = np.zeros(found.shape[1])
            wanted[list(events)] = [float(event.chance) for event in events.values()]
            np.testing.assert_allclose(found[i], wanted, rtol=1e-6, atol=0, err_msg=str(after))
            seen += [views[i]] * len(events)
            codes += list(events)
            expected += [([*observation(game, event.state)], event.points) for event in events.values()]
    for start in range(0, len(seen), BATCH):
        part = slice(start, start + BATCH)
        placed, points = jitted(name, *shape)["place"](padded(seen[part]), padded(codes[part]))
        count = len(codes[part])
        assert np.asarray(placed)[:count].tolist() == [state for state, _ in expected[part]]
        assert np.asarray(points)[:count].tolist() == [points for _, points in expected[part]]


def random_states(name: str, shape: tuple[int, int], count: int, seed: int) -> list[State]:
    """Return the states of random games by the definition, of one size; from 4x4 boards on only games with large tiles
    at the start reach bonus tiles, so every second game begins with some."""
    game, rng, states = GAMES[name], random.Random(seed), []
    while len(states) < count:
        board = [[0] * shape[1] for _ in range(shape[0])]
        bag = game.bag.full if game.bag else ()
        hint = rng.randint(1, 3) if game.bag else 0
        largest = len(game.tiles) - 1 if len(states) % 2 else 3
        for cell in rng.sample(range(shape[0] * shape[1]), min(9, shape[0] * shape[1] - 2)):
            board[cell // shape[1]][cell % shape[1]] = rng.randint(1, largest)
        if len(states) % 4 == 1 and has_bonus(game, tuple(map(tuple, board))):
            hint = game.bonus_hint
        state = State(tuple(map(tuple, board)), hint, bag)
        while state:
            states.append(state)
            moves = [move for action in range(4) if (move := game.move(state, action))]
            events = list(game.events(rng.choice(moves).after)) if moves else []
            state = rng.choices(events, [float(event.chance) for event in events])[0].state if events else None
    return states[:count]


@pytest.mark.parametrize("name", others_slow(NAMES, "2584", "threes"))
def test_random_games_move_by_move(name: str) -> None:
    for shape in SHAPES[:2] if name == "threes-easy" else SHAPES[::2]:
        afterstates = check_moves(name, random_states(name, shape, 300, seed=1))
        check_chances(name, afterstates[:: max(1, len(afterstates) // 60)])


def lines_of(game: Game) -> np.ndarray:
    """Return lines of four cells.

    In Threes! all of them (50,625). In the others all of the levels 0 to 12 (28,561), all lines in which a pair of
    neighbours has any two levels and the other cells are empty, 1, 2 or the largest, and 20,000 random lines. The
    points of the largest tiles of 2048 need more than int32.
    """
    levels = 28 if game.name == "2048" else len(game.tiles)
    if levels <= 16:
        return np.array(list(itertools.product(range(levels), repeat=4)), np.uint8)
    low = list(itertools.product(range(13), repeat=4))
    edge = (0, 1, 2, levels - 1)
    pairs = [
        (*rest[:at], one, other, *rest[at:])
        for at in range(3)
        for one, other in itertools.product(range(levels), repeat=2)
        for rest in itertools.product(edge, repeat=2)
    ]
    drawn = np.random.default_rng(3).integers(0, levels, (20_000, 4)).tolist()
    return np.array([*low, *pairs, *drawn], np.uint8)


@pytest.mark.parametrize("name", ["2048", "2584", "threes"])
def test_lines_in_all_directions(name: str) -> None:
    game, lines = GAMES[name], lines_of(GAMES[name])
    lines = np.concatenate([lines, lines[: -len(lines) % (4 * BATCH)]])
    slides = [game.slide(tuple(line)) for line in lines.tolist()]
    slid = np.array([after for after, _ in slides]).reshape(-1, 4, 4)
    points = np.array([earned for _, earned in slides]).reshape(-1, 4).sum(axis=1)
    boards = lines.reshape(-1, 4, 4)
    more = [1, *game.bag.full] if game.bag else []
    orientations = {
        LEFT: lambda cells: cells,
        RIGHT: lambda cells: cells[:, :, ::-1],
        UP: lambda cells: cells.transpose(0, 2, 1),
        DOWN: lambda cells: cells[:, :, ::-1].transpose(0, 2, 1),
    }
    for action, turn in orientations.items():
        for start in range(0, len(boards), BATCH):
            part = slice(start, start + BATCH)
            cells = turn(boards[part]).reshape(BATCH, 16)
            seen = np.concatenate([cells, np.broadcast_to(np.array(more, np.uint8), (BATCH, len(more)))], axis=1)
            after, earned, _, legal, _ = map(np.asarray, jitted(name, 4, 4)["moves"](seen))
            found = np.where(after[:, action, :16] == len(game.tiles), 0, after[:, action, :16])
            np.testing.assert_array_equal(found, turn(slid[part]).reshape(BATCH, 16))
            np.testing.assert_array_equal(earned[:, action], points[part])
            np.testing.assert_array_equal(legal[:, action], (slid[part] != boards[part]).any(axis=(1, 2)))


def test_2048_is_the_same_game() -> None:
    """Only the draws of the openings differ."""
    names = ("moves", "chances")
    own = functions(Game2048())
    seen = np.random.default_rng(0).integers(0, 18, (BATCH, 16)).astype(np.uint8)
    for name in names:
        jax.tree.map(np.testing.assert_array_equal, own[name](seen), jitted("2048", 4, 4)[name](seen))


def chisquare(found: Counter[Any], expected: dict[Any, float]) -> float:
    """Return the p-value of counts; outcomes that are expected fewer than five times are counted together."""
    draws = found.total()
    assert set(found) <= set(expected), set(found) - set(expected)
    common = [key for key, chance in expected.items() if chance * draws >= 5]
    counts = [found[key] for key in common]
    means = [expected[key] * draws for key in common]
    if len(common) < len(expected):
        counts.append(draws - sum(counts))
        means.append(draws - sum(means))
    return 1.0 if len(counts) == 1 else scipy.stats.chisquare(counts, np.array(means) * draws / sum(means)).pvalue


AFTER_48 = ((7, 0, 0, 0), (3, 2, 1, 0), (5, 4, 1, 0), (0, 0, 0, 0))  # the largest tile allows bonus tiles
AFTER_768 = ((11, 0), (1, 2))


def has_bonus(game: Game, board: tuple[tuple[int, ...], ...]) -> bool:
    return bool(game.bag and game.bag.bonus_share and max(map(max, board)) >= game.bag.bonus_from)


@pytest.mark.parametrize(
    ("name", "hint", "board"),
    [
        (name, hint, board)
        for name in NAMES
        for board in (AFTER_48, AFTER_768, ((1, 0), (0, 2)))
        for hint in (2, 4)
        if hint == 2 or has_bonus(GAMES[name], board)
    ],
)
def test_spawns_have_the_law_of_the_events(name: str, hint: int, board: tuple[tuple[int, ...], ...]) -> None:
    game, draws = GAMES[name], 40_000
    bag = ((1, 2, 0) if game.bag and game.bag.each > 1 else (0, 1, 0)) if game.bag else ()
    empty = [(r, c) for r, line in enumerate(board) for c, level in enumerate(line) if not level]
    places = tuple(empty if game.placement == "anywhere" else empty[: max(1, len(empty) - 1)])
    after = Afterstate(board, places, hint if game.bag else 0, bag)
    seen = np.array([observation(game, after)] * draws, np.uint8)
    bits = jax.random.bits(jax.random.key(7), (draws,), jnp.uint32)
    moved, codes = map(np.asarray, jitted(name, len(board), len(board[0]))["spawn"](bits, seen))
    events = events_by_code(game, after)
    assert chisquare(Counter(codes.tolist()), {code: float(event.chance) for code, event in events.items()}) > 1e-3
    for i in range(500):
        assert moved[i].tolist() == observation(game, events[int(codes[i])].state)


@pytest.mark.parametrize("name", others_slow(NAMES, "2584", "threes"))
def test_openings_of_a_small_board_have_their_law(name: str) -> None:
    """All openings of 2x3; in games that begin with nine tiles the size is 3x4, and the law that of some features."""
    game, draws = GAMES[name], 60_000
    shape = (3, 4) if game.initial_tiles > 2 else (2, 3)
    bits = jax.random.bits(jax.random.key(2), (draws,), jnp.uint32)
    seen, points = map(np.asarray, jitted(name, *shape)["init"](bits))
    cells = seen[:, : shape[0] * shape[1]]
    assert ((cells > 0).sum(axis=1) == game.initial_tiles).all()
    worth = np.array(game.worth or (0,) * len(game.tiles))
    np.testing.assert_array_equal(points, worth[cells].sum(axis=1))
    if game.initial_tiles <= 2:
        law: dict[Any, float] = Counter()
        for event in game.openings(*shape):
            law[tuple(observation(game, event.state))] += float(event.chance)
        assert chisquare(Counter(map(tuple, seen.tolist())), law) > 1e-3
        return
    # The definition draws hint and tiles one after the other; the law of (tile at two cells, hint, bag) is estimated.
    rng, simulated = random.Random(5), Counter[Any]()
    assert game.bag
    for _ in range(draws):
        bags = [rng.sample([1, 2, 3] * game.bag.each, 3 * game.bag.each) for _ in range(4)]
        drawn = list(itertools.chain(*bags))[: game.initial_tiles + 1]
        left = [level for some in bags for level in some][len(drawn) :][: -len(drawn) % (3 * game.bag.each)]
        bag = tuple(left.count(level) for level in (1, 2, 3)) if left else game.bag.full
        board = [*drawn[:-1], *[0] * (12 - game.initial_tiles)]
        rng.shuffle(board)
        simulated[board[0], board[7], drawn[-1], bag] += 1
    found = Counter((int(row[0]), int(row[7]), int(row[12]), tuple(row[13:].tolist())) for row in seen)
    keys = [key for key in simulated if simulated[key] + found[key] >= 20]
    assert set(found) == set(simulated)
    table = np.array([[counts[key] for key in keys] for counts in (found, simulated)])
    assert scipy.stats.chi2_contingency(table).pvalue > 1e-3


@pytest.mark.parametrize("name", others_slow(NAMES, "2584", "threes", "threes-small"))
def test_steps_follow_the_definition(name: str) -> None:
    """Check each step of random play: points of move and placement, and the new game after the end."""
    game, shape, batch = GAMES[name], (2, 3), 64
    if game.initial_tiles > 6:
        shape = (4, 4)
    device = FamilyGame(game, *shape)
    board = device.init(jax.random.key(0), (batch,))
    seen, finished = np.asarray(device.observe(board)), 0
    legal_actions = jax.jit(lambda seen: device.legal_actions(device.from_observation(seen)))
    for t in range(40):
        legal = np.asarray(legal_actions(seen))
        actions = np.array([np.random.default_rng(t).choice(np.flatnonzero(row)) for row in legal])
        bits = jax.random.bits(jax.random.key(t), (STEP_DRAWS, batch), jnp.uint32)
        following, (rewards, dones, codes) = jax.device_get(jitted(name, *shape)["step"](bits, seen, actions))
        for i in range(batch):
            cells, rest = (
                seen[i, : shape[0] * shape[1]].reshape(shape).tolist(),
                seen[i, shape[0] * shape[1] :].tolist(),
            )
            state = State(tuple(map(tuple, cells)), *([rest[0], tuple(rest[1:])] if rest else []))
            move = game.move(state, int(actions[i]))
            assert move
            event = events_by_code(game, move.after)[int(codes[i])]
            assert rewards[i] == move.points + event.points
            assert dones[i] == (not any(game.move(event.state, action) for action in range(4)))
            finished += dones[i]
            if not dones[i]:
                assert following[i].tolist() == observation(game, event.state)
            else:
                assert (following[i, : shape[0] * shape[1]] > 0).sum() == game.initial_tiles
        seen = np.asarray(following)
    assert finished > 3


@pytest.mark.parametrize(("name", "shape"), [("2584", (4, 4)), ("threes", (4, 4)), ("threes-easy", (2, 3))])
def test_playing_and_viewing_commute(name: str, shape: tuple[int, int]) -> None:
    game, views, programs = GAMES[name], symmetries(*shape), jitted(name, *shape)
    states = padded([observation(game, state) for state in random_states(name, shape, 200, seed=2)])
    seen, cells = states.astype(np.uint8), shape[0] * shape[1]
    after, points = map(np.asarray, programs["moves"](seen)[:2])
    spawns = cells * len(game.placed_levels) * game.num_hints
    codes = jnp.broadcast_to(jnp.arange(spawns), (BATCH, spawns))
    for number in range(views.num_views):
        view = jnp.full(BATCH, number)
        theirs, their_points = map(np.asarray, programs["moves"](view_cells(views, view, jnp.asarray(seen)))[:2])
        for action, turned in enumerate(views.action_to[number]):
            np.testing.assert_array_equal(view_cells(views, view, jnp.asarray(after[:, action])), theirs[:, turned])
            np.testing.assert_array_equal(points[:, action], their_points[:, turned])
        chances, their_chances = programs["chances"](after[:, action]), programs["chances"](theirs[:, turned])
        their_codes = view_spawn_codes(views, view, codes, spawns // cells)
        np.testing.assert_allclose(np.take_along_axis(their_chances, their_codes, axis=-1), chances, rtol=1e-6)


@pytest.mark.parametrize("name", ["2584", "threes"])
def test_codes_of_records_name_the_same_events(name: str) -> None:
    game, table = GAMES[name], FamilyGame(GAMES[name], 2, 3).event_codes
    for state in random_states(name, (2, 3), 10, seed=3):
        for move in filter(None, (game.move(state, action) for action in range(4))):
            for code, event in events_by_code(game, move.after).items():
                cell, level, hint = event_of(game, int(table[code]))
                assert hint == event.state.hint
                flat = list(itertools.chain(*move.after.board))
                flat[cell] = level
                assert flat == list(itertools.chain(*event.state.board))


@pytest.mark.parametrize("name", ["2584", "threes", "threes-small"])
def test_observations_of_afterstates_are_inverse(name: str) -> None:
    device = FamilyGame(GAMES[name])

    @jax.jit
    def there_and_back(key: jax.Array) -> tuple[Any, Any]:
        board = device.init(key, (16,))
        positions = board, device.afterstate(board, 3)[0]
        return positions, tuple(device.from_observation(device.observe(position)) for position in positions)

    jax.tree.map(np.testing.assert_array_equal, *there_and_back(jax.random.key(0)))


def test_a_merge_that_depends_on_the_order_is_refused() -> None:
    def merge(one: int, other: int) -> int:
        return 3 if (one, other) == (1, 2) else 0

    game = Game(name="one way", tiles=(0, 1, 2, 3), merge=merge, spawns=((1, 1.0),))
    device = FamilyGame(game, 2, 2)
    with pytest.raises(ValueError, match="1 and 2 do not merge"):
        device.legal_actions(device.empty((1,)))
