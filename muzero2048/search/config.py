"""Configuration of the search."""

from typing import Annotated, Literal

from pydantic import Field

from ntuple.core.settings import Settings, Share, group, setting

MOST_SIMULATIONS = 2**16
MOST_TEMPERATURE = 1e6
MOST_NETWORK_PLIES = 4

# Conditions under which keys have an effect.
GUMBEL_ROOT, PUCT_ROOT = "search.root=gumbel", "search.root=puct"
SOME_GUMBEL = "search.root=gumbel or search.inside=gumbel"
SOME_PUCT = "search.root=puct or search.inside=puct"


class GumbelConfig(Settings, prefix="search.gumbel"):
    """Constants of Gumbel MuZero: of the root rule, and of the rule at interior nodes."""

    considered_actions: int = setting(
        4,
        "m, number of actions sampled without replacement at a Gumbel root.",
        at_least=1,
        at_most=4,
        only_if=GUMBEL_ROOT,
    )
    c_visit: float = setting(
        50.0, "c_visit of sigma(q) = (c_visit + max visits) c_scale q (Gumbel MuZero, eq. 8).", at_least=0, at_most=1e9
    )
    c_scale: float = setting(0.1, "c_scale of sigma(q), see c_visit.", at_least=0, at_most=1e9)
    completion: Literal["mixed", "value"] = setting(
        "mixed",
        "Q of an unvisited action in the completed Q-values. mixed: the mean of the node's value and the visited Q "
        "(Gumbel MuZero, appendix D). value: the node's value in the model (Guei 2023, sec. 4.4.3). Without a Gumbel "
        "rule it changes only the Q of unvisited actions that the search of a network in Python returns.",
    )


class PUCTConfig(Settings, prefix="search.puct"):
    """Constants of PUCT: of the root rule, and of the rule at interior nodes."""

    c_init: float = setting(1.25, "c_1 of PUCT (MuZero, appendix B).", at_least=0, at_most=1e9)
    c_base: float = setting(19652.0, "c_2 of PUCT (MuZero, appendix B).", above=0, at_most=1e12)
    unvisited: Literal["node_value", "zero"] = setting(
        "node_value",
        "Q of an unvisited action. node_value: the value of the node. zero: 0 after the normalisation, the least Q of "
        "its range; with search.normalization=tree this is the rule of Stochastic MuZero (appendix I, ucb_score).",
    )
    dirichlet_fraction: float = setting(
        0.1,
        "Share of Dirichlet noise in the prior at a PUCT root in self-play (Stochastic MuZero, for 2048).",
        at_least=0,
        at_most=1,
        only_if=PUCT_ROOT,
    )
    dirichlet_alpha: float = setting(0.3, "alpha of the Dirichlet noise.", above=0, at_most=1e6, only_if=PUCT_ROOT)
    temperature_steps: tuple[tuple[Share, Annotated[float, Field(ge=0, le=MOST_TEMPERATURE)]], ...] = setting(
        (),
        "Later temperatures of the visit counts in self-play, as pairs [share of the planned updates, temperature from "
        "then on]; before them search.gumbel_scale holds. Stochastic MuZero has 1, 0.5, 0.1, 0 (the most visited) with "
        "changes after 100,000, 200,000 and 300,000 of 20 million updates: [[0.005, 0.5], [0.01, 0.1], [0.015, 0]] "
        "(appendix C).",
        only_if=PUCT_ROOT,
    )

    def __post_init__(self) -> None:
        self.check_ascending("temperature_steps")


class SearchConfig(Settings, prefix="search"):
    """Search from a root (muzero2048/search/).

    With a Gumbel root and simulations <= considered_actions, the search is one batch of evaluations without a tree.
    """

    engine: Literal["own", "mctx"] = setting(
        "own",
        "own: muzero2048/search/tree_search.py. mctx: composed of mctx's public functions "
        "(muzero2048/search/mctx_engine.py); slower.",
    )
    model: Literal["learned", "simulator"] = setting(
        "learned", "Dynamics in the search. learned: those of the model. simulator: the rules of the game."
    )
    simulations: int = setting(
        4, "n, number of simulations for each move; each evaluates one node.", at_least=1, at_most=MOST_SIMULATIONS
    )
    root: Literal["gumbel", "puct"] = setting(
        "gumbel",
        "Rule at the root. gumbel: the top m actions with Gumbel noise, then Sequential Halving. puct: Dirichlet "
        "noise; the action is drawn in proportion to its visits.",
    )
    gumbel_scale: float = setting(
        1.0,
        "Scale of the Gumbel noise in self-play, or temperature of the visit counts at a PUCT root (later ones: "
        "search.puct.temperature_steps); evaluation uses 0.",
        at_least=0,
        at_most=MOST_TEMPERATURE,
    )
    inside: Literal["puct", "gumbel"] = setting("puct", "Rule at the decision nodes below the root.")
    chance: Literal["ratio", "deficit", "quasi_random", "sampled", "weighted"] = setting(
        "deficit",
        "Rule at the chance nodes (muzero2048/search/inner_rules.py), where a code of probability p has n of N "
        "visits. ratio: largest p / (n + 1). deficit: largest p (N + 1) - n. quasi_random: golden-ratio sequence. "
        "sampled: random. weighted: each code once, in order of probability; the value is the expectation over all "
        "codes, with the value of the afterstate for those not visited, instead of the mean over visits.",
    )
    read_out: Literal["mean", "expectimax"] = setting(
        "mean", "Q of the root's actions. mean: mean over visits. expectimax: an expectimax sweep over the tree."
    )
    normalization: Literal["node", "tree", "fixed"] = setting(
        "node",
        "Unit of q. node: min-max over the actions of the node. tree: min-max over the whole tree. fixed: value_scale "
        "points.",
    )
    range_floor: float = setting(
        1.0,
        "Smallest range of q, in points, that min-max stretches to [0, 1].",
        above=0,
        at_most=1e9,
        only_if="search.normalization=node|tree",
    )
    value_scale: float = setting(
        100.0,
        "Points that equal 1 in q with normalization=fixed; and the temperature, in points, of the prior of a network "
        "of values (ntuple, deep_td): softmax((r + V) / value_scale) over the moves.",
        above=0,
        at_most=1e9,
    )
    views: int = setting(
        1,
        "Symmetric views of the board that are searched in evaluation and play, and averaged at the root "
        "(muzero2048/search/views.py); 8 are all, 4 on an oblong board. Self-play and reanalysis search one.",
        at_least=1,
        at_most=8,
    )
    gumbel: GumbelConfig = group(GumbelConfig, only_if=SOME_GUMBEL)
    puct: PUCTConfig = group(PUCTConfig, only_if=SOME_PUCT)

    def __post_init__(self) -> None:
        if self.engine == "mctx":
            for name, missing in (("normalization", "tree"), ("chance", "weighted"), ("read_out", "expectimax")):
                if getattr(self, name) == missing:
                    self.refuse(name, "another value, or set search.engine=own")


class NetworkExpectimaxConfig(Settings, prefix="search"):
    """Expectimax over the values of a network (muzero2048/search/expectimax.py)."""

    plies: int = setting(
        2, "Depth in layers of afterstates; 1: the best r + gamma V(as).", at_least=1, at_most=MOST_NETWORK_PLIES
    )
    model: Literal["learned", "simulator"] = setting(
        "learned", "Dynamics in the search. learned: those of the model. simulator: the rules of the game."
    )
    least_prior: float = setting(
        0.0,
        "Below the root only moves with at least this probability under the policy are considered, and the most "
        "probable one: a learned model does not know which moves are illegal. 0: all moves.",
        at_least=0,
        at_most=1,
        only_if="search.model=learned",
    )
    views: int = setting(
        1, "Symmetric views of the board whose Q is averaged; 8 are all, 4 on an oblong board.", at_least=1, at_most=8
    )
