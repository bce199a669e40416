"""The folder wandb/ of a run: the run's id in wandb, and wandb's own files."""

import secrets
from pathlib import Path

from launch.files import write_text

FOLDER = "wandb"


def wandb_id(run: Path) -> str:
    """Return the run's id in wandb. It is kept in the run folder, so that a resumed run continues under it."""
    file = run / FOLDER / "id"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        write_text(file, secrets.token_hex(4) + "\n")
    return file.read_text(encoding="utf-8").strip()


def is_uploaded(run: Path) -> bool:
    """Return whether rows of the present id are on a server: the run was online, or `wandb sync` left its mark."""
    wandb = run / FOLDER
    return any(wandb.glob("run-*")) or any(wandb.glob("offline-run-*/*.synced"))


def renew_id(run: Path) -> None:
    """Give the run a new id in wandb; an upload under the old id would add rows to those on the server."""
    old = wandb_id(run)
    (run / FOLDER / "id").unlink()
    new = wandb_id(run)
    print(f"rows of the wandb run {old} are on the server, which takes none back: the whole run is {new}; delete {old}")


def set_aside(run: Path, pattern: str) -> None:
    """Move folders of wandb to wandb/replaced/, where `wandb sync wandb/offline-run-*` does not find them."""
    replaced = run / FOLDER / "replaced"
    for old in sorted((run / FOLDER).glob(pattern)):
        replaced.mkdir(exist_ok=True)
        old.rename(replaced / old.name)
