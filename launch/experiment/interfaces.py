"""The protocols that a learner implements. They are structural types, so a learner imports nothing of launch.

Shapes: `G` games, `B` boards of `H, W` cells. Actions: up, right, down, left = 0..3.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import UInt8, UInt16, UInt32

from ntuple.core.interfaces import Analysis, Games, Watch

if TYPE_CHECKING:
    from ntuple.game.rollout import PlayedGame


@runtime_checkable
class Player(Protocol):
    """Plays with fixed weights, without exploration, from normal starts."""

    @property
    def effort_unit(self) -> str:
        """Unit of the search effort in its analysis: "ply" or "visits"."""

    @property
    def plays_one_by_one(self) -> bool:
        """Whether an evaluation plays its games one by one and keeps each as it ends: then it is a `SlowPlayer`."""

    def play(self, num_games: int, seed: int, watch: Watch = ...) -> Games:
        """Play whole games. The result of game i depends on (seed, i) alone, not on threads or batch size."""

    def analyse(
        self,
        boards: UInt8[np.ndarray, "B H W"],
        seeds: UInt32[np.ndarray, " B"],
        draws: UInt16[np.ndarray, " B"] | None = None,
    ) -> Analysis:
        """Choose a move on each of B boards and value all four.

        Args:
            boards: cells hold the level of the tile, in 2048 log2, 0 = empty.
            seeds: of the random numbers for each board; only players that draw random numbers use them.
            draws: hint and bag of each board (ntuple.core.games.definition.encode_draw); None: the game has none.

        Raises:
            ValueError: a cell is not a level of the game, a shape is wrong, or hints are missing.
        """


class SlowPlayer(Player, Protocol):
    """A player with `plays_one_by_one`: a game takes long, so an evaluation must survive a stop between games."""

    def prepare(self) -> None:
        """Compile, so that the clocks of games measure play alone."""

    def play_each(self, numbers: Iterable[int], seed: int) -> "Iterator[PlayedGame]":
        """Play the games of these numbers and yield each when it ends. Games under way end when the caller stops."""


@runtime_checkable
class Learner(Protocol):
    """A training that the loop of launch/train/loop.py drives; constructed as `XLearner(config, seed)`."""

    @staticmethod
    def memory(config: Any) -> dict[str, int]:
        """Return a lower bound of the bytes that a training takes on one device, by the name of each part.

        Nothing is allocated. launch/memory.py prints the parts and refuses a training that cannot fit.
        """

    @property
    def env_steps_total(self) -> int:
        """The training budget in moves: training ends when `progress["env_steps"] >= env_steps_total`."""

    @property
    def progress(self) -> dict[str, int]:
        """The counts so far: env_steps (moves), games (finished games), updates (of the weights)."""

    @property
    def within_report(self) -> bool:
        """Whether `tick` ended the last `advance` before the end of its report."""

    def advance(self, tick: Callable[[int], bool] = ...) -> dict[str, float]:
        """Train until the next report, or until `tick` returns true.

        With one thread or one device, an interruption changes nothing: when the report is complete, weights and games
        are bit for bit those of a report in one call.

        Args:
            tick: called from time to time with the moves made since the call began. When it returns True, `advance`
                returns within seconds.

        Returns:
            The metrics of this call, with names of launch/experiment/metrics.py. Metrics without data are left out.
        """

    def save(self, folder: Path) -> None:
        """Write the whole state of the training into the empty folder: a restored training goes on bit for bit."""

    def restore(self, folder: Path) -> None:
        """Restore what `save` wrote; ValueError, of one line, if a file is damaged or does not fit the config."""

    def player(self) -> Player:
        """Return a player with the current weights."""

    def probes(self) -> Mapping[str, Player]:
        """Return players with the current weights that diagnose the training; their metrics are probe/<name>_*.

        "swap": plans in the true dynamics of the game in place of the learned ones.
        """

    def diagnose(self) -> Mapping[str, float]:
        """Return metrics of the learned model that are too slow for every report: they go with the evaluations."""


@runtime_checkable
class LearnerConfig(Protocol):
    """The settings that the configs of all learners have."""

    @property
    def rows(self) -> int:
        """Height of the board."""

    @property
    def columns(self) -> int:
        """Width of the board."""

    @property
    def env_steps(self) -> int:
        """The training budget in moves."""

    @property
    def report_env_steps(self) -> int:
        """Moves between two reports."""
