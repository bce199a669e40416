"""The example configs of this project."""

from pathlib import Path

LAUNCH = Path(__file__).resolve().parents[1]


def examples_folder() -> Path:
    """Return the folder of the example configs: configs/ of a checkout, or its copy in an installed package.

    pyproject.toml defines the place of the copy.
    """
    installed = LAUNCH / "example_configs"
    return installed if installed.is_dir() else LAUNCH.parent / "configs"
