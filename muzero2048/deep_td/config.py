"""What an experiment with TD-afterstate or Q-learning can set, beside what all learners on the device share."""

import math
from dataclasses import dataclass, field
from typing import Literal

from muzero2048.config import TrainingConfig
from muzero2048.env import NUM_ACTIONS
from muzero2048.value_codec import ScalarCodec, ValueCodec


@dataclass(frozen=True)
class ExplorationConfig:
    """Chance epsilon of a random move in self-play; it falls linearly and then stays."""

    epsilon: float = 0.0  # at the beginning
    final_epsilon: float = 0.0  # at the end
    decay: float = 0.5  # share of the training budget in which it falls

    def __post_init__(self) -> None:
        if not 0 <= self.final_epsilon <= self.epsilon <= 1:
            raise ValueError(
                f"exploration.epsilon = {self.epsilon}, exploration.final_epsilon = {self.final_epsilon}: "
                "needs 0 <= final_epsilon <= epsilon <= 1"
            )
        if not 0 < self.decay <= 1:
            raise ValueError(f"exploration.decay is {self.decay}: must be above 0 and at most 1")


@dataclass(frozen=True)
class DeepTDConfig(TrainingConfig):
    """One experiment; td_steps = 1 gives the targets of the early attempt."""

    # td_afterstate: one value of the board behind the move. q_learning: one of each of the four moves
    method: Literal["td_afterstate", "q_learning"] = "td_afterstate"
    # categorical: cross-entropy with the two-hot code of `value`. scalar: Huber loss between transformed values
    output: Literal["categorical", "scalar"] = "categorical"
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.network.model != "latent":
            raise ValueError(f"network.model is {self.network.model}: deep_td has no model of the game; leave it out")
        for name in ("priority_exponent", "reanalyse"):
            if getattr(self.replay, name):
                raise ValueError(
                    f"replay.{name} is {getattr(self.replay, name)}: deep_td samples uniformly and searches nothing "
                    "anew; leave it out"
                )

    @property
    def largest_value(self) -> float:
        """The largest value that can be said, in points: a scalar has no support."""
        return self.value.largest if self.output == "categorical" else math.inf

    @property
    def outputs(self) -> int:
        """Values that the network has for a board."""
        return 1 if self.method == "td_afterstate" else NUM_ACTIONS

    @property
    def codec(self) -> ValueCodec | ScalarCodec:
        """How the network says a value."""
        return self.value if self.output == "categorical" else ScalarCodec()
