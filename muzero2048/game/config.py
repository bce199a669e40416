"""Configuration of start positions."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ntuple.core.settings import Settings, group, setting

START_LEVELS = {2**level: level for level in range(3, 18)}  # tile of a start position -> log2 of it

TILES = "tiles from 8 to 131072, such as [512, 1024]"

# Conditions under which keys have an effect.
RESTART, CAROUSEL, JUMP = "start.kind=restart", "start.kind=carousel", "start.kind=jump_start"


@dataclass(frozen=True)
class RestartConfig(Settings, prefix="start.restart"):
    """Restart from the middle of the game that has just ended."""

    moves: int = setting(
        100,
        "L: restart only if more than this number of moves follow the middle (Matsuzaki 2017, algorithm 3).",
        at_least=1,
    )


@dataclass(frozen=True)
class CarouselConfig(Settings, prefix="start.carousel"):
    """Start where an earlier game reached a stage, each stage in turn (Jaskowski 2017, algorithm 5)."""

    stages: tuple[int, ...] = setting((512, 1024, 2048), "Tiles; a stage begins when its tile first appears.")
    size: int = setting(1000, "Boards kept for each stage, over all environments.", at_least=1, at_most=10**7)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _are_start_tiles(self.stages):
            self.refuse("stages", TILES)
        if list(self.stages) != sorted(set(self.stages)):
            self.refuse("stages", "ascending tiles: each is larger than the one before")

    @property
    def levels(self) -> tuple[int, ...]:
        """log2 of the tiles with which the stages begin."""
        return tuple(START_LEVELS[tile] for tile in self.stages)


@dataclass(frozen=True)
class JumpStartConfig(Settings, prefix="start.jump_start"):
    """Start some games on a made-up board with large tiles."""

    fraction: float = setting(0.5, "Share of the games that begin on a made-up board.", at_least=0, at_most=1)
    tiles: tuple[int, ...] = setting((2048, 1024, 512), "Large tiles of a made-up board: the first one or more.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _are_start_tiles(self.tiles):
            self.refuse("tiles", TILES)

    @property
    def levels(self) -> tuple[int, ...]:
        """log2 of the tiles on a made-up board."""
        return tuple(START_LEVELS[tile] for tile in self.tiles)


def _are_start_tiles(tiles: tuple[int, ...]) -> bool:
    return bool(tiles) and all(tile in START_LEVELS for tile in tiles)


@dataclass(frozen=True)
class StartConfig(Settings, prefix="start"):
    """Where games of self-play start (muzero2048/game/starts.py). Evaluation always uses normal starts."""

    kind: Literal["normal", "restart", "carousel", "jump_start"] = setting(
        "normal",
        "normal: two tiles. restart: the middle of the game that just ended. carousel: where an earlier game reached "
        "a stage, each stage in turn. jump_start: a made-up board with large tiles.",
    )
    restart: RestartConfig = group(RestartConfig, only_if=RESTART)
    carousel: CarouselConfig = group(CarouselConfig, only_if=CAROUSEL)
    jump_start: JumpStartConfig = group(JumpStartConfig, only_if=JUMP)

    former_keys: ClassVar[dict[str, str]] = {
        "restart_moves": "restart.moves", "stages": "carousel.stages", "carousel_size": "carousel.size",
        "jump_fraction": "jump_start.fraction", "jump_tiles": "jump_start.tiles",
    }  # fmt: skip
