"""The numbers that describe the errors of a model at a depth, in the order of their columns.

muzero2048/muzero/diagnosis/depth_errors.py computes them; `diagnose` and the metrics of a training name them.
"""

from typing import NamedTuple


class DepthNumber(NamedTuple):
    """A number of each depth."""

    name: str
    unit: str
    heading: str  # of its column
    form: str  # of its cells
    meaning: str


DEPTH_NUMBERS = tuple(
    DepthNumber(*row)
    for row in (
        ("value_correlation", "1", "corr. of V", "{:.2f}", "correlation of V(s^k) and V(h(o_k)) over the boards"),
        ("value_error", "points", "error of V", "{:,.0f}", "mean |V(s^k) - V(h(o_k))|"),
        ("reward_error", "points", "error of r", "{:.2f}", "mean |r(s^k, a) - r| over legal moves"),
        ("reward_error_unplayed", "points", "unplayed", "{:.2f}", "the same, legal moves that are not unrolled"),
        ("reward_mean", "points", "mean r", "{:.1f}", "mean true reward r over legal moves"),
        ("best_move", "fraction", "best move", "{:.2f}", "boards where Q(s^k, a) and Q(h(o_k), a) have one best move"),
        ("illegal_prior", "fraction", "illegal prior", "{:.4f}", "mean prior of illegal moves in the policy of s^k"),
        ("illegal_prior_root", "fraction", "true state", "{:.4f}", "the same in the policy of h(o_k)"),
        (
            "chance_distance",
            "fraction",
            "chance distance",
            "{:.3f}",
            "total variation of predicted and true distributions of chance codes",
        ),
        (
            "spawn_correlation",
            "1",
            "corr. of spawns",
            "{:.2f}",
            "correlation of V(s^{k+1}) and V(h(o_{k+1})) among the spawns of an afterstate",
        ),
        (
            "spawn_spread",
            "points",
            "spread",
            "{:,.1f}",
            "standard deviation of V(s^{k+1}) among the spawns of an afterstate",
        ),
        ("spawn_spread_true", "points", "true spread", "{:,.1f}", "the same of V(h(o_{k+1}))"),
        (
            "spawns_told",
            "fraction",
            "spawns told",
            "{:.2f}",
            "entropy of the chance code / entropy of the spawn, both given the afterstate",
        ),
        ("boards", "boards", "boards", "{:.0f}", "boards whose game is not over"),
    )
)
