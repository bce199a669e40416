"""The player by expectimax search."""

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import Analysis
from ntuple.endgames.guide import load_endgames
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.heuristic import Heuristic, make_heuristic
from ntuple.expectimax.search import analyse_boards, play_on
from ntuple.expectimax.search_memory import Search, make_search
from ntuple.game.any_game import AnyRules
from ntuple.game.bitboard import make_rules
from ntuple.learning.config import NTupleConfig
from ntuple.players.analysis import NO_BEST_MOVE, blank_analysis, part_of, words_of
from ntuple.players.one_by_one import OneByOnePlayer, PlayOn, in_parts, load_afterstate_values
from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.network import Network

QUICK_PLIES = 3
QUICK_MOVES = 256  # made by one call of the kernel with up to QUICK_PLIES: 20 ms; deeper or timed searches make one


class ExpectimaxPlayer(OneByOnePlayer):
    """Plays the move of the highest value by expectimax search; leaves are valued by a network or a heuristic."""

    effort_unit = "ply"

    def __init__(self, rules: AnyRules, values: Network | Heuristic, config: ExpectimaxConfig, threads: int) -> None:
        """Make a player.

        Args:
            values: of afterstates; the weights of a network must not change while the player exists.

        Raises:
            ValueError: see `load_endgames`.
        """
        is_quick = config.plies <= QUICK_PLIES and not config.seconds
        super().__init__(rules, QUICK_MOVES if is_quick else 1, threads)
        self._values, self._config = values, config
        self._endgames = load_endgames(rules, config)

    def analyse(
        self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32], draws: NDArray[np.uint16] | None = None
    ) -> Analysis:
        """Analyse boards [B, H, W]; the seeds [B] have no effect, since nothing is drawn.

        With tile-downgrading the values are those of the downgraded boards.
        """
        words = words_of(self._rules, boards, seeds, draws)
        analysis = blank_analysis(len(words))

        def analyse_part(_: int, part: slice) -> None:
            analyse_boards(self._new_search(), words[part], part_of(analysis, part))

        in_parts(len(words), self._threads, analyse_part)
        if np.isnan(analysis.value).any():
            raise ValueError(NO_BEST_MOVE)
        rest, advice = self._endgames.advise(self._rules, words, analysis.value)
        can_move = (analysis.reward >= 0).any(axis=1)
        action = np.where(can_move, rest.argmax(axis=1), -1).astype(np.int8)
        return analysis._replace(action=action, endgames=advice)

    def _begin(self, seed: int, number: int) -> PlayOn:
        return functools.partial(play_on, self._new_search(), self._endgames.guide)

    def _new_search(self) -> Search:
        """Return the search with empty memory, so that games do not depend on each other."""
        return make_search(self._rules, self._values, self._config)


def load_expectimax_player(folder: Path, config: NTupleConfig, search: ExpectimaxConfig) -> ExpectimaxPlayer:
    """Load the player of a checkpoint folder, on all cores; only the weights are read.

    Raises:
        ValueError: see `load_afterstate_values` and `ExpectimaxPlayer`; or tiles are to be downgraded in another game
            than 2048.
    """
    if search.downgrade and not config.rules_of_game.doubles:
        raise ValueError(f"tile-downgrading halves tiles, and {config.game} has other ones; leave out search.downgrade")
    return ExpectimaxPlayer(*load_afterstate_values(folder, config, "expectimax"), search, available_cores())


def make_heuristic_player(rows: int, columns: int, search: ExpectimaxConfig) -> ExpectimaxPlayer:
    """Return the player with the heuristic, on all cores."""
    heuristic = make_heuristic(search.heuristic, rows, columns)
    return ExpectimaxPlayer(make_rules(rows, columns), heuristic, search, available_cores())
