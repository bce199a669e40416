"""The files of examples/: each runs, and equals plain versions of its parts. The slow tests hold the scores."""

import importlib.util
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions, rules

from muzero2048 import Game2048

ROOT = Path(__file__).parent.parent
OPTIMUM_2X3 = 480.258


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def td() -> ModuleType:
    return load("td_afterstate")


@pytest.fixture(scope="module", autouse=True)
def rank_promotion() -> Iterator[None]:
    """The examples are read, so they use plain broadcasting."""
    with jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def muzero() -> ModuleType:
    """Return the example with the smallest sizes."""
    module = load("stochastic_muzero")
    small = {"WIDTH": 8, "LINE_WIDTH": 8, "SIMULATIONS": 4, "ENVS": 4, "CHUNK": 16, "BUFFER": 32, "BATCH": 64, "K": 1}
    for name, number in small.items():
        assert hasattr(module, name)
        setattr(module, name, number)
    return module


def random_boards(rng: np.random.Generator, count: int) -> list[rules.Board]:
    return [positions.random_board(rng, 4, 4, largest=8) for _ in range(count)]


def test_td_moves_as_the_rules(td: ModuleType, rng: np.random.Generator):
    after = np.zeros(16, np.int64)
    for board in random_boards(rng, 100):
        for action in rules.ACTIONS:
            reward = td.move(np.array(board).ravel(), action, after)
            expected, points = rules.afterstate(board, action)
            assert after.tolist() == rules.cells(expected)
            assert reward == (points if expected != board else -1)


def test_td_spawns_as_the_rules(td: ModuleType, rng: np.random.Generator):
    board = np.array([0, 3] * 8)
    tiles = np.zeros((16, 3))
    for _ in range(2000):
        spawned = board.copy()
        td.spawn(rng, spawned)
        [cell] = np.flatnonzero(spawned != board)
        tiles[cell, spawned[cell]] += 1
    expected = rules.chance_probabilities(tuple(map(tuple, board.reshape(4, 4))))
    for cell in range(16):
        for is_four in (0, 1):
            share = float(expected.get(2 * cell + is_four, 0))
            assert tiles[cell, 1 + is_four] / 2000 == pytest.approx(share, abs=4 * (share / 2000) ** 0.5)


class PlainTD:
    """TD(0) with TC on the tuples of the example: one dictionary for each tuple, rounded as a table of float32."""

    def __init__(self, td: ModuleType):
        self.tuples, self.spawn_on = td.TUPLES.tolist(), td.spawn
        self.weights, self.errors, self.sizes = ([defaultdict(float) for _ in self.tuples] for _ in range(3))

    def entries(self, board: rules.Board) -> list[tuple[int, tuple[int, ...]]]:
        views = [rules.cells(view) for view in rules.symmetries(board)]
        return [(m, tuple(view[i] for i in cells)) for m, cells in enumerate(self.tuples) for view in views]

    def value(self, board: rules.Board) -> float:
        return sum(self.weights[m][entry] for m, entry in self.entries(board))

    def learn(self, board: rules.Board, delta: float) -> None:
        entries = self.entries(board)
        for m, entry in entries:
            error, size = np.float32(self.errors[m][entry]), np.float32(self.sizes[m][entry])
            rate = float(abs(error) / size) if size else 1.0
            for table, change in ((self.weights, delta / 32 * rate), (self.errors, delta), (self.sizes, abs(delta))):
                table[m][entry] = float(np.float32(table[m][entry] + change))
        assert len(entries) == 32

    def play(self, rng: np.random.Generator) -> tuple[int, int]:
        score, moves, last = 0, 0, None
        board = self.spawn(rng, self.spawn(rng, ((0,) * 4,) * 4))
        while True:
            options = [rules.afterstate(board, action) for action in rules.ACTIONS]
            options = [(reward + self.value(after), reward, after) for after, reward in options if after != board]
            q, reward, after = max(options, key=lambda option: option[0], default=(0.0, 0, None))
            if last:
                self.learn(last, q - self.value(last))
            if not options:
                return score, moves
            score, moves, last, board = score + reward, moves + 1, after, self.spawn(rng, after)

    def spawn(self, rng: np.random.Generator, board: rules.Board) -> rules.Board:
        """Spawn by the tested function of the example: numpy and numba draw other numbers from a generator."""
        cells = np.array(board).ravel()
        self.spawn_on(rng, cells)
        return tuple(map(tuple, cells.reshape(4, 4).tolist()))


def test_td_learns_as_the_plain_version(td: ModuleType):
    plain, rng = PlainTD(td), np.random.default_rng(3)
    expected = [plain.play(rng) for _ in range(2)]
    tables = np.zeros((3, len(td.TUPLES), 16**6), np.float32)
    scores, moves = td.play(np.random.default_rng(3), 2, *tables)
    assert list(zip(scores.tolist(), moves.tolist(), strict=True)) == expected
    for m, weights in enumerate(plain.weights):
        for entry, weight in weights.items():
            place = sum(level << 4 * (5 - i) for i, level in enumerate(entry))
            assert tables[0, m, place] == pytest.approx(weight, rel=1e-3, abs=1e-3)


def test_td_runs(td: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["td_afterstate.py", "--games", "20"])
    td.main()
    assert len(re.findall("mean score", capsys.readouterr().out)) == 10


def test_the_search_of_another_game_is_optimal(capsys: pytest.CaptureFixture[str]):
    dice = load("search_another_game")
    dice.main()
    count = len(dice.reachable())
    assert count == 56
    assert f"{count} of {count} moves of the search are optimal" in capsys.readouterr().out


def test_the_optimum_of_the_other_game():
    """By hand: one die of 4 faces and 8 points: (10 + 11 + 12) / 4; with 9 points stopping is as good."""
    dice = load("search_another_game")
    assert dice.optimum(8, 0b0011) == (8.0, 8.25, -np.inf, -np.inf)
    assert dice.optimum(9, 0b0011)[:2] == (9.0, 9.0)


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 2), (2, 2)])
def test_muzero_lines(muzero: ModuleType, rows: int, columns: int):
    lines, places = muzero.move_lines(rows, columns)
    for action in rules.ACTIONS:
        padded = [[cell for cell in line if cell < rows * columns] for line in lines[action].tolist()]
        assert [line for line in padded if line] == rules.lines(rows, columns, action)
        assert lines[action].ravel()[places[action]].tolist() == list(range(rows * columns))


def test_muzero_numbers(muzero: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """2.5 lies in the middle of the bins 1 and 4: weights 1/2 and 1/2."""
    monkeypatch.setattr(muzero, "BINS", 4)
    model = SimpleNamespace(support=jnp.array([0.0, 1.0, 4.0, 9.0]))
    logits = jnp.log(jnp.array([[0.1, 0.2, 0.3, 0.4]]))
    assert muzero.Model.mean(model, logits)[0] == pytest.approx(0.2 + 1.2 + 3.6)
    expected = -(np.log(0.2) + np.log(0.3)) / 2
    assert muzero.Model.cross_entropy(model, logits, jnp.array([2.5]))[0] == pytest.approx(expected)


class ToyModel:
    """A model of one state. Action 0 promises 10 points and its chance events give 0; action 1 earns 1 and gives 3."""

    codes = 2

    def h(self, cells: jax.Array) -> jax.Array:
        return jnp.zeros((len(cells), 1, 1))

    def f(self, state: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.zeros((len(state), 4)), state[:, 0, 0]

    def phi(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.array([10.0, 3.0, 50.0, -5.0])[action][:, None, None], jnp.array([0.0, 1.0, 0.0, 0.0])[action]

    def psi(self, afterstate: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.zeros((len(afterstate), 2)), afterstate[:, 0, 0]

    def g(self, afterstate: jax.Array, code: jax.Array) -> jax.Array:
        return jnp.where(afterstate == 10.0, -9.0, afterstate)

    def mean(self, numbers: jax.Array) -> jax.Array:
        return numbers


def test_muzero_searches_behind_chance_events(muzero: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """One visit an action believes the promise of action 0; the chance nodes disprove it. Action 2 is illegal."""
    legal, cells = jnp.array([[True, True, False, True]]), jnp.zeros((1, 4))
    for simulations, best in ((3, 0), (16, 1)):
        monkeypatch.setattr(muzero, "SIMULATIONS", simulations)
        action, policy = muzero.search(ToyModel(), cells, legal, jnp.zeros((1, 4)))
        assert action[0] == best
        assert policy[0, 2] == 0
        assert jnp.argmax(policy[0]) == best


def test_muzero_value_targets(muzero: ModuleType, rng: np.random.Generator):
    """z_t = r_t + (1 - lambda) v_{t+1} + lambda z_{t+1}, from the last move back."""
    v, reward, done = rng.random((2, 5)), rng.random((2, 5)), rng.random((2, 5)) < 0.3
    assert done.any()
    model = SimpleNamespace(h=lambda cells: cells, f=lambda state: (None, state[:, 0]), mean=lambda logits: logits)
    moves = muzero.Moves(None, jnp.array(v)[..., None], None, jnp.array(reward), jnp.array(done), None)
    targets = muzero.value_targets(model, moves)
    for row in range(2):
        z = v[row, -1]
        for t in reversed(range(5)):
            following = v[row, t] if t == 4 else 0.2 * v[row, t] + 0.8 * z
            z = reward[row, t] + (0.0 if done[row, t] else following)
            assert targets[row, t] == pytest.approx(z, rel=1e-5)


def test_muzero_names_the_chance_event(muzero: ModuleType):
    """The code is that of the cell that changed, and of its vector; `turn` chooses if no vector explains the change."""
    model = muzero.Model(Game2048(2, 2), nnx.Rngs(0))
    before = model.h(jnp.array([[1, 2, 3, 0], [0, 1, 4, 2], [0, 1, 4, 2]]))
    first, second = model.vectors[...]
    after = before.at[0, 3].set(model.write(before[0, 3], second)).at[1, 0].set(model.write(before[1, 0], first))
    after = after.at[2, 1].set(-before[2, 1])
    for turn, expected in ((0, (7, 0, 2)), (1, (7, 0, 3))):
        code = model.e(before, after, jnp.full(3, turn))
        assert (code == jax.nn.one_hot(jnp.array(expected), 8)).all()


def test_muzero_runs(muzero: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Train for three rounds; look at the batch that the last update would sample."""
    batches = []
    learn, evaluate = muzero.learn, muzero.evaluate
    monkeypatch.setattr(muzero, "evaluate", lambda *words: evaluate(*words[:-1], games_each=2))

    def watched(game, graphdef, optimizer, learner, buffer, moves, end, key):
        result = learn(game, graphdef, optimizer, learner, buffer, moves, end, key)
        batches.append(muzero.sample(game, key, result[1], end))
        return result

    monkeypatch.setattr(muzero, "learn", watched)
    monkeypatch.setattr(sys, "argv", ["stochastic_muzero.py", "--board", "2x2", "--moves", "192"])
    muzero.main()
    assert re.search(r"greedy: \d+\.\d \+- \d+\.\d points, 8 games", capsys.readouterr().out)
    assert len(batches) == 3
    for batch in batches:
        moves_follow_the_rules(batch, 2, 2)


def moves_follow_the_rules(batch: tuple, rows: int, columns: int) -> None:
    """Check moves in all views: the reward and the afterstate are those of the rules, and one empty cell was filled."""
    cells, following, actions, rewards, done, policy = map(np.asarray, batch)

    def board(levels: np.ndarray) -> rules.Board:
        return tuple(map(tuple, levels.reshape(rows, columns).tolist()))

    for row in range(len(cells)):
        for t in range(cells.shape[1]):
            before, after = board(cells[row, t]), board(following[row, t])
            moved, reward = rules.afterstate(before, actions[row, t])
            assert moved != before
            assert rewards[row, t] == reward
            [[old, new]] = [
                pair for pair in zip(rules.cells(moved), rules.cells(after), strict=True) if len({*pair}) == 2
            ]
            assert old == 0
            assert new in (1, 2)
            assert done[row, t] == rules.is_over(after)
            assert (policy[row, t] > 0).tolist() == list(rules.legal_actions(before))
            if t > 0 and not done[row, t - 1]:
                assert (cells[row, t] == following[row, t - 1]).all()


def run(*words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "NUMBA_"))}
    command = [sys.executable, f"examples/{words[0]}", *words[1:]]
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_td_reaches_20_000_points():
    last = run("td_afterstate.py").splitlines()[-1]
    assert float(last.split()[-1]) > 20_000


@pytest.mark.slow
def test_muzero_reaches_95_percent_of_the_optimum():
    last = run("stochastic_muzero.py").splitlines()[-1]
    assert float(last.split()[1]) > 0.95 * OPTIMUM_2X3
