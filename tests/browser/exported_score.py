"""Play games with the player of an exported page, in the page's own JavaScript, and print what it scores.

python tests/browser/exported_score.py FILE.html --games 100 --plies 1 2

Game i has the spawns of the page's seed i. The search is that of the page, on its main thread; nothing is drawn.
"""

import argparse
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from driver import chromium, new_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOAD = """async () => { window.measured = await Search2048.load(network, element("weights").textContent); }"""
PLAY = """([seed, plies, most]) => {
  let board = rules.open(seed), score = 0, moves = 0;
  const began = performance.now();
  for (; moves < most; moves++) {
    const { action } = measured.advise(board, plies);
    if (action === null) break;
    const played = rules.play(board, Game2048.NAMES.indexOf(action), seed, moves);
    board = played.board;
    score += played.reward;
  }
  return { score, moves, tile: 2 ** Math.max(...board), seconds: (performance.now() - began) / 1000 };
}"""


class Score(NamedTuple):
    """What games of a page came to."""

    mean: float  # points
    error: float  # standard error of the mean
    moves_per_second: float  # of the fastest game, which other work on the machine disturbed least


def measure(page: "Page", games: int, plies: int, most: int = 10**9) -> Score:
    """Play games 0 .. games - 1 in an opened page, each of at most `most` moves."""
    page.evaluate(LOAD)
    played = [page.evaluate(PLAY, [seed, plies, most]) for seed in range(games)]
    scores = [game["score"] for game in played]
    error = statistics.stdev(scores) / games**0.5 if games > 1 else 0.0
    return Score(statistics.fmean(scores), error, max(game["moves"] / game["seconds"] for game in played))


def main() -> None:
    """Read the options and print one line for each number of plies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--plies", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--most-moves", type=int, default=10**9, help="of a game; for a measurement of speed")
    arguments = parser.parse_args()
    with chromium() as browser:
        for plies in arguments.plies:
            page, faults = new_page(browser, 1000, "light")
            page.set_default_timeout(0)
            page.goto(arguments.page.resolve().as_uri())
            score = measure(page, arguments.games, plies, arguments.most_moves)
            print(
                f"{plies} plies: mean {score.mean:,.0f}, standard error {score.error:,.0f}, {arguments.games} games, "
                f"{score.moves_per_second:,.0f} moves/s",
                *faults,
                flush=True,
            )
            page.context.close()


if __name__ == "__main__":
    main()
