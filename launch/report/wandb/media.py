"""What wandb shows beside curves: the largest tiles of an evaluation, a picture of a game, the config as a table."""

import dataclasses
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from launch.experiment.describe import values_by_key
from launch.experiment.experiment import Experiment
from launch.experiment.metrics import REACH, TILES, Row
from launch.train.game_picture import picture_file

MEDIA = "media"
LARGEST_TILES = f"{MEDIA}/log2_largest_tile"  # histogram over the games of an evaluation
GAME = f"{MEDIA}/game"  # picture of one game
CONFIG_TABLE = "config_table"
_STYLE = "body{font:13px sans-serif}td,th{text-align:left;padding:2px 12px 2px 0;vertical-align:top}"


def with_media(folder: Path, row: Row) -> dict[str, Any]:
    """Return a row of metrics.jsonl with its media, if it is of an evaluation.

    | key | content |
    |---|---|
    | `media/log2_largest_tile` | histogram by log2 of the largest tile; its bins begin at the goals of the game |
    | `media/game` | the picture that `run.picture` has drawn |

    The first bin, of width 1, has the games below the first goal, in 2048 from 10 on those below 2048.
    Both come from the run folder alone, so an upload by `wandb sync` has them too.
    """
    if "eval/games" not in row:
        return dict(row)
    import wandb

    media: dict[str, Any] = {}
    counts = tile_counts(row)
    if any(counts[1:]):
        inner = np.log2(_goals(row))
        edges = np.array([inner[0] - 1, *inner, inner[-1] + 1])
        media[LARGEST_TILES] = wandb.Histogram(np_histogram=(np.array(counts), edges))
    file = picture_file(folder, int(row["env_steps"]))
    if file.is_file():
        media[GAME] = wandb.Html(file.read_text(encoding="utf-8"), inject=False)
    return {**row, **media}


def tile_counts(row: Row) -> list[int]:
    """Return how many games of an evaluation have a largest tile below the first goal, of it, of the next one, ..."""
    reached = [1.0, *(row.get(f"{REACH}{tile}", 0.0) for tile in _goals(row)), 0.0]
    return [round(row["eval/games"] * (here - next_)) for here, next_ in pairwise(reached)]


def _goals(row: Row) -> Sequence[int]:
    """Return the tiles whose rates a row has; all those of 2048 if they are of 2048, or if it has none."""
    tiles = {int(key.removeprefix(REACH)) for key in row if key.startswith(REACH)}
    return TILES if tiles <= {*TILES} else sorted(tiles)


def config_table(experiment: Experiment) -> str:
    """Return all keys as a table in HTML: value, default and meaning. Those that differ from the default come first."""
    rows = []
    for key, value in values_by_key(experiment).items():
        default = "" if key.default is dataclasses.MISSING else str(key.default)
        rows.append((key.name, str(value), default, key.meaning))
    rows.sort(key=lambda row: row[1] == row[2])  # stable
    cells = "".join(f"<tr><td>{'<td>'.join(map(escape, row))}" for row in rows)
    return f"<style>{_STYLE}</style><table><tr><th>key<th>value<th>default<th>meaning{cells}</table>"
