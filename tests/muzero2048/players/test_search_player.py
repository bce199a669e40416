"""Tests of whole games: they depend on (seed, number) and not on the lane, and their scores are possible."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from muzero2048.game.env import Board, Game2048
from muzero2048.muzero.network_player import NetworkSetting, make_player
from muzero2048.players import lanes, search_player
from muzero2048.players.analysis import Judge, JudgedBoards
from muzero2048.players.search_player import PlayerSetting, SearchPlayer
from ntuple.core.interfaces import Games, SoFar
from tests.muzero2048.toy_model import random_model, small_config

CONFIG = small_config(rows=2, columns=2)


@pytest.fixture(scope="module")
def plays() -> SearchPlayer:
    return make_player(CONFIG, *nnx.split(random_model(CONFIG, seed=0)))


@pytest.fixture(scope="module")
def games(plays: SearchPlayer) -> Games:
    return plays.play(200, seed=7)


def test_games(games: Games) -> None:
    for column in (games.score, games.max_tile, games.moves):
        assert column.dtype == np.int64
        assert column.shape == (200,)
    assert games.seconds > 0
    assert len(np.unique(games.score)) > 10
    level = np.log2(games.max_tile)
    assert (level == level.round()).all()
    # The merges up to a tile 2^k give (k - 1) 2^k points if all spawns are 2s, (k - 2) 2^k if all are 4s. A 2x2 board
    # has at most four such tiles.
    assert (games.score >= (level - 2) * games.max_tile).all()
    assert (games.score <= 4 * (level - 1) * games.max_tile).all()
    # Every spawn adds 2 or 4 to the sum of the tiles; two spawns precede the first move.
    assert (2 * (games.moves + 2) <= 4 * games.max_tile).all()
    assert (4 * (games.moves + 2) >= games.max_tile).all()


def same(one: Games, other: Games, number: int) -> bool:
    return all(
        np.array_equal(getattr(one, name)[:number], getattr(other, name)[:number])
        for name in ("score", "max_tile", "moves")
    )


def test_a_game_depends_on_seed_and_number(plays: SearchPlayer, games: Games) -> None:
    assert same(plays.play(50, seed=7), games, 50)
    assert same(plays.play(200, seed=7), games, 200)
    assert not same(plays.play(200, seed=8), games, 200)
    assert len({tuple(row) for row in np.stack([games.score, games.moves], axis=1)}) > 10  # the games differ


@dataclasses.dataclass(frozen=True)
class FirstLegalMove(PlayerSetting):
    """Makes the first legal move; says the sum of the tiles, and of other moves nothing."""

    effort_unit = "ply"

    def judge(self, params: object) -> Judge:
        def judge(board: Board, seeds: jax.Array) -> JudgedBoards:
            action = jnp.argmax(self.game.legal_actions(board), axis=-1)
            cells = self.game.flat_cells(board).astype(jnp.int32)
            total = jnp.where(cells > 0, 1 << cells, 0).sum(axis=-1).astype(jnp.float32)
            value = jnp.where(jax.nn.one_hot(action, 4, dtype=bool), total[:, None], jnp.nan)
            return JudgedBoards(action, value, jnp.ones(value.shape, jnp.int32))

        return judge


def test_the_mark_is_a_position_of_the_game_with_its_return() -> None:
    """Compared with the same games, played one move at a time on the host."""
    game, seed, discount = Game2048(2, 2), jnp.uint32(7), 0.9
    marks = SearchPlayer(FirstLegalMove(game, discount), jnp.zeros(())).play(40, seed=7).marks
    assert marks is not None
    marked = []

    @jax.jit
    def begin(number: jax.Array) -> Board:
        return game.init_from_bits(lanes._random_bits(seed, number, jnp.array([0]))[0])

    @jax.jit
    def move(number: jax.Array, board: Board, move: jax.Array) -> tuple[Board, jax.Array, jax.Array, jax.Array]:
        after, reward = game.afterstate(board, jnp.argmax(game.legal_actions(board), axis=-1))
        following, _ = game.spawn_from_bits(lanes._random_bits(seed, number, move)[0], after)
        return following, game.flat_cells(board)[0], reward[0], game.is_over(following)[0]

    for number, (value, gain) in enumerate(zip(*marks, strict=True)):
        board, sums, rewards, over = begin(jnp.array([number])), [], [], False
        while not over:
            board, cells, reward, over = move(jnp.array([number]), board, jnp.array([len(sums) + 1]))
            sums.append(sum(1 << level for level in cells.tolist() if level))
            rewards.append(int(reward))
        place = sums.index(int(value))  # the sum of the tiles grows with every move
        assert gain == pytest.approx(sum(discount**k * reward for k, reward in enumerate(rewards[place:])))
        marked.append(place / len(sums))
    assert 0.3 < np.mean(marked) < 0.6  # uniform over the moves
    assert np.std(marked) > 0.2


def test_the_trees_of_all_lanes_are_bounded() -> None:
    setting = NetworkSetting(Game2048(2, 2), 1.0, CONFIG.search, nnx.split(random_model(CONFIG, seed=0))[0])
    sizes = ((1, 1, 512), (4096, 1, 512), (4097, 1, 256), (50_000, 1, 32), (65_536, 1, 32), (4096, 8, 64))
    for simulations, views, most in sizes:
        search = dataclasses.replace(CONFIG.search, simulations=simulations, views=views)
        assert dataclasses.replace(setting, search=search).lanes == most


def test_lanes_take_the_next_game_and_can_be_watched(games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 games in 6 lanes take several calls of the program, between which the results can be read."""
    monkeypatch.setattr(search_player, "LANES", 6)
    search_player._make_play.cache_clear()
    few_lanes = make_player(CONFIG, *nnx.split(random_model(CONFIG, seed=0)))
    program = few_lanes._compile(200, few_lanes._params)
    reads: list[Callable[[], SoFar]] = []
    seen: list[SoFar] = []

    def play(*asked: Any) -> Any:
        seen.append(reads[0]())
        return program.play(*asked)

    monkeypatch.setattr(few_lanes, "_compile", lambda *_: program._replace(play=play))
    assert same(few_lanes.play(200, 7, reads.append), games, 200)
    seen.append(reads[0]())
    done = [len(one.finished.score) for one in seen]
    assert done == sorted(done)
    assert 0 == done[0] < done[1] < done[-1] == 200
    assert (seen[0].left, seen[-1].left) == (None, 0.0)
    assert all(one.left and one.left > 0 for one in seen[1:-1])
    assert set(seen[1].finished.score) <= set(games.score)
    search_player._make_play.cache_clear()
