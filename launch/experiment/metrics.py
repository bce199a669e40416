"""Every metric of the project: name, unit, meaning. Other names are an error.

Each row has the four axes, so that runs can be compared on any of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import GOALS, TRAINING_GOALS
from ntuple.core.loss_terms import Diagnostic, Loss

Row = Mapping[str, int | float]  # values of metrics by name, at one point of a run


class Metric(NamedTuple):
    """One metric."""

    name: str
    unit: str
    meaning: str


AXES = (
    Metric("env_steps", "moves", "moves of the environment made in training"),
    Metric("games", "games", "games from normal starts that were finished in training"),
    Metric("updates", "updates", "updates of the weights: one move's TD update, or one gradient step"),
    Metric("wall_hours", "hours", "time in advance() with compiling, over all resumes; without evaluation and saving"),
)

TILES = GAME_2048.goals  # of 2048; other games have others
REACH = "eval/reach_"  # and a tile: the share of games that reached it

TRAINING = (
    Metric("train/score_mean", "points", "mean score of the games finished since the last report"),
    Metric("train/score_max", "points", "best score of the games finished since the last report"),
    Metric("train/moves_mean", "moves", "mean length of the games finished since the last report"),
    Metric(
        "train/games", "games", "games finished since the last report; train/ counts games from normal starts alone"
    ),
    *(
        Metric(f"train/reach_{tile}", "fraction", f"of these games, those that reached {tile}")
        for tile in TRAINING_GOALS
    ),
    Metric("train/until_share", "fraction", "of the games from positions, those that ended with start.positions.until"),
    Metric("perf/moves_per_second", "moves/s", "speed of training since the last report"),
    Metric("perf/updates_per_second", "updates/s", "speed of training since the last report"),
)

NTUPLE = (
    Metric("td/error_abs_mean", "points", "mean absolute TD error since the last report"),
    Metric("td/learning_rate", "1", "alpha, before the division by the number of tuples"),
    Metric("td/coherence", "flag", "1 while the learning rates adapt by temporal coherence, else 0"),
)

DEEP_TD = (Metric("td/epsilon", "fraction", "fraction of random moves, mean since the last report"),)

MUZERO = (
    Metric("perf/samples_per_second", "samples/s", "sampled sequences per second in training since the last report"),
    Metric("loss/total", "1", "weighted sum of the terms below (muzero2048/muzero/losses.py)"),
    *(Metric(f"loss/{term.name.lower()}", *term.value) for term in Loss),
    *(Metric(f"model/{term.name.lower()}", *term.value) for term in Diagnostic),
    Metric("model/afterstate_accuracy_all", "fraction", "afterstate_accuracy over all legal moves of sampled boards"),
    Metric(
        "model/afterstate_accuracy_unplayed", "fraction", "afterstate_accuracy over legal moves that were not played"
    ),
    Metric(
        "model/afterstate_accuracy_late",
        "fraction",
        "afterstate_accuracy over all legal moves of boards with a 2048 or more",
    ),
    Metric("model/reward_error_all", "points", "mean absolute error of the predicted reward over all legal moves"),
    Metric(
        "model/chance_distance", "fraction", "total variation of predicted and true chance distributions (oracle codes)"
    ),
    Metric("swap/q_error", "points", "mean |Q with learned dynamics - Q with true dynamics| over all legal moves"),
    Metric("swap/agreement", "fraction", "boards on which both Q have the same best move"),
    Metric("search/target_entropy", "nats", "mean entropy of the policy targets; near 0 they contain one move only"),
    Metric("search/q_range", "points", "mean of max q - min q at the root; normalisation scales this range to 1"),
    Metric("search/late_positions", "fraction", "training positions with a tile of 2048 or more"),
    Metric("replay/age", "moves", "mean age of sampled positions: moves of all environments since they were played"),
    Metric("value/bias", "points", "mean of search value - return, at one random position of each finished game"),
    Metric("value/error", "points", "mean of |search value - return| at these positions"),
    Metric("value/return_mean", "points", "mean discounted return at these positions"),
    Metric("value/correlation", "1", "of search value and return at these positions; left out if one is constant"),
    Metric("optimizer/gradient_norm", "1", "global norm of the gradient before clipping"),
    Metric("optimizer/gradient_norm_representation", "1", "the same, parameters of h (grounded: and the decoder)"),
    Metric("optimizer/gradient_norm_dynamics", "1", "the same, parameters of phi, g and the reward"),
    Metric("optimizer/gradient_norm_prediction", "1", "the same, parameters of f and psi (grounded: and their trunk)"),
    Metric("optimizer/gradient_norm_encoder", "1", "the same, parameters of the chance encoder if it is learned"),
)


class DepthNumber(NamedTuple):
    """A number that `diagnose` prints for each depth."""

    name: str
    unit: str
    heading: str  # of its column in `diagnose`
    form: str  # of its cells
    meaning: str


# Errors of a learned model (muzero2048/muzero/diagnosis/depth_errors.py).
DEPTH_NUMBERS = (
    DepthNumber(
        "value_correlation", "1", "corr. of V", "{:.2f}", "correlation of V(s^k) and V(h(o_k)) over the boards"
    ),
    DepthNumber("value_error", "points", "error of V", "{:,.0f}", "mean |V(s^k) - V(h(o_k))|"),
    DepthNumber("reward_error", "points", "error of r", "{:.2f}", "mean |r(s^k, a) - r| over legal moves"),
    DepthNumber("reward_error_unplayed", "points", "unplayed", "{:.2f}", "the same, legal moves that are not unrolled"),
    DepthNumber("reward_mean", "points", "mean r", "{:.1f}", "mean true reward r over legal moves"),
    DepthNumber(
        "best_move", "fraction", "best move", "{:.2f}", "boards where Q(s^k, a) and Q(h(o_k), a) have one best move"
    ),
    DepthNumber(
        "illegal_prior", "fraction", "illegal prior", "{:.4f}", "mean prior of illegal moves in the policy of s^k"
    ),
    DepthNumber("illegal_prior_root", "fraction", "true state", "{:.4f}", "the same in the policy of h(o_k)"),
    DepthNumber(
        "chance_distance",
        "fraction",
        "chance distance",
        "{:.3f}",
        "total variation of predicted and true distributions of chance codes",
    ),
    DepthNumber(
        "spawn_correlation",
        "1",
        "corr. of spawns",
        "{:.2f}",
        "correlation of V(s^{k+1}) and V(h(o_{k+1})) among the spawns of an afterstate",
    ),
    DepthNumber(
        "spawn_spread",
        "points",
        "spread",
        "{:,.1f}",
        "standard deviation of V(s^{k+1}) among the spawns of an afterstate",
    ),
    DepthNumber("spawn_spread_true", "points", "true spread", "{:,.1f}", "the same of V(h(o_{k+1}))"),
    DepthNumber(
        "spawns_told",
        "fraction",
        "spawns told",
        "{:.2f}",
        "entropy of the chance code / entropy of the spawn, both given the afterstate",
    ),
    DepthNumber("boards", "boards", "boards", "{:.0f}", "boards whose game is not over"),
)

# Expectimax trees of so many plies (ntuple/expectimax/tree_counts.py).
TREE_NUMBERS = (
    DepthNumber("nodes", "nodes", "nodes", "{:,.1f}", "mean size of the tree over the boards, states and afterstates"),
    DepthNumber("nodes_most", "nodes", "most nodes", "{:,.0f}", "size of the largest tree"),
    DepthNumber("negative_leaves", "fraction", "negative leaves", "{:.4f}", "leaves whose value is below 0"),
)

DIAGNOSIS = tuple(
    Metric(f"depth{k}/{number.name}", number.unit, f"{number.meaning}; k = {k}, on boards of the buffer")
    for k in (1, 5)
    for number in DEPTH_NUMBERS
)

EVALUATION = (
    Metric("eval/score_mean", "points", "mean score"),
    Metric("eval/score_low", "points", "lower end of the 95% interval of the mean score"),
    Metric("eval/score_high", "points", "upper end of the 95% interval of the mean score"),
    Metric("eval/score_median", "points", "median score"),
    Metric("eval/score_max", "points", "best score"),
    Metric("eval/moves_mean", "moves", "mean length of a game"),
    Metric("eval/games", "games", "games played"),
    Metric("eval/moves_per_second", "moves/s", "speed of play, all games together"),
    Metric("eval/value_bias", "points", "mean of value of the move - return, at one random position of each game"),
    Metric("eval/value_return_mean", "points", "mean discounted return at these positions"),
    Metric("eval/value_correlation", "1", "of value and return at these positions; left out if one is constant"),
    *(Metric(f"{REACH}{tile}", "fraction", f"games that reached the tile {tile}") for tile in GOALS),
)

PROBES = (
    Metric("probe/swap_score_mean", "points", "mean score with the true dynamics in place of the learned dynamics"),
    Metric("probe/swap_score_low", "points", "lower end of the 95% interval of that mean"),
    Metric("probe/swap_score_high", "points", "upper end of the 95% interval of that mean"),
    Metric("probe/swap_gap", "points", "that mean minus eval/score_mean: the points lost by the learned dynamics"),
)

REGISTRY = {
    metric.name: metric for metric in (*AXES, *TRAINING, *NTUPLE, *DEEP_TD, *MUZERO, *EVALUATION, *PROBES, *DIAGNOSIS)
}

# What a row with any metric of an evaluation has; the intervals of its scores and rates need it.
EVALUATED = ("eval/score_mean", "eval/score_low", "eval/score_high", "eval/games")


def missing_names(names: Sequence[str]) -> list[str]:
    """Return the names that a row lacks: of the axes, and of EVALUATED if it is the row of an evaluation."""
    is_evaluation = any(name.startswith("eval/") for name in names)
    needed = (*(axis.name for axis in AXES), *(EVALUATED if is_evaluation else ()))
    return [name for name in needed if name not in names]


def check(names: Iterable[str]) -> None:
    """Raise KeyError if a name is not registered."""
    for name in names:
        if name not in REGISTRY:
            raise KeyError(f"the metric '{name}' is not registered; add it to launch/experiment/metrics.py")
