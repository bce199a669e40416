"""What an experiment with MuZero can set; ntuple.settings checks the values and says what `only_if` means."""

import math
from dataclasses import dataclass
from typing import Literal

from muzero2048.networks.value_codec import ValueCodec
from ntuple.settings import Settings, group, required, setting

TUPLE_SHAPES = ("lines", "squares", "rects", "axes")  # networks/tuple_embedding.py
START_TILES = {str(2**level): level for level in range(3, 18)}  # tiles of starts, and log2 of them

MOST_SIMULATIONS = 2**16
MOST_WEIGHT = 1e6  # of a term of the loss

# Conditions under which keys have an effect.
LATENT, GROUNDED = "network.model=latent", "network.model=grounded"
HAS_BLOCKS = "network.model=latent or network.trunk=residual_mlp|se_resnet|tuples"
TUPLES, TABLES = "network.trunk=tuples", "network.value_tuples!="
GUMBEL_ROOT, PUCT_ROOT = "search.root=gumbel", "search.root=puct"
SOME_GUMBEL = "search.root=gumbel or search.inside=gumbel"
SOME_PUCT = "search.root=puct or search.inside=puct"
RESTART, CAROUSEL, JUMP = "start.kind=restart", "start.kind=carousel", "start.kind=jump_start"


@dataclass(frozen=True)
class NetworkConfig(Settings, prefix="network"):
    """The model and the networks that it is made of."""

    model: Literal["latent", "grounded"] = setting(
        "latent",
        "latent: an abstract state trained by value equivalence, as published (models/latent.py). grounded: a state of "
        "H*W cells and a reconstruction loss (models/grounded.py).",
    )
    trunk: Literal["residual_mlp", "se_resnet", "tuples", "cnn_2x2", "cnn_3x3"] = setting(
        "residual_mlp",
        "Network from the tiles to features (networks/trunks.py): h of a latent model, f and psi of a grounded one.",
    )
    blocks: int = setting(
        10,
        "Residual blocks of the trunk, and of phi and g of a latent model; layers of the trunk tuples.",
        at_least=1,
        at_most=1000,
        only_if=HAS_BLOCKS,
    )
    width: int = setting(256, "Units of a layer, or channels of a convolution.", at_least=1, at_most=2**16)
    norm: Literal["layer", "rms"] = setting("layer", "LayerNorm or RMSNorm.")
    tile_levels: int = setting(
        18, "One-hot planes of the observation; 18 show every tile up to 131072.", at_least=2, at_most=32
    )
    tuples: str = setting(
        "lines squares",
        "Tuples of the trunk, words of lines, squares, rects, axes (networks/tuple_embedding.py).",
        only_if=TUPLES,
    )
    tuple_width: int = setting(8, "Units of an entry of the trunk's tables.", at_least=1, at_most=4096, only_if=TUPLES)
    action_input: Literal["append", "outer"] = setting(
        "append",
        "Input of phi. append: the state with the action appended, as published. outer: their outer product, which "
        "gives the first layer of phi its own weights for each action.",
        only_if=LATENT,
    )
    value_tuples: str = setting(
        "",
        "Tuples of an n-tuple network in the value, learned by TC (networks/value_tables.py), words as in `tuples`; "
        "empty: none.",
    )
    table_bits: int = setting(
        20,
        "log2 of the entries of a value table; 24 bits distinguish all contents of six cells.",
        at_least=16,
        at_most=24,
        only_if=TABLES,
    )
    cell_width: int = setting(16, "Units of the latent of one cell.", at_least=1, at_most=4096, only_if=GROUNDED)
    line_width: int = setting(
        128, "Hidden units of phi, the network of one line.", at_least=1, at_most=2**16, only_if=GROUNDED
    )
    compute_dtype: Literal["float32", "bfloat16"] = setting(
        "float32", "Type of the layers' arithmetic; parameters and heads stay float32."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, words in (("tuples", self.tuples.split()), ("value_tuples", self.value_tuples.split())):
            if set(words) - set(TUPLE_SHAPES) or not (words or name == "value_tuples"):
                self.refuse(name, f"some of the words {', '.join(TUPLE_SHAPES)}")
        if self.value_tuples and self.model != "grounded":
            self.refuse("value_tuples", "nothing, or set network.model=grounded: these tuples read predicted boards")

    @property
    def convolutional(self) -> bool:
        """Features keep their places on the board."""
        return self.trunk == "se_resnet"


@dataclass(frozen=True)
class ChanceConfig(Settings, prefix="chance"):
    """Chance codes."""

    encoder: Literal["learned", "oracle"] = setting(
        "learned",
        "learned: straight-through one-hot codes (Stochastic MuZero, sec. 4.2). oracle: the true spawn code.",
    )
    codes: int = setting(32, "C, size of the codebook; the oracle needs at least 2*H*W.", at_least=1, at_most=2**15)


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
    considered_actions: int = setting(
        4, "m, actions sampled without replacement at a Gumbel root.", at_least=1, at_most=4, only_if=GUMBEL_ROOT
    )
    gumbel_scale: float = setting(
        1.0,
        "Scale of the Gumbel noise in self-play, or temperature of the visits at a PUCT root; evaluation uses 0.",
        at_least=0,
        at_most=1e6,
    )
    dirichlet_fraction: float = setting(
        0.1,
        "Share of Dirichlet noise in the prior in self-play (Stochastic MuZero, for 2048).",
        at_least=0,
        at_most=1,
        only_if=PUCT_ROOT,
    )
    dirichlet_alpha: float = setting(0.3, "alpha of the Dirichlet noise.", above=0, at_most=1e6, only_if=PUCT_ROOT)
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
    c_visit: float = setting(
        50.0,
        "sigma(q) = (c_visit + max visits) c_scale q (Gumbel MuZero, eq. 8).",
        at_least=0,
        at_most=1e9,
        only_if=SOME_GUMBEL,
    )
    c_scale: float = setting(0.1, "See c_visit.", at_least=0, at_most=1e9, only_if=SOME_GUMBEL)
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
    pb_c_init: float = setting(1.25, "PUCT (MuZero, appendix B).", at_least=0, at_most=1e9, only_if=SOME_PUCT)
    pb_c_base: float = setting(19652.0, "PUCT (MuZero, appendix B).", above=0, at_most=1e12, only_if=SOME_PUCT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine == "mctx":
            for name, missing in (("normalization", "tree"), ("chance", "weighted"), ("read_out", "expectimax")):
                if getattr(self, name) == missing:
                    self.refuse(name, "another value, or set search.engine=own")

    @property
    def one_step(self) -> bool:
        """Every action considered is visited at most once, so the search is one batch of afterstates."""
        return self.root == "gumbel" and self.simulations <= self.considered_actions


@dataclass(frozen=True)
class StartConfig(Settings, prefix="start"):
    """Where the games of self-play start (game/starts.py). Evaluation always plays from normal starts."""

    kind: Literal["normal", "restart", "carousel", "jump_start"] = setting(
        "normal",
        "normal: two tiles. restart: the middle of the game that just ended. carousel: where an earlier game reached "
        "a stage, each stage in turn. jump_start: a made-up board with large tiles.",
    )
    restart_moves: int = setting(
        100,
        "L: restart only if more than this number of moves follow the middle (Matsuzaki 2017, algorithm 3).",
        at_least=1,
        only_if=RESTART,
    )
    stages: str = setting("512 1024 2048", "Tiles; a stage begins when its tile first appears.", only_if=CAROUSEL)
    carousel_size: int = setting(
        1000,
        "Initial boards kept for each stage, of all environments (Jaskowski 2017).",
        at_least=1,
        at_most=10**7,
        only_if=CAROUSEL,
    )
    jump_fraction: float = setting(
        0.5, "Share of the games that begin on a made-up board.", at_least=0, at_most=1, only_if=JUMP
    )
    jump_tiles: str = setting("2048 1024 512", "Large tiles of a made-up board: the first one or more.", only_if=JUMP)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("stages", "jump_tiles"):
            words = getattr(self, name).split()
            if not words or not all(word in START_TILES for word in words):
                self.refuse(name, "tiles from 8 to 131072, such as 512 1024")
        if list(self.stage_levels) != sorted(set(self.stage_levels)):
            self.refuse("stages", "tiles of which each is larger than the one before")

    @property
    def stage_levels(self) -> tuple[int, ...]:
        """log2 of the tiles with which the stages begin."""
        return tuple(START_TILES[word] for word in self.stages.split())

    @property
    def jump_levels(self) -> tuple[int, ...]:
        """log2 of the tiles on a made-up board."""
        return tuple(START_TILES[word] for word in self.jump_tiles.split())


@dataclass(frozen=True)
class ReplayConfig(Settings, prefix="replay"):
    """Boards of self-play on the device, encoded only when sampled."""

    capacity: int = setting(2**20, "Moves kept, over all environments.", at_least=1)
    batch_size: int = setting(1024, "Sequences of an update.", at_least=1, at_most=2**24)
    ratio: float = setting(1.0, "Sequences sampled per move played.", above=0, at_most=1e6)
    priority_exponent: float = setting(
        0.0,
        "alpha: positions are sampled in proportion to |error|^alpha; 0: uniformly (Stochastic MuZero: 1). The error "
        "is search value - target of a new move, V(s) - target once it has been sampled.",
        at_least=0,
        at_most=100,
    )
    importance_exponent: float = setting(
        0.0, "beta: samples are weighted by (N p)^-beta (Stochastic MuZero: 1).", at_least=0, at_most=100
    )
    reanalyse: float = setting(
        0.0, "Share of the samples whose value and policy targets are searched anew.", at_least=0, at_most=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.importance_exponent and not self.priority_exponent:
            self.refuse("importance_exponent", "0, or set replay.priority_exponent: it weights priorities")

    @property
    def reanalysed(self) -> int:
        """Sequences of a batch that are searched anew."""
        return max(1, round(self.reanalyse * self.batch_size)) if self.reanalyse else 0


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
class OptimizerConfig(Settings, prefix="optimizer"):
    """Adam with linear decay."""

    learning_rate: float = setting(1e-3, "At the first update.", above=0, at_most=1e3)
    final_learning_rate: float = setting(1e-4, "Reached linearly at the last planned update.", above=0, at_most=1e3)
    max_gradient_norm: float = setting(5.0, "Gradients are clipped to this global norm.", above=0, at_most=1e12)
    weight_decay: float = setting(0.0, "Decoupled weight decay (AdamW).", at_least=0, at_most=1e3)
    table_learning_rate: float = setting(
        1.0,
        "alpha of the value tables, before it is multiplied by the coherence (networks/value_tables.py).",
        at_least=0,
        at_most=1,
        only_if=TABLES,
    )


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """What all learners that train a network on the device share: the game, value targets, rounds and the optimizer."""

    env_steps: int = required("Training budget in moves.", at_least=1)
    report_env_steps: int = required("Moves between two reports of the metrics.", at_least=1)
    rows: int = setting(4, "H, height of the board.", at_least=2, at_most=4)
    columns: int = setting(4, "W, width of the board.", at_least=2, at_most=4)
    discount: float = setting(0.999, "gamma of a move.", above=0, at_most=1)
    td_lambda: float = setting(0.5, "lambda of the value target.", at_least=0, at_most=1)
    td_steps: int = setting(
        10, "n, steps after which the target bootstraps whatever lambda is.", at_least=1, at_most=10**6
    )
    optimistic_value: float = setting(
        0.0,
        "Value of every board of a new network, in points; above what can be reached, untried moves look good "
        "(Guei et al. 2022; for MuZero Guei 2023, sec. 4.4.4). 0: low, which is 0 for value tables and a twentieth of "
        "the support, in units of h, for a head.",
        at_least=0,
    )
    num_envs: int = setting(256, "Games played side by side.", at_least=1, at_most=2**24)
    chunk: int = setting(32, "Moves of each game between two rounds of updates.", at_least=1, at_most=2**20)
    symmetry: bool = setting(True, "Train on a random one of the 8 views of each sample.")
    network: NetworkConfig = group(NetworkConfig)
    value: ValueCodec = group(ValueCodec)
    start: StartConfig = group(StartConfig)
    replay: ReplayConfig = group(ReplayConfig)
    optimizer: OptimizerConfig = group(OptimizerConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.network.trunk == "cnn_2x2" and min(self.rows, self.columns) < 3:
            self.network.refuse(
                "trunk", f"cnn_3x3: two layers of 2x2 leave nothing of {self.rows}x{self.columns} cells"
            )
        most_tiles = self.rows * self.columns - 3
        if self.start.kind == "jump_start" and len(self.start.jump_levels) > most_tiles:
            reason = "so that a cell is empty after two spawns"
            self.start.refuse("jump_tiles", f"at most {most_tiles} tiles on {self.rows}x{self.columns} cells, {reason}")
        if self.optimistic_value > self.largest_value:
            end = f"{self.largest_value:.0f}, the end of the value support"
            self.refuse("optimistic_value", f"0 to {end}, or raise value.h_max")
        updates = self.chunk_moves * self.replay.ratio / self.replay.batch_size
        if updates < 1 or not math.isclose(updates, round(updates)):
            raise ValueError(
                f"num_envs * chunk * replay.ratio / replay.batch_size is {updates:g} updates a chunk; "
                "give values with which it is a whole number of at least 1"
            )
        if self.replay.capacity % self.chunk_moves:
            self.replay.refuse("capacity", f"a multiple of num_envs * chunk = {self.chunk_moves}")

    @property
    def largest_value(self) -> float:
        """The largest value that can be said, in points."""
        return self.value.largest

    @property
    def chunk_moves(self) -> int:
        """Moves played between two rounds of updates."""
        return self.num_envs * self.chunk

    @property
    def updates_per_chunk(self) -> int:
        """Updates in a round."""
        return round(self.chunk_moves * self.replay.ratio / self.replay.batch_size)

    @property
    def total_updates(self) -> int:
        """Planned updates of the whole run."""
        return max(1, self.env_steps // self.chunk_moves * self.updates_per_chunk)


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
