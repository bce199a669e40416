"""n-tuples on games besides 2048, against the plain definitions: look-ups, learning, search, play."""

import dataclasses
import functools
import itertools
import random
from collections.abc import Collection
from fractions import Fraction

import numpy as np
import pytest

from ntuple import NTupleConfig, NTupleLearner, NTuplePlayer, RandomPlayer
from ntuple.core.games.definition import Afterstate, Game, Place, State
from ntuple.core.games.known import GAMES
from ntuple.core.settings import from_plain
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.search import search_moves
from ntuple.expectimax.search_memory import make_search as make_expectimax
from ntuple.game import family, family_events
from ntuple.game.any_game import has_move, make_game_rules, opening, turned_afterstate
from ntuple.game.bitboard import Board, decode
from ntuple.game.family import FamilyRules, make_family_rules
from ntuple.game.rng import mix, step, stream
from ntuple.mcts.config import MCTSConfig
from ntuple.mcts.search import make_search, search_tree
from ntuple.mcts.tree import ROOT
from ntuple.tables.entries import make_lookup
from ntuple.tables.network import VIEWS, Network, make_network
from ntuple.tables.patterns import parse_network, view_cells
from tests.ntuple.drivers import back, find, find_plainly, value_of
from tests.slow import others_slow

OTHERS = [name for name in GAMES if name != "2048"]
# Threes! in which what follows depends on board, places of the next tile and hint alone: with a bag of three tiles the
# bag follows from board and hint (the sum of all tiles grows by 6 with each bag).
SMALL = GAMES["threes-small"]
# 2584 with Threes!'s way to count points: a placed tile has points too.
WORTHY = dataclasses.replace(GAMES["2584"], worth=tuple(3 * tile for tile in GAMES["2584"].tiles))


def board_of(cells: np.ndarray, hint: int = 0, places: Collection[Place] = ()) -> Board:
    state = State(tuple(map(tuple, cells.tolist())), hint, (1, 1, 0) if hint else ())
    lo, hi = family_events.encode_state(state)
    return Board(lo, hi | np.uint64(sum(2 << 16 * row + 4 * column for row, column in places)))


@pytest.mark.parametrize("levels", others_slow([17, 20, 24, 32], 17, 32))
@pytest.mark.parametrize(("shape", "text"), [((4, 4), "012456,0145,f1a"), ((2, 3), "0123,14"), ((3, 3), "01258")])
def test_an_index_has_one_digit_for_each_cell(levels: int, shape: tuple[int, int], text: str) -> None:
    rules, patterns = make_family_rules(GAMES["2584"], *shape), parse_network(text, *shape)
    network = make_network(text, *shape, 0.0, game="2584", levels=levels)
    rng, views = np.random.default_rng(1), view_cells(*shape)
    lookup = make_lookup(network, 1)
    for _ in range(40):
        cells = rng.integers(0, 32, shape)
        find(rules, network, board_of(cells), lookup)
        plain = np.zeros_like(lookup.entries)
        find_plainly(rules, network, board_of(cells), plain)
        for (m, pattern), (v, view) in itertools.product(enumerate(patterns), enumerate(views)):
            digits = np.minimum(cells.ravel()[[view[cell] for cell in pattern]], levels - 1)
            index = sum(int(digit) * levels**i for i, digit in enumerate(digits))
            assert lookup.entries[VIEWS * m + v] == plain[VIEWS * m + v] == index


@pytest.mark.parametrize("game", ["threes", "threes-easy"])
def test_each_hint_has_weights_of_its_own(game: str) -> None:
    rules, hints = make_family_rules(GAMES[game], 4, 4), GAMES[game].num_hints
    network = make_network("0123", 4, 4, 0.0, game=game, hints=hints, stages=("96",))
    assert hints == {"threes": 4, "threes-easy": 3}[game]
    assert network.weights.size == 2 * hints * 16**4
    network.weights[:] = np.repeat(np.arange(2.0 * hints), 16**4)
    cells = np.zeros((4, 4), np.int64)
    for stage, level in enumerate((7, 8)):
        cells[1, 2] = level
        for hint in range(1, hints + 1):
            value = value_of(rules, network, board_of(cells, hint), make_lookup(network, 1))
            assert value == 8 * (hints * stage + hint - 1)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (3, 2)], ids=["4x4", "2x3", "3x2"])
@pytest.mark.parametrize("game", OTHERS)
def test_a_turned_move_is_the_move_of_a_turned_board(game: str, shape: tuple[int, int]) -> None:
    rules, draw = make_family_rules(GAMES[game], *shape), np.random.default_rng(3)
    for _ in range(60):
        board = board_of(draw.integers(0, 6, shape), 2 if GAMES[game].bag else 0)
        for action in range(4):
            source, after, points = turned_afterstate(rules, board, action)
            right, earned = family.afterstate(rules, board, action)
            assert points == earned
            found = [decode(rules, one) for one in (source, after)]
            truth = [decode(rules, one) for one in (board, right)]
            symmetries = [lambda x: x, np.fliplr, np.flipud, lambda x: x[::-1, ::-1]]
            symmetries += [lambda x, turn=turn: turn(x).T for turn in symmetries[:4]] if shape[0] == shape[1] else []
            assert any(
                all(np.array_equal(turn(one), other) for one, other in zip(truth, found, strict=True))
                for turn in symmetries
            )
            if tuple(map(int, right)) != tuple(map(int, board)):
                ends = (*(int(family_events.places(rules, back(one))).bit_count() for one in (after, right)),)
                assert ends[0] == ends[1]


@pytest.mark.parametrize("game", OTHERS)
def test_drawn_events_have_the_probabilities_of_the_definition(game: str) -> None:
    """Chi-square of 20,000 draws after a move with a bonus tile as the hint, below its 0.999 quantile."""
    rules, definition = make_family_rules(GAMES[game], 4, 4), GAMES[game]
    board = ((3, 3, 1, 0), (9, 0, 2, 2), (10, 0, 0, 1), (0, 0, 0, 0))
    bag = (1, 0, 2) if game in ("threes", "threes-far-side") else (1, 0, 1)
    hint = definition.num_hints
    state = State(board, hint, bag) if definition.bag else State(board)
    move = definition.move(state, 3)
    assert move
    after, _ = family.afterstate(rules, family_events.encode_state(state), 3)
    counts: dict[State, int] = {}
    rng, draws = np.uint64(5), 20_000
    for _ in range(draws):
        rng = np.uint64(step(rng))
        drawn, points = family_events.spawn(rules, back(after), np.uint64(mix(rng)))
        found = family_events.decode_state(rules, drawn)
        counts[found] = counts.get(found, 0) + 1
        change = sum(map(sum, found.board)) - sum(map(sum, move.after.board))
        assert points == definition.place_points(change)
    expected: dict[State, float] = {}
    for event in definition.events(move.after):
        expected[event.state] = expected.get(event.state, 0.0) + draws * float(event.chance)
    assert counts.keys() <= expected.keys()
    statistic = sum((counts.get(state, 0) - mean) ** 2 / mean for state, mean in expected.items())
    freedom = len(expected) - 1  # the quantile by Wilson and Hilferty
    assert statistic < freedom * (1 - 2 / (9 * freedom) + 3.09 * (2 / (9 * freedom)) ** 0.5) ** 3


@pytest.mark.parametrize("game", OTHERS)
def test_a_game_begins_as_defined(game: str) -> None:
    definition = GAMES[game]
    rules = make_family_rules(definition, 4, 4)
    for number in range(50):
        board, _, points = opening(rules, np.uint64(stream(np.uint64(1), np.uint64(number))))
        state = family_events.decode_state(rules, board)
        levels = [level for row in state.board for level in row if level]
        assert len(levels) == definition.initial_tiles
        assert set(levels) <= set(definition.placed_levels)
        assert points == sum(map(definition.place_points, levels))
        if definition.bag:
            kinds, each = definition.bag.kinds, definition.bag.each
            drawn = [levels.count(kind) + (state.hint == kind) for kind in range(1, kinds + 1)]
            bags = -(-max(count + left for count, left in zip(drawn, state.bag, strict=True)) // each)
            assert all(count + left == bags * each for count, left in zip(drawn, state.bag, strict=True))


# Largest tile -> (mean score, mean moves, rate) of a million games by the rules of project 1 (../shared/games.md, 2.3).
# The means are printed without their fractions, the rates are rounded.
RANDOM = {12: (94, 23, 14), 24: (193, 36, 45), 48: (408, 55, 35), 96: (929, 82, 5)}
GREEDY = {12: (106, 25, 5), 24: (234, 42, 25), 48: (520, 68, 41), 96: (1173, 106, 25), 192: (2804, 166, 4)}


@pytest.mark.slow
@pytest.mark.parametrize("known", [RANDOM, GREEDY], ids=["random", "greedy"])
def test_simple_players_of_threes_score_as_those_of_the_course(known: dict[int, tuple[int, int, int]]) -> None:
    """The greedy player of the course makes the first of equal moves, as 1 ply does with all values 0."""
    rules = make_game_rules("threes-easy", 4, 4)
    zero = make_network("0", 4, 4, 0.0, game="threes-easy", symmetry=False)  # with symmetry, boards are turned
    player = RandomPlayer(rules, 2) if known is RANDOM else NTuplePlayer(rules, zero, 2)
    games = player.play(200_000, 1)
    assert games.goals[0] == 384
    for tile, (score, moves, rate) in known.items():
        ended = games.max_tile == tile
        assert 100 * ended.mean() == pytest.approx(rate, abs=0.7)
        assert games.score[ended].mean() == pytest.approx(score + 0.5, rel=0.01)
        assert games.moves[ended].mean() == pytest.approx(moves + 0.5, abs=0.8)


class Exact:
    """The best expected rest of a game on four cells, by plain recursion over the definition."""

    def __init__(self, game: Game, rows: int, columns: int) -> None:
        self.game, self.shape = game, (rows, columns)
        self.afters: dict[Afterstate, Fraction] = {}
        self.of_state = functools.cache(self._of_state)
        openings = game.openings(*self.shape)
        self.start = sum(event.chance * (event.points + self.of_state(event.state)) for event in openings)

    def moves(self, state: State) -> dict[int, Fraction]:
        found = ((action, self.game.move(state, action)) for action in range(4))
        return {action: move.points + self.of_after(move.after) for action, move in found if move}

    def _of_state(self, state: State) -> Fraction:
        return max(self.moves(state).values(), default=Fraction(0))

    def of_after(self, after: Afterstate) -> Fraction:
        if after not in self.afters:
            events = self.game.events(after)
            self.afters[after] = sum((e.chance * (e.points + self.of_state(e.state)) for e in events), Fraction(0))
        return self.afters[after]

    def states(self, count: int) -> list[State]:
        """Return states of random games in which a move is legal."""
        draw, found = random.Random(1), []
        openings = [event.state for event in self.game.openings(*self.shape)]
        while len(found) < count:
            state = draw.choice(openings)
            while moves := [move for action in range(4) if (move := self.game.move(state, action))]:
                found.append(state)
                events = list(self.game.events(draw.choice(moves).after))
                state = draw.choices(events, [float(event.chance) for event in events])[0].state
        return draw.sample(found, count)

    def network(self) -> Network:
        """Return a network whose values are the exact ones."""
        hints, places = self.game.num_hints, self.game.placement != "anywhere"
        network = make_network("0123", *self.shape, 0.0, game=self.game.name, levels=16, hints=hints, places=places)
        rules, tables = make_family_rules(self.game, *self.shape), network.weights.reshape(hints, -1)
        for after, worth in self.afters.items():
            cells, width = [level for row in after.board for level in row], self.shape[1]
            for view in view_cells(*self.shape):
                board = np.array([cells[i] for i in view]).reshape(self.shape)
                turned = [divmod(at, width) for at, i in enumerate(view) if divmod(i, width) in after.places]
                lookup = make_lookup(network, 1)
                find(rules, network, board_of(board, places=turned), lookup)
                tables[max(after.hint, 1) - 1, lookup.entries[0]] = float(worth) / len(network.symmetries)
        return network


@functools.cache
def exact(game: Game, rows: int = 2, columns: int = 2) -> tuple[Exact, FamilyRules, Network]:
    solved = Exact(game, rows, columns)
    return solved, make_family_rules(game, rows, columns), solved.network()


@pytest.mark.parametrize(
    ("game", "shape"),
    [
        pytest.param(GAMES["2584"], (2, 2), id="2584", marks=pytest.mark.slow),
        pytest.param(WORTHY, (2, 2), id="worthy", marks=pytest.mark.slow),
        pytest.param(SMALL, (2, 2), id="threes", marks=pytest.mark.slow),
        pytest.param(SMALL, (1, 4), id="threes in a line, where values depend on the places of the next tile"),
    ],
)
def test_searches_over_exact_values_find_exact_values(game: Game, shape: tuple[int, int]) -> None:
    solved, rules, network = exact(game, *shape)
    values = np.zeros(4, np.float32)
    configs = [ExpectimaxConfig(plies=plies, leaf_bits=8, node_bits=8) for plies in (1, 2, 3)]
    searches = [make_expectimax(rules, network, config) for config in configs]
    searched = 0
    for state in solved.states(80):
        board, truth = family_events.encode_state(state), solved.moves(state)
        expected = [float(truth[action]) if action in truth else -np.inf for action in range(4)]
        for search in searches:
            search_moves(search, board, values)
            np.testing.assert_allclose(values, expected, rtol=1e-5)
        if len(truth) == 1:  # all simulations go through one move: each of its events is visited once
            ((action, _),) = truth.items()
            move = game.move(state, action)
            assert move
            after, _ = family.afterstate(rules, board, action)
            events = len(move.after.places) * family_events.count_placements(rules, back(after))
            config = MCTSConfig(simulations=2 + events, c=0.1, backup="expectimax")
            planned = make_search(rules, network, config)
            search_tree(planned, board, False)
            assert planned.tree.q_values[ROOT, action] == pytest.approx(float(truth[action]), rel=1e-5)
            searched += 1
    assert searched > 3


BACKWARD = {"method": "lambda_return", "steps": 3, "direction": "backward"}
TARGETS = [
    BACKWARD,
    {"method": "delayed"},
    {"method": "expected"},
    {"method": "td"},
    {"method": "td", "direction": "backward"},
    {"method": "n_step", "steps": 3},
    {"method": "n_step", "steps": 3, "direction": "backward"},
    {"method": "lambda_return", "steps": 3},
    {"method": "trace"},
    {"method": "trace", "direction": "backward"},
    {"search": {"simulations": 2, "c": 0.0}},
]


@pytest.mark.parametrize(
    "target", others_slow(TARGETS, BACKWARD), ids=lambda target: "-".join(map(str, target.values()))[:30]
)
@pytest.mark.parametrize(
    "game", [pytest.param(WORTHY, id="worthy", marks=pytest.mark.slow), pytest.param(SMALL, id="threes")]
)
def test_every_target_learns_the_points_of_moves_and_of_placed_tiles(game: Game, target: dict, monkeypatch) -> None:
    """After a training on 2x2 values of afterstates and the score of play are, on the whole, the exact ones."""
    solved, rules, _ = exact(game)
    plain = {"rows": 2, "columns": 2, "network": ["0123"], "threads": 1, "target": target, "levels": 16}
    moves = 1_500_000
    plain |= {"game": game.name, "places": game is SMALL, "v_init": 100.0}
    plain |= {"env_steps": moves, "report_env_steps": moves}
    plain["step_size"] = {"adaptive_fraction": 0.0, "alpha": 0.1, "alpha_steps": [[0.5, 0.01]]}
    learner = NTupleLearner(from_plain(NTupleConfig, plain), seed=2)
    monkeypatch.setattr(learner, "_rules", rules)  # of a variant without a name
    learner.advance()
    values, truths, lookup = [], [], make_lookup(learner.network, 1)
    for state in solved.states(300):
        moves_of_state = solved.moves(state)
        action = max(moves_of_state, key=lambda action: moves_of_state[action])
        after, points = family.afterstate(rules, family_events.encode_state(state), action)
        values.append(value_of(rules, learner.network, back(after), lookup))
        truths.append(float(moves_of_state[action]) - points)
    assert np.mean(values) == pytest.approx(np.mean(truths), rel=0.06)
    assert learner.player().play(4000, 3).score.mean() == pytest.approx(float(solved.start), rel=0.04)


@pytest.mark.slow
def test_values_of_states_and_actions_are_learned_too() -> None:
    for values, network in (("state", "0123"), ("action", "0123")):
        plain = {"game": "2584", "rows": 2, "columns": 2, "network": [network], "threads": 1, "values": values}
        plain["v_init"] = 150.0
        config = from_plain(NTupleConfig, {**plain, "env_steps": 100_000, "report_env_steps": 100_000})
        learner = NTupleLearner(config, seed=2)
        learner.advance()
        score = learner.player().play(4000, 3).score.mean()
        assert score == pytest.approx(float(exact(GAMES["2584"])[0].start), rel=0.05)


@pytest.mark.slow
def test_all_starts_of_training_games_are_legal_positions() -> None:
    """Each kind of start on 4x4 Threes!: games go on from it, and no thread stops at a board that it cannot play."""
    kinds = [
        {"kind": "restart", "restart": {"moves": 10}},
        {"kind": "carousel", "carousel": {"stages": ["48", "96"], "size": 8}},
        {"kind": "jump_start", "jump_start": {"tiles": [96, 48], "fraction": 0.9}},
    ]
    for start in kinds:
        plain = {"game": "threes", "network": ["0123"], "threads": 1, "start": start, "env_steps": 40_000}
        plain |= {"report_env_steps": 40_000, "target": BACKWARD}  # with the history, which restarts need
        learner = NTupleLearner(from_plain(NTupleConfig, plain), seed=1)
        report = learner.advance()
        assert report["train/games"] < learner.progress["games"]
        for row in learner._state.games.rows[0]:
            board = Board(row[1], row[2])
            assert decode(learner._rules, board).max() > 0
            assert has_move(learner._rules, board) in (True, False)
            state = family_events.decode_state(learner._rules, board)
            assert 1 <= state.hint <= 4
            assert 1 <= sum(state.bag) <= 12


def test_a_checkpoint_of_another_game_is_refused(tmp_path) -> None:
    plain = {"network": ["0123"], "threads": 1, "env_steps": 2000, "report_env_steps": 2000}
    learner = NTupleLearner(from_plain(NTupleConfig, {**plain, "game": "threes"}), seed=1)
    learner.advance()
    learner.save(tmp_path)
    again = NTupleLearner(learner.config, seed=2)
    again.restore(tmp_path)
    np.testing.assert_array_equal(again.network.weights, learner.network.weights)
    other = NTupleLearner(from_plain(NTupleConfig, {**plain, "game": "threes-far-side"}), seed=1)
    with pytest.raises(ValueError, match="saved with game = 'threes', but the config says 'threes-far-side'"):
        other.restore(tmp_path)
