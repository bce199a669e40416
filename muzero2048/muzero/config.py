"""Configuration of the MuZero learner; ntuple/core/settings.py checks the values and defines `only_if`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from muzero2048.models.chance_encoders import CHANCE_ENCODERS
from muzero2048.networks.config import CELLS, GROUNDED, LATENT
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.search.config import MOST_SIMULATIONS, SearchConfig
from muzero2048.training.config import TrainingConfig
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.settings import Settings, group, setting

MOST_WEIGHT = 1e6  # largest weight of a term of the loss

if TYPE_CHECKING:
    EncoderName = str
else:
    EncoderName = Literal[tuple(CHANCE_ENCODERS)]


class ChanceConfig(Settings, prefix="chance"):
    """Chance codes: encoder and size of the codebook."""

    encoder: EncoderName = setting(
        "learned", " ".join(f"{name}: {row.meaning}" for name, row in CHANCE_ENCODERS.items())
    )
    codes: int = setting(
        32,
        "C, size of the codebook; oracle needs at least the number of spawns of the game, in 2048 2*H*W.",
        at_least=1,
        at_most=2**15,
    )


def weight(default: float, of: str, only_if: str = "") -> Any:
    """Return the key of the weight of a term of the loss."""
    return setting(default, f"Weight of the {of}.", at_least=0, at_most=MOST_WEIGHT, only_if=only_if)


class LossWeights(Settings, prefix="losses"):
    """Weights of the terms of the loss (ntuple/core/loss_terms.py)."""

    value: float = weight(0.25, "loss of V(s)")
    afterstate_value: float = weight(0.25, "loss of V(as)")
    policy: float = weight(1.0, "loss of the policy")
    chance: float = weight(1.0, "loss of the distribution of chance codes")
    reward: float = weight(1.0, "loss of the reward of a move")
    commitment: float = weight(
        0.25,
        "commitment loss: distance between the output of the chance encoder and the code",
        only_if="chance.encoder=learned",
    )
    reconstruction: float = weight(1.0, "loss of the cells decoded from a state", only_if=GROUNDED)
    consistency: float = weight(
        0.0, "loss between the next state of g and h of the true next board; not for grounded models"
    )
    afterstate_consistency: float = weight(
        0.0,
        "loss between the afterstate and h of the true next board. phi then predicts all that does not depend on "
        "chance, and learned codes are left with the spawn; without it codes describe the errors of phi",
        only_if="losses.consistency!=0.0",
    )


class RewardConfig(Settings, prefix="reward"):
    """Support of the reward head of a latent model or a model of cells."""

    bins: int = setting(
        0,
        "Points of the support of the reward; 0: the support of the value. Rewards are mostly below 30 points, which a "
        "coarse support of the value puts into its first bin.",
        at_least=0,
        at_most=2**16,
    )
    h_max: float = setting(
        200.0,
        "Last point of the support, in units of h: h^-1(200) = 28,000 points, h^-1(2) = 8 points.",
        at_least=2,
        at_most=1e6,
        only_if="reward.bins!=0",
    )

    def __post_init__(self) -> None:
        if self.bins == 1:
            self.refuse("bins", "0, or at least 2: a support has two ends")


class MuZeroConfig(TrainingConfig):
    """Configuration of a MuZero experiment."""

    bootstrap: Literal["best_child", "played", "improved_policy", "visit_mean", "network"] = setting(
        "best_child",
        "Value from which the target bootstraps at the next state. best_child: the best Q of the visited moves (Guei "
        "2023, eq. 35). played: Q of the move played. improved_policy: expected Q under the improved policy. "
        "visit_mean: mean over visits. network: V(s) without a search.",
    )
    ema_decay: float = setting(
        0.0,
        "Decay per update of the averaged parameters, which play, reanalyse, give the values of fresh targets and are "
        "evaluated; 0: no averaging.",
        at_least=0,
        below=1,
    )
    self_play_simulations: int = setting(
        0,
        "n in self-play; 0: search.simulations, as in play and reanalysis. With a Gumbel root and at most "
        "search.gumbel.considered_actions there is no tree: the values choose the moves that they learn from, as those "
        "of n-tuples do.",
        at_least=0,
        at_most=MOST_SIMULATIONS,
    )
    unroll_steps: int = setting(
        5, "K, number of steps that the model is unrolled from each sampled position.", at_least=1, at_most=10**4
    )
    learning_starts: int = setting(
        0,
        "Moves played before the first update, in whole chunks; at least as many as a sequence needs. With "
        "run.begin_from, replay.capacity: updates on the first moves of games alone would spoil a trained network.",
        at_least=0,
    )
    chance: ChanceConfig = group(ChanceConfig)
    search: SearchConfig = group(SearchConfig)
    reward: RewardConfig = group(RewardConfig, only_if=f"{LATENT} or {CELLS}")
    losses: LossWeights = group(LossWeights)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.losses.consistency and self.network.model == "grounded":
            self.losses.refuse("consistency", "0: network.model=grounded uses losses.reconstruction instead")
        if self.network.model == "grounded" and self.game != GAME_2048.name:
            self.network.refuse("model", "latent or cells: the grounded model merges equal tiles, as 2048 does")
        CHANCE_ENCODERS[self.chance.encoder].check(self)
        cells = self.rows * self.columns
        by_cell = self.network.model == "cells" and self.network.cells.code_input == "cell"
        if by_cell and self.chance.codes % cells:
            self.chance.refuse("codes", f"a multiple of {cells}, the cells of the board: network.cells.code_input=cell")
        if self.network.model == "cells" and self.network.cells.shapes == ("rects",) and self.rows == self.columns == 2:
            self.network.cells.refuse("shapes", "lines or squares: no rectangle fits 2x2 cells")
        if self.replay.fresh_steps and self.replay.reanalyse:
            self.replay.refuse("reanalyse", "0: with replay.fresh_steps a batch would have two kinds of targets")
        columns = self.replay.capacity // self.num_envs
        if columns < self.sequence:
            least = self.chunk_moves * -(-self.sequence // self.chunk)
            self.replay.refuse("capacity", f"at least {least}: a sequence of {self.sequence} moves of each game")
        if self.learning_starts >= self.env_steps:
            self.refuse("learning_starts", f"less than env_steps = {self.env_steps}")
        filling = self.filling_chunks * self.chunk_moves
        if self.filling_chunks > 1 and filling >= self.env_steps:  # with one, a budget below it makes one round
            self.refuse("env_steps", f"more than {filling}: before, no game has a sequence of {self.sequence} moves")

    @property
    def in_self_play(self) -> "MuZeroConfig":
        """The same with the number of simulations of self-play."""
        simulations = self.self_play_simulations or self.search.simulations
        return replace(self, search=replace(self.search, simulations=simulations))

    @property
    def sequence(self) -> int:
        """Moves of a sampled sequence."""
        return self.unroll_steps + 1 + max(self.replay.fresh_returns, default=0)

    @property
    def filling_chunks(self) -> int:
        """Chunks that are played before the first round: the buffer then holds a sequence."""
        return max(-(-self.sequence // self.chunk), self.learning_starts // self.chunk_moves)

    @property
    def reward_codec(self) -> ValueCodec:
        """Code of the reward."""
        if not self.reward.bins:
            return self.value
        return replace(self.value, bins=self.reward.bins, h_max=self.reward.h_max)
