"""Configuration of TD learning: target, step size, exploration, and where training games start."""

from typing import Annotated, Literal

from pydantic import Field

from ntuple.core.settings import Settings, Share, group, setting
from ntuple.mcts.config import MCTSConfig

BLOCK_LEVELS = {2**level: level for level in range(3, 18)}  # block tile -> log2 of it

# Conditions under which keys have an effect.
TRACES, LAMBDAS = "target.method=trace|delayed", "target.method=lambda_return|trace|delayed"
HORIZON = f"{TRACES} and target.direction=forward"
RETURNS = "target.method=n_step|lambda_return"
SOME_TD = "step_size.adaptive_fraction!=1.0"
SOME_ADAPTIVE = "step_size.adaptive_fraction!=0.0"
SOME_TC, AUTOSTEP = (f"step_size.adaptive={rule} and {SOME_ADAPTIVE}" for rule in ("tc", "autostep"))
SEARCHES = "target.search.simulations!=1"
RESTART, CAROUSEL, JUMP = "start.kind=restart", "start.kind=carousel", "start.kind=jump_start"
BLOCKS, BOUNDARY, POSITIONS = "start.kind=blocks", "start.kind=boundary", "start.kind=positions"


class TargetSearchConfig(Settings, prefix="target.search"):
    """The search whose value of the best move is the target (Guei 2023, sec. 4.3.4; ntuple/td/mcts_target.py)."""

    simulations: int = setting(
        1, "N~, simulations of each move in training; 1: no search.", at_least=1, at_most=MCTSConfig.MOST_SIMULATIONS
    )
    c: float = setting(0.0, "c~, exploration constant of UCB.", at_least=0, at_most=1000, only_if=SEARCHES)
    v_norm: float = setting(
        0.0,
        "V_norm, points that count as 1 in UCB; 0: the largest r + V at the root (eq. 36).",
        at_least=0,
        at_most=1e9,
        only_if=SEARCHES,
    )
    backup: Literal["mean", "expectimax"] = setting(
        "mean", "Value of a move in the search (ntuple/mcts/search.py); mean: as published.", only_if=SEARCHES
    )
    plays: bool = setting(
        True, "Training games make the move of the search; false: the move of 1-ply.", only_if=SEARCHES
    )

    @property
    def mcts(self) -> MCTSConfig:
        """The search."""
        return MCTSConfig(simulations=self.simulations, c=self.c, v_norm=self.v_norm, backup=self.backup)


class TargetConfig(Settings, prefix="target"):
    """The target of an afterstate (ntuple/td/targets.py)."""

    method: Literal["td", "n_step", "lambda_return", "trace", "delayed", "expected"] = setting(
        "td", "Rule that computes the target (equations in ntuple/td/targets.py)."
    )
    direction: Literal["forward", "backward"] = setting(
        "forward", "Learn during the game, or from its end to its start (Matsuzaki 2017, algorithm 2)."
    )
    steps: int = setting(
        1, "n, steps of the return; TDL2048+ uses 5 with lambda.", at_least=1, at_most=1000, only_if=RETURNS
    )
    decay: float = setting(
        0.5, "lambda, factor of an error for each further step.", at_least=0, at_most=1, only_if=LAMBDAS
    )
    horizon: int = setting(
        3,
        "h, number of earlier moves that learn from an error; forward learning only (Jaskowski 2017, algorithm 1).",
        at_least=0,
        at_most=1000,
        only_if=HORIZON,
    )
    rectified: Literal["none", "target", "relu"] = setting(
        "none",
        "target: a value below 0 counts as 0 in targets (Guei 2023, eq. 45). relu: in addition, an afterstate with a "
        "value below 0 is not updated (eq. 46).",
    )

    search: TargetSearchConfig = group(TargetSearchConfig)

    def __post_init__(self) -> None:
        if self.search.simulations > 1 and (self.method, self.direction) != ("td", "forward"):
            self.refuse("method", "td, forward: a search gives the target of one move")
        if self.method == "delayed" and self.direction == "backward":
            self.refuse("direction", "forward, which target.method = delayed needs, or set target.method = trace")
        if self.method == "expected" and (self.direction, self.rectified) != ("forward", "none"):
            self.refuse("method", "another one: expected updates are forward and not rectified")


class TCConfig(Settings, prefix="step_size.tc"):
    """Temporal coherence (Jaskowski 2017, algorithm 2)."""

    alpha: float = setting(1.0, "Learning rate before it is multiplied by the coherence.", above=0, at_most=2)
    sums: Literal["errors", "steps"] = setting(
        "errors", "What E and A sum: errors (Jaskowski 2017; Guei 2023) or steps (Matsuzaki 2017)."
    )


class AutostepConfig(Settings, prefix="step_size.autostep"):
    """Autostep (Jaskowski 2017, sec. V-B)."""

    mu: float = setting(0.1, "Meta step size.", above=0, at_most=1)
    tau: float = setting(1e-4, "Rate at which the normalisers decay.", above=0, at_most=1)
    first: float = setting(
        1.0,
        "Step size of the whole board at the start; a weight begins with first / (S M), so S M gives it 1.",
        above=0,
        at_most=1000,
    )


class StepSizeConfig(Settings, prefix="step_size"):
    """How an error changes the weights: first by TD, then by an adaptive rule (ntuple/td/step_sizes.py)."""

    alpha: float = setting(
        0.1, "TD: learning rate of a board, shared by its entries.", above=0, at_most=2, only_if=SOME_TD
    )
    alpha_steps: tuple[tuple[Share, Annotated[float, Field(gt=0, le=2)]], ...] = setting(
        (),
        "TD: later learning rates, as pairs [share of the budget, rate from then on], such as "
        "[[0.5, 0.01], [0.75, 0.001]].",
        only_if=SOME_TD,
    )
    adaptive_fraction: float = setting(
        1.0, "P_TC, last share of the budget, which uses the adaptive rule; 0: only TD.", at_least=0, at_most=1
    )
    adaptive: Literal["tc", "autostep"] = setting(
        "tc", "The adaptive rule: temporal coherence or Autostep.", only_if=SOME_ADAPTIVE
    )
    reset_env_steps: int = setting(
        0, "Moves after which the adaptive rule resets its step sizes; 0: never.", at_least=0, only_if=SOME_ADAPTIVE
    )
    tc: TCConfig = group(TCConfig, only_if=SOME_TC)
    autostep: AutostepConfig = group(AutostepConfig, only_if=AUTOSTEP)

    def __post_init__(self) -> None:
        self.check_ascending("alpha_steps")


class ExplorationConfig(Settings, prefix="exploration"):
    """Exploration in training; epsilon and temperature fall linearly to 0 (Guei 2023, appendix C)."""

    epsilon: float = setting(0.0, "Probability of a random move at the start.", at_least=0, at_most=1)
    temperature: float = setting(
        0.0,
        "Temperature of softmax moves at the start, in points. Guei's unit differs (ntuple/td/exploration.py).",
        at_least=0,
        below=1e9,
    )
    decay: float = setting(
        1.0,
        "Share of the budget after which epsilon and temperature are 0.",
        above=0,
        at_most=1,
        only_if="exploration.epsilon!=0.0 or exploration.temperature!=0.0",
    )


class RestartConfig(Settings, prefix="start.restart"):
    """Restart from the middle of the game that has just ended (Matsuzaki 2017, algorithm 3)."""

    moves: int = setting(100, "L: restart only if more than this number of moves follow the middle.", at_least=1)


class CarouselConfig(Settings, prefix="start.carousel"):
    """Start where an earlier game reached a stage, each stage in turn (Jaskowski 2017, algorithm 5)."""

    stages: tuple[int | str, ...] = setting((), "Stages, in the form of the key `stages`; empty: those of the network.")
    size: int = setting(1000, "Afterstates kept for each stage and thread.", at_least=1, at_most=10**7)


class BlocksConfig(Settings, prefix="start.blocks"):
    """Start in the block after the one in which the game ended (TDL2048+, option -b; ntuple/td/block_carousel.py)."""

    tile: int = setting(
        2048, "Block tile, a power of 2: a block is the set of tiles from it on.", at_least=8, at_most=2**17
    )
    limit: int = setting(65536, "Blocks stay below this sum of tiles.", at_least=8, at_most=2**18)

    def __post_init__(self) -> None:
        if self.tile not in BLOCK_LEVELS:
            self.refuse("tile", "a power of 2")

    @property
    def level(self) -> int:
        """log2 of the block tile."""
        return BLOCK_LEVELS[self.tile]


class BoundaryConfig(Settings, prefix="start.boundary"):
    """Start where an earlier game entered the first stage that is trained (Guei 2023, sec. 3.4.2)."""

    size: int = setting(
        1000, "Afterstates of each thread; until so many are known, games begin normally.", at_least=1, at_most=10**7
    )


class PositionsConfig(Settings, prefix="start.positions"):
    """Start on afterstates of other games, such as those of a stronger player."""

    file: str = setting("", "Afterstates, made by `muzero2048 positions` from recorded games.")
    until: int = setting(
        0, "Tile with which these games end, so that values count the points until then; 0: games go on.", at_least=0
    )


class JumpStartConfig(Settings, prefix="start.jump_start"):
    """Start some games on a made-up board with large tiles."""

    fraction: float = setting(0.5, "Share of games that begin on a made-up board.", at_least=0, at_most=1)
    tiles: tuple[int, ...] = setting((16384, 8192, 4096), "Large tiles of a made-up board: the first one or more.")


class StartConfig(Settings, prefix="start"):
    """Where training games start (ntuple/td/starts.py). Evaluation always uses normal starts."""

    kind: Literal["normal", "restart", "carousel", "blocks", "boundary", "positions", "jump_start"] = setting(
        "normal",
        "normal: the beginning of a game. restart: the middle of the game that just ended. carousel: where an earlier "
        "game reached a stage, each stage in turn. blocks (2048 alone): the next block of large tiles. boundary: where "
        "an earlier game reached the first trained stage. positions: where recorded games were. jump_start: a made-up "
        "board with large tiles.",
    )
    restart: RestartConfig = group(RestartConfig, only_if=RESTART)
    carousel: CarouselConfig = group(CarouselConfig, only_if=CAROUSEL)
    blocks: BlocksConfig = group(BlocksConfig, only_if=BLOCKS)
    boundary: BoundaryConfig = group(BoundaryConfig, only_if=BOUNDARY)
    positions: PositionsConfig = group(PositionsConfig, only_if=POSITIONS)
    jump_start: JumpStartConfig = group(JumpStartConfig, only_if=JUMP)

    @property
    def until(self) -> int:
        """The tile with which training games end; 0: they go on."""
        return self.positions.until if self.kind == "positions" else 0
