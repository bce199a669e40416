"""Programs that do anything to their files, their processes and the protocol: each gets a grade, and nothing stays."""

import os
import sys
from pathlib import Path

import pytest

from launch.course.run import run_to_end
from launch.tournament.processes import below
from launch.tournament.program import Limits
from tests.launch.course.conftest import Grader


@pytest.mark.parametrize(
    ("script", "points", "fault"),
    [
        ("os.mkdir(file)", "no game was written", None),
        ("os.mkfifo(file)", "no game was written", None),
        ("os.symlink('/etc/passwd', file)", "no game was written", None),
        ("os.mkfifo(folder + '/complete.txt')", "no game was written", None),
        ("os.symlink('x' * 4000, file)", "no game was written", None),
        ("shutil.rmtree(folder); sys.exit('gone')", "no game was written", "it ended with exit code 1"),
        ("shutil.rmtree(folder); os.symlink('/etc', folder)", "no game was written", None),
        ("shutil.rmtree(folder); open(folder, 'w')", "no game was written", None),
        ("open(file, 'w').truncate(1 << 40)", "the records cannot be read", "it wrote more than 512 MiB"),
        (
            "open(file, 'w').write('1' * (5 << 20))",
            "the records cannot be read",
            "a line of the records has more than 4",
        ),
        ("os.truncate(1, 1 << 40)", "no game was written", "it wrote more than 16 MiB"),
        ("import ctypes; ctypes.string_at(0)", "no game was written", "it ended with exit code 139 (SIGSEGV)"),
        ("open(file, 'w').write('11D1#L')", "no game was written", None),
        ("open(file, 'wb').write(bytes(range(256)) * 9)", "games are wrong", "game 1, number 1, column 1: "),
        ("open(file, 'w').write('% board 3x3\\n1121\\n')", "the records cannot be read", "the header says 3x3"),
        ("sys.exit('\\x1b[2J\\x00broken')", "no game was written", "it ended with exit code 1: [2Jbroken"),
        ("[os.fork() or time.sleep(600) for _ in range(2)]", "no game was written", None),
        (
            "os.fork(); os.setsid() if os.fork() else None; time.sleep(600)",
            "no game was written",
            "it was ended after 1 s",
        ),
    ],
)
def test_hostile_programs(grade: Grader, tmp_path: Path, script: str, points: str, fault: str | None) -> None:
    path = tmp_path / "hostile.py"
    head = "import os, shutil, sys, time\nfile = sys.argv[2].partition('=')[2]\nfolder = os.path.dirname(file)\n"
    path.write_text(f"{head}{script}\n")
    before = below([os.getpid()])
    result = grade.grade("light", f"{sys.executable} -S {path}", 5, "--seconds=1")
    assert below([os.getpid()]) <= before
    assert (result["points"], result["parts"][0]["reason"]) == (0, points)
    if fault is None:
        assert result["faults"] == ["it ended without an error and wrote no complete game into the file of --save"]
    else:
        assert fault in result["faults"][0]


@pytest.mark.parametrize(
    ("answers", "project", "fault"),
    [
        ("0\n0", "learned-model", "wrote a line that nobody asked for: '0', after 1 samples"),
        ("banner\n0", "learned-model", "answered what is no action: 'banner'"),
        ("0\n0", "threes-solver", "wrote a line that nobody asked for: '0', at the question "),
        ("banner\n0", "threes-solver", "wrote a line that nobody asked for: '0', at the question "),
    ],
)
def test_a_line_that_nobody_asked_for(grade: Grader, tmp_path: Path, answers: str, project: str, fault: str) -> None:
    """Also the answer to the last line of a game, which asks for none."""
    path = tmp_path / "talks.py"
    written = f"{answers}\n".encode()  # at once: the second line must be there when the next one is asked for
    path.write_text(f"import os, sys\nfor line in sys.stdin:\n    os.write(1, {written!r})\n")
    result = grade.grade(project, f"{sys.executable} -S {path}", 5)
    assert result["points"] == 0
    assert result["faults"][-1].startswith(fault)


def test_a_second_core_counts(tmp_path: Path) -> None:
    """A program may leave its core; its time is then that of both cores."""
    path = tmp_path / "two.py"
    path.write_text(
        "import os, time\nos.sched_setaffinity(0, range(os.cpu_count()))\npid = os.fork()\n"
        "while time.process_time() < 1: pass\nif pid: os.wait()\n"
    )
    run = run_to_end([sys.executable, "-S", str(path)], Limits(cores=1), 60, tmp_path / "r", tmp_path / "o")
    assert run.fault == ""
    assert run.seconds > 1.9
