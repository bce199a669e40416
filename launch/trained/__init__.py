"""The trained networks that are installed with the package: players for a user who has trained none.

Each folder beside this file is a checkpoint for play, without the state that a training continues from. README.md has
the cards: training, results, licence. `make trained` makes the networks again.
"""

from pathlib import Path

HERE = Path(__file__).parent
PACKAGED = {"ntuple": "n-tuple network", "muzero": "MuZero network"}  # names of players, and what they are
DEFAULT = "ntuple"  # the player of a command without one
# What DEFAULT scores in the JavaScript of its exported page (README.md has the command).
PAGE_SCORE = (
    "It scores 85,439 ± 7,228 points at 1 ply and 130,905 ± 9,230 at 2 plies here: 100 games each, 95% intervals."
)


def packaged(path: Path | str) -> Path | None:
    """Return the checkpoint of a network of the package; None if the word is another one, or names a run of the user.

    A folder of this name that holds no config is no run: a checkout has its package ntuple/.
    """
    return HERE / path if str(path) in PACKAGED and not (Path(path) / "config.yaml").is_file() else None
