"""Configuration of the n-tuple learner; that of its updates is ntuple/td/config.py."""

from typing import Literal

from ntuple.core.games.definition import MOST_LEVELS, Game
from ntuple.core.games.known import GAMES, find_game
from ntuple.core.opponents import CHANCE, OpponentName
from ntuple.core.rules import check_sides
from ntuple.core.settings import Settings, group, setting
from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.patterns import NIBBLE_LEVELS, Pattern, count_levels, parse_network, table_sizes
from ntuple.tables.stages import Stages, make_stages
from ntuple.td.config import ExplorationConfig, StartConfig, StepSizeConfig, TargetConfig

MOST_PLACES = 2**32  # largest number of entries of a tuple: an index has 32 bits
# Conditions of keys.
HINTS = f"game={'|'.join(name for name, game in GAMES.items() if game.num_hints > 1)}"
LEVELS = f"game={'|'.join(name for name, game in GAMES.items() if not game.doubles)}"
PLACES = f"game={'|'.join(name for name, game in GAMES.items() if game.placement != 'anywhere')}"


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
        only_if=LEVELS,
    )
    hint: bool = setting(True, "In a game with a hint, each hint has weights of its own.", only_if=HINTS)
    places: bool = setting(
        False,
        "In a game whose next tile lands on some empty cells only, these cells have a value of their own, 15, in the "
        "index of a tuple. R is 16.",
        only_if=PLACES,
    )
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
        self._check_places()
        self._check_stages()
        if (largest := max(table_sizes(self.patterns, self.num_levels))) > MOST_PLACES:
            made = f"{self.num_levels} values of a cell make {largest:,} weights of a tuple"
            self.refuse("network", f"smaller tuples, or fewer levels: {made}, {MOST_PLACES:,} are the most")
        self._check_values()
        self._check_opponent()
        self._check_start()

    def _check_places(self) -> None:
        """Check that the value of a place is that of no tile."""
        if not self.places:
            return
        if self.rules_of_game.placement == "anywhere" or self.values != "afterstate":
            self.refuse("places", "false, or a game and values whose afterstates say where the next tile may land")
        if self.levels not in (0, NIBBLE_LEVELS) or len(self.rules_of_game.tiles) >= NIBBLE_LEVELS:
            self.refuse("places", f"false, or levels {NIBBLE_LEVELS} and a game of at most {NIBBLE_LEVELS - 2} levels")
        if self.promotion in ("intra", "both"):
            self.refuse("places", "false: promotion intra and both would halve the value of a place")

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
        if self.start.kind == "positions" and not self.start.positions.file:
            self.start.positions.refuse("file", "a file of `muzero2048 positions`")
        until = self.start.positions.until
        if until and until not in game.tiles[1:18]:
            self.start.positions.refuse("until", f"0, or a tile of {game.name} such as {game.tiles[11]}")
        if self.start.kind == "positions" and not game.is_its_board:
            raise ValueError(
                f"start.kind is 'positions': a board is not all of {game.name}; give carousel or another one"
            )
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
        if self.places:
            return NIBBLE_LEVELS
        chosen = 0 if self.rules_of_game.doubles else self.levels
        return chosen or count_levels(self.rows, self.columns, self.game)

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
