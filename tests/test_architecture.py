"""The arrows of docs/architecture.md: launch -> muzero2048 -> ntuple, and nothing back."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def imported_modules(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {*names, *(node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)}


def imported_packages(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imported_modules(file)}


@pytest.mark.parametrize(
    ("package", "forbidden"), [("ntuple", {"jax", "muzero2048", "launch"}), ("muzero2048", {"launch"})]
)
def test_a_learner_imports_nothing_from_above_it(package, forbidden):
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for file in files:
        assert not imported_packages(file) & forbidden, file


def test_one_file_of_muzero_knows_of_networks_of_tuples():
    """All may know how settings are checked, which needs the standard library alone."""
    files = (ROOT / "muzero2048").rglob("*.py")
    found = {file.relative_to(ROOT).as_posix(): imported_modules(file) for file in files}
    users = {
        file
        for file, modules in found.items()
        if any(module.split(".")[0] == "ntuple" and module != "ntuple.settings" for module in modules)
    }
    assert users == {"muzero2048/players/ntuple_player.py"}


@pytest.mark.parametrize("module", ["ntuple.settings", "muzero2048.muzero.config", "launch.config.experiment"])
def test_settings_load_no_numba(module):
    code = f"import sys, {module}; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("module", ["ntuple", "launch.cli"])
def test_jax_is_not_loaded_where_it_is_not_needed(module):
    code = f"import sys, {module}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_no_file_that_is_shipped_can_run_code_from_a_file_that_is_read():
    for package in ("launch", "muzero2048", "ntuple"):
        for file in (ROOT / package).rglob("*.py"):
            assert not imported_packages(file) & {"pickle", "joblib", "dill", "cloudpickle", "marshal"}, file
            assert "allow_pickle=True" not in file.read_text(encoding="utf-8"), file
