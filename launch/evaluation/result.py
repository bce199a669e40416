"""The result of an evaluation: its JSON file in the run folder, its printed report, and the optional outputs."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from launch.errors import UserError
from launch.evaluation.boards.notation import board_of
from launch.evaluation.search_options import SearchChoice
from launch.evaluation.summary import SCORE_BINS, histograms, statistics_block, summarize, summary_line
from launch.experiment import registry
from launch.experiment.checkpoints import State
from launch.experiment.experiment import Experiment
from launch.experiment.machine_info import command_line, machine, project_version
from launch.files import check_new_file, probe_folder, write_text
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import GAMES
from ntuple.core.interfaces import Games

if TYPE_CHECKING:
    from launch.evaluation.records.endgame_loss import EndgameLosses
    from launch.evaluation.records.game_log import LoggedGame
    from launch.evaluation.records.regret import Regret

FOLDER = "evaluations"


def result_names(search: str) -> tuple[str, str]:
    """Return the names of a search in results: of games played whole, and of games played move by move.

    The two have other spawns. Expectimax of n-tuple networks always plays move by move, and has the first name.
    """
    return search, f"{search}-by_moves"


class Evaluation(NamedTuple):
    """The games of an evaluation: games 0..games - 1 of `seed`."""

    games: int
    seed: int

    def file(self, run_folder: Path, env_steps: int, search: str) -> Path:
        """Return the path of the result of a checkpoint after `env_steps`; `search` is a name of `result_names`."""
        return run_folder / FOLDER / f"{env_steps}-{search}-{self.games}games-seed{self.seed}.json"

    def log_file(self, run_folder: Path, env_steps: int, search: str) -> Path:
        """Return the path of the game log, which grows with the number of games; arguments as of `file`."""
        return run_folder / FOLDER / f"{env_steps}-{search}-seed{self.seed}.games.jsonl"


class OutputOptions(NamedTuple):
    """Optional outputs of an evaluation."""

    records: Path | None = None  # new file for the records of all games
    solution: Path | None = None  # exact solution of the board, to compute the regret of the moves
    endgames: tuple[Path, ...] = ()  # tables of endgames, to compute what the moves lose there
    keep: bool = False  # whether every player keeps its games as they end
    log: Path | None = None  # the file of the kept games; None: the log in the run folder
    part: str = ""  # "2/4": play games 1, 5, 9, ... as the second of four processes; "": play all games
    as_json: bool = False

    @property
    def need_moves(self) -> bool:
        """Whether the outputs need the moves of the games, so that every player plays move by move."""
        return bool(self.records or self.solution or self.endgames or self.keep)


def prepare_folder(run_folder: Path) -> None:
    """Make the folder of results before time is spent on games; UserError if it cannot be written."""
    try:
        (run_folder / FOLDER).mkdir(exist_ok=True)
        probe_folder(run_folder / FOLDER)
    except OSError as error:
        raise UserError(f"cannot write to {run_folder / FOLDER}: {error.strerror}; make it writable") from error


Measure = Callable[[Sequence["LoggedGame"]], "Regret | EndgameLosses"]  # of what the moves of games lose


def prepare_outputs(outputs: OutputOptions, game: str, rows: int, columns: int, opponent: str) -> list[Measure]:
    """Check the outputs before time is spent on games; return the measures of moves whose files are given.

    `opponent` places the tiles of the games, a key of OPPONENTS.
    """
    if outputs.records is not None:
        check_new_file(outputs.records, "--records")
    if outputs.log is not None and not outputs.log.name:
        raise UserError(f"--keep is {outputs.log}; give a file")
    measures: list[Measure] = []
    if outputs.solution is not None:
        # needs numba; MuZero's evaluation does without
        from launch.evaluation.records.regret import load_solution, regret_of

        measures.append(partial(regret_of, load_solution(outputs.solution, game, rows, columns, opponent)))
    if outputs.endgames:
        from launch.evaluation.records.endgame_loss import load_table, losses_of  # needs numba

        if (game, rows, columns) != (GAME_2048.name, 4, 4):
            raise UserError(f"--endgame {outputs.endgames[0]}: tables are of 2048 on 4x4; leave out --endgame")
        measures.append(partial(losses_of, [load_table(file) for file in outputs.endgames]))
    return measures


def write_outputs(
    outputs: OutputOptions, board: str, measures: Sequence[Measure], logged: Sequence["LoggedGame"]
) -> dict[str, Any]:
    """Write the game records and print what the moves lose, where asked for; return its entries for the result."""
    if outputs.records:
        try:
            write_text(outputs.records, "\n".join([f"% board {board}", *(game.record for game in logged), ""]))
        except OSError as error:
            raise UserError(f"cannot write the records to {outputs.records}: {error.strerror}") from error
    entries: dict[str, Any] = {}
    for measure in measures:
        measured = measure(logged)
        print(measured.line(), flush=True)
        entries |= measured.record()
    return entries


def report(
    games: Games, experiment: Experiment, state: State, evaluation: Evaluation, search: SearchChoice
) -> dict[str, Any]:
    """Print the report of an evaluated checkpoint; return the content of its result file."""
    settings = experiment.settings
    record = {
        "run": experiment.run.name,
        "group": experiment.run.group,
        "learner": experiment.learner,
        "training_seed": experiment.run.seed,
        "env_steps": state.progress["env_steps"],
        "training_games": state.progress["games"],
        "updates": state.progress["updates"],
        "wall_hours": state.wall_hours,
    }
    # Where the games of training started. Games of an evaluation always have the normal start.
    if start_key := registry.spec_of(experiment.learner).start_key:
        record["training_start"] = attrgetter(start_key)(settings)
    trained = f"{state.progress['env_steps']:,} moves"
    if record.get("training_start", "normal") != "normal":
        trained += f" with start.kind={record['training_start']}"
    heading = f"{experiment.run.name} ({experiment.learner}, {search.name}) after {trained}"
    return record | report_games(games, evaluation, heading, {"board": board_of(settings), **search.record()})


def report_games(games: Games, evaluation: Evaluation, heading: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Print the statistics of games below `heading`; return a result without entries of a run."""
    summary = summarize(games)
    print(f"{heading}\n{statistics_block(games)}\n{summary_line(summary)}, seed {evaluation.seed}", flush=True)
    return {
        **setting,
        "seed": evaluation.seed,
        **summary._asdict(),
        "reach": {str(tile): rate for tile, rate in summary.reach.items()},
        **histograms(games),
        "version": project_version(),
        "machine": machine(),
        "command": command_line(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _model(**kinds: Any) -> type[BaseModel]:
    """Return a model of JSON objects. Text is no number, and neither are true and false; bounds refuse NaN too.

    An object may lack entries, and have others.
    """
    fields: Any = {name: (kind, None) for name, kind in kinds.items()}
    return create_model("Entries", __config__=ConfigDict(strict=True), **fields)


def _with_goals(reach: dict[str, float]) -> dict[str, float]:
    """Refuse rates that lack a goal of every game."""
    if not any(reach.keys() >= set(map(str, game.goals)) for game in GAMES.values()):
        raise ValueError("not the rates of a game")
    return reach


def _text_of(most: int) -> Any:
    """Return the type of a whole number of at most `most`, written as a text."""

    def check(text: str) -> str:
        if not text.isdecimal() or len(text) >= LONGEST or int(text) > most:
            raise ValueError(f"not a whole number of at most {most}")
        return text

    return Annotated[str, AfterValidator(check)]


LARGEST_BITS = 100
LARGEST = 2**LARGEST_BITS  # no count and no score is larger; float32, as on the page of `compare`, ends at 2^128
LONGEST = 40  # digits of a number that is written as a text
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Amount = Annotated[float, Field(ge=0, le=LARGEST)]
Score = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Board = Annotated[str, Field(pattern=rf"^(({'|'.join(map(re.escape, GAMES))}) )?[1-4]x[1-4]$")]
Reach = Annotated[dict[str, Annotated[float, Field(ge=0, le=1)]], AfterValidator(_with_goals)]
Count = Annotated[int, Field(ge=1, le=LARGEST)]

# What the entries of a result file are, so that a damaged file is named before its numbers are used.
RESULT = _model(
    **dict.fromkeys(("run", "group", "learner", "search", "machine", "command"), str),
    **dict.fromkeys(("training_seed", "seed", "env_steps", "training_games", "updates", "score_max"), Whole),
    **dict.fromkeys(("score_mean", "score_low", "score_high", "score_median"), Score),
    **dict.fromkeys(("wall_hours", "moves_mean", "seconds"), Amount),
    board=Board,
    judged=dict,
    games=Annotated[int, Field(ge=2, le=LARGEST)],  # one game has no interval
    max_tiles=Annotated[dict[_text_of(LARGEST), Count], Field(min_length=1)],
    moves_per_second=Annotated[float, Field(ge=1e-9, le=LARGEST)],
    reach=Reach,
    score_bins=Annotated[dict[_text_of(SCORE_BINS * LARGEST_BITS), Count], Field(min_length=1)],
    search_config=_model(z=Score),
)


def read_result(file: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a result file and check its entries; UserError names a wrong or missing one."""
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, not JSON, or a number of more than 4300 digits
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise UserError(f"{file}, line {line}: not JSON; delete the file and evaluate again") from error
    missing = [key for key in keys if not isinstance(result, dict) or key not in result]
    if missing:
        raise UserError(f"{file}, line 1: not an evaluation, it has no {missing[0]}; delete it and evaluate again")
    try:
        RESULT.model_validate(result)
    except ValidationError as error:
        wrong = error.errors()[0]["loc"][0]
        raise UserError(
            f"{file}: its {wrong} is not that of an evaluation; delete the file and evaluate again"
        ) from error
    return dict(result)


def last_of_each_search(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each search of a run the evaluation after the most moves; of several, the one with the most games."""
    last: dict[str, dict[str, Any]] = {}
    for result in results:
        known = last.setdefault(result["search"], result)
        if (result["env_steps"], result["games"]) > (known["env_steps"], known["games"]):
            last[result["search"]] = result
    return list(last.values())
