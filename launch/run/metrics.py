"""Every metric of the project: name, unit, meaning. A name that is not here is an error.

All rows carry the four axes, so any two runs compare on any of them.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Row = Mapping[str, int | float]  # metrics by name, at one moment of a run


class Metric(NamedTuple):
    """One metric and how to read it."""

    name: str
    unit: str
    meaning: str


AXES = (
    Metric("env_steps", "moves", "moves of the environment made in training"),
    Metric("games", "games", "games from normal starts that were finished in training"),
    Metric("updates", "updates", "updates of the weights: one move's TD update, or one gradient step"),
    Metric("wall_hours", "hours", "time in advance(), compiling included, over all resumes; no evaluation, no saving"),
)

TILES = (2048, 4096, 8192, 16384, 32768, 65536, 131072)

TRAINING = (
    Metric("train/score_mean", "points", "mean score of the games finished since the last report"),
    Metric("train/score_max", "points", "best score of the games finished since the last report"),
    Metric("train/moves_mean", "moves", "mean length of the games finished since the last report"),
    Metric("train/games", "games", "games finished since the last report; like all of train/, from normal starts"),
    Metric("train/reach_2048", "fraction", "of these games, those that reached 2048"),
    Metric("train/reach_8192", "fraction", "of these games, those that reached 8192"),
    Metric("train/reach_32768", "fraction", "of these games, those that reached 32768"),
    Metric("perf/moves_per_second", "moves/s", "speed of training since the last report"),
    Metric("perf/updates_per_second", "updates/s", "speed of training since the last report"),
)

NTUPLE = (
    Metric("td/error_abs_mean", "points", "mean absolute TD error since the last report"),
    Metric("td/learning_rate", "1", "alpha, before it is divided among the tuples"),
    Metric("td/coherence", "flag", "1 while the rates adapt by temporal coherence, else 0"),
)

DEEP_TD = (Metric("td/epsilon", "fraction", "moves drawn at random, mean since the last report"),)

MUZERO = (
    Metric("perf/samples_per_second", "samples/s", "sequences learned from since the last report"),
    Metric("loss/total", "1", "weighted sum of the terms below (muzero2048/muzero/losses.py)"),
    Metric(
        "loss/value",
        "nats",
        "cross-entropy of values against their targets (deep_td, output scalar: Huber of h)",
    ),
    Metric("loss/afterstate_value", "nats", "cross-entropy of afterstate values against their targets"),
    Metric("loss/policy", "nats", "cross-entropy of policies against the improved policies of the search"),
    Metric("loss/chance", "nats", "cross-entropy of chance distributions against the codes"),
    Metric("loss/reward", "1", "reward loss: cross-entropy (latent models) or Huber of h (grounded)"),
    Metric("loss/commitment", "1", "squared distance of the chance encoder's output from its code"),
    Metric("loss/reconstruction", "nats", "cross-entropy of decoded cells (grounded model; else 0)"),
    Metric("loss/consistency", "1", "1 - cosine between predicted next latents and those of the true boards"),
    Metric("model/reward_error", "points", "mean absolute error of the predicted reward of the move played"),
    Metric("model/saturated", "fraction", "value targets beyond the support; above 0.001 the support is too small"),
    Metric("model/code_entropy", "nats", "entropy of the use of the chance codes; 0 means one code for everything"),
    Metric("model/code_information", "nats", "mutual information of chance codes and true spawns, up to their entropy"),
    Metric("model/afterstate_accuracy", "fraction", "afterstates of moves played, decoded right in every cell"),
    Metric("model/next_state_accuracy", "fraction", "next boards, given the chance code, decoded right in every cell"),
    Metric("model/afterstate_accuracy_all", "fraction", "the same over all legal moves of some boards of the buffer"),
    Metric("model/afterstate_accuracy_unplayed", "fraction", "the same over their legal moves that were not played"),
    Metric("model/afterstate_accuracy_late", "fraction", "the same over all legal moves of those with a 2048 or more"),
    Metric("model/reward_error_all", "points", "mean absolute error of the predicted reward over all legal moves"),
    Metric("model/chance_distance", "fraction", "total variation of predicted and true chances (oracle codes)"),
    Metric("swap/q_error", "points", "mean |Q with learned dynamics - Q with true ones| over all legal moves"),
    Metric("swap/agreement", "fraction", "boards on which both Q have their maximum at the same move"),
    Metric("search/target_entropy", "nats", "mean entropy of the policy targets; near 0 they carry one move only"),
    Metric("search/q_range", "points", "mean of max q - min q at the root, what normalisation stretches to 1"),
    Metric("search/late_positions", "fraction", "training positions with a tile of 2048 or more"),
    Metric(
        "replay/age", "moves", "mean age of the sampled positions: moves of all environments since they were played"
    ),
    Metric("train/normal_start_share", "fraction", "training positions in games from normal starts (start.kind)"),
    Metric("value/bias", "points", "mean of search value - return, of one random position of each finished game"),
    Metric("value/error", "points", "mean of |search value - return| there"),
    Metric("value/return_mean", "points", "mean discounted return there"),
    Metric("value/correlation", "1", "of search value and return there; left out where one of them is constant"),
    Metric("optimizer/gradient_norm", "1", "global norm of the gradient before clipping"),
    Metric("optimizer/gradient_norm_representation", "1", "of it, the parameters of h (grounded: and of the decoder)"),
    Metric("optimizer/gradient_norm_dynamics", "1", "of it, the parameters of phi, g and the reward"),
    Metric("optimizer/gradient_norm_prediction", "1", "of it, the parameters of f and psi (grounded: and their trunk)"),
    Metric("optimizer/gradient_norm_encoder", "1", "of it, the parameters of the chance encoder, where it is learned"),
)

EVALUATION = (
    Metric("eval/score_mean", "points", "mean score"),
    Metric("eval/score_low", "points", "lower end of the 95% interval of the mean score"),
    Metric("eval/score_high", "points", "upper end of the 95% interval of the mean score"),
    Metric("eval/score_median", "points", "median score"),
    Metric("eval/score_max", "points", "best score"),
    Metric("eval/moves_mean", "moves", "mean length of a game"),
    Metric("eval/games", "games", "games played"),
    Metric("eval/moves_per_second", "moves/s", "speed of playing, all games together"),
    *(Metric(f"eval/reach_{tile}", "fraction", f"games that reached the tile {tile}") for tile in TILES),
)

PROBES = (
    Metric("probe/swap_score_mean", "points", "mean score with the true dynamics in place of the learned ones"),
    Metric("probe/swap_score_low", "points", "lower end of the 95% interval of that mean"),
    Metric("probe/swap_score_high", "points", "upper end of the 95% interval of that mean"),
    Metric("probe/swap_gap", "points", "that mean less eval/score_mean: what the learned dynamics cost in play"),
)

REGISTRY = {metric.name: metric for metric in (*AXES, *TRAINING, *NTUPLE, *DEEP_TD, *MUZERO, *EVALUATION, *PROBES)}


def check(names: Iterable[str]) -> None:
    """Raise KeyError if a name is not registered."""
    for name in names:
        if name not in REGISTRY:
            raise KeyError(f"the metric '{name}' is not registered; add it to launch/run/metrics.py")
