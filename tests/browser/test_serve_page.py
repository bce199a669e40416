"""The page of `serve` in a real Chromium: by keyboard, by the players, edited, on two boards.

No test writes to the console or asks another machine. Frames are counted by the page itself: a move is shown when the
number of moves on the page changes between two frames.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from reference import positions, rules
from small_runs import train_in

from launch.cli import main
from tests.browser.conftest import OpenPage
from tests.browser.driver import serving, swipe
from tests.launch.viewing.conftest import larger_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
NAMES = ("up", "right", "down", "left")
# Count the frames in which the number of moves changed, for some seconds.
COUNT = """seconds => new Promise(resolve => {
  const count = () => document.querySelectorAll(".side b")[1].textContent;
  const began = performance.now(); let frames = 0, changed = 0, last = count(), longest = 0, at = began;
  const first = Number(last.replace(/,/g, ""));
  requestAnimationFrame(function frame(now) {
    frames++; longest = Math.max(longest, now - at); at = now;
    if (count() !== last) { changed++; last = count(); }
    if (now - began < 1000 * seconds) requestAnimationFrame(frame);
    else resolve({ moves: Number(last.replace(/,/g, "")) - first, changed, frames, longest });
  });
})"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small n-tuple run on 4x4."""
    return train_in(tmp_path_factory.mktemp("serve"), larger_run("larger", ["0123", "4567", "0145"]))


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Return the address of a server of this run."""
    with serving(folder) as place:
        yield place


@pytest.fixture
def page(open_page: OpenPage, address: str) -> "Page":
    """Return the opened page with the advice of the run."""
    opened = open_page(address, width=1000)
    opened.wait_for_selector(".moves .chosen", timeout=60_000)
    return opened


def board_of(page: "Page", side: int = 0) -> rules.Board:
    """Return the board that the cells show."""
    cells = page.locator(".side").nth(side).locator(".cell").all_inner_texts()
    levels = [len(bin(int(text))) - 3 if text else 0 for text in cells]
    return tuple(tuple(levels[4 * row : 4 * row + 4]) for row in range(4))


def number(page: "Page", name: str, side: int = 0) -> int:
    text = page.locator(".side").nth(side).locator(".numbers").inner_text()
    return int(re.search(rf"{name}\s*([\d,]+)", text)[1].replace(",", ""))  # type: ignore[index]


def wait_for_moves(page: "Page", moves: int) -> None:
    each = "[...document.querySelectorAll('.side')].every(side => side.querySelectorAll('b')[1].textContent === moves)"
    page.wait_for_function(f"moves => {each}", arg=f"{moves:,}", timeout=60_000)


def wait_for_state(page: "Page", pattern: str) -> None:
    found = "document.querySelector('.state').textContent.match(pattern) !== null"
    page.wait_for_function(f"pattern => {found}", arg=pattern, timeout=60_000)


def test_a_game_by_hand_and_by_the_player(page: "Page"):
    """Twenty moves by keyboard, fifty by the player, taken back, edited, pasted, with another player."""
    score = 0
    for moves in range(20):
        board = board_of(page)
        action = max(range(4), key=lambda one: rules.legal_actions(board)[one])
        page.keyboard.press(("w", "ArrowRight", "ArrowDown", "a")[action])
        wait_for_moves(page, moves + 1)
        after, reward = rules.afterstate(board, action)
        score += reward
        shown = board_of(page)
        assert shown in [rules.spawn(after, code) for code in rules.chance_probabilities(after)]
        assert (number(page, "score"), number(page, "moves")) == (score, moves + 1)
    assert re.search(r"score \d+\. row 1: ", page.locator("#live").inner_text())
    page.locator("#speed").fill("6")
    page.locator("#play").click()
    page.wait_for_function("() => Number(document.querySelectorAll('.side b')[1].textContent) >= 70")
    page.keyboard.press("p")
    played, board = number(page, "moves"), board_of(page)
    for _ in range(3):
        page.keyboard.press("u")
    wait_for_moves(page, played - 3)
    page.locator("#step").click()
    wait_for_moves(page, played - 2)
    for moves in (played - 1, played):  # the button that was clicked does not take the key
        page.keyboard.press(" ")
        wait_for_moves(page, moves)
    assert board_of(page) == board  # the same moves and spawns again
    page.keyboard.press("e")
    old = positions.as_board(board)
    page.locator(".cell").first.click()
    page.wait_for_function(
        "old => document.querySelector('.cell').textContent !== old", arg=str(2 ** old[0][0] if old[0][0] else "")
    )
    assert board_of(page) == ((old[0][0] + 1, *old[0][1:]), *old[1:])
    page.keyboard.press("e")
    page.locator("#position").fill("0x4321")
    page.locator("#paste button").click()
    wait_for_moves(page, 0)
    assert board_of(page) == ((1, 2, 3, 4), *((0,) * 4,) * 3)
    page.locator(".agent").select_option("heuristic")
    wait_for_state(page, "heuristic, expectimax-p3")
    assert page.locator(".moves td.of-effort").first.inner_text() in ("", "3")


def test_edits_and_taking_back_wait_for_each_other_over_a_slow_link(page: "Page"):
    page.evaluate(
        """() => {
          const plain = window.fetch;
          window.fetch = async (...words) => {
            await new Promise((resolve) => setTimeout(resolve, 300));
            return plain(...words);
          };
        }"""
    )
    levels = [level for row in board_of(page) for level in row]
    page.keyboard.press("e")
    for cell in (0, 0, 1, 2):
        page.locator(".cell").nth(cell).click()
    page.keyboard.press("u")
    page.wait_for_function("document.getElementById('live').textContent.startsWith('taken back')")
    expected = [levels[0] + 2, levels[1] + 1, *levels[2:]]
    assert [level for row in board_of(page) for level in row] == expected


@pytest.mark.parametrize(("search", "words"), [("1ply", []), ("mcts", ["--simulations", "50"])])
def test_the_numbers_are_those_of_moves(page: "Page", folder: Path, capsys, search: str, words: list[str]):
    """Reward, value, depth or visits of each move, and the chosen one: to the last digit."""
    position = "2 4 0 8 / 0 8 2 0 / 0 0 0 0 / 16 32 64 1024"
    command = ["moves", str(folder / "runs" / "larger"), "--position", position, "--search", search, *words, "--json"]
    assert main(command) == 0
    expected = json.loads(capsys.readouterr().out.splitlines()[-1])
    page.locator("#seed").fill("0")  # the seed of `moves`; mcts draws random numbers
    page.locator("#seed").press("Enter")
    page.locator(".search").select_option(search)
    if words:
        page.locator(".count").fill(words[1])
        page.locator(".count").press("Enter")
    page.locator("#position").fill(position)
    page.locator("#paste button").click()
    page.wait_for_function(f"() => document.querySelector('.side').dataset.position.startsWith('{position[:9]}')")
    page.wait_for_selector(".moves .chosen", timeout=60_000)
    effort = "ply" if search == "1ply" else "visits"
    for row in page.locator(".moves tbody tr").all():
        move = expected["moves"].get(name := row.locator("th span").last.inner_text())
        shown = [row.locator(f".of-{kind}").inner_text().split("\n")[-1] for kind in ("reward", "effort")]
        assert shown == ([f"{move['reward']:,}", f"{move[effort]:,}"] if move else ["", ""])
        value = row.locator(".of-value").get_attribute("title")
        assert (float(value) if value else None) == (move["value"] if move else None)
        assert ("chosen" in (row.get_attribute("class") or "")) == (name == expected["action"])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1000, 1600])
def test_the_page_fits(open_page: OpenPage, address: str, width: int, theme: str):
    """Nothing is wider than the window, and the theme is that of the browser."""
    page = open_page(address, width=width, theme=theme)
    page.wait_for_selector(".moves .chosen", timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#two").check()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    shade = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert shade > 600 if theme == "light" else shade < 150


def test_two_players_get_the_same_spawns(page: "Page"):
    """Both boards begin alike, and the same moves have the same spawns."""
    page.locator("#two").check()
    page.locator(".agent").nth(1).select_option("larger")
    page.locator(".search").nth(1).select_option("1ply")
    for moves in range(10):
        page.locator("#step").click()
        wait_for_moves(page, moves + 1)
    assert board_of(page, 0) == board_of(page, 1)
    assert "random bits that depend on the seed" in page.locator("#same").inner_text()


def test_a_slow_search_shows_its_time_and_can_be_stopped(page: "Page"):
    page.locator(".agent").select_option("heuristic")
    page.locator(".count").fill("16")
    page.locator(".count").press("Enter")
    stop = page.get_by_role("button", name="Stop")
    stop.wait_for(timeout=60_000)
    wait_for_state(page, "searching [1-9]")
    stop.click()
    assert page.locator(".state").inner_text().strip() == "stopped"
    page.locator(".count").fill("1")
    page.locator(".count").press("Enter")
    wait_for_state(page, "heuristic, expectimax-p1")


def test_a_mistyped_number_position_or_setting_is_one_line(page: "Page"):
    """And nothing is written to the console."""
    trouble = page.locator("#trouble")
    page.locator(".search").select_option("mcts")
    page.locator(".player summary").click()
    mistakes = {
        "#seed": ("-1", "1.5", ""),
        ".count": ("0", "2.5", "2000000"),
        ".seconds": ("-1",),
    }
    lines = {
        "#seed": "seed: give a whole number from 0 to 4294967295",
        ".count": "simulations: give a whole number from 1 to 1000000",
        ".seconds": "seconds a move: give a number of 0 or more",
    }
    for field, values in mistakes.items():
        for value in values:
            page.locator(field).fill(value)
            page.locator(field).press("Enter")
            assert trouble.inner_text() == lines[field]
        page.locator(field).fill({"#seed": "1"}.get(field, ""))
        page.locator(field).press("Enter")
        page.wait_for_function("() => document.querySelector('#trouble').textContent === ''")
    page.locator("#position").fill("2 3 / 4")
    page.locator("#paste button").click()
    page.wait_for_function(
        "() => document.querySelector('#trouble').textContent.startsWith('cannot read the position')"
    )
    page.locator(".overrides").fill("search.pleis=3")
    page.locator(".overrides").press("Enter")
    wait_for_state(page, "there is no key 'search.pleis'")


def test_the_name_of_the_player_is_there_after_a_move_was_taken_back(page: "Page"):
    wait_for_state(page, "larger, 1ply")
    for key in (" ", "u"):
        page.keyboard.press(key)
        wait_for_moves(page, int(key == " "))
        wait_for_state(page, "larger, 1ply")


def test_two_players_have_names(page: "Page"):
    page.locator("#two").check()
    for name in ("player 1", "player 2"):
        region = page.get_by_role("region", name=name, exact=True)
        assert region.get_by_role("group", name=f"board of {name}; row 1").count() == 1
    page.locator("#two").uncheck()
    assert page.get_by_role("region").count() == 0
    assert page.get_by_role("group", name="board; row 1").count() == 1


def test_values_are_told_apart_and_a_loss_is_no_second_number(page: "Page"):
    values = {"up": 21.946, "right": 21.973, "down": 21.9729, "left": -0.0001}
    moves = {name: {"reward": 0, "value": value, "ply": 1} for name, value in values.items()}
    found = page.evaluate(
        """moves => {
          const parent = document.createElement("div");
          Board2048.makeMoves(parent).show({ action: "right", moves });
          return [...parent.querySelectorAll("td.of-value")].map((cell) => ({
            loss: cell.querySelector(".loss").textContent, text: cell.querySelector(".text").textContent,
            spoken: [...cell.children].filter((one) => !one.ariaHidden).map((one) => one.textContent).join(""),
          }));
        }""",
        moves,
    )
    assert [one["text"] for one in found] == ["21.95", "21.97", "21.97", "0"]
    assert [one["loss"] for one in found] == ["\u22120.03", "", "", "\u221221.97"]
    assert all(one["spoken"] == one["text"] for one in found)


def test_fast_play_shows_most_moves_singly(page: "Page"):
    """At 60 moves a second a 1-ply player is not shown in jumps. The figures are printed."""
    page.locator("#speed").fill("6")
    page.locator("#play").click()
    page.wait_for_timeout(500)
    found = page.evaluate(COUNT, 5)
    print(found)
    assert found["moves"] > 0
    assert found["changed"] >= found["moves"] / 2


def test_a_finger_raises_lowers_and_empties_a_cell(open_page: OpenPage, address: str):
    page = open_page(address, width=390)
    page.wait_for_selector(".moves .chosen", timeout=60_000)
    page.locator("#position").fill("8 4 2 2 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0")
    page.locator("#paste button").click()
    cell = page.locator(".cell").first

    def wait_for(text: str) -> None:
        page.wait_for_function("text => document.querySelector('.cell').textContent === text", arg=text)

    wait_for("8")
    page.locator("#edit").tap()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cell.tap()
    wait_for("16")
    session, box = page.context.new_cdp_session(page), cell.bounding_box()
    touch = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
    wait_for("8")  # still pressed
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(300)  # its end is no click
    wait_for("8")
    page.locator("#stroke").select_option("lowers")
    cell.tap()
    wait_for("4")
    page.locator("#stroke").select_option("empties")
    cell.tap()
    wait_for("")
    page.locator("#edit").tap()
    assert not page.locator("#stroke").is_visible()


def test_a_swipe_is_a_move(open_page: OpenPage, address: str):
    page = open_page(address, width=390)
    page.wait_for_selector(".moves .chosen", timeout=60_000)
    board = board_of(page)
    swipe(page, max(range(4), key=lambda one: rules.legal_actions(board)[one]))
    wait_for_moves(page, 1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
