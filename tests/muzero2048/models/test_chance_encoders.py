"""A program of one file trains with a chance encoder of its own, as docs/extend.md says."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TINY = Path(__file__).parents[3] / "configs" / "muzero" / "tiny.yaml"
PROGRAM = """
import sys

import jax
import jax.numpy as jnp

from launch.cli import main
from muzero2048.models.chance_encoders import CHANCE_ENCODERS, ChanceEncoder


def tile(model, observed):
    is_four = observed.spawn_code % 2
    return jax.nn.one_hot(is_four, model.codes), jnp.zeros(len(is_four))


CHANCE_ENCODERS["tile"] = ChanceEncoder("1 if the tile of the spawn is a 4, else 0.", tile)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_fourth_encoder_in_one_file(tmp_path: Path) -> None:
    words = ["train", str(TINY), "muzero.chance.encoder=tile", "muzero.env_steps=4096", "muzero.report_env_steps=4096",
             "run.final_games=2", "run.name=tile"]  # fmt: skip
    subprocess.run([sys.executable, "-c", PROGRAM, *words], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    rows = [json.loads(line) for line in (tmp_path / "runs" / "tile" / "metrics.jsonl").read_text().splitlines()]
    entropy = next(row["model/code_entropy"] for row in rows if "model/code_entropy" in row)
    four = 0.1  # share of the codes that are 1
    assert entropy == pytest.approx(-four * np.log(four) - (1 - four) * np.log(1 - four), abs=0.05)
