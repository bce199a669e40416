"""Configuration of the search."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ntuple.settings import Settings, group, setting

MOST_SIMULATIONS = 2**16

# Conditions under which keys have an effect.
GUMBEL_ROOT, PUCT_ROOT = "search.root=gumbel", "search.root=puct"
SOME_GUMBEL = "search.root=gumbel or search.inside=gumbel"
SOME_PUCT = "search.root=puct or search.inside=puct"


@dataclass(frozen=True)
class GumbelConfig(Settings, prefix="search.gumbel"):
    """Gumbel MuZero: the root rule, and the rule at interior nodes."""

    considered_actions: int = setting(
        4, "m, actions sampled without replacement at a Gumbel root.", at_least=1, at_most=4, only_if=GUMBEL_ROOT
    )
    c_visit: float = setting(
        50.0, "sigma(q) = (c_visit + max visits) c_scale q (Gumbel MuZero, eq. 8).", at_least=0, at_most=1e9
    )
    c_scale: float = setting(0.1, "See c_visit.", at_least=0, at_most=1e9)


@dataclass(frozen=True)
class PUCTConfig(Settings, prefix="search.puct"):
    """PUCT: the root rule, and the rule at interior nodes."""

    c_init: float = setting(1.25, "c_1 of PUCT (MuZero, appendix B).", at_least=0, at_most=1e9)
    c_base: float = setting(19652.0, "c_2 of PUCT (MuZero, appendix B).", above=0, at_most=1e12)
    dirichlet_fraction: float = setting(
        0.1,
        "Share of Dirichlet noise in the prior at a PUCT root in self-play (Stochastic MuZero, for 2048).",
        at_least=0,
        at_most=1,
        only_if=PUCT_ROOT,
    )
    dirichlet_alpha: float = setting(0.3, "alpha of the Dirichlet noise.", above=0, at_most=1e6, only_if=PUCT_ROOT)


@dataclass(frozen=True)
class SearchConfig(Settings, prefix="search"):
    """Planning at a root (search/). With a Gumbel root and simulations <= considered_actions it is one batch."""

    engine: Literal["own", "mctx"] = setting(
        "own", "own: search/loop.py. mctx: composed of mctx's public parts; slower, used as a check."
    )
    model: Literal["learned", "simulator"] = setting(
        "learned", "What the search plans in; simulator: the rules of the game in place of learned dynamics."
    )
    simulations: int = setting(4, "n, evaluations of a move.", at_least=1, at_most=MOST_SIMULATIONS)
    root: Literal["gumbel", "puct"] = setting(
        "gumbel",
        "Rule at the root. gumbel: top m by Gumbel noise and Sequential Halving. puct: Dirichlet noise; the action is "
        "drawn by its visits.",
    )
    gumbel_scale: float = setting(
        1.0,
        "Scale of the Gumbel noise in self-play, or temperature of the visits at a PUCT root; evaluation uses 0.",
        at_least=0,
        at_most=1e6,
    )
    inside: Literal["puct", "gumbel"] = setting("puct", "Rule at the decision nodes below the root.")
    chance: Literal["ratio", "deficit", "quasi_random", "sampled", "weighted"] = setting(
        "deficit",
        "Rule at the chance nodes (search/selection.py). ratio: p / (n + 1). deficit: largest p (n + 1) - n. "
        "quasi_random: golden-ratio sequence. sampled: random. weighted: each outcome once, likely ones first, and "
        "the expectation in place of the mean over visits.",
    )
    read_out: Literal["mean", "expectimax"] = setting(
        "mean", "Q of the root's actions: mean over visits, or an expectimax sweep over the tree."
    )
    normalization: Literal["node", "tree", "fixed"] = setting(
        "node", "Unit of q: min-max over the actions of the node, over the whole tree, or value_scale points."
    )
    range_floor: float = setting(
        1.0,
        "Smallest range of q, in points, that min-max stretches to [0, 1].",
        above=0,
        at_most=1e9,
        only_if="search.normalization=node|tree",
    )
    value_scale: float = setting(
        100.0, "Points that count as 1.", above=0, at_most=1e9, only_if="search.normalization=fixed"
    )
    gumbel: GumbelConfig = group(GumbelConfig, only_if=SOME_GUMBEL)
    puct: PUCTConfig = group(PUCTConfig, only_if=SOME_PUCT)

    former_keys: ClassVar[dict[str, str]] = {
        "considered_actions": "gumbel.considered_actions", "c_visit": "gumbel.c_visit", "c_scale": "gumbel.c_scale",
        "pb_c_init": "puct.c_init", "pb_c_base": "puct.c_base",
        "dirichlet_fraction": "puct.dirichlet_fraction", "dirichlet_alpha": "puct.dirichlet_alpha",
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine == "mctx":
            for name, missing in (("normalization", "tree"), ("chance", "weighted"), ("read_out", "expectimax")):
                if getattr(self, name) == missing:
                    self.refuse(name, "another value, or set search.engine=own")
