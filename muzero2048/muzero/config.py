"""Configuration of the MuZero learner; ntuple.settings checks the values and says what `only_if` means."""

from dataclasses import dataclass
from typing import Literal

from muzero2048.networks.config import GROUNDED
from muzero2048.search.config import SearchConfig
from muzero2048.training.config import TrainingConfig
from ntuple.settings import Settings, group, setting

MOST_WEIGHT = 1e6  # of a term of the loss


@dataclass(frozen=True)
class ChanceConfig(Settings, prefix="chance"):
    """Chance codes."""

    encoder: Literal["learned", "oracle"] = setting(
        "learned",
        "learned: straight-through one-hot codes (Stochastic MuZero, sec. 4.2). oracle: the true spawn code.",
    )
    codes: int = setting(32, "C, size of the codebook; the oracle needs at least 2*H*W.", at_least=1, at_most=2**15)


@dataclass(frozen=True)
class LossWeights(Settings, prefix="losses"):
    """Weights of the terms of the loss (muzero/losses.py)."""

    value: float = setting(0.25, "V(s) of the model.", at_least=0, at_most=MOST_WEIGHT)
    afterstate_value: float = setting(0.25, "V(as) of the model.", at_least=0, at_most=MOST_WEIGHT)
    policy: float = setting(1.0, "Policy of the model.", at_least=0, at_most=MOST_WEIGHT)
    chance: float = setting(1.0, "Distribution of the chance codes.", at_least=0, at_most=MOST_WEIGHT)
    reward: float = setting(1.0, "Reward of the move.", at_least=0, at_most=MOST_WEIGHT)
    commitment: float = setting(
        0.25,
        "Chance encoder: distance of its output from the code.",
        at_least=0,
        at_most=MOST_WEIGHT,
        only_if="chance.encoder=learned",
    )
    reconstruction: float = setting(1.0, "Decoded cells.", at_least=0, at_most=MOST_WEIGHT, only_if=GROUNDED)
    consistency: float = setting(
        0.0,
        "Next state of g against h of the true next board; latent model alone.",
        at_least=0,
        at_most=MOST_WEIGHT,
    )


@dataclass(frozen=True)
class MuZeroConfig(TrainingConfig):
    """One MuZero experiment."""

    bootstrap: Literal["best_child", "played", "improved_policy", "visit_mean", "network"] = setting(
        "best_child",
        "What the target bootstraps from at the next state. best_child: the best visited Q (Guei 2023, eq. 35). "
        "played: Q of the move played. improved_policy: Q expected under the improved policy. visit_mean: the mean "
        "over visits. network: V(s) without a search.",
    )
    ema_decay: float = setting(
        0.0,
        "Decay per update of the averaged parameters that play, reanalyse and are evaluated; 0: none.",
        at_least=0,
        below=1,
    )
    unroll_steps: int = setting(5, "K, steps of the model after each sampled position.", at_least=1, at_most=10**4)
    chance: ChanceConfig = group(ChanceConfig)
    search: SearchConfig = group(SearchConfig)
    losses: LossWeights = group(LossWeights)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.losses.consistency and self.network.model == "grounded":
            self.losses.refuse("consistency", "0: network.model=grounded has losses.reconstruction for that")
        spawns = 2 * self.rows * self.columns
        if self.chance.encoder == "oracle" and self.chance.codes < spawns:
            self.chance.refuse("codes", f"{spawns} or more: the oracle on {self.rows}x{self.columns} cells needs them")
        # The capacity is a multiple of the chunk, so it holds a sequence too.
        if self.chunk <= self.unroll_steps:
            self.refuse("chunk", f"more than unroll_steps = {self.unroll_steps}")
