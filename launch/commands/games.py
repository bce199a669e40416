"""Games: `muzero2048 evaluate`, `moves`, `serve`, `play`, `replay`, `tournament`, `arena` and `grade`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.parser import (
    PLAYERS,
    RUNS_FOLDER,
    Parser,
    add_json,
    add_player,
    add_runs_folder,
    add_search,
    given,
    paths_and_overrides,
    player_and_search,
    search_options,
)
from launch.errors import UserError
from launch.evaluation.search_options import SEARCHES
from launch.trained import DEFAULT, PACKAGED

if TYPE_CHECKING:
    from launch.evaluation.against import AgainstOptions

HOST, PORT = "127.0.0.1", 2048


def add(commands: Parser) -> None:
    """Add the commands."""
    for add_command in (
        _add_evaluate,
        _add_moves,
        _add_serve,
        _add_play,
        _add_replay,
        _add_tournament,
        _add_arena,
        _add_grade,
    ):
        add_command(commands)


def _add_evaluate(commands: Parser) -> None:
    parser = commands.add_command(
        "evaluate",
        _run_evaluate,
        "play games with checkpoints and report the scores",
        usage="muzero2048 evaluate [-h] [PATH ...] [options] [search.key=value ...]",
        epilog="docs/evaluate.md explains the searches and their fields",
    )
    add_player(parser)
    parser.add_argument("--games", type=int, default=1000, help="games to play (default: 1000)")
    parser.add_argument("--seed", type=int, help="seed of the games (default: that of the evaluation that ends a run)")
    add_search(parser)
    parser.add_argument(
        "--against", metavar="OPPONENT", help="it places the tiles: adversary, minimax or expectiminimax"
    )
    parser.add_argument(
        "--adversary", metavar="PATH", help="run with the n-tuple values of the opponent, or heuristic (default: PATH)"
    )
    parser.add_argument(
        "--adversary-plies", type=int, metavar="N", help="how deep the opponent looks for the best reply (default: 1)"
    )
    parser.add_argument("--records", type=Path, metavar="FILE", help="write the games, in the notation of judge")
    parser.add_argument(
        "--solution", type=Path, metavar="FILE", help="exact solution of a small board, by solve: print the regret"
    )
    parser.add_argument(
        "--endgame",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="table of endgames, by endgame: print what the moves lose there; may be given several times",
    )
    parser.add_argument(
        "--keep",
        nargs="?",
        const="",
        metavar="FILE",
        help="keep the games as they end, and go on from them (default of FILE: in the run folder)",
    )
    parser.add_argument("--part", default="", metavar="I/N", help="play every Nth game, for one of N processes")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write one row for each player")
    parser.add_argument(
        "--snapshots", action="store_true", help="evaluate every kept checkpoint of a run, each on games of its own"
    )
    add_json(parser)


def _run_evaluate(arguments: argparse.Namespace) -> int:
    from launch.evaluation import evaluate, several
    from launch.evaluation.loading import UNTRAINED, check_has_board
    from launch.evaluation.result import OutputOptions

    paths, overrides = paths_and_overrides(arguments)
    paths = paths or [_default_player()]
    options = search_options(arguments, overrides)
    outputs = OutputOptions(
        records=arguments.records,
        solution=arguments.solution,
        endgames=tuple(arguments.endgame),
        keep=arguments.keep is not None,
        log=Path(arguments.keep) if arguments.keep else None,
        part=arguments.part,
        as_json=arguments.json,
    )
    games, seed = arguments.games, arguments.seed
    check_has_board(paths, arguments.board)
    against = _against(arguments)
    if arguments.snapshots:
        if against:
            raise UserError("--snapshots plays the game itself; leave out --against")
        if len(paths) > 1 or paths[0] in UNTRAINED:
            raise UserError(f"--snapshots evaluates the checkpoints of one run, not {' '.join(paths)}; give one RUN")
        return several.evaluate_snapshots(Path(paths[0]), games, seed, options, outputs, arguments.csv)
    if len(paths) > 1:
        several.refuse_outputs_of_one(outputs, f"{len(paths)} players")
    players = [
        evaluate.prepare_path(
            path, games, seed, options, outputs, arguments.board if path in UNTRAINED else None, against
        )
        for path in paths
    ]
    return several.evaluate_players(players, arguments.csv, arguments.json)


def _against(arguments: argparse.Namespace) -> "AgainstOptions | None":
    """Return the adversary of the options; None: tiles are drawn."""
    from launch.evaluation.against import AgainstOptions

    if arguments.against is not None:
        plies = 1 if arguments.adversary_plies is None else arguments.adversary_plies
        return AgainstOptions(arguments.against, arguments.adversary, plies)
    for option, value in (("--adversary", arguments.adversary), ("--adversary-plies", arguments.adversary_plies)):
        if value is not None:
            raise UserError(f"{option} {value} is of an opponent; add --against adversary")
    return None


def _default_player() -> str:
    """Return the player of a command without one, and say what it is."""
    print(f"no player is given: {DEFAULT}, the {PACKAGED[DEFAULT]} of the package (launch/trained)", file=sys.stderr)
    return DEFAULT


def _add_moves(commands: Parser) -> None:
    parser = commands.add_command(
        "moves",
        _run_moves,
        "analyse a board: each move's reward, value, and search depth or visits",
        usage="muzero2048 moves [-h] [PATH] --position POSITION [options] [search.key=value ...]",
        epilog='a position is rows of tiles, "2 4 0 8 / 0 8 2 0 / ...", or the word of a bitboard, 0x130021',
    )
    add_player(parser)
    parser.add_argument("--position", required=True, help="the board before the move")
    add_search(parser)
    add_json(parser)


def _run_moves(arguments: argparse.Namespace) -> None:
    from launch.evaluation.boards.analyse import print_moves
    from launch.evaluation.loading import load_player
    from launch.progress import progress_line

    path, options = player_and_search(arguments)
    player = load_player(path or _default_player(), options, arguments.board)
    with progress_line(player.name, "compiling, then searching ..."):
        advice = player.advise(arguments.position)
    print_moves(player.name, advice, arguments.json)


def _add_serve(commands: Parser) -> None:
    parser = commands.add_command(
        "serve",
        _run_serve,
        "open a page in the browser to play, with the advice of players, and to watch them play",
        epilog="docs/view.md explains the page",
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN|GROUP", help="runs, checkpoints or groups (default: all of --runs-folder)"
    )
    add_runs_folder(parser, default=None)
    parser.add_argument("--host", help=f"address to listen on (default: {HOST}, this machine alone)")
    parser.add_argument("--port", type=int, help=f"port to listen on; 0: a free one (default: {PORT})")
    parser.add_argument(
        "--export", type=Path, metavar="FILE", help="write one HTML file with the n-tuple network of RUN, and end"
    )


def _run_serve(arguments: argparse.Namespace) -> None:
    runs_folder = arguments.runs_folder or RUNS_FOLDER
    if arguments.export is not None:
        from launch.viewing.export.export import export

        if options := given(arguments, ("host", "port")):
            raise UserError(f"--export writes a file and starts no server; leave out {options[0]}")
        if (folder := arguments.runs_folder) and not arguments.runs:
            raise UserError(f"--export writes the page of one run; give a RUN of --runs-folder {folder}")
        return export(arguments.runs, runs_folder, arguments.export)
    from launch.viewing.serve.server import serve

    port = PORT if arguments.port is None else arguments.port
    return serve(arguments.runs, runs_folder, arguments.host or HOST, port)


def _add_play(commands: Parser) -> None:
    parser = commands.add_command(
        "play",
        _run_play,
        "play in the terminal, alone or with the advice of a player",
        usage="muzero2048 play [-h] [RUN] [options] [search.key=value ...]",
        epilog="docs/play.md explains the keys",
    )
    parser.add_argument(
        "path",
        nargs="?",
        metavar="RUN",
        help=f"{PLAYERS} (default: {DEFAULT} on 4x4; on another board nobody gives advice)",
    )
    parser.add_argument("--board", help="without a run: rows x columns (default: 4x4)")
    parser.add_argument("--seed", type=int, help="seed of the spawns: the same game again (default: a new one)")
    add_search(parser)


def _run_play(arguments: argparse.Namespace) -> None:
    from launch.evaluation.boards.notation import DEFAULT_BOARD
    from launch.viewing.terminal.play import play

    (path, options), board = player_and_search(arguments), arguments.board
    if path is None and board in (None, DEFAULT_BOARD):  # on other boards a user without a player plays alone
        path, board = DEFAULT, None
    play(path, board, arguments.seed, options)


def _add_replay(commands: Parser) -> None:
    parser = commands.add_command(
        "replay",
        _run_replay,
        "make one HTML page of recorded games: boards, values, the worst moves first",
        usage="muzero2048 replay [-h] RUN|FILE [options] [search.key=value ...]",
        epilog="docs/replay.md explains the page and the judge",
    )
    parser.add_argument(
        "path",
        metavar="RUN|FILE",
        help="a file of game records (evaluate --records), or a player: a run, a checkpoint, random, greedy, heuristic",
    )
    parser.add_argument("--out", type=Path, default=Path("replay.html"), help="the page (default: replay.html)")
    parser.add_argument(
        "--game",
        default="median",
        help="the game that opens first: its number, best, worst or median (default: median)",
    )
    parser.add_argument("--games", type=int, metavar="N", help="games to play (default: 10), or to read (default: all)")
    parser.add_argument("--seed", type=int, help="seed of the games that are played (default: 0)")
    parser.add_argument("--board", help="rows x columns of a file without header, or of random, greedy, heuristic")
    parser.add_argument("--player", metavar="PATH", help="of a FILE: a run or checkpoint whose values are shown")
    add_search(parser)
    judge = parser.add_argument_group("the judge of the moves")
    judge.add_argument("--judge", metavar="PATH", help="an exact solution (by solve), a run, a checkpoint or heuristic")
    judge.add_argument("--judge-search", choices=SEARCHES, help="its --search")
    judge.add_argument("--judge-plies", type=int, metavar="N", help="its --plies")
    judge.add_argument("--judge-simulations", type=int, metavar="N", help="its --simulations")
    judge.add_argument("--judge-every", type=int, default=1, metavar="N", help="judge every Nth move (default: 1)")


def _run_replay(arguments: argparse.Namespace) -> int:
    from launch.evaluation.search_options import SearchOptions
    from launch.signals import INTERRUPTED
    from launch.viewing.replay.replay import ReplayRequest, replay

    path, options = player_and_search(arguments)
    assert path
    request = ReplayRequest(
        path=path,
        player=arguments.player,
        board=arguments.board,
        games=arguments.games,
        seed=arguments.seed,
        game=arguments.game,
        options=options,
        judge=arguments.judge,
        judge_options=SearchOptions(
            search=arguments.judge_search, plies=arguments.judge_plies, simulations=arguments.judge_simulations
        ),
        judge_every=arguments.judge_every,
        out=arguments.out,
    )
    try:
        replay(request)
    except KeyboardInterrupt:
        print("stopped: no page is written", file=sys.stderr)
        return INTERRUPTED
    return 0


def _add_tournament(commands: Parser) -> None:
    parser = commands.add_command(
        "tournament",
        _run_tournament,
        "let programs play against each other, as player and as adversary",
        epilog="docs/tournament.md explains the protocol, the limits and the table",
    )
    parser.add_argument(
        "players", nargs="+", metavar="PLAYER", help=f"{PLAYERS}, with options of a search; or the command of a program"
    )
    parser.add_argument("--rounds", type=int, default=10, metavar="R", help="rounds of all pairs (default: 10)")
    parser.add_argument("--games", type=int, default=1, metavar="N", help="openings of a pair in a round (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the openings and drawn tiles (default: 0)")
    parser.add_argument(
        "--board", default="4x4", help='rows x columns, with a game such as "threes 4x4" (default: 4x4)'
    )
    parser.add_argument("--out", type=Path, default=Path("tournament"), help="folder (default: tournament)")
    parser.add_argument("--move-seconds", type=float, default=1.0, metavar="S", help="for an answer (default: 1)")
    parser.add_argument("--game-seconds", type=float, default=600.0, metavar="S", help="for a game (default: 600)")
    parser.add_argument(
        "--memory",
        type=int,
        default=4096,
        metavar="MIB",
        help="of each process of a foreign program (default: 4096; 0: all)",
    )


def _run_tournament(arguments: argparse.Namespace) -> int:
    from launch.tournament.program import Limits
    from launch.tournament.tournament import Request, run_tournament

    for option, value in (("--move-seconds", arguments.move_seconds), ("--game-seconds", arguments.game_seconds)):
        if not 0 < value < 1e6:
            raise UserError(f"{option} is {value:g}; give seconds above 0")
    if arguments.memory < 0:
        raise UserError(f"--memory is {arguments.memory}; give MiB, or 0 for no limit")
    limits = Limits(arguments.move_seconds, arguments.game_seconds, most_bytes=arguments.memory << 20)
    words = (arguments.games, arguments.rounds, arguments.seed, arguments.board, arguments.out)
    return run_tournament(Request(arguments.players, *words, limits))


def _add_arena(commands: Parser) -> None:
    parser = commands.add_command(
        "arena",
        _run_arena,
        "be a program of a tournament: answer its lines on the standard input",
        usage="muzero2048 arena [-h] [PATH] [options] [search.key=value ...]",
        epilog="docs/tournament.md explains the protocol",
    )
    add_player(parser)
    add_search(parser)


def _run_arena(arguments: argparse.Namespace) -> None:
    from launch.evaluation.boards.notation import parse_named_board
    from launch.evaluation.loading import UNTRAINED, find_player
    from launch.tournament.arena import serve

    path, options = player_and_search(arguments)
    path = path or _default_player()
    source = find_player(path, options, arguments.board if path in UNTRAINED else None)
    if arguments.board is not None and parse_named_board(source.board) != parse_named_board(arguments.board):
        raise UserError(f"{path} plays on {source.board}, not on {arguments.board}; give another --board or player")
    serve(source, sys.stdin)


def _add_grade(commands: Parser) -> None:
    parser = commands.add_command(
        "grade",
        _run_grade,
        "run a student's program under the limits of a project of the course, and print its points",
        epilog="docs/course/index.md has the projects, their limits and their points",
    )
    parser.add_argument("project", metavar="PROJECT", help="such as light, 2584-player or threes-solver")
    parser.add_argument("program", metavar="PROGRAM", help='its command, in quotes, such as "python player.py"')
    parser.add_argument(
        "--language",
        choices=("c++", "python"),
        help="whose speed is asked (default: python if a word of the command names it)",
    )
    parser.add_argument("--games", type=int, metavar="N", help="games, pairings or questions (default: the project's)")
    parser.add_argument("--seconds", type=float, metavar="S", help="for the program (default: the project's)")
    parser.add_argument("--seed", type=int, default=0, help="of games and questions (default: 0)")
    parser.add_argument(
        "--players", nargs="+", default=[], metavar="PLAYER", help="standard players of projects 5 and 6"
    )
    add_json(parser)


def _run_grade(arguments: argparse.Namespace) -> None:
    from launch.course.grade import Options, grade

    options = Options(arguments.language, arguments.games, arguments.seconds, arguments.seed, arguments.players)
    grade(arguments.project, arguments.program, options, arguments.json)
