"""What an experiment can set. One default a field, here; a check that fails names the field and the mend."""

import math
from dataclasses import dataclass, field
from typing import Literal

from muzero2048.value_codec import ValueCodec

TUPLE_SHAPES = ("lines", "squares", "rects", "axes")  # tuples.py
START_TILES = {str(2**level): level for level in range(3, 18)}  # tiles of starts, and log2 of them


@dataclass(frozen=True)
class NetworkConfig:
    """The model and the networks that it is made of."""

    # latent: an abstract state trained by value equivalence, as published (latent.py). grounded: a state of H*W cells
    # and a reconstruction loss (grounded.py)
    model: Literal["latent", "grounded"] = "latent"
    # From the tiles to features (networks.py): h of a latent model, f and psi of a grounded one
    trunk: Literal["residual_mlp", "se_resnet", "tuples", "cnn_2x2", "cnn_3x3"] = "residual_mlp"
    # residual blocks of the trunk, and of phi and g (latent); layers of the trunk tuples; a cnn has its own number
    blocks: int = 10
    width: int = 256  # units of a layer, channels of a convolution
    norm: Literal["layer", "rms"] = "layer"  # LayerNorm or RMSNorm
    tile_levels: int = 18  # one-hot planes of the observation: 18 shows every tile up to 131072
    tuples: str = "lines squares"  # trunk tuples: which ones, words of lines, squares, rects, axes (tuples.py)
    tuple_width: int = 8  # trunk tuples: units in a table entry
    # latent: how phi reads its action. append: behind the state, as published. outer: the outer product of the two,
    # which gives the first layer of phi weights of its own for each action
    action_input: Literal["append", "outer"] = "append"
    # grounded: an n-tuple network in the value, words as in `tuples`, learned by TC (value_tables.py); "": none
    value_tuples: str = ""
    table_bits: int = 20  # of the index of a value table: 2^24 entries tell all contents of six cells apart
    cell_width: int = 16  # grounded: units of the latent of one cell
    line_width: int = 128  # grounded: hidden units of phi, the network of one line
    compute_dtype: Literal["float32", "bfloat16"] = "float32"  # of the layers; parameters and heads stay float32

    def __post_init__(self) -> None:
        for name in ("blocks", "width", "cell_width", "line_width", "tuple_width"):
            if getattr(self, name) < 1:
                raise ValueError(f"network.{name} is {getattr(self, name)}: must be at least 1")
        if not 2 <= self.tile_levels <= 32:
            raise ValueError(f"network.tile_levels is {self.tile_levels}: must be between 2 and 32")
        for name, words in (("tuples", self.tuples.split()), ("value_tuples", self.value_tuples.split())):
            if set(words) - set(TUPLE_SHAPES) or not (words or name == "value_tuples"):
                raise ValueError(
                    f"network.{name} is '{' '.join(words)}': give some of the words {', '.join(TUPLE_SHAPES)}"
                )
        if self.value_tuples and self.model != "grounded":
            raise ValueError(
                "network.value_tuples reads boards, and only the grounded model of MuZero predicts them: set "
                "network.model=grounded, or leave it out"
            )
        if not 16 <= self.table_bits <= 24:
            raise ValueError(f"network.table_bits is {self.table_bits}: must be between 16 and 24")

    @property
    def convolutional(self) -> bool:
        """Features keep their places on the board."""
        return self.trunk == "se_resnet"


@dataclass(frozen=True)
class ChanceConfig:
    """Chance codes."""

    # learned: straight-through one-hot codes (Stochastic MuZero, sec. 4.2). oracle: the true spawn code, the ceiling.
    encoder: Literal["learned", "oracle"] = "learned"
    codes: int = 32  # C, size of the codebook; the oracle needs at least 2*H*W

    def __post_init__(self) -> None:
        if self.codes < 1:
            raise ValueError(f"chance.codes is {self.codes}: must be at least 1")


@dataclass(frozen=True)
class SearchConfig:
    """Planning at a root (search/). With a Gumbel root and simulations <= considered_actions it is one batch."""

    engine: Literal["own", "mctx"] = "own"  # own: search/loop.py; mctx: composed of mctx's parts, slower, as a check
    model: Literal["learned", "simulator"] = "learned"  # simulator: the rules of the game in place of learned dynamics
    simulations: int = 4  # n, evaluations a move
    # gumbel: top-m by Gumbel noise and Sequential Halving; puct: Dirichlet noise, and the action drawn by its visits
    root: Literal["gumbel", "puct"] = "gumbel"
    considered_actions: int = 4  # m, actions sampled without replacement at a Gumbel root
    # Of the noise in self-play; evaluation plays without. At a PUCT root it is the temperature of the visits.
    gumbel_scale: float = 1.0
    dirichlet_fraction: float = 0.1  # of a PUCT root's prior in self-play (Stochastic MuZero, for 2048)
    dirichlet_alpha: float = 0.3
    inside: Literal["puct", "gumbel"] = "puct"  # rule at the decision nodes inside the tree
    # Rule at the chance nodes (search/selection.py): p / (n + 1); largest deficit p (n + 1) - n; golden-ratio sequence;
    # sampling; or each outcome once, likely ones first, and the expectation over them in place of the mean over visits
    chance: Literal["ratio", "deficit", "quasi_random", "sampled", "weighted"] = "deficit"
    read_out: Literal["mean", "expectimax"] = "mean"  # Q of the root's actions: mean over visits, or a sweep
    c_visit: float = 50.0  # sigma(q) = (c_visit + max visits) c_scale q   (Gumbel MuZero, eq. 8)
    c_scale: float = 0.1
    # Unit of q: min-max over the actions of the node, over the whole tree, or `value_scale` points.
    normalization: Literal["node", "tree", "fixed"] = "node"
    range_floor: float = 1.0  # node, tree: least range of q, in points, that min-max stretches to [0, 1]
    value_scale: float = 100.0  # fixed: points that count as 1
    pb_c_init: float = 1.25  # PUCT (MuZero, appendix B)
    pb_c_base: float = 19652.0

    def __post_init__(self) -> None:
        if self.simulations < 1 or not 1 <= self.considered_actions <= 4:
            raise ValueError(
                f"search.simulations = {self.simulations}, search.considered_actions = {self.considered_actions}: "
                "needs simulations >= 1 and considered_actions between 1 and 4"
            )
        if min(self.range_floor, self.value_scale, self.pb_c_base, self.dirichlet_alpha) <= 0:
            raise ValueError("search.range_floor, value_scale, pb_c_base and dirichlet_alpha must be above 0")
        if min(self.gumbel_scale, self.c_visit, self.c_scale, self.pb_c_init) < 0:
            raise ValueError("search.gumbel_scale, c_visit, c_scale and pb_c_init must be at least 0")
        if not 0 <= self.dirichlet_fraction <= 1:
            raise ValueError(f"search.dirichlet_fraction is {self.dirichlet_fraction}: must be between 0 and 1")
        if self.engine == "mctx":
            for name, missing in (("normalization", "tree"), ("chance", "weighted"), ("read_out", "expectimax")):
                if getattr(self, name) == missing:
                    raise ValueError(f"search.{name} = {missing} needs search.engine = own")

    @property
    def one_step(self) -> bool:
        """Every action considered is visited at most once, so the search is one batch of afterstates."""
        return self.root == "gumbel" and self.simulations <= self.considered_actions


@dataclass(frozen=True)
class StartConfig:
    """Where the games of self-play start (starts.py). Evaluation always plays from normal starts."""

    # normal: two tiles. restart: in the middle of the game that just ended. carousel: where an earlier game reached a
    # stage, each stage in turn. jump_start: on a made-up board with large tiles
    kind: Literal["normal", "restart", "carousel", "jump_start"] = "normal"
    restart_moves: int = 100  # L: no restart with fewer moves than this behind the middle (Matsuzaki 2017, algorithm 3)
    stages: str = "512 1024 2048"  # carousel: a stage begins when its tile first appears
    carousel_size: int = 1000  # carousel: initial boards kept of each stage, of all environments (Jaskowski 2017)
    jump_fraction: float = 0.5  # jump_start: share of the games that begin so
    jump_tiles: str = "2048 1024 512"  # jump_start: one or more of these, from the first on

    def __post_init__(self) -> None:
        for name in ("restart_moves", "carousel_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"start.{name} is {getattr(self, name)}: must be at least 1")
        if not 0 <= self.jump_fraction <= 1:
            raise ValueError(f"start.jump_fraction is {self.jump_fraction}: must be between 0 and 1")
        for name in ("stages", "jump_tiles"):
            words = getattr(self, name).split()
            if not words or not all(word in START_TILES for word in words):
                raise ValueError(
                    f"start.{name} is '{getattr(self, name)}': give tiles from 8 to 131072, such as 512 1024"
                )
        if list(self.stage_levels) != sorted(set(self.stage_levels)):
            raise ValueError(f"start.stages is '{self.stages}': each tile must be larger than the one before")

    @property
    def stage_levels(self) -> tuple[int, ...]:
        """log2 of the tiles with which the stages begin."""
        return tuple(START_TILES[word] for word in self.stages.split())

    @property
    def jump_levels(self) -> tuple[int, ...]:
        """log2 of the tiles on a made-up board."""
        return tuple(START_TILES[word] for word in self.jump_tiles.split())


@dataclass(frozen=True)
class ReplayConfig:
    """Boards of self-play on the device, encoded only when sampled."""

    capacity: int = 1_000_000  # moves kept, over all environments
    batch_size: int = 1024  # sequences an update
    ratio: float = 1.0  # sequences sampled a move played
    # Sampled in proportion to |error|^alpha, weighted by (N p)^-beta (Stochastic MuZero: 1 and 1). The error is search
    # value less target of a new move, and V(s) less target once it has been sampled
    priority_exponent: float = 0.0  # alpha; 0: uniform
    importance_exponent: float = 0.0  # beta
    reanalyse: float = 0.0  # share of the samples whose value and policy targets are searched anew

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.capacity < 1 or not 0 < self.ratio < math.inf:
            raise ValueError("replay.capacity, replay.batch_size and replay.ratio must be above 0, and finite")
        for name in ("priority_exponent", "importance_exponent"):
            if getattr(self, name) < 0:
                raise ValueError(f"replay.{name} is {getattr(self, name)}: must be at least 0")
        if self.importance_exponent and not self.priority_exponent:
            raise ValueError(
                f"replay.importance_exponent is {self.importance_exponent} without priorities, which it would undo: "
                "set replay.priority_exponent too"
            )
        if not 0 <= self.reanalyse <= 1:
            raise ValueError(f"replay.reanalyse is {self.reanalyse}: must be between 0 and 1")

    @property
    def reanalysed(self) -> int:
        """Sequences of a batch that are searched anew."""
        return max(1, round(self.reanalyse * self.batch_size)) if self.reanalyse else 0


@dataclass(frozen=True)
class LossWeights:
    """Weights of the terms of the loss (losses.py)."""

    value: float = 0.25
    afterstate_value: float = 0.25
    policy: float = 1.0
    chance: float = 1.0
    reward: float = 1.0
    commitment: float = 0.25
    reconstruction: float = 1.0  # grounded model only
    consistency: float = 0.0  # latent model only: g's next state against h of the true next board

    def __post_init__(self) -> None:
        for name, weight in vars(self).items():
            if weight < 0:
                raise ValueError(f"losses.{name} is {weight}: must be at least 0")


@dataclass(frozen=True)
class OptimizerConfig:
    """Adam with linear decay."""

    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-4  # reached linearly at the last planned update
    max_gradient_norm: float = 5.0  # gradients are clipped to this global norm
    weight_decay: float = 0.0  # decoupled (AdamW)
    table_learning_rate: float = 1.0  # alpha of the value tables, before coherence (value_tables.py)

    def __post_init__(self) -> None:
        for name in ("learning_rate", "final_learning_rate", "max_gradient_norm"):
            if getattr(self, name) <= 0:
                raise ValueError(f"optimizer.{name} is {getattr(self, name)}: must be above 0")
        if self.weight_decay < 0:
            raise ValueError(f"optimizer.weight_decay is {self.weight_decay}: must be at least 0")
        if not 0 <= self.table_learning_rate <= 1:
            raise ValueError(f"optimizer.table_learning_rate is {self.table_learning_rate}: must be between 0 and 1")


@dataclass(frozen=True)
class TrainingConfig:
    """What all learners that train a network on the device share: the game, value targets, rounds and the optimizer."""

    env_steps: int  # training budget, in moves
    report_env_steps: int  # moves between two reports of the metrics
    rows: int = 4
    columns: int = 4
    discount: float = 0.999  # gamma, once a move
    td_lambda: float = 0.5  # lambda of the value target
    td_steps: int = 10  # n, after which the target bootstraps whatever lambda
    # In points: where V(s) and V(as) of a new network begin; above what can be reached, untried moves look good
    # (Guei et al. 2022 for n-tuple networks; for MuZero the open question of Guei 2023, sec. 4.4.4). 0: low, which is 0
    # for value tables and a twentieth of the support, in units of h, for a head (ValueCodec.least)
    optimistic_value: float = 0.0
    num_envs: int = 256  # games played side by side
    chunk: int = 32  # moves of each between two rounds of updates
    symmetry: bool = True  # train on a random one of the 8 views of each sample
    network: NetworkConfig = field(default_factory=NetworkConfig)
    value: ValueCodec = field(default_factory=ValueCodec)
    start: StartConfig = field(default_factory=StartConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        if not (2 <= self.rows <= 4 and 2 <= self.columns <= 4):
            raise ValueError(f"board {self.rows}x{self.columns}: rows and columns must be between 2 and 4")
        if self.network.trunk == "cnn_2x2" and min(self.rows, self.columns) < 3:
            raise ValueError(
                f"network.trunk is cnn_2x2: each of its two layers takes a row and a column away, and a board of "
                f"{self.rows}x{self.columns} has none left; give a board from 3x3 or the trunk cnn_3x3"
            )
        if not 0 < self.discount <= 1 or not 0 <= self.td_lambda <= 1:
            raise ValueError(f"discount {self.discount} must be in (0, 1] and td_lambda {self.td_lambda} in [0, 1]")
        if min(self.num_envs, self.chunk, self.td_steps, self.env_steps, self.report_env_steps) < 1:
            raise ValueError("env_steps, report_env_steps, num_envs, chunk and td_steps must be at least 1")
        if self.start.kind == "jump_start" and len(self.start.jump_levels) > self.rows * self.columns - 3:
            raise ValueError(
                f"start.jump_tiles is '{self.start.jump_tiles}': on {self.rows}x{self.columns} cells give at most "
                f"{self.rows * self.columns - 3} tiles, so that one cell is empty after two spawns"
            )
        if self.optimistic_value != 0 and not 0 < self.optimistic_value <= self.largest_value:
            raise ValueError(
                f"optimistic_value is {self.optimistic_value:g}: must be between 0 and the end of the value support, "
                f"{self.largest_value:.0f}; raise value.h_max for more"
            )
        updates = self.chunk_moves * self.replay.ratio / self.replay.batch_size
        if updates < 1 or not math.isclose(updates, round(updates)):
            raise ValueError(
                f"num_envs * chunk * replay.ratio / replay.batch_size = {updates:g} updates a chunk: "
                "must be a whole number"
            )
        if self.replay.capacity % self.chunk_moves:
            raise ValueError(
                f"replay.capacity is {self.replay.capacity}: must be a multiple of num_envs * chunk = "
                f"{self.chunk_moves}"
            )

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

    # What the target bootstraps from, of the search at the next state: the best visited Q (Guei 2023, eq. 35), Q of the
    # move that is played, Q expected under the improved policy, the mean over visits, or V(s) without a search
    bootstrap: Literal["best_child", "played", "improved_policy", "visit_mean", "network"] = "best_child"
    ema_decay: float = 0.0  # per update, of the averaged parameters that play, reanalyse and are evaluated; 0: none
    unroll_steps: int = 5  # K, model steps behind each sampled position
    chance: ChanceConfig = field(default_factory=ChanceConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    losses: LossWeights = field(default_factory=LossWeights)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unroll_steps < 1:
            raise ValueError(f"unroll_steps is {self.unroll_steps}: must be at least 1")
        if self.losses.consistency and self.network.model == "grounded":
            raise ValueError(
                "losses.consistency compares latent states, and network.model is grounded, which has "
                "losses.reconstruction for that: leave it out"
            )
        if not 0 <= self.ema_decay < 1:
            raise ValueError(f"ema_decay is {self.ema_decay}: must be at least 0 and below 1")
        if self.chance.encoder == "oracle" and self.chance.codes < 2 * self.rows * self.columns:
            raise ValueError(
                f"chance.codes is {self.chance.codes}: the oracle on {self.rows}x{self.columns} cells "
                f"needs at least {2 * self.rows * self.columns}"
            )
        # The capacity is a multiple of the chunk, so it holds a sequence too.
        if self.chunk <= self.unroll_steps:
            raise ValueError(f"chunk is {self.chunk}: must be above unroll_steps = {self.unroll_steps}")
