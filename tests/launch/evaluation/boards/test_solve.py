"""The command `muzero2048 solve`."""

from pathlib import Path

import pytest

from launch.cli import main
from launch.errors import UserError
from launch.evaluation.records.regret import load_solution
from ntuple.core.games.known import GAMES


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    capsys.readouterr()
    assert main(["solve", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_board_to_its_end(capsys) -> None:
    lines = _said(capsys, "--board", "2x3")
    assert lines[0].startswith("2x3 to its end: 21,752 states, 14,883 afterstates in ")
    assert lines[1:] == ["start: expected 480.258272, best 1260, worst 40"]


def test_one_object_in_the_last_line(last_json) -> None:
    found = last_json("solve", "--board", "2x2")
    assert (found["board"], found["until"], found["tile"], found["reach"]) == ("2x2", None, None, None)
    assert (found["states"], found["expected"]) == (110, pytest.approx(66.964149, abs=1e-6))
    assert found["seconds"] > 0
    assert "position" not in found


def test_the_probability_of_a_tile(capsys, last_json) -> None:
    line = _said(capsys, "--board", "2x2", "--tile", "16")[1]
    assert "probability of 16 0." in line
    assert 0 < last_json("solve", "--board", "2x2", "--tile", "32")["reach"] < 1
    assert last_json("solve", "--board", "2x2", "--tile", "64")["reach"] == 0  # 32 is the largest tile on four cells
    assert last_json("solve", "--board", "2x3", "--tile", "4")["reach"] == pytest.approx(1)


@pytest.mark.parametrize(("board", "until", "worst"), [("3x3", "16", 8), ("4x4", "8", 0)])
def test_an_end_before_the_end(capsys, last_json, board: str, until: str, worst: int) -> None:
    """The board is large enough: best play nearly always reaches the tile, which ends the game.

    The unluckiest spawns on 4x4 fill the board with 2s and 4s in turn before the first merge: 0 points.
    """
    found = last_json("solve", "--board", board, "--until", until, "--tile", until)
    assert found["until"] == found["tile"] == int(until)
    assert found["reach"] == pytest.approx(1)
    assert found["expected"] > found["worst"] == worst
    assert _said(capsys, "--board", board, "--until", until)[0].startswith(f"{board} until {until}: ")


def test_a_solution_is_saved_and_asked(capsys, tmp_path: Path) -> None:
    file = tmp_path / "game.solution"
    lines = _said(capsys, "--board", "2x3", "--tile", "64", "--out", str(file))
    assert lines[2].startswith(f"saved to {file} (")
    assert lines[2].endswith(" MB)")
    asked = _said(capsys, "--solution", str(file), "--position", "2 4 0 / 0 8 2")
    assert asked[0] == "2x3 to its end: 21,752 states, 14,883 afterstates"
    assert asked[1] == lines[1]
    assert asked[2] == "2 4 0 / 0 8 2"
    assert asked[3].startswith("  as a state: expected 461.933152, best 1240, worst 36, probability of 64 0.")
    assert asked[4] == "    moves: up 461.246311, right 461.933152, down 460.672481, left 461.313802"
    assert len(asked) == 5
    # The answer is the same for the board as a hexadecimal word, for a solution that is not stored, and for another
    # view of the board.
    for words in (
        ("--solution", str(file), "--position", "0x130021"),
        ("--board", "2x3", "--tile", "64", "--position", "2 4 . / . 8 2"),
    ):
        assert _said(capsys, *words)[2:] == asked[2:]
    assert _said(capsys, "--solution", str(file), "--position", "0 4 2 / 2 8 0")[3] == asked[3]


def test_kinds_of_positions(capsys, last_json, tmp_path: Path) -> None:
    file = str(tmp_path / "game.solution")
    _said(capsys, "--board", "2x2", "--out", file)

    def kinds(position: str) -> list[str]:
        return _said(capsys, "--solution", file, "--position", position)[3:]

    assert kinds("2 2 / 2 2") == ["  unreachable: play never comes to it"]
    assert kinds("512 0 / 0 131072") == ["  unreachable: play never comes to it"]
    assert kinds("2 4 / 4 2") == ["  as a state: expected 0.000000, best 0, worst 0", "    the game is over"]
    both = kinds("0 0 / 4 4")
    assert [line.split(":")[0] for line in both] == ["  as a state", "    moves", "  as an afterstate"]
    after = kinds("0 0 / 0 8")
    assert [line.split(":")[0] for line in after] == ["  as an afterstate"]
    moves = kinds("2 0 / 0 0")
    assert moves == ["  unreachable: play never comes to it"]
    found = last_json("solve", "--solution", file, "--position", "2 4 / 0 0")["position"]
    assert found["cells"] == "2 4 / 0 0"
    assert found["state"]["moves"]["up"] is None
    assert found["state"]["expected"] == max(
        found["state"]["moves"][name] for name in ("right", "down", "left") if found["state"]["moves"][name]
    )
    assert found["state"]["reach"] is None


def test_threes_from_its_file(capsys, last_json, tmp_path: Path) -> None:
    """The first two rows of table 28 (Guei 2023); a solution of another game judges no game of 2048."""
    file = str(tmp_path / "threes.solution")
    state = ("--position", "0 1 0 / 0 0 2", "--hint", "3")
    said = _said(capsys, "--board", "2x3", "--game", "threes", "--out", file, *state)
    assert said[-3:] == [
        "0 1 0 / 0 0 2, next 3",
        "  as a state: expected 455.965829, best 1092, worst 258",
        "    moves: up 455.965829, right 455.964573, down 455.965829, left 455.965069",
    ]
    short = _said(capsys, "--solution", file, "--position", "0 1 0 / 0 0 2 +3")
    assert short[-3:] == said[-3:]
    found = last_json("solve", "--solution", file, "--position", "3 2 1 / 48 6 0", "--hint", "2", "--last", "up")
    assert (found["game"], found["board"]) == ("threes", "2x3")
    assert found["position"]["afterstate"] == pytest.approx(
        {"expected": 198.94034331280648, "best": 837, "worst": 75, "reach": None}
    )
    with pytest.raises(UserError, match="a solution of threes 2x3, but the games are of 2x3; make one with"):
        load_solution(Path(file), "2048", 2, 3)


TILE = "give a power of 2 from 4 to 32768"
TOO_LARGE = "too many positions to be solved to its end; add --until, a small tile with which the game ends, such as 16"
NINE_TILES = "threes begins with 9 tiles in more ways than can be listed; give threes on a smaller board, such as 2x3"
FACES = "give a tile of 2584 from 1 to 2178309, or 0 or . for an empty cell"
EITHER = "give either --board to solve a board, or --solution to ask a file that --out wrote"
SOLVED = "is for solving with --board; f holds a game that is solved"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", EITHER),
        ("--board 2x2 --solution f", EITHER),
        ("--board 5x5", "cannot read the board '5x5'; give rows x columns, each 2 to 4: 3x4, threes 4x4"),
        ("--board 3x4", f"a board of 3x4 has {TOO_LARGE}"),
        ("--board 2x2 --until 10", f"--until is 10; {TILE}"),
        ("--board 2x2 --until 2", f"--until is 2; {TILE}"),
        ("--board 2x2 --tile -4", f"--tile is -4; {TILE}"),
        ("--board 2x2 --tile 65536", f"--tile is 65536; {TILE}"),
        ("--board 2x2 --tile many", "argument --tile: invalid int value: 'many'; see `muzero2048 solve --help`"),
        ("--board 2x2 --until 16 --tile 32", "the game ends with --until 16, so --tile 32 is out of reach"),
        ("--solution f --until 16", f"--until {SOLVED}"),
        ("--solution f --tile 16", f"--tile {SOLVED}"),
        ("--solution f --out g", f"--out {SOLVED}"),
        ("--board 2x3 --position 2/2",
         "cannot read the position '2/2': row 1 has 1 cell; give 3, with blanks between them"),
        ("--board 2x2 --out no/f", "--out no/f: there is no folder PWD/no; make it, or name another --out"),
        ("--board 2x2 --out /proc/f",
         "--out /proc/f: cannot write to /proc: No such file or directory; name another --out"),
        ("--board 2x2 --out .", ". is there already: name another --out, or remove it"),
        ("--board 2x3 --game three", f"--game three: there is no game 'three'; give one of: {', '.join(GAMES)}"),
        ("--board 4x4 --game threes --until 12", f"--game threes: {NINE_TILES}"),
        ("--board 2x2 --game 2584 --until 4", "--until is 4; give a tile of 2584 from 2 to 987"),
        ("--board 2x2 --game 2584 --position 4", f"cannot read the position '4': row 1, column 1 is '4'; {FACES}"),
        ("--board 2x2 --hint 1", "--hint is for a --position"),
        ("--board 2x2 --game threes --last up", "--last is for a --position"),
        ("--board 2x2 --game threes --position 0x1", "--hint is missing: give the next tile, --hint 1, 2, 3"),
        ("--board 2x2 --game threes --position 0x1 --hint +", "--hint +: give the next tile, --hint 1, 2, 3"),
        ("--board 2x2 --position 0x1 --hint 1", "--hint 1: 2048 has no --hint"),
        ("--board 2x2 --position 0x1 --last up", "--last up: 2048 places tiles anywhere"),
        ("--board 2x2 --game threes --position 0x1 --hint 1 --last in",
         "--last in: give one of: up, right, down, left"),
        ("--solution f --game threes", f"--game {SOLVED}"),
        ("--board 2x2 more", "cannot read more; see `muzero2048 --help`"),
    ],
)  # fmt: skip
def test_bad_words(mistake, words: str, line: str) -> None:
    assert mistake("solve", *words.split()) == line.replace("PWD", str(Path.cwd()))


def test_bad_files(capsys, mistake, tmp_path: Path) -> None:
    file = tmp_path / "game.solution"
    assert mistake("solve", "--solution", str(file)).startswith(f"{file}: missing or damaged, solve the game again (")
    _said(capsys, "--board", "2x2", "--out", str(file))
    file.write_bytes(file.read_bytes()[:-1])
    assert mistake("solve", "--solution", str(file)).startswith(f"{file}: missing or damaged, solve the game again (")
    assert mistake("solve", "--board", "2x2", "--out", str(file)).startswith(f"{file} is there already")


def test_a_file_that_cannot_be_written(mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("ntuple.files.safetensors._write", fail)
    line = mistake("solve --board 2x2 --out", str(tmp_path / "f"))
    assert line == f"cannot write {tmp_path / 'f'}: disk full; name another --out"
    assert not list(tmp_path.glob("*f*"))


def test_too_little_memory(mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launch.evaluation.boards.solve.available_bytes", lambda: 2e6)
    line = mistake("solve", "--board", "4x4", "--until", "1024")
    assert line.startswith("4x4 needs more memory than there is: the positions up to 2")
    assert line.endswith(" bytes; give a smaller --until")
