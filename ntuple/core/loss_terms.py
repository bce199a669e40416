"""The terms of the MuZero loss and the diagnostics beside them, as values.

muzero2048/muzero/losses.py computes them, the learner reports them as `loss/` and `model/` with the names in lower
case, and launch/experiment/metrics.py makes metrics of them. A run of n-tuples reads the metrics too, and loads no
muzero2048: therefore the terms are here.
"""

from enum import Enum


class Loss(Enum):
    """A term of the loss: unit and meaning. Its weight is the key of its name in `LossWeights`."""

    VALUE = "nats", "cross-entropy of values against their targets (deep_td with scalar output: Huber loss of h)"
    AFTERSTATE_VALUE = "nats", "cross-entropy of afterstate values against their targets"
    POLICY = "nats", "cross-entropy of policies against the improved policies of the search"
    CHANCE = "nats", "cross-entropy of chance distributions against the codes"
    REWARD = "1", "reward loss: cross-entropy (latent models) or Huber loss of h (grounded)"
    COMMITMENT = "1", "squared distance of the chance encoder's output from its code"
    RECONSTRUCTION = "nats", "cross-entropy of decoded cells (grounded model; 0 for others)"
    CONSISTENCY = "1", "1 - cosine similarity of predicted next latents and those of the true boards"
    AFTERSTATE_CONSISTENCY = "1", "the same of afterstates and the true boards after the chance event"


class Diagnostic(Enum):
    """A number that is measured with the loss: unit and meaning."""

    REWARD_ERROR = "points", "mean absolute error of the predicted reward of the move played"
    SATURATED = "fraction", "value targets outside the support; above 0.001 the support is too small"
    CODE_ENTROPY = "nats", "entropy of the distribution of chance codes; 0: one code for all spawns"
    CODE_INFORMATION = "nats", "mutual information of chance codes and true spawns, at most their entropy"
    AFTERSTATE_ACCURACY = "fraction", "afterstates of played moves whose decoded cells are all correct"
    NEXT_STATE_ACCURACY = "fraction", "next boards, given the chance code, with all cells correct"
