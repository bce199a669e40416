"""Configuration that all learners on the device share."""

import math
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from muzero2048.game.env import BoardGame
from muzero2048.game.family_env import make_board_game
from muzero2048.networks.config import HAS_TRUNK, TABLES, NetworkConfig
from muzero2048.networks.value_codec import ValueCodec
from ntuple.core.games.definition import Game
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import GAMES, find_game
from ntuple.core.settings import Settings, Share, applies, group, required, setting

STORED = "replay.fresh_steps=0 or replay.priority_exponent!=0.0"  # stored returns are targets, or first priorities


class ReplayConfig(Settings, prefix="replay"):
    """The replay buffer: boards of self-play on the device, which are encoded when they are sampled."""

    capacity: int = setting(2**20, "Number of moves kept, over all environments.", at_least=1)
    batch_size: int = setting(1024, "Number of sequences in the batch of an update.", at_least=1, at_most=2**24)
    ratio: float = setting(1.0, "Sequences sampled for each move of self-play.", above=0, at_most=1e6)
    priority_exponent: float = setting(
        0.0,
        "alpha: positions of all environments are sampled in proportion to |error|^alpha; 0: uniformly (Stochastic "
        "MuZero: 1). The error is search value - target at first, and V(s) - target after the position has been "
        "sampled.",
        at_least=0,
        at_most=100,
    )
    importance_exponent: float = setting(
        0.0, "beta: samples are weighted by (N p)^-beta (Stochastic MuZero: 1).", at_least=0, at_most=100
    )
    reanalyse: float = setting(
        0.0,
        "Share of the samples whose value and policy targets come from a new search with the current parameters.",
        at_least=0,
        at_most=1,
    )
    fresh_steps: int = setting(
        0,
        "n: the value targets of a sampled position are the rewards of the next n stored moves and V of the board "
        "after them by the parameters that play, instead of the stored lambda-return; td_lambda, td_steps and "
        "bootstrap then matter to metrics and first priorities only. 0: the stored returns. For a learner whose buffer "
        "is large, because stored targets bootstrap from old values (muzero2048/muzero/new_targets.py).",
        at_least=0,
        at_most=2**20,
    )
    fresh_long_steps: int = setting(
        0,
        "N: value targets are means of the return of n moves and, with the weight w, that of N moves, which tells how "
        "long the game will last; 0: none.",
        at_least=0,
        at_most=2**20,
        only_if="replay.fresh_steps!=0",
    )
    fresh_long_weight: float = setting(
        0.2, "w, weight of the return of N moves.", above=0, at_most=1, only_if="replay.fresh_long_steps!=0"
    )

    def __post_init__(self) -> None:
        if self.fresh_long_steps and self.fresh_long_steps <= self.fresh_steps:
            self.refuse("fresh_long_steps", f"more than replay.fresh_steps = {self.fresh_steps}, or 0")
        if self.importance_exponent and not self.priority_exponent:
            self.refuse("importance_exponent", "0, or set replay.priority_exponent: it corrects prioritized sampling")

    @property
    def fresh_returns(self) -> dict[int, float]:
        """Moves of each fresh return -> its weight; empty: the targets are the stored returns."""
        if not self.fresh_steps:
            return {}
        if not self.fresh_long_steps:
            return {self.fresh_steps: 1.0}
        return {self.fresh_steps: 1.0 - self.fresh_long_weight, self.fresh_long_steps: self.fresh_long_weight}

    @property
    def reanalysed(self) -> int:
        """Number of sequences of a batch that are searched again."""
        return max(1, round(self.reanalyse * self.batch_size)) if self.reanalyse else 0


class OptimizerConfig(Settings, prefix="optimizer"):
    """Rule and learning rates of the updates (muzero2048/training/optimizer.py)."""

    kind: Literal["adam", "adadelta"] = setting(
        "adam",
        "adam: AdamW. adadelta: AdaDelta (Zeiler 2012; Guei 2023, sec. 4.4.2), which finds its step sizes itself: give "
        "learning_rate and final_learning_rate 1, the factor of its steps.",
    )
    learning_rate: float = setting(1e-3, "Learning rate at the first update.", above=0, at_most=1e3)
    final_learning_rate: float = setting(
        1e-4,
        "Learning rate at the last planned update; the change is linear.",
        above=0,
        at_most=1e3,
        only_if="optimizer.learning_rate_steps=",
    )
    learning_rate_steps: tuple[tuple[Share, Annotated[float, Field(gt=0, le=1e3)]], ...] = setting(
        (),
        "Later learning rates, as pairs [share of the planned updates, rate from then on], such as [[0.5, 0.0001]], "
        "instead of the linear change.",
    )
    max_gradient_norm: float = setting(5.0, "Gradients are clipped to this global norm.", above=0, at_most=1e12)
    weight_decay: float = setting(0.0, "Decoupled weight decay, as in AdamW.", at_least=0, at_most=1e3)
    table_learning_rate: float = setting(
        1.0,
        "alpha of the value tables, before it is multiplied by the coherence (muzero2048/networks/value_tables.py).",
        at_least=0,
        at_most=1,
        only_if=TABLES,
    )

    def __post_init__(self) -> None:
        self.check_ascending("learning_rate_steps")


class TrainingConfig(Settings):
    """Configuration shared by the learners on the device: game, value targets, rounds, replay, network, optimizer.

    A round plays `chunk` moves of each of `num_envs` games, then makes `updates_per_chunk` updates.
    """

    env_steps: int = required("Training budget in moves.", at_least=1)
    report_env_steps: int = required("Moves between two reports of the metrics.", at_least=1)
    game: str = setting(
        "2048",
        f"The game: {', '.join(GAMES)}. threes on boards smaller than 4x4 is threes-small. Networks see hint and bag.",
    )
    rows: int = setting(4, "H, height of the board.", at_least=2, at_most=4)
    columns: int = setting(4, "W, width of the board.", at_least=2, at_most=4)
    discount: float = setting(0.999, "gamma, discount of a move.", above=0, at_most=1)
    td_lambda: float = setting(0.5, "lambda of the value target.", at_least=0, at_most=1, only_if=STORED)
    td_steps: int = setting(
        10,
        "n, number of steps after which the target bootstraps for any lambda.",
        at_least=1,
        at_most=10**6,
        only_if=STORED,
    )
    optimistic_value: float = setting(
        0.0,
        "Initial value of every board, in points; a value above the possible scores leads to exploration (Guei et al. "
        "2022; for MuZero Guei 2023, sec. 4.4.4). 0: a low value; 0 for value tables, a twentieth of the support in "
        "units of h for a head.",
        at_least=0,
    )
    num_envs: int = setting(256, "Number of games played in parallel.", at_least=1, at_most=2**24)
    chunk: int = setting(32, "Moves of each game between two rounds of updates.", at_least=1, at_most=2**20)
    symmetry: bool = setting(True, "Replace each sample by a random one of its 8 symmetric views (4 if oblong).")
    network: NetworkConfig = group(NetworkConfig)
    value: ValueCodec = group(ValueCodec)
    replay: ReplayConfig = group(ReplayConfig)
    optimizer: OptimizerConfig = group(OptimizerConfig)

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            self.refuse("game", f"one of: {', '.join(GAMES)}")
        find_game(self.game, self.rows, self.columns)  # refuses a board that the first tiles fill
        too_small = self.network.trunk == "cnn_2x2" and min(self.rows, self.columns) < 3
        if too_small and applies(HAS_TRUNK, self):
            self.network.refuse(
                "trunk", f"cnn_3x3: two layers of 2x2 leave nothing of {self.rows}x{self.columns} cells"
            )
        if self.optimistic_value > self.largest_value:
            end = f"{self.largest_value:.0f}, the end of the value support"
            self.refuse("optimistic_value", f"0 to {end}, or raise value.h_max")
        updates = self.chunk_moves * self.replay.ratio / self.replay.batch_size
        if updates < 1 or not math.isclose(updates, round(updates)):
            raise ValueError(
                f"num_envs * chunk * replay.ratio / replay.batch_size is {updates:g} updates a chunk; "
                "give values with which it is a whole number of at least 1"
            )
        if self.replay.capacity % self.chunk_moves:
            self.replay.refuse("capacity", f"a multiple of num_envs * chunk = {self.chunk_moves}")

    @property
    def rules(self) -> Game:
        """The definition of the game."""
        return find_game(self.game, self.rows, self.columns)

    @property
    def board_game(self) -> BoardGame:
        """The game on its board: the only place that chooses the environment of a training."""
        return make_board_game(self.game, self.rows, self.columns)

    @property
    def spawn_codes(self) -> int:
        """S, the number of chance events of the game."""
        return self.board_game.num_spawn_codes

    @property
    def more_inputs(self) -> int:
        """Bytes of an observation after the cells: hint, and tiles of each kind in the bag."""
        return self.board_game.observation_size - self.rows * self.columns

    @property
    def board_network(self) -> NetworkConfig:
        """The network with a plane for each value that a byte of an observation can have."""
        if self.game == GAME_2048.name:
            return self.network
        levels = len(self.rules.tiles) + (self.rules.placement != "anywhere")
        return replace(self.network, tile_levels=levels)

    @property
    def largest_value(self) -> float:
        """Largest value that the output can represent, in points."""
        return self.value.largest

    @property
    def chunk_moves(self) -> int:
        """Moves of all games between two rounds of updates."""
        return self.num_envs * self.chunk

    @property
    def filling_chunks(self) -> int:
        """Chunks that are played before the first round."""
        return 0

    @property
    def updates_per_chunk(self) -> int:
        """Number of updates in a round."""
        return round(self.chunk_moves * self.replay.ratio / self.replay.batch_size)

    @property
    def total_updates(self) -> int:
        """Planned number of updates of the whole run, whose last chunk is whole."""
        chunks = -(-self.env_steps // self.chunk_moves)
        return max(1, chunks - self.filling_chunks) * self.updates_per_chunk
