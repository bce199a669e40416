"""The page of `replay`, used as a person does: mistakes, keys, slider, curves, and a record that is hostile."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from launch.cli import main
from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.boards.notation import parse_position
from ntuple.exact.solution import Solution
from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
HOSTILE = "</script><script>document.title='hacked'</script><img src=x onerror=document.title='hacked'>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with 8 games of 2x3 by the greedy player, their solution, and the page of both."""
    made = tmp_path_factory.mktemp("replay")
    solution, games = str(made / "2x3.solution"), str(made / "games.txt")
    assert main(["solve", "--board", "2x3", "--out", solution]) == 0
    assert main(["evaluate", "greedy", "--board", "2x3", "--games", "8", "--seed", "5", "--records", games]) == 0
    words = ["replay", games, "--player", "heuristic", "--plies", "1", "--judge", solution, "--game", "best"]
    assert main([*words, "--out", str(made / "page.html")]) == 0
    return made


def _position(page: "Page") -> str:
    """Return the board that is shown, in the notation of `moves --position`."""
    tiles = [text or "0" for text in page.locator("#board .cell").all_inner_texts()]
    return f"{' '.join(tiles[:3])} / {' '.join(tiles[3:])}"


def _values(page: "Page", table: str) -> list[float]:
    """Return the values of the four moves, -inf for a move that is not legal."""
    titles = page.locator(f"#{table} tbody .of-value").evaluate_all("cells => cells.map(cell => cell.title)")
    return [float(title) if title else -np.inf for title in titles]


def _wait_for(page: "Page", holds: Callable[[], bool]) -> None:
    """Wait until a condition holds; the policy of the page forbids playwright's `wait_for_function`."""
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it does not come to hold")


def _numbers(page: "Page") -> list[Any]:
    return [page.locator(f"#{name}").inner_text() for name in ("score", "tile")]


def test_the_worst_move_first(folder: Path, open_page: OpenPage):
    page, solution = open_page(folder / "page.html"), Solution.load(folder / "2x3.solution")
    rows = page.locator("#mistakes tbody tr")
    opened = page.locator("#game option:checked").inner_text().split(":")[0]
    worst = next(text for text in rows.locator("button").all_inner_texts() if text.startswith(f"{opened},"))
    assert worst == f"{opened}, move {page.locator('#move').input_value()}"
    link = rows.first.locator("button")
    number, move = (int(word) for word in link.inner_text().replace("game ", "").split(", move "))
    link.click()
    assert page.locator("#game option:checked").inner_text().startswith(f"game {number}: ")
    assert page.locator("#move").input_value() == str(move)
    word = solution.word(parse_position(_position(page), 2, 3))
    exact = solution.move_values(np.array([word]))[0]
    assert _values(page, "judge") == exact.tolist()
    better = NAMES[int(exact.argmax())]
    made = page.locator("#judge tr.made th span").last.inner_text()
    loss = exact.max() - exact[NAMES.index(made)]
    assert loss > 0
    said = f"● made: {made} · loses {loss:.2f} by the judge; better: {better}"
    assert page.locator("#verdict").inner_text() == said
    assert rows.first.locator("td").first.get_attribute("title") == str(loss)
    assert rows.first.get_attribute("class") == "here"
    _wait_for(page, lambda: page.evaluate("location.hash") == f"#game={number}&move={move}")


def test_the_game_of_the_command_is_first(folder: Path, open_page: OpenPage):
    page = open_page(folder / "page.html")
    scores = [int(text.split("score ")[1].split(", ")[0]) for text in page.locator("#game option").all_inner_texts()]
    assert page.locator("#game option:checked").inner_text().split("score ")[1].startswith(f"{max(scores)}, ")
    assert len(scores) == 8
    page.keyboard.press("End")
    assert _numbers(page)[0] == str(max(scores))
    assert page.locator("#verdict").inner_text() == "the game is over"


def test_keys_slider_and_number_move_through_the_game(folder: Path, open_page: OpenPage):
    page = open_page(folder / "page.html", "#game=3&move=4")
    place = page.locator("#move")
    last = int(page.locator("#slider").get_attribute("max") or 0)
    found = [place.input_value()]
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "PageUp", "Home", "ArrowLeft"):
        page.keyboard.press(key)
        found.append(place.input_value())
    assert found == ["4", "5", "6", "5", str(last), str(last), str(max(0, last - 100)), "0", "0"]
    for name in ("first position", "one move on", "one move on", "one move back", "last position"):
        page.get_by_role("button", name=name, exact=True).click()
        found.append(place.input_value())
    assert found[-5:] == ["0", "1", "2", "1", str(last)]
    page.keyboard.press("Home")
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    assert place.input_value() == "1"
    assert page.locator("#slider").get_attribute("aria-valuetext") == f"move 1 of {last}"
    place.fill("7")
    assert page.locator("#slider").input_value() == "7"
    box = page.locator("#curves svg").first.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - 9, box["y"] + 50)
    assert place.input_value() == str(last)


def test_play_runs_to_the_end(folder: Path, open_page: OpenPage):
    page = open_page(folder / "page.html")
    page.locator("#speed").select_option("600")
    page.locator("h1").click()
    page.keyboard.press("Space")
    last = page.locator("#slider").get_attribute("max")
    _wait_for(page, lambda: page.locator("#slider").input_value() == last)
    assert page.locator("#play").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1000, 1600])
def test_the_page_fits(folder: Path, open_page: OpenPage, width: int, theme: str):
    page = open_page(folder / "page.html", "#move=5", width, theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#curves .curve:visible").count() == 5  # score, three values, largest tile


def test_labels_for_screen_readers(folder: Path, open_page: OpenPage):
    page = open_page(folder / "page.html", "#move=0")
    for name in ("first position", "one move back", "Play", "one move on", "last position"):
        assert page.get_by_role("button", name=name, exact=True).count() == 1
    assert page.get_by_role("slider", name="move").count() == 1
    assert page.get_by_role("combobox", name="game").count() == 1
    assert page.get_by_role("group", name="board; row 1: ").count() == 1
    _wait_for(page, lambda: (page.locator("#live").text_content() or "").startswith("move 0 of "))


def test_a_hostile_record_runs_nothing(folder: Path, open_page: OpenPage):
    lines = (folder / "games.txt").read_text().splitlines()
    hostile = folder / "hostile.txt"
    hostile.write_text("\n".join([f"% board 2x3 {HOSTILE}", *lines[1:3]]))
    assert main(["replay", str(hostile), "--out", str(folder / "hostile.html")]) == 0
    page = open_page(folder / "hostile.html")
    page.keyboard.press("End")
    assert HOSTILE in page.locator("#origin").inner_text()
    assert page.title().startswith("2048: replay of hostile.txt")
    assert page.locator("img").count() == 0


def test_a_position_that_the_judge_was_not_asked_about(folder: Path, open_page: OpenPage):
    words = ["replay", str(folder / "games.txt"), "--judge", str(folder / "2x3.solution"), "--judge-every", "2"]
    assert main([*words, "--out", str(folder / "every.html")]) == 0
    page, note = open_page(folder / "every.html", "#move=2"), "#judge .note"
    assert page.locator(note).inner_text().startswith("plays ")
    assert " by the judge" in page.locator("#verdict").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(note).inner_text() == "not asked here"
    assert page.locator("#verdict").inner_text().startswith("● made: ")
    assert " by the judge" not in page.locator("#verdict").inner_text()
    assert page.locator("#own-part").is_hidden()
