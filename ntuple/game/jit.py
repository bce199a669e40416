"""The two decorators that hold numba's compile options, and the folder of the compiled kernels.

numba's on-disk cache looks at a kernel's own file only and misses an edit in a function it calls, so the folder
is named after a hash of all sources of this package: an edit anywhere compiles everything anew.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Without numba's runtime (_nrt) no kernel counts references: 8 to 30 atomic additions a move, on counters that all
# threads share, cost a fifth of the speed. So kernels allocate nothing; their arrays come as arguments.
OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}

numba_config: Any = numba.config


def _cache_folder() -> str:
    sources = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(path.read_bytes())
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    parent = Path(numba_config.CACHE_DIR or Path(user_cache, "ntuple"))
    return str(parent / sources.hexdigest()[:16])


_CACHE_FOLDER = _cache_folder()


def _compiled(function: F, forceinline: bool) -> F:
    """Hand the function to numba, which reads the cache folder once, when the decorator runs."""
    outer = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = _CACHE_FOLDER
    try:
        return numba.njit(function, forceinline=forceinline, **OPTIONS)
    finally:
        numba_config.CACHE_DIR = outer


def kernel(function: F) -> F:
    """Compile a function that Python calls, without the GIL, over arrays that the caller checked.

    A kernel that calls it makes a real call, of some hundred bytes of arguments: right for what is rarely needed, since
    every inlined copy takes its time to compile.
    """
    return _compiled(function, forceinline=False)


def inline(function: F) -> F:
    """Compile a function for kernels to call, always inlined: a helper with arrays is else a call of 20 words."""
    return _compiled(function, forceinline=True)
