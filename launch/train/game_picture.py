"""A picture of one game at each evaluation (`run.picture`): an SVG file in the run's folder, and its copy in wandb."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Integer

from launch.evaluation.loading import LoadedPlayer, play_each
from launch.files import write_text

if TYPE_CHECKING:
    from launch.evaluation.records.played import Game

FOLDER = "pictures"  # in the run's folder
BOARDS = 8  # in a picture
SIDE, GAP, HEAD = 36, 3, 34  # of a cell, between cells, and above a board, in pixels


def picture_file(run: Path, env_steps: int) -> Path:
    """Return the file of the game that was played after so many moves of training."""
    return run / FOLDER / f"{env_steps}.svg"


def draw_game_of(player: LoadedPlayer, seed: int, file: Path) -> None:
    """Play game 0 of a seed move by move, and write its picture."""
    from launch.evaluation.records.played import game_of
    from launch.evaluation.records.record import record_of  # needs numba; MuZero's training does without

    (played,) = play_each(player, [0], seed)
    file.parent.mkdir(exist_ok=True)
    write_text(file, game_svg(game_of(1, record_of(played, player.definition), player.rows, player.columns)))


def game_svg(game: "Game") -> str:
    """Return BOARDS boards of a game, at equal distances in moves, the last one being its end."""
    moves = len(game.boards) - 1
    places = sorted({round(moves * (i + 1) / BOARDS) for i in range(BOARDS)})
    scores = np.concatenate([[0], np.cumsum(game.points)]) + game.placed[0]
    rows, columns = game.boards.shape[1:]
    width, height = columns * (SIDE + GAP) + GAP, HEAD + rows * (SIDE + GAP) + GAP
    boards = "".join(
        f'<g transform="translate({i * (width + 4 * GAP)} 0)">'
        f'<text x="0" y="12">move {place:,}</text><text x="0" y="27">{scores[place]:,} points</text>'
        f"{_board_svg(game.boards[place], game.kind.tiles)}</g>"
        for i, place in enumerate(places)
    )
    total = len(places) * (width + 4 * GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" width="{total}" height="{height}" '
        f'font-family="sans-serif" font-size="12" fill="#777">{boards}</svg>\n'
    )


def _board_svg(levels: Integer[np.ndarray, "H W"], tiles: Sequence[int]) -> str:
    from muzero2048.environments.drawing import BACKGROUND, COLOURS, DARK_FROM, EMPTY, INK  # n-tuples do without

    rows, columns = levels.shape
    size = f'width="{columns * (SIDE + GAP) + GAP}" height="{rows * (SIDE + GAP) + GAP}"'
    parts = [f'<rect y="{HEAD}" {size} fill="rgb{BACKGROUND}"/>']
    for (row, column), level in np.ndenumerate(levels):
        x, y = GAP + column * (SIDE + GAP), HEAD + GAP + row * (SIDE + GAP)
        colour = COLOURS[min(int(level), len(COLOURS)) - 1] if level else EMPTY
        parts.append(f'<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" fill="rgb{colour}"/>')
        if level:
            text = str(tiles[level])
            parts.append(
                f'<text x="{x + SIDE / 2}" y="{y + SIDE / 2 + 4}" text-anchor="middle" '
                f'font-size="{min(16, 52 // len(text))}" fill="rgb{INK[bool(level >= DARK_FROM)]}">{text}</text>'
            )
    return "".join(parts)
