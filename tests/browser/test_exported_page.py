"""The page of `serve --export` in a real Chromium, opened as a file.

Its numbers are those of the players in Python on the weights that the page holds; its games are those of `serve`.
"""

import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference import positions, rules
from small_runs import train_in

from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.loading import load_player
from launch.evaluation.records.played import play_games
from launch.evaluation.search_options import SearchOptions
from launch.experiment import checkpoints
from launch.viewing import game
from ntuple import ExpectimaxConfig, ExpectimaxPlayer, NTupleConfig, NTuplePlayer, make_rules
from ntuple.core.games.definition import State
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.interfaces import Analysis
from ntuple.files.stored_network import filled_network
from tests.browser.conftest import OpenPage
from tests.browser.driver import new_page, swipe
from tests.launch.viewing.conftest import larger_run
from tests.launch.viewing.exported_page import page_of, random_network, weights_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
TUPLES = ["0123", "4567", "0145", "0124", "26a", "048c"]  # they lie in one, two, three and four lines of the board
PLAYED = 1000  # moves that the player of the page makes
ASK = """([boards, plies]) => Promise.all(boards.map((board) => player.ask(Uint8Array.from(board), plies)))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a trained run on 4x4 and its page."""
    config = larger_run("exported", TUPLES)
    return train_in(tmp_path_factory.mktemp("exported"), config, "serve runs/exported --export page.html")


@pytest.fixture(scope="module")
def boards(folder: Path) -> NDArray[np.uint8]:
    """Return the boards [N, 4, 4] of 20 games of the run, from first to last."""
    games = play_games(load_player(folder / "runs" / "exported", SearchOptions()), 20, 3)
    return np.concatenate([one.boards for one in games])


@pytest.fixture
def page(open_page: OpenPage, folder: Path) -> "Page":
    """Return the opened page with its player."""
    return ready(open_page(folder / "page.html", width=1000))


def ready(page: "Page") -> "Page":
    """Wait until the network is loaded; the policy of the page forbids `wait_for_function`."""
    page.locator("#play:enabled").wait_for()
    return page


def wait_for_moves(page: "Page", moves: int) -> None:
    page.locator("#moves", has_text=re.compile(f"^{moves:,}$")).wait_for()


def shown_board(page: "Page") -> rules.Board:
    """Return the board that the cells show."""
    levels = [len(bin(int(text))) - 3 if text else 0 for text in page.locator("#board .cell").all_inner_texts()]
    return tuple(tuple(levels[4 * row : 4 * row + 4]) for row in range(4))


def begin(page: "Page", seed: int) -> None:
    page.locator("#seed").fill(str(seed))
    page.locator("#restart").click()


def python_says(config: NTupleConfig, weights: NDArray[np.float32], boards: NDArray[np.uint8], plies: int) -> Analysis:
    """Return the analysis of boards by the player in Python, on the weights of the page."""
    network, board_rules = filled_network(config, weights), make_rules(config.rows, config.columns)
    player = NTuplePlayer(board_rules, network, threads=1) if plies == 1 else None
    searching = player or ExpectimaxPlayer(board_rules, network, ExpectimaxConfig(plies=plies), threads=1)
    return searching.analyse(boards, np.zeros(len(boards), np.uint32))


def assert_same(page: "Page", analysis: Analysis, boards: NDArray[np.uint8], plies: int) -> None:
    """Compare what the page says of boards with an analysis: rewards, values and the chosen move."""
    padded = np.zeros((len(boards), 16), np.uint8)
    padded[:, : boards[0].size] = boards.reshape(len(boards), -1)
    said: list[dict[str, Any]] = page.evaluate(ASK, [padded.tolist(), plies])
    assert len(said) == len(boards)
    for i, advice in enumerate(said):
        legal = [name for a, name in enumerate(NAMES) if analysis.reward[i, a] >= 0]
        assert list(advice["moves"]) == legal
        if not legal:
            assert advice["action"] is None
            continue
        numbers = [NAMES.index(name) for name in legal]
        moves = [advice["moves"][name] for name in legal]
        assert [move["reward"] for move in moves] == analysis.reward[i, numbers].tolist()
        assert [move["ply"] for move in moves] == [plies] * len(legal)
        values = [move["value"] for move in moves]
        np.testing.assert_allclose(values, analysis.value[i, numbers], rtol=1e-5, atol=1e-2)
        assert advice["moves"][advice["action"]]["value"] == max(values)
        assert legal.index(advice["action"]) == values.index(max(values))


@pytest.mark.parametrize(("plies", "count"), [(1, 1000), (2, 100), (3, 20)])
def test_the_values_are_those_of_moves(page: "Page", folder: Path, boards: NDArray[np.uint8], plies: int, count: int):
    """On boards from first to last moves of the player's games."""
    assert page.evaluate("player.isWorker")
    chosen = boards[np.linspace(0, len(boards) - 1, count).astype(int)]
    assert chosen.max() >= 8
    config = checkpoints.read_checkpoint(checkpoints.find_checkpoint(folder / "runs" / "exported"))[0].settings
    assert isinstance(config, NTupleConfig)
    weights = weights_of((folder / "page.html").read_text(encoding="utf-8"))
    assert_same(page, python_says(config, weights, chosen, plies), chosen, plies)


@pytest.mark.parametrize(
    ("keys", "size"),
    [
        ({"rows": 2, "columns": 3, "network": ("012", "345", "0134")}, 100),
        ({"rows": 3, "columns": 2, "network": ("01", "0123", "024")}, 100),
        ({"rows": 3, "columns": 3, "network": ("0124", "345")}, 100),
        ({"network": ("0123", "159d", "0145"), "symmetry": False}, 100),
        ({"network": ("0123", "1256")}, 1e6),
    ],
)
def test_the_values_of_other_networks(
    open_page: OpenPage, tmp_path: Path, rng: np.random.Generator, keys: dict[str, Any], size: float
):
    """Small boards, no symmetry, weights above the range of half precision; tiles from 2 to 131072."""
    network = random_network(rng, size, **keys)
    text = page_of(network)
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    page = ready(open_page(tmp_path / "page.html", width=1000))
    config = network.config
    largest = min(17, config.rows * config.columns + 1)
    drawn = [positions.random_board(rng, config.rows, config.columns, largest) for _ in range(60)]
    chosen = np.array(drawn, np.uint8)
    for plies, count in ((1, 60), (2, 30), (3, 4)):
        assert_same(page, python_says(config, weights_of(text), chosen[:count], plies), chosen[:count], plies)


def test_the_games_of_the_player_are_games_of_serve(page: "Page"):
    """1000 moves and more, until a game is over: boards, spawns and score are those of `serve` with the same seed."""
    moves, seed = 0, 2**32 - 1
    begin(page, seed)
    page.locator("#speed").fill("7")
    while moves < PLAYED:
        page.locator("#play").click()
        page.locator("#state", has_text="the game is over").wait_for()
        assert page.locator("#play").get_attribute("aria-pressed") == "false"
        moves += check_game(page, seed)
        page.locator("#new").click()
        seed = (seed + 1) % 2**32
        assert page.locator("#seed").input_value() == str(seed)


def check_game(page: "Page", seed: int) -> int:
    """Compare the game that is shown with the game of `serve` that has the same moves; return their number."""
    states = page.evaluate("[...past, state].map(({ board, score, spawn }) => ({ board: [...board], score, spawn }))")
    shown, score, *_ = game.open_game("4x4", seed)
    assert states[0] == {"board": list(chain(*shown.board)), "score": 0, "spawn": None}
    for number, after in enumerate(states[1:]):
        legal = np.flatnonzero(rules.legal_actions(shown.board))
        made = [game.make_move(shown, GAME_2048, NAMES[action], seed, number) for action in legal]
        (move,) = [move for move in made if list(chain(*move.state.board)) == after["board"]]
        shown, score = move.state, score + move.reward
        assert (after["score"], after["spawn"]) == (score, move.spawn._asdict())
    assert shown_board(page) == shown.board
    return len(states) - 1


def test_keys_buttons_and_taking_back(page: "Page"):
    begin(page, 5)
    board = shown_board(page)
    assert board == game.open_game("4x4", 5).state.board
    action = max(range(4), key=lambda one: rules.legal_actions(board)[one])
    page.keyboard.press(("w", "ArrowRight", "ArrowDown", "a")[action])
    wait_for_moves(page, 1)
    after = shown_board(page)
    assert after == game.make_move(State(board), GAME_2048, NAMES[action], 5, 0).state.board
    page.locator("#step").click()
    wait_for_moves(page, 2)
    page.keyboard.press(" ")  # the button that was clicked does not take the key
    wait_for_moves(page, 3)
    page.locator("#back").click()
    page.keyboard.press("u")
    wait_for_moves(page, 1)
    assert shown_board(page) == after
    page.keyboard.press("p")
    page.locator("#play[aria-pressed=true]").wait_for()
    page.locator("#moves", has_text=re.compile("^[6-9]$")).wait_for()
    page.keyboard.press("p")
    page.locator("#play[aria-pressed=false]").wait_for()
    page.keyboard.press("n")
    wait_for_moves(page, 0)
    assert page.locator("#seed").input_value() == "6"
    assert shown_board(page) == game.open_game("4x4", 6).state.board
    page.keyboard.press("u")
    wait_for_moves(page, 0)  # nothing to take back
    assert re.match(r"score 0\. row 1: ", page.locator("#live").inner_text())
    page.locator("#seed").fill("-1")
    page.locator("#restart").click()
    assert page.locator("#trouble").inner_text() == "seed: give a whole number from 0 to 4294967295"


def test_the_advice_of_each_depth_and_without_it(page: "Page"):
    begin(page, 5)
    for plies in ("1", "2", "3"):
        page.locator("#plies").select_option(plies)
        page.locator(".moves .chosen .of-effort", has_text=plies).wait_for()
        said = page.evaluate(ASK, [[page.evaluate("[...state.board]")], int(plies)])[0]
        titles = page.locator(".moves tbody .of-value").evaluate_all("cells => cells.map(cell => cell.title)")
        assert titles == [str(said["moves"][name]["value"]) if name in said["moves"] else "" for name in NAMES] or (
            [float(title) if title else None for title in titles]
            == [said["moves"].get(name, {}).get("value") for name in NAMES]
        )
        assert page.locator(".moves .chosen th span").last.inner_text() == said["action"]
        assert f"plays {said['action']}" in page.locator(".note").inner_text()
    page.locator("#advice").uncheck()
    assert not page.locator(".moves").is_visible()
    page.locator("#step").click()
    wait_for_moves(page, 1)
    page.locator("#advice").check()
    page.locator(".moves .chosen").wait_for()


def test_the_end_of_a_game(page: "Page"):
    """A board without a legal move: the player does not play, and a key moves nothing."""
    stuck = [1, 2, 1, 2, 2, 1, 2, 1] * 2
    page.evaluate("levels => show({ board: Uint8Array.from(levels), score: 8, moves: 7, spawn: null })", stuck)
    page.locator(".note", has_text="no move is legal: the game is over").wait_for()
    assert page.locator("#state").inner_text() == "the game is over"
    for key in ("w", " ", "p"):
        page.keyboard.press(key)
    page.wait_for_timeout(100)
    assert page.locator("#moves").inner_text() == "7"
    assert page.locator("#play").get_attribute("aria-pressed") == "false"


def test_without_a_worker_the_page_plays_on_its_own_thread(browser: "Browser", folder: Path):
    page, faults = new_page(browser, 1000, "light")
    page.add_init_script("window.Worker = class { constructor() { throw new Error('refused'); } };")
    page.goto((folder / "page.html").as_uri())
    ready(page)
    assert not page.evaluate("player.isWorker")
    page.locator("#speed").fill("7")
    page.locator("#play").click()
    page.locator("#moves", has_text=re.compile(r"^\d\d+$")).wait_for()
    page.locator("#play").click()
    page.context.close()
    assert not faults


def test_a_cut_page_says_so(open_page: OpenPage, tmp_path: Path, folder: Path):
    """One weight is missing; a person can still play."""
    text = (folder / "page.html").read_text(encoding="utf-8")
    (tmp_path / "cut.html").write_text(re.sub(r'"size": (\d+)', lambda size: f'"size": {int(size[1]) + 1}', text))
    page = open_page(tmp_path / "cut.html", width=1000)
    page.locator("#trouble", has_text="the weights of this page are cut").wait_for()
    assert page.locator("#play").is_disabled()


def test_a_swipe_is_a_move(open_page: OpenPage, folder: Path):
    page = ready(open_page(folder / "page.html", width=400))
    board = shown_board(page)
    swipe(page, max(range(4), key=lambda one: rules.legal_actions(board)[one]))
    wait_for_moves(page, 1)
    for _ in range(2):  # Chromium may take the first touch as the end of the swipe, which is then no click
        page.locator("#step").tap()
        page.wait_for_timeout(500)
    page.wait_for_function("Number(document.getElementById('moves').textContent) >= 2")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_the_page_fits(open_page: OpenPage, folder: Path, width: int, theme: str):
    """Nothing is wider than the window, and the theme is that of the browser."""
    page = ready(open_page(folder / "page.html", width=width, theme=theme))
    page.locator(".moves .chosen").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    shade = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert shade > 600 if theme == "light" else shade < 150
