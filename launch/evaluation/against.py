"""Games against an adversary that places the tiles: `evaluate --against` (docs/adversary.md)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from launch.errors import Option, OptionError, UserError
from launch.evaluation.boards.notation import game_of
from launch.evaluation.search_options import HEURISTIC, SearchOptions
from launch.evaluation.searches import expectimax
from launch.experiment import checkpoints, registry
from launch.experiment.experiment import Experiment
from launch.experiment.interfaces import Player
from ntuple.core.games.known import board_name, find_game
from ntuple.core.learner_spec import EXPECTIMAX
from ntuple.core.opponents import CHANCE, opponent_of

if TYPE_CHECKING:
    from launch.evaluation.loading import PlayerSource

MOST_PLIES = 8


class AgainstOptions(NamedTuple):
    """Options of the command line."""

    opponent: str  # adversary, minimax or expectiminimax
    path: str | None = None  # whose values the adversary reads; None: the player's own
    plies: int = 1  # how deep it looks for the best reply


@dataclass(frozen=True)
class Against:
    """An adversary that was checked: it can be loaded for the board of a player."""

    opponent: str  # minimax or expectiminimax
    plies: int
    path: str  # of its values, or "heuristic"
    of: str  # name of their run
    checkpoint: Path | None  # None: the heuristic
    experiment: Experiment | None

    @property
    def name(self) -> str:
        """Its name in results and names of files."""
        return f"{self.opponent}-p{self.plies}-{self.of}"

    def record(self) -> dict[str, Any]:
        """Return it as an entry of a result."""
        return {"against": {"opponent": self.opponent, "plies": self.plies, "values": self.of}}

    def wrap(self, player: Player, game: str, rows: int, columns: int) -> Player:
        """Return the player whose games are against this adversary; UserError if its values cannot be loaded."""
        from ntuple.expectimax.adversary import Adversary, PlayerAgainst
        from ntuple.expectimax.config import ExpectimaxConfig, HeuristicConfig
        from ntuple.expectimax.heuristic import make_heuristic
        from ntuple.game.any_game import make_game_rules
        from ntuple.players.one_by_one import load_afterstate_values
        from ntuple.tables.placement import available_cores

        rules = make_game_rules(game, rows, columns)
        config = ExpectimaxConfig(plies=self.plies, opponent=self.opponent)  # type: ignore[arg-type]
        try:
            if self.checkpoint is None or self.experiment is None:
                values: Any = make_heuristic(HeuristicConfig(), rows, columns)
            else:
                settings: Any = self.experiment.settings
                _, values = load_afterstate_values(self.checkpoint, settings, "an adversary")
        except ValueError as error:
            raise UserError(f"{self.path}: {error}") from error
        return PlayerAgainst(rules, player, Adversary(rules, values, config, available_cores()))


def facing(source: "PlayerSource", asked: AgainstOptions, options: SearchOptions) -> "PlayerSource":
    """Return the source of a player whose games are against an adversary.

    An expectimax search of n-tuples or of the heuristic takes the adversary for what places the tiles, unless
    `search.opponent` is given.

    Raises:
        UserError: there is no such opponent, or no values for it on this board.
    """
    game = find_game(source.game, source.rows, source.columns)
    try:
        opponent = opponent_of(asked.opponent, game)
    except ValueError as error:
        raise OptionError(Option("against", asked.opponent), f": {error}") from error
    if opponent == CHANCE:
        raise OptionError(Option("against", asked.opponent), ": the game itself; leave it out")
    if not 1 <= asked.plies <= MOST_PLIES:
        raise OptionError(Option("adversary-plies", asked.plies), f"; give 1 to {MOST_PLIES}")
    against = _values(source, asked, opponent)
    search = source.search
    is_given = any(word.startswith("search.opponent=") for word in options.overrides)
    if search and search.player == EXPECTIMAX and hasattr(search.config, "opponent") and not is_given:
        overrides = (*options.overrides, f"search.opponent={opponent}")
        search = expectimax(replace(options, search=EXPECTIMAX, overrides=overrides), source.path)
    if search:
        search = replace(search, name=f"{search.name}-against-{against.name}", against=against.record())
    return replace(source, search=search, against=against)


def _values(source: "PlayerSource", asked: AgainstOptions, opponent: str) -> Against:
    """Return the adversary with the values that are asked for, or those of the player."""
    own = source.checkpoint
    if asked.path is None and own and registry.spec_of(own.experiment.learner).value == "ntuple":
        return Against(opponent, asked.plies, source.path, own.experiment.run.name, own.folder, own.experiment)
    path = asked.path or (HEURISTIC if source.path == HEURISTIC else None)
    if path is None:
        raise OptionError(f"{source.path} has no n-tuple values for an adversary; give ", Option("adversary", "RUN"))
    if path == HEURISTIC:
        if source.game != "2048":
            raise UserError(f"heuristic values boards of 2048 alone, not of {source.game}; give --adversary RUN")
        return Against(opponent, asked.plies, path, path, None, None)
    folder = checkpoints.find_checkpoint(Path(path))
    experiment, _ = checkpoints.read_checkpoint(folder)
    if registry.spec_of(experiment.learner).value != "ntuple":
        raise UserError(f"--adversary {path}: an adversary reads n-tuple values; this is a run of {experiment.learner}")
    settings = experiment.settings
    board = board_name(settings.rows, settings.columns, game_of(settings))
    if board != source.board:
        raise UserError(f"--adversary {path} is of {board}, and {source.path} plays {source.board}; give one of it")
    return Against(opponent, asked.plies, path, experiment.run.name, folder, experiment)
