"""Configuration of Monte Carlo tree search."""

from typing import ClassVar, Literal

from ntuple.core.settings import setting
from ntuple.endgames.config import EndgamesConfig

MOST_SIMULATIONS = 50_000


class MCTSConfig(EndgamesConfig, prefix="search"):
    """Monte Carlo tree search on afterstate values (ntuple/mcts/search.py)."""

    MOST_SIMULATIONS: ClassVar[int] = MOST_SIMULATIONS

    simulations: int = setting(
        140, "N, simulations of a move; with a time limit, at most this number.", at_least=1, at_most=MOST_SIMULATIONS
    )
    c: float = setting(0.05, "Exploration constant of UCB (Guei 2023, eq. 23).", at_least=0, at_most=1000)
    v_norm: float = setting(
        0.0,
        "V_norm, points that count as 1 in UCB; 0: the largest r + V at the root (Guei 2023, eq. 36).",
        at_least=0,
        at_most=1e9,
    )
    backup: Literal["mean", "expectimax"] = setting(
        "expectimax",
        "Value of a move. mean: the mean over its simulations, as published. expectimax: the expectation over the "
        "spawns of the best value below; a spawn that was not visited counts with the value of the afterstate.",
    )
    reuse: bool = setting(
        False, "Keep the part of the tree below the move and its spawn; its visits count as simulations."
    )
    seconds: float = setting(0.0, "Time limit of a move; 0: none.", at_least=0, at_most=3600)
    choice: Literal["best", "drawn"] = setting(
        "best",
        "best: the move of the highest value, with backup mean the most visited one. drawn: by visits to the power z "
        "(Guei 2023, eq. 37).",
    )
    z: float = setting(1.0, "Strength index.", at_least=-100, at_most=100, only_if="search.choice=drawn")
    r_th: float = setting(
        0.25,
        "R_th: moves with fewer visits than this share of the most visited one are not drawn (Guei 2023, eq. 38).",
        at_least=0,
        at_most=1,
        only_if="search.choice=drawn",
    )
