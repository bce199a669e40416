"""Configuration of the learner of TD-afterstate and Q-learning (muzero2048/training/config.py has the shared keys)."""

import math
from typing import Literal

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.networks.config import TRUNK_HAS_BLOCKS, LatentConfig, NetworkConfig
from muzero2048.networks.value_codec import ScalarCodec, ValueCodec
from muzero2048.training.config import TrainingConfig
from ntuple.core.settings import Settings, group, keys_of, setting


class EpsilonConfig(Settings, prefix="exploration"):
    """Probability epsilon of a random move in self-play; it falls linearly to `final_epsilon`, then is constant."""

    epsilon: float = setting(0.0, "Probability of a random move at the start.", at_least=0, at_most=1)
    final_epsilon: float = setting(
        0.0, "Probability of a random move after the decay; at most epsilon.", at_least=0, at_most=1
    )
    decay: float = setting(
        0.5,
        "Share of the training budget during which epsilon falls to final_epsilon.",
        above=0,
        at_most=1,
        only_if="exploration.epsilon!=0.0",
    )

    def __post_init__(self) -> None:
        if self.final_epsilon > self.epsilon:
            self.refuse("final_epsilon", f"at most exploration.epsilon = {self.epsilon}")


class DeepTDConfig(TrainingConfig):
    """Configuration of a deep TD experiment; td_steps = 1 gives the targets of Guei 2023, sec. 4.4.2."""

    method: Literal["td_afterstate", "q_learning"] = setting(
        "td_afterstate",
        "td_afterstate: one value, of the board after the move. q_learning: one value for each move of a board.",
    )
    output: Literal["categorical", "scalar"] = setting(
        "categorical",
        "categorical: cross-entropy with the code of `value`. scalar: Huber loss between transformed values.",
    )
    network: NetworkConfig = group(NetworkConfig, conditions={"blocks": TRUNK_HAS_BLOCKS})
    exploration: EpsilonConfig = group(EpsilonConfig)
    value: ValueCodec = group(ValueCodec, only_if="output=categorical")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.network.model != "latent":
            self.network.refuse("model", "nothing: deep_td has no model of the game")
        for key in keys_of(LatentConfig):
            if getattr(self.network.latent, key.name) != key.default:
                self.network.latent.refuse(key.name, "nothing: deep_td has no model of the game")
        for name in ("priority_exponent", "reanalyse", "fresh_steps"):
            if getattr(self.replay, name):
                self.replay.refuse(name, "0: deep_td samples uniformly and keeps the stored targets")

    @property
    def largest_value(self) -> float:
        """Largest value that the output can represent, in points; infinite for a scalar, which has no support."""
        return self.value.largest if self.output == "categorical" else math.inf

    @property
    def outputs(self) -> int:
        """Number of values that the network computes for a board."""
        return 1 if self.method == "td_afterstate" else NUM_ACTIONS

    @property
    def codec(self) -> ValueCodec | ScalarCodec:
        """Code of a value at the output of the network."""
        return self.value if self.output == "categorical" else ScalarCodec()
