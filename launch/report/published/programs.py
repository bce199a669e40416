"""Results that the authors of other programs state, for the leaderboard: programs.yaml."""

from dataclasses import field
from pathlib import Path

from launch.experiment.plain_values import read_settings
from ntuple.core.settings import Settings

PROGRAMS = Path(__file__).with_suffix(".yaml")


class Program(Settings):
    """One result of a program, on 4x4."""

    source: str  # the public repository, and where in it the figures stand
    player: str  # in words
    search: str  # in words
    games: int
    score_mean: float
    reach: dict[str, float] = field(default_factory=dict)  # share of the games that reached a tile, as far as stated
    moves_per_second: float = 0.0  # 0: not stated
    machine: str = ""  # "": not stated
    invalid: str = ""  # why the figures are not those of the game; "": nothing is known against them


class Programs(Settings):
    """The content of programs.yaml."""

    programs: list[Program]


def read_programs(file: Path = PROGRAMS) -> list[Program]:
    """Read the results of programs, in their order."""
    return read_settings(Programs, file).programs
