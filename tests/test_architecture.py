"""Imports go in one direction, launch -> muzero2048 -> ntuple, as docs/architecture.md describes."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from launch.experiment.registry import LEARNERS

ROOT = Path(__file__).parent.parent
PACKAGES = ("launch", "muzero2048", "ntuple")
CORE_MODULES = sorted(f"ntuple.core.{file.stem}" for file in (ROOT / "ntuple" / "core").glob("[!_]*.py"))


def imported_modules(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {*names, *(node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)}


def imported_packages(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imported_modules(file)}


@pytest.mark.parametrize(
    ("package", "forbidden", "exceptions"),
    [
        ("ntuple", {"jax", "muzero2048", "launch", "benchmarks"}, set()),
        ("muzero2048", {"launch", "benchmarks"}, {"muzero2048/__init__.py"}),  # the library's names, at first use
        ("launch", {"benchmarks"}, set()),
    ],
)
def test_a_learner_imports_nothing_from_above_it(package, forbidden, exceptions):
    """No file but the exceptions imports a forbidden package, and these only under TYPE_CHECKING."""
    files = list((ROOT / package).rglob("*.py"))
    users = {file.relative_to(ROOT).as_posix() for file in files if imported_packages(file) & forbidden}
    assert users == exceptions
    for user in users:
        assert not any(
            file.is_relative_to(ROOT / name)
            for file in imported_files(ROOT / user, with_types=False)
            for name in forbidden
        )


@pytest.mark.parametrize(
    ("room", "forbidden"),
    [
        ("training", ("muzero", "deep_td", "players")),
        ("players", ("muzero", "deep_td")),
        ("muzero", ("deep_td",)),
        ("deep_td", ("muzero",)),
    ],
)
def test_what_learners_share_is_in_the_room_of_none_of_them(room, forbidden):
    """Shared code imports no learner, and no learner imports another learner."""
    names = tuple(f"muzero2048.{other}." for other in forbidden)
    for file in (ROOT / "muzero2048" / room).rglob("*.py"):
        assert not [name for name in imported_modules(file) if name.startswith(names)], file


CORE = "ntuple.core."  # these modules need numpy at most


def test_one_file_of_muzero_imports_the_networks_of_ntuple():
    """All files of muzero2048 may import ntuple.core; one file imports more, and one names the library."""
    files = (ROOT / "muzero2048").rglob("*.py")
    imports = {file.relative_to(ROOT).as_posix(): imported_modules(file) for file in files}
    users = {
        file
        for file, modules in imports.items()
        if any(module.split(".")[0] == "ntuple" and not module.startswith(CORE) for module in modules)
    }
    assert users == {"muzero2048/__init__.py", "muzero2048/players/ntuple_player.py"}


def test_files_import_each_other_in_no_circle():
    """Late imports count as well: in functions, by `import_module`, and under TYPE_CHECKING."""
    files = {file for package in PACKAGES for file in (ROOT / package).rglob("*.py")}
    graph = {file: imported_files(file) & files - {file} for file in files}
    while graph:
        leaves = {file for file, imported in graph.items() if not imported & graph.keys()}
        assert leaves, f"a circle among {sorted(file.relative_to(ROOT).as_posix() for file in graph)}"
        graph = {file: imported for file, imported in graph.items() if file not in leaves}


@pytest.mark.parametrize(
    ("line", "imported"),
    [
        ("def late():\n    from launch.jobs import slurm", "launch/jobs/slurm.py"),
        ("if TYPE_CHECKING:\n    from launch.errors import UserError", "launch/errors.py"),
        ('def late():\n    return import_module("ntuple.td.kernel")', "ntuple/td/kernel.py"),
        ("from ntuple import make_rules", "ntuple/__init__.py"),
        ("import ntuple.td.kernel", "ntuple/td/kernel.py"),
    ],
)
def test_the_search_for_circles_sees_every_import(line: str, imported: str, tmp_path: Path):
    file = tmp_path / "late.py"
    file.write_text(line)
    assert imported_files(file) == {ROOT / imported}


def imported_files(file: Path, with_types: bool = True) -> set[Path]:
    """Return the files of the house that a file imports, with those that it imports for types alone or without."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not with_types:
            node.body = []
    files = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            files |= {file_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            files |= {file_of(f"{node.module}.{alias.name}") or file_of(node.module) for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            files |= {file_of(argument.value) for argument in node.args if isinstance(argument, ast.Constant)}
    return {file for file in files if file}


def file_of(module: str) -> Path | None:
    """Return the file of a module or package of the house; None for other names."""
    path = ROOT.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py") if module.split(".")[0] in PACKAGES else ()
    return next((file for file in files if file.is_file()), None)


SETTINGS = (*CORE_MODULES, "muzero2048.muzero.config", "launch.experiment.experiment")
LIGHT = "Analysis, ExpectimaxConfig, Games, MCTSConfig, NTupleConfig, available_cores"
HEAVY = {"numba", "jax", "numpy"}


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        *((f"import {module}", {"numba"}) for module in SETTINGS),
        (f"from ntuple import {LIGHT}; NTupleConfig()", {"numba"}),
        *((f"import {module}", HEAVY) for module in (*LEARNERS.values(), "muzero2048")),
        *((f"import {module}", {"jax"}) for module in ("ntuple", "launch.cli", "launch.library")),
    ],
)
def test_heavy_packages_are_not_loaded_where_they_are_not_needed(code: str, unwanted: set[str]) -> None:
    code = f"import sys; {code}; sys.exit(not {unwanted}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_no_file_that_is_shipped_can_run_code_from_a_file_that_is_read():
    """No package uses pickle or a similar format, which runs code while a file is loaded."""
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            assert not imported_packages(file) & {"pickle", "joblib", "dill", "cloudpickle", "marshal"}, file
            assert "allow_pickle=True" not in file.read_text(encoding="utf-8"), file


def test_types_are_checked_in_every_file_of_launch_with_arrays():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    [checked] = re.findall(r"--jaxtyping-packages=(\S+)", options["addopts"])
    files = [file for file in (ROOT / "launch").rglob("*.py") if "jaxtyping" in imported_modules(file)]
    modules = {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}
    assert modules == {name for name in checked.split(",") if name.startswith("launch")}
