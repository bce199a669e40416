"""Games against an adversary that places the tiles: `evaluate --against` (docs/adversary.md)."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from launch.errors import Option, OptionError, UserError
from launch.evaluation.boards.notation import game_of
from launch.evaluation.search_options import HEURISTIC
from launch.experiment import checkpoints, registry
from launch.experiment.experiment import Experiment
from launch.experiment.interfaces import Player
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import board_name, find_game
from ntuple.core.opponents import CHANCE, opponent_of

if TYPE_CHECKING:
    from ntuple.expectimax.adversary import Adversary

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
    of: str  # name of their run; of another run than the player's with a digest of its checkpoint
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
        """Return the player whose games are against this adversary; errors as of `load`."""
        from ntuple.expectimax.adversary import PlayerAgainst
        from ntuple.game.any_game import make_game_rules

        return PlayerAgainst(make_game_rules(game, rows, columns), player, self.load(game, rows, columns))

    def load(self, game: str, rows: int, columns: int) -> "Adversary":
        """Load the adversary; UserError if its values cannot be loaded."""
        from ntuple.expectimax.adversary import Adversary
        from ntuple.expectimax.config import ExpectimaxConfig, HeuristicConfig
        from ntuple.expectimax.heuristic import make_heuristic
        from ntuple.game.any_game import make_game_rules
        from ntuple.players.one_by_one import load_afterstate_values
        from ntuple.tables.cpu_placement import available_cores

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
        return Adversary(rules, values, config, available_cores())


def find_against(
    asked: AgainstOptions, path: str, board: tuple[str, int, int], own: tuple[Path, Experiment] | None
) -> Against:
    """Return the adversary that is asked for; UserError if there is none, or no values for it on this board.

    `path` and `board` (game, rows, columns) are the player's; `own` is its checkpoint and experiment, if it has one.
    """
    try:
        opponent = opponent_of(asked.opponent, find_game(*board))
    except ValueError as error:
        raise OptionError(Option("against", asked.opponent), f": {error}") from error
    if opponent == CHANCE:
        raise OptionError(Option("against", asked.opponent), ": the game itself; leave it out")
    if not 1 <= asked.plies <= MOST_PLIES:
        raise OptionError(Option("adversary-plies", asked.plies), f"; give 1 to {MOST_PLIES}")
    if asked.path is None and own and registry.spec_of(own[1].learner).value == "ntuple":
        return Against(opponent, asked.plies, path, own[1].run.name, *own)
    values = asked.path or (HEURISTIC if path == HEURISTIC else None)
    game, rows, columns = board
    if values is None:
        raise OptionError(f"{path} has no n-tuple values for an adversary; give ", Option("adversary", "RUN"))
    if values == HEURISTIC:
        if game != GAME_2048.name:
            raise UserError(f"heuristic values boards of 2048 alone, not of {game}; give --adversary RUN")
        return Against(opponent, asked.plies, values, values, None, None)
    folder = checkpoints.find_checkpoint(Path(values))
    experiment, _ = checkpoints.read_checkpoint(folder)
    if registry.spec_of(experiment.learner).value != "ntuple":
        learner = experiment.learner
        raise UserError(f"--adversary {values}: an adversary reads n-tuple values; this is a run of {learner}")
    settings = experiment.settings
    of, needed = board_name(settings.rows, settings.columns, game_of(settings)), board_name(rows, columns, game)
    if of != needed:
        raise UserError(f"--adversary {values} is of {of}, and {path} plays {needed}; give one of it")
    digest = hashlib.sha256((folder / checkpoints.MANIFEST_FILE).read_bytes()).hexdigest()[:8]
    return Against(opponent, asked.plies, values, f"{experiment.run.name}-{digest}", folder, experiment)
