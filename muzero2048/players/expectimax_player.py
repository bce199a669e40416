"""The player by expectimax over the values of a network (muzero2048/search/expectimax.py)."""

import functools
from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array, UInt32

from muzero2048.game.env import NUM_ACTIONS, Board
from muzero2048.players.analysis import Judge, JudgedBoards
from muzero2048.players.search_player import LANES, Params, PlayerSetting, SearchPlayer, SearchSetting
from muzero2048.search.config import NetworkExpectimaxConfig
from muzero2048.search.expectimax import Considered, all_moves, likely_moves, search_plies
from muzero2048.search.views import view_back, view_boards

ROWS = 2**15  # rows that a network evaluates at a time, at most; limits the lanes of deep searches


@dataclass(frozen=True)
class ExpectimaxSetting(PlayerSetting):
    """Play argmax_a Q_d(s, a) over the legal moves, Q averaged over the views."""

    effort_unit = "ply"
    world: SearchSetting  # gives the dynamics; of its search only `model` counts
    config: NetworkExpectimaxConfig

    @property
    def lanes(self) -> int:
        """Return the largest power of 2 for which the leaves of all boards are at most ROWS; at most LANES."""
        most = max(1, ROWS // (self.config.views * NUM_ACTIONS**self.config.plies))
        return min(LANES, 1 << (most.bit_length() - 1))

    def judge(self, params: Params) -> Judge:
        """Return the judge that searches: the best legal move and Q of all moves."""
        dynamics, considered, views = self.world.dynamics(params), self._considered(), self.config.views

        def judge(board: Board, _: UInt32[Array, "B"]) -> JudgedBoards:
            state = dynamics.root(view_boards(self.game, views, board)).state
            q_of_views = search_plies(dynamics, considered, state, self.config.plies, self.discount)
            q = view_back(self.game, views, q_of_views).mean(axis=1)
            action = jnp.argmax(jnp.where(self.game.legal_actions(board), q, -jnp.inf), axis=-1)
            return JudgedBoards(action, q, jnp.full(q.shape, self.config.plies, jnp.int32))

        return judge

    def _considered(self) -> Considered:
        if self.config.model == "simulator":
            return lambda decision: self.game.legal_actions(decision.state)  # needs no network
        return functools.partial(likely_moves, self.config.least_prior) if self.config.least_prior else all_moves


def make_expectimax_player(world: SearchSetting, params: Params, config: NetworkExpectimaxConfig) -> SearchPlayer:
    """Return the player.

    `world` is a tree search with the same values; its dynamics are used, in the model that `config` names.
    """
    world = replace(world, search=replace(world.search, model=config.model))
    return SearchPlayer(ExpectimaxSetting(world.game, world.discount, world, config), params)
