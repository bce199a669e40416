"""The two decorators that hold numba's compile options, and the cache of compiled kernels.

numba's own cache key is the time stamp of the kernel's file and the kernel's line. It misses an edit in another file,
such as a function that the kernel calls, and it discards the kernel if a comment changes. Here the key is a digest of
what can change machine code: the bytecode of the kernel's module and of all modules of this source tree that it
imports, directly or not. Comments, docstrings, line numbers, and files that no kernel imports are not part of it.
Clones of the same code share the kernels.
"""

import ast
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import numba
from numba.core.caching import _CacheLocator

F = TypeVar("F", bound=Callable[..., Any])

# Without numba's runtime (_nrt) no kernel counts references: 8 to 30 atomic additions a move, on counters that all
# threads share, cost a fifth of the speed. So kernels allocate nothing; their arrays come as arguments.
OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}

SOURCE_ROOT = Path(__file__).parents[2]  # holds the package ntuple, and in a checkout the tests

numba_config: Any = numba.config


def kernel(function: F) -> F:
    """Compile a function that Python calls, without the GIL, over arrays that the caller has checked.

    A kernel that calls it makes a real call, which passes some hundred bytes of arguments. This is right for rarely
    called functions, because each inlined copy costs compile time.
    """
    return _compiled(function, forceinline=False)


def inline(function: F) -> F:
    """Compile a function that kernels call, always inlined: a call that passes arrays would pass about 20 words."""
    return _compiled(function, forceinline=True)


def _compiled(function: F, forceinline: bool) -> F:
    """Compile with OPTIONS; numba reads the class of the cache locator when the decorator runs."""
    outer = numba_config.CACHE_LOCATOR_CLASSES
    numba_config.CACHE_LOCATOR_CLASSES = f"{__name__}.{KernelLocator.__name__}"
    try:
        return numba.njit(function, forceinline=forceinline, **OPTIONS)
    finally:
        numba_config.CACHE_LOCATOR_CLASSES = outer


class KernelLocator(_CacheLocator):
    """Tells numba where the compiled forms of one kernel are kept, and whether they are still valid."""

    def __init__(self, function: Callable[..., Any], file: str):
        self._code = function.__code__
        self._digest = source_digest(Path(file))

    def get_cache_path(self) -> str:
        """The folder: below NUMBA_CACHE_DIR if that is set, else below the user's cache folder."""
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return str(Path(numba_config.CACHE_DIR or Path(user_cache, "ntuple"), self._digest))

    def get_source_stamp(self) -> str:
        """What must be equal for a cached kernel to be valid."""
        return self._digest

    def get_disambiguator(self) -> str:
        """Distinguishes kernels of one name in one module."""
        return hashlib.sha256(repr(_fingerprint(self._code)).encode()).hexdigest()[:8]

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "KernelLocator":
        """The locator of a kernel."""
        return cls(function, file)


@functools.cache
def source_digest(file: Path) -> str:
    """Digest of the bytecode of a module and of all modules below SOURCE_ROOT that it imports, directly or not."""
    found, pending = {file}, [file]
    while pending:
        new = _module(pending.pop())[1] - found
        found |= new
        pending += new
    digest = hashlib.sha256(sys.implementation.cache_tag.encode())
    for one in sorted(_module(one)[0] for one in found):
        digest.update(one)
    return digest.hexdigest()[:16]


@functools.cache
def _module(file: Path) -> tuple[bytes, frozenset[Path]]:
    """Digest of the bytecode of one module, and the files of this source tree that it imports."""
    tree = ast.parse(file.read_bytes())
    imported = frozenset(path for name in _imported_names(tree) if (path := _file_of(name)))
    _drop_docstrings(tree)
    code = compile(tree, "", "exec", dont_inherit=True)
    return hashlib.sha256(repr(_fingerprint(code)).encode()).digest(), imported


def _drop_docstrings(block: Any) -> None:
    """Remove the docstrings of a module, class or function and of what it defines: they add instructions."""
    if isinstance(block.body[0], ast.Expr) and isinstance(block.body[0].value, ast.Constant):
        block.body = block.body[1:] or [ast.Pass(lineno=1, col_offset=0)]
    for statement in block.body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _drop_docstrings(statement)


def _imported_names(tree: ast.Module) -> Iterator[str]:
    """Dotted names that the top level of a module imports; some are names within a module."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            yield statement.module
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def _file_of(module: str) -> Path | None:
    """The file of a module below SOURCE_ROOT, or None."""
    path = SOURCE_ROOT.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def _fingerprint(code: CodeType) -> tuple[Any, ...]:
    """All of a code object that determines what it does; not its line numbers and file name."""
    skipped = code.co_firstlineno if "__firstlineno__" in code.co_names else None  # Python 3.13 keeps it in a class
    constants = tuple(
        _fingerprint(constant) if isinstance(constant, CodeType) else _constant(constant)
        for constant in code.co_consts
        if skipped is None or constant != skipped
    )
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_code, constants, names, counts, getattr(code, "co_exceptiontable", b""))


def _constant(constant: Any) -> tuple[str, str]:
    """Type and value; a frozenset has no order of its own."""
    value = sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
    return type(constant).__name__, repr(value)
