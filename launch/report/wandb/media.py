"""What wandb shows beside curves: the largest tiles of an evaluation, a picture of a game, the config as a table."""

import dataclasses
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from launch.experiment.describe import values_by_key
from launch.experiment.experiment import Experiment
from launch.experiment.metrics import TILES, Row
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
    | `media/log2_largest_tile` | histogram: games with the largest tile 2^k in the bin k to k + 1; 10: below 2048 |
    | `media/game` | the picture that `run.picture` has drawn |

    Both come from the run folder alone, so an upload by `wandb sync` has them too.
    """
    if "eval/games" not in row:
        return dict(row)
    import wandb

    media: dict[str, Any] = {}
    counts = tile_counts(row)
    if any(counts[1:]):
        edges = TILES[0].bit_length() - 2 + np.arange(len(counts) + 1)
        media[LARGEST_TILES] = wandb.Histogram(np_histogram=(np.array(counts), edges))
    file = picture_file(folder, int(row["env_steps"]))
    if file.is_file():
        media[GAME] = wandb.Html(file.read_text(encoding="utf-8"), inject=False)
    return {**row, **media}


def tile_counts(row: Row) -> list[int]:
    """Return how many games of an evaluation have a largest tile below 2048, of 2048, of 4096, ..."""
    reached = [1.0, *(row.get(f"eval/reach_{tile}", 0.0) for tile in TILES), 0.0]
    return [round(row["eval/games"] * (here - next_)) for here, next_ in pairwise(reached)]


def config_table(experiment: Experiment) -> str:
    """Return all keys as a table in HTML: value, default and meaning. Those that differ from the default come first."""
    rows = []
    for key, value in values_by_key(experiment).items():
        default = "" if key.default is dataclasses.MISSING else str(key.default)
        rows.append((key.name, str(value), default, key.meaning))
    rows.sort(key=lambda row: row[1] == row[2])  # stable
    cells = "".join(f"<tr><td>{'<td>'.join(map(escape, row))}" for row in rows)
    return f"<style>{_STYLE}</style><table><tr><th>key<th>value<th>default<th>meaning{cells}</table>"
