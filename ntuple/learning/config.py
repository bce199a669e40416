"""Configuration of the n-tuple learner."""

from typing import Annotated, Literal

from pydantic import Field

from ntuple.core.games.definition import MOST_LEVELS, Game
from ntuple.core.games.known import GAMES, find_game
from ntuple.core.opponents import CHANCE, OpponentName
from ntuple.core.rules import check_sides
from ntuple.core.settings import Settings, Share, group, setting
from ntuple.mcts.config import MCTSConfig
from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.patterns import Pattern, count_levels, parse_network, table_sizes
from ntuple.tables.stages import Stages, make_stages

MOST_PLACES = 2**32  # largest number of entries of a tuple: an index has 32 bits
BLOCK_LEVELS = {2**level: level for level in range(3, 18)}  # block tile -> log2 of it

# Conditions under which keys have an effect.
TRACES, LAMBDAS = "target.method=trace|delayed", "target.method=lambda_return|trace|delayed"
RETURNS = "target.method=n_step|lambda_return"
SOME_TD = "step_size.adaptive_fraction!=1.0"
SOME_ADAPTIVE = "step_size.adaptive_fraction!=0.0"
SOME_TC, AUTOSTEP = "step_size.adaptive=tc", "step_size.adaptive=autostep"
SEARCHES = "target.search.simulations!=1"
RESTART, CAROUSEL, JUMP = "start.kind=restart", "start.kind=carousel", "start.kind=jump_start"
BLOCKS, BOUNDARY = "start.kind=blocks", "start.kind=boundary"
HINTS = f"game={'|'.join(name for name, game in GAMES.items() if game.num_hints > 1)}"


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
        only_if=TRACES,
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


class JumpStartConfig(Settings, prefix="start.jump_start"):
    """Start some games on a made-up board with large tiles."""

    fraction: float = setting(0.5, "Share of games that begin on a made-up board.", at_least=0, at_most=1)
    tiles: tuple[int, ...] = setting((16384, 8192, 4096), "Large tiles of a made-up board: the first one or more.")


class StartConfig(Settings, prefix="start"):
    """Where training games start (ntuple/td/starts.py). Evaluation always uses normal starts."""

    kind: Literal["normal", "restart", "carousel", "blocks", "boundary", "jump_start"] = setting(
        "normal",
        "normal: the beginning of a game. restart: the middle of the game that just ended. carousel: where an earlier "
        "game reached a stage, each stage in turn. blocks (2048 alone): the next block of large tiles. boundary: where "
        "an earlier game reached the first trained stage. jump_start: a made-up board with large tiles.",
    )
    restart: RestartConfig = group(RestartConfig, only_if=RESTART)
    carousel: CarouselConfig = group(CarouselConfig, only_if=CAROUSEL)
    blocks: BlocksConfig = group(BlocksConfig, only_if=BLOCKS)
    boundary: BoundaryConfig = group(BoundaryConfig, only_if=BOUNDARY)
    jump_start: JumpStartConfig = group(JumpStartConfig, only_if=JUMP)


class AverageConfig(Settings, prefix="average"):
    """Stochastic weight averaging: play with the mean of networks at several times in training (Guei 2023, sec. 4.2).

    If `step_size.reset_env_steps` is the same interval, each averaged network is the end of one cycle.
    """

    env_steps: int = setting(0, "Moves between two networks that are averaged; 0: no averaging.", at_least=0)
    fraction: float = setting(
        0.5,
        "Last share of the budget, in which networks are averaged.",
        above=0,
        at_most=1,
        only_if="average.env_steps!=0",
    )


class NTupleConfig(Settings):
    """Configuration of the n-tuple learner. v_init > 0 gives optimistic initial values."""

    game: str = setting("2048", f"The game: {', '.join(GAMES)} (ntuple/core/games).")
    rows: int = setting(4, "H, height of the board.", at_least=1, at_most=4)
    columns: int = setting(4, "W, width of the board.", at_least=1, at_most=4)
    levels: int = setting(
        0,
        "R, values of a cell in the index of a tuple; larger tiles count as the largest of them. 0: 16, in 2584 24, on "
        "small boards fewer. A tuple of n cells has R^n weights.",
        at_least=0,
        at_most=MOST_LEVELS,
        only_if="game!=2048",
    )
    hint: bool = setting(True, "In a game with a hint, each hint has weights of its own.", only_if=HINTS)
    network: tuple[str, ...] = setting(
        ("4x6",), "Name of a network (ntuple/tables/patterns.py), or tuples of cells in hex, such as ['0123', '4567']."
    )
    symmetry: bool = setting(
        True, "All symmetric views of a tuple share one table: 8 views, or 4 if the board is not square."
    )
    values: Literal["afterstate", "state", "action"] = setting(
        "afterstate",
        "What the network evaluates; state and action serve for comparison (ntuple/td/state_and_q.py).",
    )
    stages: tuple[int | str, ...] = setting(
        (),
        "Parts of a game, each with its own weights: a scheme such as 2^3 or top4, or sums of tiles at which stages "
        "begin, such as [16384, 16384+8192]; empty: one stage.",
    )
    promotion: Literal["none", "inter", "intra", "both"] = setting(
        "none",
        "Value of a weight before its first update. none: the initial value. inter: the weight of the previous stage. "
        "intra: the weight of the entry with halved tiles. both: first intra, then inter.",
    )
    frozen_stages: int = setting(
        0, "Number of first stages that are not trained; with run.begin_from only later stages learn.", at_least=0
    )
    frozen_tuples: int = setting(
        0, "Number of first tuples that are not trained; with run.begin_from only the other tuples learn.", at_least=0
    )
    env_steps: int = setting(100_000_000, "Training budget in moves.", at_least=1)
    report_env_steps: int = setting(5_000_000, "Moves between two reports.", at_least=1)
    threads: int = setting(
        0,
        "Threads that train one network without locks; 0: one per core; 1: reproducible bit for bit.",
        at_least=0,
        at_most=1024,
    )
    v_init: float = setting(
        0.0, "Initial value of every board, in points; 320,000 in Guei et al. 2022.", at_least=0, below=1e9
    )
    opponent: OpponentName = setting(
        CHANCE, "Who places the tiles of training games, by the values that are learned (ntuple/core/opponents.py)."
    )
    target: TargetConfig = group(TargetConfig)
    step_size: StepSizeConfig = group(StepSizeConfig)
    exploration: ExplorationConfig = group(ExplorationConfig)
    start: StartConfig = group(StartConfig)
    average: AverageConfig = group(AverageConfig)

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            self.refuse("game", f"one of: {', '.join(GAMES)}")
        check_sides(self.rows, self.columns)
        find_game(self.game, self.rows, self.columns)  # refuses a board that the first tiles fill
        self._check_stages()
        if (largest := max(table_sizes(self.patterns, self.num_levels))) > MOST_PLACES:
            most = (
                f"{self.num_levels} values of a cell make {largest:,} weights of a tuple, {MOST_PLACES:,} are the most"
            )
            self.refuse("network", f"smaller tuples, or fewer levels: {most}")
        self._check_values()
        self._check_opponent()
        self._check_start()

    def _check_stages(self) -> None:
        """Check the stages of the network, and what depends on them."""
        stages = self.cut.thresholds.size + 1
        if self.frozen_stages >= stages:
            self.refuse("frozen_stages", f"a number below the {stages} of stages")
        if self.frozen_tuples >= len(self.patterns):
            self.refuse("frozen_tuples", f"a number below the {len(self.patterns)} tuples of network")
        if self.promotion in ("inter", "both") and not self.stages:
            self.refuse("promotion", "intra, or set stages: inter and both use the weights of the previous stage")
        try:
            make_stages(self.start.carousel.stages, self.rules_of_game)
        except ValueError as error:
            self.start.carousel.refuse("stages", str(error).partition("give ")[2])
        if self.start.kind == "carousel" and not (self.stages or self.start.carousel.stages):
            raise ValueError(
                "start.kind is 'carousel', which needs stages; give start.carousel.stages, for example 2^4"
            )
        if self.start.kind == "boundary" and not self.frozen_stages:
            raise ValueError("start.kind is 'boundary', which needs frozen stages; give frozen_stages, for example 1")

    def _check_opponent(self) -> None:
        """Refuse targets that are means over drawn tiles, and values that an opponent cannot read."""
        means = self.target.method == "expected" or self.target.search.simulations > 1
        if self.opponent != CHANCE and (means or self.values != "afterstate"):
            wrong = "target.method=expected, target.search" if means else "values"
            self.refuse("opponent", f"{CHANCE}, or leave out {wrong}: an opponent does not draw the tiles")

    def _check_start(self) -> None:
        """Check the starts that make up boards."""
        game = self.rules_of_game
        if self.start.kind == "blocks" and not game.doubles:
            raise ValueError(f"start.kind is 'blocks', which {game.name} has not; give carousel or another one")
        if self.start.kind != "jump_start":
            return
        jump, allowed, most = self.start.jump_start, game.tiles[3:18], self.rows * self.columns - 3
        if not {*jump.tiles} <= {*allowed}:
            some = [game.tiles[min(12, len(game.tiles) - 2)], game.tiles[min(11, len(game.tiles) - 3)]]
            jump.refuse("tiles", f"tiles from {allowed[0]} to {allowed[-1]}, such as {some}")
        if not jump.tiles:
            jump.refuse("tiles", "one tile or more")
        if len(jump.tiles) > most:
            jump.refuse("tiles", f"at most {most} tiles on a board of {self.rows}x{self.columns}")

    def _check_values(self) -> None:
        """Check that a network of states or actions has the default target, start and promotion."""
        if self.values == "afterstate":
            return
        for key, default in (("target", TargetConfig()), ("start", StartConfig()), ("promotion", "none")):
            if getattr(self, key) != default:
                self.refuse("values", f"afterstate, or leave out {key}: state and action support only its default")
        if max(self.table_sizes) > MOST_PLACES:
            self.refuse("values", "another network: action has four tables for each tuple, too large with 8 cells")

    @property
    def rules_of_game(self) -> Game:
        """The game."""
        return find_game(self.game, self.rows, self.columns)

    @property
    def cut(self) -> Stages:
        """The stages of the network."""
        return make_stages(self.stages, self.rules_of_game)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The M tuples, in the order of their tables."""
        return parse_network(self.network, self.rows, self.columns)

    @property
    def table_sizes(self) -> list[int]:
        """The number of weights of each tuple in a part, A R^n."""
        return table_sizes(self.patterns, self.num_levels, self.values)

    @property
    def num_levels(self) -> int:
        """R, the values of a cell in the index of a tuple."""
        return self.levels or count_levels(self.rows, self.columns, self.game)

    @property
    def num_hints(self) -> int:
        """Number of hints that have weights of their own; 1: the hint is no input."""
        return self.rules_of_game.num_hints if self.hint else 1

    @property
    def num_parts(self) -> int:
        """Copies of all tables: one for each pair of stage and hint."""
        return (self.cut.thresholds.size + 1) * self.num_hints

    @property
    def num_threads(self) -> int:
        """Number of threads to start on this machine."""
        return self.threads or available_cores()

    @property
    def adaptive_starts(self) -> int:
        """Number of moves after which the adaptive rule replaces TD."""
        return round(self.env_steps * (1 - self.step_size.adaptive_fraction))
