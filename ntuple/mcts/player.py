"""The player by Monte Carlo tree search."""

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import Analysis
from ntuple.endgames.guide import load_endgames
from ntuple.game.any_game import AnyRules
from ntuple.game.episode import num_spawn_codes
from ntuple.game.rng import stream
from ntuple.learning.config import NTupleConfig
from ntuple.mcts.config import MCTSConfig
from ntuple.mcts.play import VARIATION, analyse_boards, play_on
from ntuple.mcts.search import TreeSearch, make_search
from ntuple.players.analysis import NO_BEST_MOVE, blank_analysis, part_of, words_of
from ntuple.players.one_by_one import OneByOnePlayer, PlayOn, in_parts, load_afterstate_values
from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.network import Network

SIMULATIONS_A_CALL = 100_000  # of the kernel, in several moves: 50 ms
SEARCH_STREAMS = np.uint64(0x6D637473)  # the searches of a game draw from other streams than its spawns


class MCTSPlayer(OneByOnePlayer):
    """Plays by Monte Carlo tree search over the values of a network."""

    effort_unit = "visits"

    def __init__(self, rules: AnyRules, network: Network, config: MCTSConfig, threads: int) -> None:
        super().__init__(rules, 1 if config.seconds else 1 + SIMULATIONS_A_CALL // config.simulations, threads)
        self._network, self._config = network, config
        self._endgames = load_endgames(rules, config)

    def analyse(
        self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32], draws: NDArray[np.uint16] | None = None
    ) -> Analysis:
        """Analyse boards [B, H, W]; the searches draw from the streams of the seeds [B]."""
        words = words_of(self._rules, boards, seeds, draws)
        streams = np.array([_stream(int(seed), 0) for seed in seeds], np.uint64)
        count = len(words)
        analysis = blank_analysis(count)._replace(
            variation=np.full((count, VARIATION, 2), -1, np.int16),
            outcomes=np.zeros((count, num_spawn_codes(self._rules), 3)),
        )

        def analyse_part(_: int, part: slice) -> None:
            search = make_search(self._rules, self._network, self._config)
            analyse_boards(search, self._endgames.guide, words[part], streams[part], part_of(analysis, part))

        in_parts(count, self._threads, analyse_part)
        if (analysis.reward[analysis.action < 0] >= 0).any():
            raise ValueError(NO_BEST_MOVE)
        _, advice = self._endgames.advise(self._rules, words, analysis.value)
        return analysis._replace(endgames=advice)

    def _begin(self, seed: int, number: int) -> PlayOn:
        return functools.partial(play_on, self.new_search(seed, number), self._endgames.guide)

    def new_search(self, seed: int, number: int) -> TreeSearch:
        """Return the search for game `number` of a seed."""
        search = make_search(self._rules, self._network, self._config)
        search.tree.rng[0] = _stream(seed, number)
        return search


def _stream(seed: int, number: int) -> np.uint64:
    return stream(np.uint64(seed) ^ SEARCH_STREAMS, np.uint64(number))


def load_mcts_player(folder: Path, config: NTupleConfig, search: MCTSConfig) -> MCTSPlayer:
    """Load the player of a checkpoint folder, on all cores; only the weights are read."""
    return MCTSPlayer(*load_afterstate_values(folder, config, "mcts"), search, available_cores())
