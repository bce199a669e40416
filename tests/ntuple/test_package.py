import ast
import subprocess
import sys
from pathlib import Path

import ntuple

SOURCES = sorted(Path(ntuple.__file__).parent.rglob("*.py"))


def test_import_leaves_jax_alone() -> None:
    code = "import sys, ntuple; print([m for m in ('jax', 'muzero2048', 'launch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_kernel_bypasses_the_decorators() -> None:
    """Only jit.py (compilation), simd.py and clock.py (low-level instructions) import numba."""
    importers = [p.name for p in SOURCES if "numba" in _imports(p)]
    assert importers == ["clock.py", "jit.py", "simd.py"]
    assert "njit" not in (Path(ntuple.__file__).parent / "tables" / "simd.py").read_text()


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names
