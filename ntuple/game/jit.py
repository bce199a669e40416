"""The two decorators that set numba's compile options, and the cache of compiled kernels.

numba's own cache key is the time stamp of the kernel's file and the kernel's line number. It has two faults: it misses
an edit in another file, such as in a function that the kernel calls, and a changed comment discards the kernel.

Here the key is a digest of the names and the syntax of the kernel's module and of all modules of PACKAGES that it
imports, directly or indirectly. Only these can change the machine code. Comments, docstrings, line numbers and
files that no kernel imports do not change the key. Several clones of the same code share the compiled kernels. The
optimisation level (NUMBA_OPT) is part of the key, because the tests compile at a lower level than a training run.
"""

import ast
import atexit
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import numba
from numba import types
from numba.core.caching import _CacheLocator
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

# _nrt=False: kernels count no references. Counting takes 8 to 30 atomic additions per move on counters that all threads
# share, and costs a fifth of the speed. Therefore kernels allocate nothing; all arrays are passed in.
# no_cfunc_wrapper: no code of C calls a kernel.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}

SOURCE_ROOT = Path(__file__).parents[2]  # the folder of PACKAGES: a checkout, or site-packages beside other packages
PACKAGES = ("launch", "muzero2048", "ntuple", "tests")

numba_config: Any = numba.config


def kernel(function: F) -> F:
    """Compile a function that Python calls. It runs without the GIL, on arrays that the caller has checked.

    A kernel may also call it. This is a real call, which passes some hundred bytes of arguments. It suits functions
    that are called rarely, because each inlined copy takes compile time.
    """
    return _compiled(function)


def inline(function: F) -> F:
    """Compile a function that kernels call, always inlined, because a call with arrays would pass about 20 words."""
    return _compiled(function, forceinline=True)


def inline_once(function: F) -> F:
    """Insert a function into the kernel that calls it, before numba finds the types; alone it is never compiled.

    It suits a function that a kernel calls at one place. LLVM optimises an `inline` function alone, and again in each
    function around it; this one it sees once. Each call is compiled anew, and a branch on an argument that is None is
    not removed. It cannot be one of the functions that `chosen_by_type` chooses from.
    """
    return _compiled(function, inline="always")


def chosen_by_type(function: F, choose: Callable[..., Any]) -> F:
    """Let kernels call what `choose` returns for the types of the arguments in place of a function of plain Python.

    It is inlined, and cached with the kernel that calls it, whose module must import all that may be chosen.
    """
    options: Any = {"forceinline": True, "error_model": OPTIONS["error_model"], "_nrt": OPTIONS["_nrt"]}
    overload(function, jit_options=options, strict=False)(choose)
    return function


def either(one: Callable[..., Any], other: Callable[..., Any], is_other: Callable[..., bool]) -> Any:
    """Return a function that is `other` in kernels where `is_other` holds for the types of its arguments, else `one`.

    Outside of kernels `is_other` gets the arguments.
    """

    def function(first: Any, *arguments: Any) -> Any:
        return (other if is_other(first, *arguments) else one)(first, *arguments)

    def choose(first: Any, *arguments: Any) -> Callable[..., Any]:
        chosen = other if is_other(first, *arguments) else one
        return lambda first, *arguments: chosen(first, *arguments)

    return functools.wraps(one, updated=())(chosen_by_type(function, choose))


def field_type(record: Any, name: str) -> Any:
    """Return numba's type of a field, given that of a NamedTuple; None if either is the type of None.

    For `choose` of `chosen_by_type`, and for `is_other` of `either`: of a NamedTuple the field is returned.
    """
    if isinstance(record, tuple):
        return getattr(record, name)
    kind = record if record is types.none else record.types[record.fields.index(name)]
    return None if kind is types.none else kind


def _compiled(function: F, **inlining: Any) -> F:
    """Compile with OPTIONS and KernelLocator; numba reads the class of the cache locator when `njit` runs."""
    outer = numba_config.CACHE_LOCATOR_CLASSES
    numba_config.CACHE_LOCATOR_CLASSES = f"{__name__}.{KernelLocator.__name__}"
    try:
        dispatcher: Any = numba.njit(function, **inlining, **OPTIONS)
    finally:
        numba_config.CACHE_LOCATOR_CLASSES = outer
    if not numba_config.DISABLE_JIT:
        dispatcher.get_call_template = functools.partial(_call_template, dispatcher.get_call_template)
    return dispatcher


def _call_template(get: Callable[..., Any], args: Sequence[Any], kws: dict[str, Any]) -> Any:
    """Find the form of a kernel for a call by a kernel: numba would compile another one for each constant argument."""
    return get([types.unliteral(kind) for kind in args], {name: types.unliteral(kind) for name, kind in kws.items()})


class KernelLocator(_CacheLocator):
    """The folder of one kernel's compiled forms, and the stamp that decides whether they are valid."""

    def __init__(self, function: Callable[..., Any], file: str):
        self._code = function.__code__
        self._digest = source_digest(Path(file))

    def get_cache_path(self) -> str:
        """Return the cache folder: in NUMBA_CACHE_DIR if it is set, otherwise in the user's cache folder."""
        return str(Path(numba_config.CACHE_DIR or _cache_of_the_user(), self._digest))

    def get_source_stamp(self) -> str:
        """Return the stamp; a cached kernel is valid if its stamp is equal."""
        return self._digest

    def get_disambiguator(self) -> str:
        """Return a text that distinguishes kernels of the same name in one module."""
        constants = [constant for constant in self._code.co_consts if not isinstance(constant, CodeType | frozenset)]
        return hashlib.sha256(repr((self._code.co_code, self._code.co_names, constants)).encode()).hexdigest()[:8]

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "KernelLocator":
        """Return the locator of a kernel."""
        return cls(function, file)


@functools.cache
def _cache_of_the_user() -> Path:
    """Return the user's cache folder; a new one that this process deletes at its end, if that cannot be written.

    Only the user may write it, since numba runs what it finds there.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ntuple")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        warning = f"warning: {folder}: {error.strerror}; kernels are compiled anew, set XDG_CACHE_HOME to keep them"
        print(warning, file=sys.stderr, flush=True)
        private = Path(tempfile.mkdtemp(prefix="ntuple-"))
        atexit.register(shutil.rmtree, private, ignore_errors=True)
        return private


@functools.cache
def source_digest(file: Path) -> str:
    """Compute the digest of a module's syntax tree and of all modules of PACKAGES that it imports, also indirectly."""
    files, pending = {file}, [file]
    while pending:
        new = _module(pending.pop())[1] - files
        files |= new
        pending += new
    digest = hashlib.sha256(f"{sys.implementation.cache_tag}, optimisation level {numba_config.OPT}".encode())
    for name, one in sorted((_name_of(one), one) for one in files):
        # With its name: numba pickles argument types by the module that defines them.
        digest.update(name.encode() + _module(one)[0])
    return digest.hexdigest()[:16]


def _name_of(file: Path) -> str:
    """Return a file's path below SOURCE_ROOT, the same in all clones; the whole path of a file elsewhere."""
    return file.relative_to(SOURCE_ROOT).as_posix() if file.is_relative_to(SOURCE_ROOT) else str(file)


@functools.cache
def _module(file: Path) -> tuple[bytes, frozenset[Path]]:
    """Return the digest of one module's syntax tree, and the files of PACKAGES that it imports."""
    tree = ast.parse(file.read_bytes())
    imported = frozenset(path for name in _imported_names(tree) if (path := _file_of(name)))
    _drop_docstrings(tree)
    return hashlib.sha256(ast.dump(tree).encode()).digest(), imported


def _drop_docstrings(block: Any) -> None:
    """Remove the docstrings of a module, class or function and of all its definitions."""
    if block.body and isinstance(block.body[0], ast.Expr) and isinstance(block.body[0].value, ast.Constant):
        block.body = block.body[1:] or [ast.Pass(lineno=1, col_offset=0)]
    for statement in block.body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _drop_docstrings(statement)


def _imported_names(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names that the top level of a module imports; some are names within a module."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            yield statement.module
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def _file_of(module: str) -> Path | None:
    """Return the file of a module of PACKAGES; None for other packages."""
    path = SOURCE_ROOT.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py") if module.split(".")[0] in PACKAGES else ()
    return next((file for file in files if file.is_file()), None)
