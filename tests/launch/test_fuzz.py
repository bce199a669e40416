"""All commands with mutated inputs; tests/launch/fuzz.py lists the results that are allowed."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("fuzz.py")


@pytest.mark.slow
def test_mutated_inputs():
    """This takes five minutes on two cores, most of it for compiling."""
    command = [sys.executable, str(PROGRAM), "--cases", "500", "--seed", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "500 cases, 0 faults" in done.stdout
