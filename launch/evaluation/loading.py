"""The one way to load a player: a trained one from its run or checkpoint, or by name one that needs no training.

Shapes: `G` games, `B` boards of `H, W` cells, `T` moves. A cell holds log2 of its tile, 0 = empty.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from launch.arguments import checked
from launch.errors import Option, OptionError, UserError
from launch.evaluation.against import Against, AgainstOptions, find_against
from launch.evaluation.boards.analyse import Advice, advices_of
from launch.evaluation.boards.notation import DEFAULT_BOARD, game_of, parse_named_board, parse_state
from launch.evaluation.search_options import HEURISTIC, SearchChoice, SearchOptions
from launch.evaluation.searches import expectimax, resolve, short_name
from launch.evaluation.seeds import check_seed
from launch.experiment import checkpoints, registry
from launch.experiment.checkpoints import State
from launch.experiment.experiment import Experiment
from launch.experiment.interfaces import Player
from launch.progress import GamesText, progress_line
from launch.trained import PACKAGED
from ntuple.core.games.definition import Game, encode_draw
from ntuple.core.games.definition import State as GameState
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import board_name, find_game
from ntuple.core.interfaces import Games, check_boards
from ntuple.core.learner_spec import EXPECTIMAX

if TYPE_CHECKING:
    from launch.evaluation.records.record import GameRecord
    from ntuple import PlayedGame

BASELINES = {"random": "RandomPlayer", "greedy": "GreedyPlayer"}  # classes of ntuple: players for comparison
UNTRAINED = (*BASELINES, HEURISTIC)

# Text of `parse_state`, a state, or in a game without hints the levels int[H, W] alone.
Position = str | GameState | NDArray[np.integer] | Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class LoadedPlayer:
    """A player with fixed weights and a search, its name and its board."""

    player: Player
    name: str  # of the run and its search, as it is printed
    rows: int  # H
    columns: int  # W
    game: str = GAME_2048.name

    @property
    def definition(self) -> Game:
        """The game that it plays."""
        return find_game(self.game, self.rows, self.columns)

    @property
    def board(self) -> str:
        """The name of its board, such as "4x4"."""
        return board_name(self.rows, self.columns, self.game)

    @property
    def empty_state(self) -> GameState:
        """A state without tiles, on which no move is legal: to compile the functions of the player."""
        game, board = self.definition, ((0,) * self.columns,) * self.rows
        return GameState(board, int(game.bag is not None), game.bag_of(board, 1))

    @checked
    def advise(self, board: Position, seed: int = 0) -> Advice:
        """Return what the player says of a board: the move that it makes, and its values of all legal moves.

        The board is text, such as "2 4 / 0 2", or in a game with hints "0 1 0 / 0 0 2 +3" (`parse_state`); or a State,
        or in a game without hints int[H, W], log2 of the tiles. The seed, below 2^32, is that of a player that draws
        random numbers.

        Raises:
            UserError: the text is not such a board, or hint or bag of the state are impossible.
            ValueError: the array is not such a board, or its values are NaN.
        """
        return self.advise_all([board], seed)[0]

    @checked
    def advise_all(self, boards: Sequence[Position] | NDArray[np.integer], seed: int = 0) -> list[Advice]:
        """Return what the player says of each of B boards, in one batch; boards, seed and errors as of `advise`."""
        states = [self._state(board) for board in boards]
        check_seed(seed)
        levels = np.array([state.board for state in states], np.uint8).reshape(-1, self.rows, self.columns)
        draws = np.array([encode_draw(state.hint, state.bag) for state in states], np.uint16)
        analysis = self.player.analyse(levels, np.full(len(states), seed, np.uint32), draws)
        return advices_of(states, analysis, self.player.effort_unit, self.definition)

    @checked
    def play(self, games: int, seed: int = 0, *, progress: bool | None = None) -> Games:
        """Play G whole games: score, largest tile and moves of each, int64[G], and the seconds that they took.

        Game i depends on (seed, i) alone, so the same call gives the same games. `progress` shows a line on stderr: the
        games done, their mean score, the time left. None: if stderr is a terminal.

        Raises:
            UserError: a number is out of range.
            ValueError: the player's values are NaN.
        """
        _check_games(games, seed)
        text = GamesText(games)
        with progress_line(self.name, text, sys.stderr.isatty() if progress is None else progress):
            return self.player.play(games, seed, text.watch)

    @checked
    def record(self, games: int, seed: int = 0) -> "list[GameRecord]":
        """Play G whole games move by move and return their records; errors as of `play`.

        The games have other spawns than those of `play`, unless the player plays all its games one by one.
        """
        from launch.evaluation.records.record import record_of  # needs numba; MuZero's `play` does without

        _check_games(games, seed)
        played = play_each(self, range(games), seed)
        return [record_of(game, self.definition) for game in sorted(played, key=lambda game: game.number)]

    def _state(self, board: Position) -> GameState:
        if isinstance(board, str):
            return parse_state(board, self.rows, self.columns, self.definition)
        state = board if isinstance(board, GameState) else None
        levels = np.asarray(state.board if state else board)
        largest = self.definition.largest_level
        check_boards(self.rows, self.columns, levels[np.newaxis], np.zeros(1, np.uint32), largest=largest)
        state = state or GameState(tuple(map(tuple, levels.tolist())))
        if fault := self.definition.fault_of(state):
            raise UserError(f"{fault}; give the position as text, such as '3 1 2 0 / ... +1', or as a State")
        return state


class Checkpoint(NamedTuple):
    """A checkpoint whose files are whole."""

    folder: Path
    experiment: Experiment
    state: State


@dataclass(frozen=True)
class PlayerSource:
    """What a player is loaded from: a checkpoint that can serve the search, or the name of one without training."""

    path: str  # the word of the user
    rows: int
    columns: int
    search: SearchChoice | None  # None: random and greedy do not search
    checkpoint: Checkpoint | None = None  # None: a player without training
    game: str = GAME_2048.name
    against: Against | None = None  # the adversary of its games; None: tiles are drawn

    @property
    def name(self) -> str:
        """Name of the run or the player and of its search, as it is printed."""
        name = self.checkpoint.experiment.run.name if self.checkpoint else self.path
        return f"{name}, {self.setting['search']}" if self.search or self.against else name

    @property
    def setting(self) -> dict[str, Any]:
        """Board, search and adversary as entries of a result."""
        if self.search:
            return {"board": self.board, **self.search.record()}
        if self.against:
            return {"board": self.board, "search": short_name("against", self.against.name), **self.against.record()}
        return {"board": self.board, "search": self.path}

    @property
    def board(self) -> str:
        """The name of its board, such as "4x4"."""
        return board_name(self.rows, self.columns, self.game)

    def facing(self, asked: AgainstOptions, options: SearchOptions) -> "PlayerSource":
        """Return the source with games against an adversary; errors as of `find_against`.

        An expectimax search of n-tuples or of the heuristic takes the adversary for what places the tiles, unless
        `search.opponent` is among the options.
        """
        own = (self.checkpoint.folder, self.checkpoint.experiment) if self.checkpoint else None
        against = find_against(asked, self.path, (self.game, self.rows, self.columns), own)
        search = self.search
        is_given = any(word.startswith("search.opponent=") for word in options.overrides)
        if search and search.player == EXPECTIMAX and hasattr(search.config, "opponent") and not is_given:
            overrides = (*options.overrides, f"search.opponent={against.opponent}")
            search = expectimax(replace(options, search=EXPECTIMAX, overrides=overrides), self.path)
        if search:
            search = replace(search, name=short_name(search.name, "against", against.name), against=against.record())
        return replace(self, search=search, against=against)

    def load(self) -> LoadedPlayer:
        """Load the player; UserError if the checkpoint does not fit its config."""
        player, shape = self._load(), (self.rows, self.columns)
        if self.against:
            player = self.against.wrap(player, self.game, *shape)
        return LoadedPlayer(player, self.name, *shape, self.game)

    def _load(self) -> Player:
        if self.checkpoint and self.search:
            folder, experiment, _ = self.checkpoint
            search, settings = self.search, experiment.settings
            return registry.restore_player(experiment.learner, folder, settings, search.player, search.config)
        ntuple: Any = import_module("ntuple")  # imported here: it needs numba, and MuZero's evaluation does without
        from ntuple.game.any_game import make_game_rules

        if self.search:
            try:
                return cast(Player, ntuple.make_heuristic_player(self.rows, self.columns, self.search.config))
            except ValueError as error:
                raise UserError(f"{self.path}: {error}") from error
        rules = make_game_rules(self.game, self.rows, self.columns)
        return cast(Player, getattr(ntuple, BASELINES[self.path])(rules, threads=ntuple.available_cores()))


def load_player(path: str | Path, options: SearchOptions, board: str | None = None) -> LoadedPlayer:
    """Load a player; path, board and errors as of `find_player`."""
    return find_player(str(path), options, board).load()


def find_player(path: str, options: SearchOptions, board: str | None = None) -> PlayerSource:
    """Return the source of a player: a checkpoint, or a run's newest good one, or the name of one without training.

    Raises:
        UserError: there is no good checkpoint, or it cannot serve the search; or a board is given for a checkpoint.
    """
    check_has_board([path], board)
    if path not in UNTRAINED:
        return source_of(path, checkpoints.find_checkpoint(Path(path)), options)
    game, rows, columns = parse_named_board(board or DEFAULT_BOARD)
    if path == HEURISTIC:
        if game is not GAME_2048:
            raise UserError(f"heuristic plays 2048 alone, not {game.name}; give random, greedy, or a run")
        if options.search not in (None, EXPECTIMAX):
            given = Option("search", options.search)
            raise OptionError(f"{HEURISTIC} searches by expectimax alone; leave out ", given)
        return PlayerSource(path, rows, columns, expectimax(replace(options, search=EXPECTIMAX), HEURISTIC))
    if options.arguments():
        raise OptionError(f"{path} does not search; leave out ", *options.in_message())
    return PlayerSource(path, rows, columns, None, game=game.name)


def is_player(path: str) -> bool:
    """Return whether a word can name a player: one without training, a network of the package, or what is there."""
    return path in (*UNTRAINED, *PACKAGED) or Path(path).exists()


def source_of(path: str, checkpoint: Path, options: SearchOptions) -> PlayerSource:
    """Return a checkpoint, whose files are whole, as the source of a player; UserError as `find_player`."""
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    search, settings = resolve(experiment, options, checkpoint), experiment.settings
    shape, found = (settings.rows, settings.columns), Checkpoint(checkpoint, experiment, state)
    return PlayerSource(path, *shape, search, found, game_of(settings))


def check_has_board(paths: Sequence[str], board: str | None) -> None:
    """Refuse a board if none of the paths names a player without training."""
    if board and not set(paths) & set(UNTRAINED):
        mistake = " is for random, greedy and heuristic; a checkpoint holds its own board"
        raise OptionError(Option("board"), mistake)


def play_each(loaded: LoadedPlayer, numbers: Iterable[int], seed: int) -> "Iterator[PlayedGame]":
    """Play numbered games move by move, and yield each one when it ends; the spawns of game i depend on (seed, i)."""
    from ntuple.game.any_game import make_game_rules
    from ntuple.game.rollout import play_by_analysis

    player: Any = loaded.player
    if player.plays_one_by_one:
        return player.play_each(numbers, seed)
    rules = make_game_rules(loaded.game, loaded.rows, loaded.columns)
    return play_by_analysis(rules, lambda *positions: player.analyse(*positions).action, numbers, seed)


def _check_games(games: int, seed: int) -> None:
    if games < 1:
        raise UserError(f"games is {games}; give 1 or more")
    check_seed(seed)
