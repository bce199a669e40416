"""`muzero2048 play`: keys against the plain rules and spawns; the player is asked as `muzero2048 moves` asks it."""

import asyncio
import contextlib
import copy
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import rules
from textual.pilot import Pilot
from textual.widgets import Static

from launch.cli import main
from launch.errors import UserError
from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.loading import LoadedPlayer, load_player
from launch.evaluation.search_options import SearchOptions
from launch.viewing.agent_process import answer
from launch.viewing.agents import Agent, Ticket
from launch.viewing.catalogue import Choice
from launch.viewing.game import InteractiveGame
from launch.viewing.terminal.play import summary
from launch.viewing.terminal.screen import Terminal
from launch.viewing.terminal.text import CELLS, advice_text, bar, board_size, board_text, number, scale_of
from ntuple.core.games.game_2048 import GAME_2048

KEYS = {"up": "up", "w": "up", "right": "right", "d": "right", "down": "down", "s": "down", "left": "left", "a": "left"}
ROOT = Path(__file__).parents[3]


class Here(Agent):
    """An agent without a process: it answers at once, or when `gate` is open."""

    def __init__(self, player: LoadedPlayer | None = None) -> None:
        super().__init__(Choice("greedy", "2x2", SearchOptions()))
        self.player, self.gate = player or load_player("greedy", SearchOptions(), "2x2"), asyncio.Event()
        self.gate.set()
        self.state, self.given_up = "searching", 0

    async def ask(self, question: dict[str, Any], ticket: Ticket) -> dict[str, Any]:
        ticket.enter(self.state)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return json.loads(json.dumps(answer(self.player, question)))


class Broken(Here):
    async def ask(self, question: dict[str, Any], ticket: Ticket) -> dict[str, Any]:
        raise UserError("the tables are gone")


def greedy() -> Here:
    return Here(load_player("greedy", SearchOptions()))


def slow(state: str = "searching") -> Here:
    agent = greedy()
    agent.state = state
    agent.gate.clear()
    return agent


def driven(game: InteractiveGame, agent: Any = None) -> Callable[[Any], Callable[[], None]]:
    """Run a test on the screen of a game, of 80 columns and 24 lines."""

    async def run(test: Callable[[Pilot[None], Terminal], Coroutine[Any, Any, None]]) -> None:
        app = Terminal(copy.deepcopy(game), agent() if agent else None)
        async with app.run_test(size=(80, 24)) as pilot:
            await test(pilot, app)

    return lambda test: lambda: asyncio.run(run(test))


def shown(app: Terminal, name: str) -> str:
    return str(app.query_one(f"#{name}", Static).content)


async def until(pilot: Pilot[None], is_true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_true():
            return
        await pilot.pause(0.01)
    raise AssertionError("it does not become true")


def tiles_of(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


@driven(InteractiveGame("3x4", 2**32 - 1))
async def test_twenty_moves_by_keys_and_back(pilot: Pilot[None], app: Terminal) -> None:
    """Every board is on the screen, with its score."""
    expected, history = copy.deepcopy(app.game), []
    for moves in range(20):
        legal = [key for key in KEYS if KEYS[key] in expected.legal]
        key = legal[moves % len(legal)]
        history.append((expected.position, expected.state.score))
        expected.move(KEYS[key])
        await pilot.press(key)
        score = expected.state.score
        assert (app.game.position, app.game.state[1:3]) == (expected.position, (score, moves + 1))
        assert tiles_of(shown(app, "board")) == [2**cell for row in expected.state.state.board for cell in row if cell]
        assert f"score {score:,}   moves {moves + 1}" in shown(app, "numbers")
    for position, score in reversed(history):
        await pilot.press("u")
        assert (app.game.position, app.game.state.score) == (position, score)
    await pilot.press("u")
    assert app.game.state.moves == 0
    await pilot.press("r")
    assert app.game.seed == 0  # after the largest one


@driven(next(game for seed in range(99) if len((game := InteractiveGame("2x2", seed)).legal) < 4))
async def test_a_move_that_is_not_legal_changes_nothing(pilot: Pilot[None], app: Terminal) -> None:
    name = next(name for name in NAMES if name not in app.game.legal)
    await pilot.press(name)
    assert app.game.state.moves == 0
    assert shown(app, "state") == f"{name} is not legal"


@driven(InteractiveGame("4x4", 1))
async def test_without_a_player_there_is_no_advice(pilot: Pilot[None], app: Terminal) -> None:
    await pilot.press("space", "p", "v", "plus")
    assert app.game.state.moves == 0
    assert (shown(app, "advice"), shown(app, "numbers")) == ("", "score 0   moves 0")
    assert "play" not in shown(app, "keys")


@driven(InteractiveGame("2x3", 5), lambda: Here(load_player("heuristic", SearchOptions(plies=2), "2x3")))
async def test_the_advice_is_that_of_moves(pilot: Pilot[None], app: Terminal) -> None:
    for _ in range(3):
        await until(pilot, lambda: app.place in app.known)
        advice, text = app.known[app.place]["advice"], shown(app, "advice")
        words = ["heuristic", "--board", "2x3", "--plies", "2", "--position", app.game.position]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert main(["moves", *words, "--json"]) == 0
        expected = json.loads(printed.getvalue())
        assert advice == expected
        assert f"plays {expected['action']}" in text
        for name in NAMES:
            line = next(line for line in text.splitlines() if name in line.split())
            found = [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,.]*", line)]
            if name in expected["moves"]:
                reward, value, ply = expected["moves"][name].values()
                assert found == [reward, pytest.approx(value, abs=0.51), ply]
            else:
                assert "not legal" in line
        await pilot.press(app.game.legal[0])
    await pilot.press("v")
    assert shown(app, "advice") == ""


@driven(InteractiveGame("2x2", 3), Here)
async def test_steps_and_play_make_the_moves_of_the_player(pilot: Pilot[None], app: Terminal) -> None:
    expected = InteractiveGame("2x2", 3)
    for moves in range(3):
        await until(pilot, lambda: app.place in app.known)
        expected.move(app.known[app.place]["advice"]["action"])
        await pilot.press("space")
        await until(pilot, lambda: app.game.state.moves > moves)  # noqa: B023
        assert app.place == (moves + 1, expected.position)
    await pilot.press(*["plus"] * 9, "p")
    await until(pilot, lambda: app.game.is_over and not app.is_playing)
    game = app.game
    while not expected.is_over:
        expected.move(app.known[expected.state.moves, expected.position]["advice"]["action"])
    assert (game.position, game.state[1:3]) == (expected.position, expected.state[1:3])
    assert not any(rules.legal_actions(game.state.state.board))
    assert f"the game is over: score {game.state.score:,} in {game.state.moves:,} moves" in shown(app, "state")
    assert summary(game, "greedy", "2x2") == (
        f"score {game.state.score}, {game.state.moves} moves, largest tile {2 ** max(map(max, game.state.state.board))}"
        ", the game is over\nthe same spawns again: muzero2048 play greedy --board 2x2 --seed 3"
    )


@driven(InteractiveGame("4x4", 3), greedy)
async def test_advice_is_about_the_board_that_is_shown(pilot: Pilot[None], app: Terminal) -> None:
    """Also where moves were asked for ahead, and other ones were made and taken back."""

    async def check(*names: str) -> None:
        await pilot.press(*names)
        await until(pilot, lambda: app.place in app.known)
        assert app.known[app.place]["advice"]["position"] == app.game.position

    await pilot.press("p")
    await until(pilot, lambda: app.game.state.moves > 0)
    await pilot.press("space")  # pauses
    assert not app.is_playing
    await check()
    asked = app.known[app.place]["advice"]["action"]
    other = next(name for name in app.game.legal if name != asked)
    await check(other)
    await check("u")
    await check(asked)
    await check("u")


@driven(InteractiveGame("4x4", 3), slow)
async def test_a_slow_search_stops_neither_the_screen_nor_moves_nor_the_end(pilot: Pilot[None], app: Terminal) -> None:
    agent: Any = app.agent
    await until(pilot, lambda: "searching" in shown(app, "state"))
    before = shown(app, "state")
    await until(pilot, lambda: shown(app, "state") != before)  # the time goes on
    for moves in range(1, 4):
        await pilot.press(app.game.legal[0])
        assert app.game.state.moves == moves
        await until(pilot, lambda: agent.given_up == moves)  # noqa: B023
    agent.gate.set()
    await until(pilot, lambda: bool(app.known))
    assert [*app.known] == [(3, app.game.position)]
    agent.gate.clear()
    await pilot.press("p")
    await until(pilot, lambda: app.game.state.moves == 4)  # known, and then it waits for the next one
    assert "played" in shown(app, "advice")
    await pilot.press("p")
    assert (app.is_playing, shown(app, "advice")) == (False, "")


@driven(InteractiveGame("4x4", 3), lambda: slow("loading"))
async def test_loading_goes_on_after_a_move_and_its_answer_is_dropped(pilot: Pilot[None], app: Terminal) -> None:
    """Otherwise a player that loads slowly would be loaded anew with each move."""
    agent: Any = app.agent
    await until(pilot, lambda: "loading" in shown(app, "state"))
    await pilot.press(app.game.legal[0])
    await pilot.pause(0.2)
    assert (app.game.state.moves, agent.given_up) == (1, 0)
    agent.gate.set()
    await until(pilot, lambda: bool(app.known))
    assert [*app.known] == [app.place]
    await pilot.press("u")
    await until(pilot, lambda: app.place in app.known)


@driven(InteractiveGame("4x4", 3), Broken)
async def test_what_is_wrong_with_a_player_is_said(pilot: Pilot[None], app: Terminal) -> None:
    await until(pilot, lambda: shown(app, "state") == "the tables are gone")
    await pilot.press("p")
    await until(pilot, lambda: not app.is_playing)
    await pilot.press(app.game.legal[0])
    assert app.game.state.moves == 1


@pytest.mark.parametrize("cell", CELLS)
def test_every_tile_shows_its_number(cell: tuple[int, int]):
    levels = np.arange(16).reshape(4, 4) + 2
    levels[0, 0] = 0
    text = board_text(levels.tolist(), GAME_2048.analysed_tiles, None, cell)
    lines = text.plain.splitlines()
    assert {len(line) for line in lines} == {board_size(4, 4, cell)[0]}
    assert len(lines) == board_size(4, 4, cell)[1]
    assert tiles_of("\n".join(lines)) == [2**level for level in range(3, 18)]
    assert len({str(span.style).split(" on ")[1] for span in text.spans if " on " in str(span.style)}) == 15  # colours


@driven(InteractiveGame("4x4", 3), greedy)
async def test_the_layout_is_that_of_the_size(pilot: Pilot[None], app: Terminal) -> None:
    """Ordinary, too narrow for the advice beside the board, and wide: nothing is cut off, no line is broken."""
    await until(pilot, lambda: bool(app.known))
    for width, height in ((80, 24), (50, 24), (100, 40), (40, 24), (80, 24)):
        await pilot.resize_terminal(width, height)
        await pilot.pause()
        board, advice = app.query_one("#board").region, app.query_one("#advice").region
        assert (advice.x > board.x, board.width) == (width >= 80, 49 if height == 40 else 33), (width, height)
        assert max(board.right, advice.right) <= width
        lines = shown(app, "advice").splitlines()
        assert advice.height == len(lines) or width == 40
        assert width != 50 or max(map(len, lines[:9])) == 48
    names = ("title", "numbers", "board", "advice", "state", "keys")
    assert max(app.query_one(f"#{name}").region.right for name in names) <= 80
    assert max(app.query_one(f"#{name}").region.bottom for name in names) <= 24
    assert app.query_one("#board").region.height == 17
    assert app.query_one("#state").region.bottom <= app.query_one("#keys").region.y


def test_numbers_tell_values_apart_and_have_no_sign_of_zero():
    values = [0.0, -0.001, 21.946, 21.973, -99.5, 123.456, 999.96, 11605.4, -1232.5]
    assert list(map(number, values)) == ["0", "0", "21.95", "21.97", "-99.5", "123.5", "1,000", "11,605", "-1,232"]


def test_bars():
    """Of 8 columns, in steps of a half; from 0 where that shows differences, else from a little below the lowest."""
    assert [bar(share, 8) for share in (-1.0, 0.0, 1 / 16, 0.5, 1.0, 2.0)] == ["", "", "╸", "━" * 4, "━" * 8, "━" * 8]
    assert scale_of([10.0, 100.0]) == (0, 100)
    assert scale_of([90.0, 100.0]) == (88, 100)
    assert scale_of([-100.0, 100.0]) == (-140, 100)
    assert scale_of([5.0, 5.0]) == (4, 5)
    moves = {"up": {"reward": 0, "value": 50.5, "visits": 30}, "left": {"reward": 4, "value": 100.0, "visits": 10}}
    advice = {"action": "left", "moves": moves, "line": ["left 2@(1,1)"]}
    advice["endgame"] = {"table": "LLLL/LLLL/..../.... to 64", "probabilities": {"up": 0.25, "left": 0.5}}
    text = advice_text(advice, 2500.0, 38, False).plain.splitlines()
    assert text[1].split() == ["↑", "up", "0", "50.5", "30"]
    assert text[2].split() == ["━" * 10, "━" * 6]  # halves of 20 columns, three quarters of 8
    assert text[7].split() == ["←", "left", "4", "100", "10", "◄"]
    assert text[8].split() == ["━" * 20, "━" * 2]
    assert text[10:] == [
        "plays left · 40 visits · 2.5 s",
        "expects left 2@(1,1)",
        "LLLL/LLLL/..../.... to 64: up 0.2500, left 0.5000",
        "bars of value from 0 to 100 points",
    ]


@pytest.mark.parametrize(
    ("has_terminal", "words", "line"),
    [
        (False, "", "play needs a terminal: do not redirect its input or output (over ssh: ssh -t)"),
        (False, "search.plies=3", "play needs a terminal"),
        (True, "--seed -1", "--seed is -1; give 0 to 4294967295"),
        (True, "--board 3x3 --search mcts", "a search needs a player: give a RUN or leave out --search mcts"),
        (True, "--board 3x3 search.c=1", "a search needs a player: give a RUN or leave out search.c=1"),
        (True, "--board 5x5", "cannot read the board '5x5'"),
        (True, "nothing", "there is no nothing"),
    ],
)
def test_mistakes_end_before_the_screen(
    has_terminal: bool, words: str, line: str, monkeypatch: pytest.MonkeyPatch, mistake: Callable[..., str]
):
    monkeypatch.setenv("TERM", "xterm")
    for stream in (sys.stdin, sys.stdout, sys.stderr) if has_terminal else ():
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert mistake(f"play {words}").startswith(line)


def test_in_a_terminal_a_player_in_its_process_plays_a_game():
    """The whole command in a terminal without colours: a game of 2x2 to its end, then q."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "launch", "play", "random", "--board", "2x2", "--seed", "3"]
    env = os.environ | {"TERM": "vt100", "NO_COLOR": "1", "COLUMNS": "80", "LINES": "24"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=env)
    os.close(theirs)
    text = ""

    def read_until(word: str) -> None:
        nonlocal text
        while word not in text:
            text += os.read(ours, 2**16).decode(errors="replace")

    try:
        read_until("plays ")  # the advice: the process of the player works
        os.write(ours, b"+++++p")
        read_until("the game is over")
        os.write(ours, b"q")
        read_until("--seed 3")
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert "the same spawns again: muzero2048 play random --board 2x2 --seed 3" in text
    assert re.search(r"score [\d,]+, \d+ moves, largest tile \d+, the game is over", text)
    assert "Traceback" not in text
