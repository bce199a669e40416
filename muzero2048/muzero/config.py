"""Configuration of the MuZero learner; ntuple/core/settings.py checks the values and defines `only_if`."""

from dataclasses import dataclass, replace
from typing import Literal

from muzero2048.networks.config import CELLS, GROUNDED, LATENT
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.search.config import SearchConfig
from muzero2048.training.config import TrainingConfig
from ntuple.core.settings import Settings, group, setting

MOST_WEIGHT = 1e6  # largest weight of a term of the loss


@dataclass(frozen=True)
class ChanceConfig(Settings, prefix="chance"):
    """Chance codes: encoder and size of the codebook."""

    encoder: Literal["learned", "surprise", "oracle"] = setting(
        "learned",
        "learned: straight-through one-hot codes of a network (Stochastic MuZero, sec. 4.2). surprise: the cell where "
        "h of the next board is farthest from the predicted afterstate, and the learned vector that fits best there "
        "(models/cells.py). oracle: the true spawn code.",
    )
    codes: int = setting(32, "C, size of the codebook; oracle needs at least 2*H*W.", at_least=1, at_most=2**15)


@dataclass(frozen=True)
class LossWeights(Settings, prefix="losses"):
    """Weights of the terms of the loss (muzero2048/muzero/losses.py)."""

    value: float = setting(0.25, "Weight of the loss of V(s).", at_least=0, at_most=MOST_WEIGHT)
    afterstate_value: float = setting(0.25, "Weight of the loss of V(as).", at_least=0, at_most=MOST_WEIGHT)
    policy: float = setting(1.0, "Weight of the loss of the policy.", at_least=0, at_most=MOST_WEIGHT)
    chance: float = setting(
        1.0, "Weight of the loss of the distribution of chance codes.", at_least=0, at_most=MOST_WEIGHT
    )
    reward: float = setting(1.0, "Weight of the loss of the reward of a move.", at_least=0, at_most=MOST_WEIGHT)
    commitment: float = setting(
        0.25,
        "Weight of the commitment loss: distance between the output of the chance encoder and the code.",
        at_least=0,
        at_most=MOST_WEIGHT,
        only_if="chance.encoder=learned",
    )
    reconstruction: float = setting(
        1.0,
        "Weight of the loss of the cells decoded from a state.",
        at_least=0,
        at_most=MOST_WEIGHT,
        only_if=GROUNDED,
    )
    consistency: float = setting(
        0.0,
        "Weight of the loss between the next state of g and h of the true next board; not for grounded models.",
        at_least=0,
        at_most=MOST_WEIGHT,
    )
    afterstate_consistency: float = setting(
        0.0,
        "Weight of the loss between the afterstate and h of the true next board. phi then predicts all that does not "
        "depend on chance, and learned codes are left with the spawn; without it codes describe the errors of phi.",
        at_least=0,
        at_most=MOST_WEIGHT,
        only_if="losses.consistency!=0.0",
    )


@dataclass(frozen=True)
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
        super().__post_init__()
        if self.bins == 1:
            self.refuse("bins", "0, or at least 2: a support has two ends")


@dataclass(frozen=True)
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
    unroll_steps: int = setting(
        5, "K, number of steps that the model is unrolled from each sampled position.", at_least=1, at_most=10**4
    )
    chance: ChanceConfig = group(ChanceConfig)
    search: SearchConfig = group(SearchConfig)
    reward: RewardConfig = group(RewardConfig, only_if=f"{LATENT} or {CELLS}")
    losses: LossWeights = group(LossWeights)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.losses.consistency and self.network.model == "grounded":
            self.losses.refuse("consistency", "0: network.model=grounded uses losses.reconstruction instead")
        cells = self.rows * self.columns
        spawns = 2 * cells
        by_cell = self.network.model == "cells" and self.network.cells.code_input == "cell"
        if self.chance.encoder == "oracle" and self.chance.codes < spawns:
            self.chance.refuse("codes", f"{spawns} or more: the oracle on {self.rows}x{self.columns} cells needs them")
        if self.chance.encoder == "oracle" and by_cell and self.chance.codes != spawns:
            self.chance.refuse("codes", f"{spawns}: with network.cells.code_input=cell the oracle has two codes a cell")
        if by_cell and self.chance.codes % cells:
            self.chance.refuse("codes", f"a multiple of {cells}, the cells of the board: network.cells.code_input=cell")
        if self.replay.fresh_steps and self.replay.reanalyse:
            self.replay.refuse("reanalyse", "0: with replay.fresh_steps a batch would have two kinds of targets")
        if self.chance.encoder == "surprise" and not (by_cell and self.losses.consistency):
            needed = "network.model=cells, network.cells.code_input=cell and a losses.consistency above 0"
            self.chance.refuse("encoder", f"learned or oracle: surprise needs {needed}")
        # A chunk then holds a whole sequence, and so does the replay buffer: its capacity is a multiple of the chunk.
        if self.chunk < self.sequence:
            parts = "unroll_steps + replay.fresh_steps" if self.replay.fresh_steps else "unroll_steps"
            self.refuse("chunk", f"more than {parts} = {self.sequence - 1}")

    @property
    def sequence(self) -> int:
        """Moves of a sampled sequence."""
        return self.unroll_steps + 1 + self.replay.fresh_steps

    @property
    def reward_codec(self) -> ValueCodec:
        """Code of the reward."""
        if not self.reward.bins:
            return self.value
        return replace(self.value, bins=self.reward.bins, h_max=self.reward.h_max)
