"""Settings for all tests. JAX is configured by environment variables, so that tests without JAX do not import it."""

import gc
import os
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from jaxtyping import _import_hook
from quick_kernels import compile_kernels_quickly

os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_DEFAULT_MATMUL_PRECISION", "highest")  # a GPU would round the operands to TF32
# Compiled programs are kept on disk, so that a second run of the tests compiles nothing.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # tests run thousands of single operations
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")  # source locations take a tenth of the time of tracing
# Compilation takes most of the time. With these flags XLA compiles a training round in 5 s instead of 24 s.
FLAGS = [
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_parallel_codegen_split_count=1",  # each part of a program costs time, and all cores are busy anyway
]
if version("jaxlib").startswith("0.10."):  # later versions do not know this flag, and XLA ends at an unknown one
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(FLAGS))

os.environ.setdefault("NUMBA_OPT", "1")  # a quarter of the time of tests/ntuple was LLVM's optimisation
if os.environ["NUMBA_OPT"] == "1":
    compile_kernels_quickly()  # a third of what is left

INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
checked_bytecode = _import_hook._optimized_cache_from_source


def bytecode_file(typechecker: str, path: str, debug_override: bool | None = None) -> str:
    """Return the file of the bytecode of a module that is imported while a module with checked types is executed.

    jaxtyping gives the bytecode of checked modules another name, and during their import that of all other modules too:
    each worker would compile jax, scipy and others from their source.
    """
    if path.startswith(INSTALLED):
        return _import_hook.cache_from_source(path, debug_override)
    return checked_bytecode(typechecker, path, debug_override)


_import_hook._optimized_cache_from_source = bytecode_file

# JAX keeps many objects alive, which the garbage collector visits again and again: a tenth of the time of its tests.
gc.set_threshold(100_000, 50, 100)

# Hypothesis: the same examples in every run, and no time limit, because the first example compiles.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


WHOLE_PROGRAM = (Path(__file__).parent, Path(__file__).parent / "launch")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files of a few long tests, such as that of the wheel: the last one would have a core to itself.

    Then each folder gives one file in turn: files of a folder share programs, which two workers would both compile.
    """
    files = defaultdict[Path, list[Path]](list)
    for path in dict.fromkeys(item.path for item in items):
        files[path.parent].append(path)
    items.sort(key=lambda item: (item.path.parent not in WHOLE_PROGRAM, files[item.path.parent].index(item.path)))


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a random generator with the same seed in every run."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """Clear the caches of compiled programs after each test file.

    A process can hold 65,530 memory maps. XLA crashes beyond this number.
    """
    yield
    if "jax" in sys.modules:
        if "muzero2048.players.search_player" in sys.modules:
            player = sys.modules["muzero2048.players.search_player"]
            player._make_play.cache_clear()
            player._make_analyse.cache_clear()
        sys.modules["jax"].clear_caches()
