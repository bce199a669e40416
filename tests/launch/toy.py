"""A learner that learns nothing, for tests of everything around a learner: quick, and exact to the bit."""

import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from launch.experiment.metrics import DEPTH_NUMBERS
from ntuple.core.interfaces import Analysis, Games, Watch, unwatched
from ntuple.core.learner_spec import ONE_PLY, LearnerSpec
from ntuple.core.settings import Settings

SPEC = LearnerSpec(
    config="toy:ToyConfig",
    learner="toy:ToyLearner",
    players={ONE_PLY: "toy:load_toy_player"},
    uses_jax=False,
    memory_keys="toy.rate",
    diagnose="toy:diagnose",
)


class ToyConfig(Settings):
    rows: int = 2
    columns: int = 3
    env_steps: int = 100
    report_env_steps: int = 10
    rate: float = 0.5
    nan_at: int = 0  # env_steps at which a metric is NaN; 0 = never
    seconds: float = 0.0  # that a move takes
    hold: str = ""  # a file: after 50 moves training waits as long as it exists

    def __post_init__(self) -> None:
        if self.env_steps < 1:
            raise ValueError(f"toy.env_steps is {self.env_steps}; give 1 or more")


class ToyPlayer:
    effort_unit = "ply"
    plays_one_by_one = False

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def play(self, num_games: int, seed: int, watch: Watch = unwatched) -> Games:
        scores = np.array([seed % 1000 + 100 * i + round(self.weight) for i in range(num_games)], np.int64)
        tiles = 2 ** np.minimum(np.arange(num_games, dtype=np.int64), 50) * 1024
        return Games(scores, tiles, scores // 10, 0.5)

    def analyse(self, boards: np.ndarray, seeds: np.ndarray, draws: np.ndarray | None = None) -> Analysis:
        points = np.tile(np.arange(4), (len(boards), 1))
        return Analysis(np.full(len(boards), 3, np.int8), points, points + self.weight, np.ones_like(points))


class ToyLearner:
    def __init__(self, config: ToyConfig, seed: int) -> None:
        self.config = config
        self.env_steps_total = config.env_steps
        self.env_steps = 0
        self.weight = float(seed)

    @staticmethod
    def memory(config: ToyConfig) -> dict[str, int]:
        return {"a weight": 8}

    @property
    def progress(self) -> dict[str, int]:
        return {"env_steps": self.env_steps, "games": self.env_steps // 5, "updates": self.env_steps}

    @property
    def within_report(self) -> bool:
        return self.env_steps < self.config.env_steps and self.env_steps % self.config.report_env_steps > 0

    def advance(self, tick: Callable[[int], bool] = lambda moves: False) -> dict[str, float]:
        """A move at a time, after each of which it can be stopped."""
        every, before = self.config.report_env_steps, self.env_steps
        end = min(self.config.env_steps, (before // every + 1) * every)
        while self.env_steps < end:
            self.env_steps += 1
            time.sleep(self.config.seconds)
            self.weight = 3.9 * self.config.rate * math.sin(self.weight) + self.env_steps
            stopped = tick(self.env_steps - before)
            while not stopped and self.env_steps == 50 and self.config.hold and Path(self.config.hold).exists():
                time.sleep(0.02)
                stopped = tick(self.env_steps - before)
            if stopped:
                break
        bad = self.env_steps == self.config.nan_at
        return {"train/score_mean": self.weight, "td/error_abs_mean": math.nan if bad else self.weight / 7}

    def save(self, folder: Path) -> None:
        state = {"env_steps": self.env_steps, "weight": self.weight}
        (folder / "toy.json").write_text(json.dumps(state))

    def restore(self, folder: Path) -> None:
        state = json.loads((folder / "toy.json").read_text())
        self.env_steps, self.weight = state["env_steps"], state["weight"]

    def player(self) -> ToyPlayer:
        return ToyPlayer(self.weight)

    def probes(self) -> dict[str, ToyPlayer]:
        return {"swap": ToyPlayer(self.weight + 40)}

    def diagnose(self) -> dict[str, float]:
        return {"depth1/value_error": 3.0}


def load_toy_player(folder: Path, config: ToyConfig) -> ToyPlayer:
    return ToyPlayer(json.loads((folder / "toy.json").read_text())["weight"])


def diagnose(
    folder: Path, config: ToyConfig, boards: int, depth: int, seed: int, say: Callable[[str], None]
) -> dict[str, np.ndarray]:
    return {name: 0.1 * boards + seed + np.arange(depth + 1.0) for name, *_ in DEPTH_NUMBERS}
