"""The cache of compiled kernels: which edits compile a kernel again, and which do not."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ntuple.game import jit

CALLER = """from pkg.inner.callee import STEP, add
from ntuple.game.jit import kernel


@kernel
def run(x):
    return add(x) + STEP
"""
CALLEE = """from ntuple.game.jit import kernel

STEP = 1


@kernel
def add(x):
    return x + 1
"""


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    (tmp_path / "pkg" / "inner").mkdir(parents=True)
    for file, text in (("caller", CALLER), ("inner/callee", CALLEE), ("other", "X = 1\n")):
        (tmp_path / "pkg" / f"{file}.py").write_text(text)
    monkeypatch.setattr(jit, "SOURCE_ROOT", tmp_path)
    monkeypatch.setattr(jit, "PACKAGES", ("pkg",))

    def digest_now() -> str:
        jit.source_digest.cache_clear()
        jit._module.cache_clear()
        return jit.source_digest(tmp_path / "pkg" / "caller.py")

    return digest_now


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("caller", "\n\n@kernel", "\n\n# a comment\n@kernel", False),
        ("caller", "def run(x):", 'def run(x):\n    """A docstring."""', False),
        ("other", "X = 1", "X = 2", False),
        ("caller", "+ STEP", "- STEP", True),
        ("inner/callee", "STEP = 1", "STEP = 2", True),
        ("inner/callee", "x + 1", "x + 2", True),
        ("inner/callee", "STEP = 1", "STEP = 1.0", True),
    ],
)
def test_digest_follows_the_code_alone(tmp_path, digest, file, old, new, changes):
    before = digest()
    path = tmp_path / "pkg" / f"{file}.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert (digest() != before) is changes


def test_constant_arguments_need_no_form_of_their_own():
    @jit.kernel
    def add(x, is_less):
        return x - 1 if is_less else x + 1

    @jit.kernel
    def run(x):
        return add(x, False) + add(2, True) + add(x, is_less=x > 0)

    assert run(3) == 4 + 1 + 2
    assert len(add.signatures) == 1


def test_digest_ends_at_other_packages(tmp_path, digest):
    """In site-packages other packages lie beside this one, some with an empty module."""
    caller, other = tmp_path / "pkg" / "caller.py", tmp_path / "numba" / "__init__.py"
    caller.write_text("import numba\n" + CALLER)
    other.parent.mkdir()
    other.write_text("")
    (tmp_path / "pkg" / "__init__.py").write_text("")
    first = digest()
    other.write_text("X = 1\n")
    assert digest() == first


def test_digest_follows_the_name_of_a_module(tmp_path, digest):
    """numba pickles the types of arguments by the name of their module."""
    before = digest()
    (tmp_path / "pkg" / "inner").rename(tmp_path / "pkg" / "moved")
    caller = tmp_path / "pkg" / "caller.py"
    caller.write_text(caller.read_text().replace("pkg.inner", "pkg.moved"))
    assert digest() != before
    other = tmp_path / "pkg" / "other.py"
    moved = other.rename(tmp_path / "pkg" / "another.py")
    assert jit.source_digest(moved) != jit.source_digest(caller)
    found = jit.source_digest(moved)
    moved.rename(other)
    assert jit.source_digest(other) != found


def test_a_comment_compiles_nothing_but_an_edit_of_a_callee_and_another_level_do(tmp_path):
    """Each run is a separate process, as when a user edits a file and runs again."""
    (tmp_path / "pkg" / "inner").mkdir(parents=True)
    caller, callee = tmp_path / "pkg" / "caller.py", tmp_path / "pkg" / "inner" / "callee.py"
    program = (
        "from pathlib import Path; from ntuple.game import jit\n"
        "jit.SOURCE_ROOT, jit.PACKAGES = Path.cwd(), ('pkg',)\n"
        "from pkg.caller import run\n"
        "print(run(1), sum(run.stats.cache_hits.values()))"
    )

    def run(level: str = "1") -> str:
        root = str(Path(jit.__file__).parents[2])
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": f".{os.pathsep}{root}"}
        environment["NUMBA_OPT"] = level
        command = [sys.executable, "-c", program]
        return subprocess.check_output(command, cwd=tmp_path, env=environment, text=True).strip()

    caller.write_text(CALLER)
    callee.write_text(CALLEE)
    assert run() == "3 0"
    caller.write_text("# A comment moves every line.\n\n" + CALLER)
    assert run() == "3 1"
    assert run(level="3") == "3 0"
    callee.write_text(CALLEE.replace("x + 1", "x + 2"))
    assert run() == "4 0"


def test_kernels_of_one_name_in_one_module_are_told_apart():
    def one(x):
        return x + 1

    def other(x):
        return x + 2

    found = {jit.KernelLocator(function, __file__).get_disambiguator() for function in (one, other)}
    assert len(found) == 2


def test_a_cache_folder_that_cannot_be_written_costs_a_warning(monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/none")
    jit._cache_of_the_user.cache_clear()
    folder = jit._cache_of_the_user()
    jit._cache_of_the_user.cache_clear()
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0  # numba runs what it finds there
    assert "/dev/null/none/ntuple: Not a directory" in capsys.readouterr().err
