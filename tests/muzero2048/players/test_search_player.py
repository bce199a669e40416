"""Tests of whole games: they depend on (seed, number) and not on the lane, and their scores are possible."""

import dataclasses

import numpy as np
import pytest
from flax import nnx

from muzero2048.game.env import Game2048
from muzero2048.muzero.network_player import NetworkSetting, make_player
from muzero2048.players import search_player
from muzero2048.players.search_player import SearchPlayer
from ntuple.core.interfaces import Games
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


def test_the_trees_of_all_lanes_are_bounded() -> None:
    setting = NetworkSetting(Game2048(2, 2), CONFIG.search, 1.0, nnx.split(random_model(CONFIG, seed=0))[0])
    for simulations, lanes in ((1, 512), (4096, 512), (4097, 256), (50_000, 32), (65_536, 32)):
        search = dataclasses.replace(CONFIG.search, simulations=simulations)
        assert dataclasses.replace(setting, search=search).lanes == lanes


def test_lanes_take_the_next_game(plays: SearchPlayer, games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_player, "LANES", 6)
    search_player._make_play.cache_clear()
    few_lanes = make_player(CONFIG, *nnx.split(random_model(CONFIG, seed=0)))
    assert same(few_lanes.play(50, seed=7), games, 50)
    search_player._make_play.cache_clear()
