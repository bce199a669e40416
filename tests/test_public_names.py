"""The names of `import muzero2048` and `import ntuple`: what is imported, what type checkers see, what dir lists."""

import subprocess
import sys
from pathlib import Path

import pytest

import muzero2048
import ntuple
from docs.generator import names


@pytest.mark.parametrize("package", [muzero2048, ntuple])
def test_type_checkers_see_the_names_that_are_imported(package):
    """The imports under TYPE_CHECKING and the table of modules name the same."""
    seen = {name.name: name.module for name in names.public_names() if name.package == package.__name__}
    assert seen
    imported = {name: getattr(package, name).__module__ for name in package.__all__}
    assert imported == seen
    assert package.__all__ == sorted(seen)


@pytest.mark.parametrize("package", ["muzero2048", "ntuple"])
def test_dir_lists_the_public_names_before_one_is_used(package: str):
    code = f"import sys, {package} as p; sys.exit(not set(p.__all__) < set(dir(p)) or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=False).returncode == 0


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="module 'muzero2048' has no attribute 'nothing'"):
        _ = muzero2048.nothing
