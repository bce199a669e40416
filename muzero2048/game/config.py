"""Configuration of start positions."""

from dataclasses import dataclass
from typing import Literal

from ntuple.settings import Settings, setting

START_TILES = {str(2**level): level for level in range(3, 18)}  # tiles of starts, and log2 of them

# Conditions under which keys have an effect.
RESTART, CAROUSEL, JUMP = "start.kind=restart", "start.kind=carousel", "start.kind=jump_start"


@dataclass(frozen=True)
class StartConfig(Settings, prefix="start"):
    """Where the games of self-play start (game/starts.py). Evaluation always plays from normal starts."""

    kind: Literal["normal", "restart", "carousel", "jump_start"] = setting(
        "normal",
        "normal: two tiles. restart: the middle of the game that just ended. carousel: where an earlier game reached "
        "a stage, each stage in turn. jump_start: a made-up board with large tiles.",
    )
    restart_moves: int = setting(
        100,
        "L: restart only if more than this number of moves follow the middle (Matsuzaki 2017, algorithm 3).",
        at_least=1,
        only_if=RESTART,
    )
    stages: str = setting("512 1024 2048", "Tiles; a stage begins when its tile first appears.", only_if=CAROUSEL)
    carousel_size: int = setting(
        1000,
        "Initial boards kept for each stage, of all environments (Jaskowski 2017).",
        at_least=1,
        at_most=10**7,
        only_if=CAROUSEL,
    )
    jump_fraction: float = setting(
        0.5, "Share of the games that begin on a made-up board.", at_least=0, at_most=1, only_if=JUMP
    )
    jump_tiles: str = setting("2048 1024 512", "Large tiles of a made-up board: the first one or more.", only_if=JUMP)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("stages", "jump_tiles"):
            words = getattr(self, name).split()
            if not words or not all(word in START_TILES for word in words):
                self.refuse(name, "tiles from 8 to 131072, such as 512 1024")
        if list(self.stage_levels) != sorted(set(self.stage_levels)):
            self.refuse("stages", "tiles of which each is larger than the one before")

    @property
    def stage_levels(self) -> tuple[int, ...]:
        """log2 of the tiles with which the stages begin."""
        return tuple(START_TILES[word] for word in self.stages.split())

    @property
    def jump_levels(self) -> tuple[int, ...]:
        """log2 of the tiles on a made-up board."""
        return tuple(START_TILES[word] for word in self.jump_tiles.split())
