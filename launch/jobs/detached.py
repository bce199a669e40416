"""`submit --detach`: the launcher of this machine in the background, and the file of its output."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from launch.errors import UserError
from launch.jobs.queue import FOLDER

OPTION = "--detach"
POLL_SECONDS = 0.1  # between two looks at a launcher that begins


def output_file(name: str, runs_folder: Path) -> Path:
    """Return the file of the output of detached launchers, by the run or the first part of the group."""
    first = re.sub(r"[^\w.+=-]", "_", name.partition("/")[0])
    return runs_folder / FOLDER / f"{first}.log"


def detach(name: str, runs_folder: Path, has_begun: Callable[[], bool]) -> int:
    """Start the command of this process once more, without --detach, in a session of its own; return the exit code.

    It returns when the launcher has begun, or has ended.
    """
    if OPTION not in sys.orig_argv:
        raise UserError(f"{OPTION} starts the command line of this process again, and this one has no {OPTION}")
    file = output_file(name, runs_folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as output:
        launcher = subprocess.Popen(
            [sys.executable, *(word for word in sys.orig_argv[1:] if word != OPTION)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # the terminal's end does not reach it
        )
    while launcher.poll() is None and not has_begun():
        time.sleep(POLL_SECONDS)
    if launcher.returncode:
        raise UserError(f"the launcher has ended with exit code {launcher.returncode}; its output is {file}")
    print(f"process {launcher.pid} goes on in the background, its output is {file}")
    print(f"`muzero2048 status {name}` shows the runs, `muzero2048 logs {name} -f` follows the launcher,")
    print(f"`muzero2048 stop {name}` ends them all after they saved")
    return 0
