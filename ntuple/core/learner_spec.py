"""What a learner declares about itself: one `LearnerSpec` in its own package, such as ntuple/learning/spec.py.

launch/experiment/registry.py lists the modules of all specs. This file needs the standard library alone. Reading
a spec imports neither JAX nor numba: it names classes and functions as "module:attribute", imported when they are used.
"""

from collections.abc import Mapping
from typing import NamedTuple

Reference = str  # "module:attribute"

# Kinds of search that a learner's player can choose moves with.
ONE_PLY = "1ply"  # the best of the four moves, by the learner's own values
MCTS = "mcts"  # ntuple/mcts
EXPECTIMAX = "expectimax"  # ntuple/expectimax; for networks muzero2048/search/expectimax.py, in JAX
TREE = "tree"  # muzero2048/search, which runs in JAX


class LearnerSpec(NamedTuple):
    """All that launch has to know of a learner. The protocols are those of launch/experiment/interfaces.py."""

    config: Reference  # frozen dataclass of its settings: a LearnerConfig
    learner: Reference  # class of its training: a Learner, constructed as learner(config, seed)

    # Functions that load a Player from a checkpoint, by kind of search; a kind that is left out cannot be played.
    #   ONE_PLY      (folder, config)
    #   EXPECTIMAX   (folder, config, ExpectimaxConfig); with value="network" (folder, config, NetworkExpectimaxConfig)
    #   MCTS         (folder, config, MCTSConfig)
    #   TREE         (folder, config, SearchConfig)
    players: Mapping[str, Reference]

    uses_jax: bool  # in training
    memory_keys: str  # settings that decide how much memory a training takes, as words of a sentence
    several_processes: bool = False  # whether several processes can train one run together

    # Settings for tree search.
    value: str = ""  # what evaluates positions: network, ntuple
    models: tuple[str, ...] = ()  # what it can plan in: learned, simulator
    has_search_settings: bool = False  # whether it trains by tree search: its config has a SearchConfig `search`

    # Settings for training.
    threads_key: str = ""  # key of its config for the number of threads, 0 = all cores; "": it always takes all
    start_key: str = ""  # key of its config for the start of training games; "": always from normal starts
    begin_from: Reference = ""  # (learner, path, config): begin with the network of a checkpoint; "": it cannot
    # (folder of a checkpoint, config, boards, last depth, seed) -> errors of the learned model by name and depth
    diagnose: Reference = ""  # "": nothing to measure by depth
    network_files: tuple[str, ...] = ()  # suffixes of other files that `begin_from` reads; their config is None
