"""Tournaments of programs of all kinds: what goes wrong loses the game, and nothing is left behind."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from launch.cli import main
from launch.tournament.confine import MOST_TASKS, PID_MAX_RELEASE, release_of
from launch.tournament.processes import below
from launch.tournament.program import CONFINE, Limits, Program, ProgramError, confined

EXAMPLES = Path(__file__).parents[3] / "examples"
PLAIN = (EXAMPLES / "arena_player.py").read_text()
HEAD, LOOP, BODY = PLAIN.partition("for line in sys.stdin:\n")
# What a program does at its third question of a game. "fork" starts processes without end.
WRONG = {
    "crash": "sys.exit(1)",
    "hang": "while True: pass",
    "flood": "print('#1 ' + 'x' * 100_000, flush=True)",
    "cheat": "print('#1 09', flush=True); continue",  # a tile that the game never places, and no move
    "fork": "import os, time\n        while True: os.fork() or time.sleep(600); time.sleep(0.002)",
    "late": "import os, time\n        os.fork() or (os.setsid(), time.sleep(600))\n        sys.exit(1)",
}
LIMITS = ("--move-seconds", "0.5", "--rounds", "1")


def may_fork_without_end() -> bool:
    """Return whether the system ends such a program at once: by a namespace, or by a limit, which root has not."""
    script = f"import sys; sys.path.insert(0, {str(CONFINE.parent)!r}); import confine; sys.exit(not confine.unshare())"
    return os.getuid() != 0 or subprocess.run([sys.executable, "-c", script]).returncode == 0


def may_mount() -> bool:
    """Return whether the system lets a process have a /proc of its own, by the tool of util-linux."""
    words = ["unshare", "--map-root-user", "--pid", "--mount-proc", "--fork", "true"]
    return shutil.which(words[0]) is not None and subprocess.run(words, capture_output=True).returncode == 0


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, str]:
    """Return the command of each program."""
    commands = {}
    for name, what in {"plain": "", **WRONG}.items():
        count = (
            f"asked = 0\n{LOOP}    asked = 0 if ' open ' in line else asked + (' ?' in line)\n"
            f"    if asked == 3:\n        {what or 'pass'}\n"
        )
        (tmp_path / f"{name}.py").write_text(HEAD + count + BODY)
        commands[name] = f"{name}={sys.executable} -S {tmp_path / name}.py"
    return commands


def games(out: str) -> list[dict]:
    return [json.loads(line) for line in Path(out, "games.jsonl").read_text().splitlines()[1:]]


def running(text: str) -> list[str]:
    """Return the command lines of all processes that have a text in it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it is gone
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if text in line]


def dead_children() -> set[int]:
    """Return the children of this process that ended and whose exit code nobody asked for."""
    dead = set()
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # it is gone
            status = dict(line.split(":\t", 1) for line in path.read_text().splitlines())
            if int(status["PPid"]) == os.getpid() and status["State"].startswith("Z"):
                dead.add(int(status["Pid"]))
    return dead


def test_faults_lose_and_leave_nothing_behind(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    fork = programs.pop("fork")
    before, dead = below([os.getpid()]), dead_children()
    assert main(["tournament", *programs.values(), *LIMITS, "--out", "out"]) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[1][:3] == ["plain", *[str(len(programs) - 1)] * 2]
    played = games("out")
    if may_fork_without_end():
        assert main(["tournament", programs["plain"], fork, *LIMITS, "--out", "forking"]) == 0
        played += games("forking")
        programs["fork"] = fork
    faults = {game["at_fault"]: game["fault"] for game in played if "plain" in (game["player"], game["adversary"])}
    expected = {
        "crash": "ended during the game",
        "hang": "took too long for a move: more than 0.5 s",
        "flood": "wrote too much: more than 256 bytes without an end of line",
        "cheat": faults["cheat"],
        "fork": "started too many processes: more than 64",
        "late": faults["late"],
    }
    assert faults == {name: fault for name, fault in expected.items() if name in programs}
    # Where its processes are not in a namespace of their own, the child that lives on holds the output open.
    assert faults["late"] in ("ended during the game", faults["hang"])
    assert faults["cheat"].startswith(("broke the rules: ", "answered what is no action: "))
    time.sleep(0.2)
    assert below([os.getpid()]) <= before
    assert dead_children() <= dead
    assert main(["judge", "out/records.txt"]) in (0, 2)
    assert "correct" in capsys.readouterr().out
    page = Path("out/tournament.html").read_text()
    assert "took too long for a move" in page


def test_a_program_sees_no_command_line_of_others() -> None:
    """A seed may stand there. Not where the system lets a process mount nothing."""
    script = "import os; print(*[name for name in os.listdir('/proc') if name.isdigit()])"
    words = confined([sys.executable, "-S", "-c", script], Limits())
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    if not may_mount():
        pytest.skip("this system lets a process mount no /proc")
    assert run.stdout == "1\n"


FORKS = """
import os, time
count = 0
while True:
    try:
        count += 1 if os.fork() else time.sleep(600)
    except OSError:
        break
print(count)
"""


def test_a_program_has_no_more_tasks_than_the_limit_of_its_namespace() -> None:
    """Where a namespace has no limit of its own, that of the machine stays."""
    if not may_mount() or os.getuid() or release_of(os.uname().release) < PID_MAX_RELEASE:
        pytest.skip("a namespace has no limit of its own here")
    before = Path("/proc/sys/kernel/pid_max").read_text()
    words = confined([sys.executable, "-S", "-c", FORKS], Limits())
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert MOST_TASKS // 2 < int(run.stdout) < 8 * MOST_TASKS
    assert Path("/proc/sys/kernel/pid_max").read_text() == before


@pytest.mark.parametrize(
    ("text", "release"),
    [("6.8.0-45-generic", (6, 8)), ("6.14-rc1", (6, 14)), ("6.14.0-rc1", (6, 14)), ("7.0", (7, 0)), ("other", ())],
)
def test_releases_of_linux(text: str, release: tuple[int, ...]) -> None:
    assert release_of(text) == release


def test_a_program_that_is_too_slow_because_it_forks(programs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its processes are counted once more when its time is over: until then nobody may have looked."""
    if not may_fork_without_end():
        pytest.skip("such a program would not be ended here")
    monkeypatch.setattr("launch.tournament.program.LOOK_SECONDS", 60.0)
    assert main(["tournament", programs["plain"], programs["fork"], *LIMITS, "--out", "out"]) == 0
    assert {game["fault"] for game in games("out")} == {"started too many processes: more than 64"}


def test_a_program_has_no_more_memory_than_its_limit() -> None:
    words = [sys.executable, "-S", "-c", "print(len(bytearray(300 << 20)))"]
    limits = [Limits(most_bytes=most << 20) for most in (256, 1024)]
    runs = [subprocess.run(confined(words, limit), capture_output=True, text=True, check=False) for limit in limits]
    assert [run.stdout for run in runs] == ["", f"{300 << 20}\n"]
    assert runs[0].stderr.endswith("MemoryError\n")


def test_a_program_that_is_too_slow_for_the_game(tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text(PLAIN.replace(LOOP, f"import time\n{LOOP}    time.sleep(0.1 * (' ?' in line))\n"))
    words = [f"{name}={sys.executable} -S {path}" for name in ("slow", "other")]
    assert main(["tournament", *words, "--rounds", "1", "--game-seconds", "0.25", "--out", "out"]) == 0
    assert {game["fault"] for game in games("out")} == {"took too long for the game: more than 0.25 s"}


def test_a_program_that_reads_nothing() -> None:
    program = Program("deaf", [sys.executable, "-S", "-c", "import time; time.sleep(60)"], Limits(move_seconds=0.2))
    try:
        with pytest.raises(ProgramError, match="does not read its input"):
            program.tell("#1 61\n" * 20_000)
    finally:
        program.end()


def test_a_killed_tournament_goes_on(
    programs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All programs but one are wrong, and it is killed twice: its table is the same, and no process is left."""
    programs = {name: programs[name] for name in ("plain", "crash", "hang")}
    words = [*programs.values(), *LIMITS, "--seed", "5"]
    assert main(["tournament", *words, "--out", "whole"]) == 0
    whole = capsys.readouterr().out.splitlines()[: 1 + len(programs)]
    count = len(programs) * (len(programs) - 1)
    for kept in (count // 4, 2 * count // 3):
        process = subprocess.Popen([sys.executable, "-m", "launch", "tournament", *words, "--out", "killed"])
        file = Path("killed/games.jsonl")
        while not (file.exists() and file.read_text().count("\n") > kept):
            time.sleep(0.01)
            assert process.poll() is None
        process.kill()
        process.wait()
        with file.open("a") as lines:
            lines.write('{"player": "pl')  # as if it was killed within a line
    assert main(["tournament", *words, "--out", "killed"]) == 0
    assert capsys.readouterr().out.splitlines()[: 1 + len(programs)] == whole
    assert len(games("killed")) == len(games("whole")) == count
    time.sleep(0.2)
    assert not running(str(tmp_path))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "a tournament needs two players or more"),
        (["random"], "two players are called random; name one of them, such as other=random"),
        (["nobody --x"], "nobody is neither a player nor a program"),
        (["name=foo'bar"], """the program "foo'bar" is no command: No closing quotation"""),
        (["greedy", "--move-seconds", "0"], "--move-seconds is 0; give seconds above 0"),
        (["greedy", "--rounds", "0"], "--games and --rounds are at least 1"),
        (["greedy", "--seed", "-1"], "--seed is -1; give 0 to "),
        (["deep=heuristic --plies 99"], "deep: override search.plies=99: search.plies is 99; give 1 to 16"),
        (["ntuple", "--board", "3x3"], "ntuple: ntuple plays on 4x4, not on 3x3; give another --board"),
        (
            ["greedy", "--out", "old"],
            "old/games.jsonl: its games differ in seed, players; move it away",
        ),
    ],
)
def test_what_is_no_tournament(mistake, words: list[str], line: str) -> None:
    Path("old").mkdir()
    Path("old/games.jsonl").write_text('{"format": "muzero2048 tournament 2", "board": "4x4", "seed": 7}\n')
    Path("launch.py").write_text("raise SystemExit('mine')")  # no player runs it
    assert mistake("tournament random", *words).startswith(line)


@pytest.mark.parametrize("line", ["hello", "#0 99", "#0 #X", "#0 #", "#0 ? 7"])
def test_a_line_that_is_not_of_the_protocol(mistake, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"#0 open a:b\n{line}\n"))
    assert mistake("arena random --board", "2584 2x2") == f"{line!r} is no line of the protocol; see docs/tournament.md"


def test_a_program_that_is_none_does_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"ends={sys.executable} -c pass", f"python={sys.executable} {EXAMPLES / 'arena_player.py'}"]
    assert main(["tournament", *words, "--rounds", "1", "--out", "out"]) == 0
    assert {game["fault"] for game in games("out")} == {"did not start: ended during the game"}


@pytest.mark.slow
@pytest.mark.parametrize("board", ["3x3", "2584 3x3", "threes 3x4"])
def test_players_of_this_project_play_every_game(board: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tournament", "random", "greedy", "--board", board, "--rounds", "2", "--out", "out"]) == 0
    assert [game["fault"] for game in games("out")] == [""] * 4
    main(["judge", "out/records.txt", "--whole"])
    assert "games 4, correct 4" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_examples_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "cpp"
    subprocess.run(["g++", "-std=c++17", "-o", program, EXAMPLES / "arena_player.cpp"], check=True)
    words = [f"python={sys.executable} {EXAMPLES / 'arena_player.py'}", str(program), "--rounds", "2"]
    assert main(["tournament", *words, "--out", "out"]) == 0
    assert not any(game["fault"] for game in games("out"))
    assert all(
        len(Path(EXAMPLES, name).read_text().splitlines()) <= 40 for name in ("arena_player.py", "arena_player.cpp")
    )
