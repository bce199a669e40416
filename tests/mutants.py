"""Mutation test: put one fault at a time into the code, and run the tests that must fail.

python tests/mutants.py [--list] [--only PATTERN] [--jobs N] [--root DIR]

tests/faults.txt has the faults; its head explains how one is written. A fault is an edit of the syntax tree, so layout,
comments and the names that its pattern leaves open may change. Each job has a copy of the files that git tracks. The
steps for each fault are:

1. Find the one place of its pattern, change it, and write the file of the copy.
2. Run the tests of the fault until the first failure.
3. Restore the file.

A fault is caught if a test fails. An error of import or collection does not count. The tests are not run without a
fault, so run the whole suite first: a test that always fails seems to catch every fault.

The exit code is 1 if a fault survives, has no place or several, or ends the tests in another way than by a failed test.
"""

import argparse
import ast
import contextlib
import copy
import functools
import itertools
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
FAULTS = Path(__file__).with_name("faults.txt")
SECONDS = 600  # time limit of the tests of one fault; a longer run is reported as an error
FAILED = 1  # pytest's exit code if tests ran and some failed
PASSED = 0
CAUGHT, SURVIVED = "caught", "SURVIVED"
OPEN = re.compile(r"_[a-z]")  # a name of a pattern that stands for any expression, or any name
TEXT = "text "  # a pattern that begins so is plain text


class Fault(NamedTuple):
    """A programming error: `old` becomes `new` in the one place that fits."""

    name: str
    files: str  # glob below the root
    old: str
    new: str
    tests: tuple[str, ...]  # globs below tests/


class Outcome(NamedTuple):
    """The result of one fault."""

    result: str
    seconds: float = 0.0
    by: str = ""  # the test that failed


class Site(NamedTuple):
    """A node of a syntax tree: item `index` of `parent`'s list `field`, or all of a field that is no list."""

    parent: ast.AST
    field: str
    index: int
    nodes: list[Any]  # the list


class PlaceError(Exception):
    """A fault does not fit the code; the text says what to correct in faults.txt."""


def read_faults(text: str) -> list[Fault]:
    faults, files, tests = [], "", ()
    for block in re.split(r"\n(?=\S)", "\n" + text):
        if section := re.fullmatch(r"\s*\[(\S+)\] (.+?)\s*", block):
            files, tests = section[1], tuple(section[2].split())
        elif block.strip() and not block.startswith("#"):
            fault = re.fullmatch(r"\s*([\w-]+):\s+(\S.*?)\s*=>\s*(.*?)\s*", block, re.DOTALL)
            if not (fault and files):
                raise PlaceError(f"{block.strip()}: write `name: old => new` below a line `[files] tests`")
            faults.append(Fault(fault[1], files, fault[2], fault[3], tests))
    return faults


@functools.cache
def read_file(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@functools.cache
def sites_by_type(file: Path) -> tuple[ast.Module, dict[type, list[Site]]]:
    """Return the syntax tree of a file and its nodes."""
    tree, sites = ast.parse(read_file(file)), defaultdict(list)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            nodes = value if isinstance(value, list) else [value]
            for i, node in enumerate(nodes):
                sites[type(node)].append(Site(parent, field, i, nodes))
    return tree, sites


@functools.cache
def parse_edit(old: str, new: str) -> tuple[list[Any], list[Any]]:
    """Return pattern and replacement: an expression each, or statements."""
    with contextlib.suppress(SyntaxError):
        return [ast.parse(old, mode="eval").body], [ast.parse(new, mode="eval").body]
    return ast.parse(old).body, ast.parse(new or "pass").body


def open_name(node: Any, kinds: tuple[type, ...] = (ast.Name, ast.Starred, ast.keyword)) -> str:
    """Return the open name of a node, `_a`, `*_a` among arguments or statements, or `**_a`; "" if it has none."""
    if isinstance(node, str):
        return node if OPEN.fullmatch(node) else ""
    if isinstance(node, ast.Expr):
        node = node.value if isinstance(node.value, ast.Starred) else None
    if isinstance(node, kinds) and not getattr(node, "arg", None):
        return open_name(node.id if isinstance(node, ast.Name) else getattr(node.value, "id", None))
    return ""


def fits(pattern: Any, node: Any, bound: dict[str, Any]) -> bool:
    """Compare a pattern with a node, and note in `bound` what its open names stand for."""
    if isinstance(pattern, list):
        for i, part in enumerate(pattern):
            if name := open_name(part, (ast.Starred, ast.keyword)) if isinstance(part, ast.AST) else "":
                end = len(node) - (len(pattern) - i - 1)
                bound[name] = node[i:end]
                return fits(pattern[:i] + pattern[i + 1 :], node[:i] + node[end:], bound)
        return len(pattern) == len(node) and all(map(fits, pattern, node, itertools.repeat(bound)))
    if isinstance(node, ast.expr | str) and (name := open_name(pattern, (ast.Name,))):
        return fits(bound.setdefault(name, node), node, {})
    if isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and all(
            fits(getattr(pattern, name), getattr(node, name), bound) for name in pattern._fields if name != "ctx"
        )
    return type(pattern) is type(node) and pattern == node


class _Fill(ast.NodeTransformer):
    """Puts what the open names of a pattern stand for into the replacement."""

    def __init__(self, bound: dict[str, Any]):
        self.bound = bound

    def visit(self, node: ast.AST) -> Any:
        if (name := open_name(node)) in self.bound:
            return copy.deepcopy(self.bound[name])
        for field, value in ast.iter_fields(node):
            if isinstance(value, str) and value in self.bound:
                setattr(node, field, self.bound[value])
        return super().visit(node)


def _put(site: Site, old: list[Any], new: list[Any]) -> None:
    if isinstance(getattr(site.parent, site.field), list):
        site.nodes[site.index : site.index + len(old)] = new
    else:
        setattr(site.parent, site.field, new[0])


def mutated_texts(file: Path, fault: Fault) -> Iterator[str]:
    """Yield the text of a file with the fault, for each place that fits."""
    text = read_file(file)
    if fault.old.startswith(TEXT):
        for place in re.finditer(re.escape(fault.old.removeprefix(TEXT)), text):
            yield text[: place.start()] + fault.new + text[place.end() :]
    elif file.suffix == ".py" and all(word in text for word in re.findall(r"\b[A-Za-z]\w+", fault.old)):
        tree, sites = sites_by_type(file)
        pattern, new = parse_edit(fault.old, fault.new)
        for site in sites[type(pattern[0])]:
            nodes = site.nodes[site.index : site.index + len(pattern)]
            if len(nodes) == len(pattern) and fits(pattern, nodes, bound := {}):
                filled = [_Fill(bound).visit(copy.deepcopy(node)) for node in new]
                if list(map(ast.dump, nodes)) == list(map(ast.dump, filled)):
                    raise PlaceError(f"{fault.name}: changes nothing")
                _put(site, nodes, filled)
                yield ast.unparse(tree) + "\n"
                _put(site, filled, nodes)


def mutate(root: Path, fault: Fault) -> tuple[str, str]:
    """Return the file of a fault and its text with the fault.

    Raises:
        PlaceError: not exactly one place fits.
    """
    files = [file for file in sorted(root.glob(fault.files)) if file.is_file()]
    places = [(str(file.relative_to(root)), text) for file in files for text in mutated_texts(file, fault)]
    if len(places) != 1:
        fitting = ", ".join(name for name, _ in places) or "none"
        raise PlaceError(f"{fault.name}: `{fault.old}` must fit one place of {fault.files}, fits {fitting}")
    return places[0]


def files_of_tests(root: Path, fault: Fault) -> list[str]:
    """Return the files of a fault's tests.

    Raises:
        PlaceError: a pattern of a test file fits none.
    """
    files = {test: sorted((root / "tests").glob(test)) for test in fault.tests}
    if missing := [test for test, those in files.items() if not those]:
        raise PlaceError(f"{fault.name}: no file tests/{missing[0]}")
    return [str(file.relative_to(root)) for those in files.values() for file in those]


def copy_tracked(root: Path, target: Path) -> None:
    """Copy the files that git tracks, with the uncommitted changes of the work tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        if name and (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, target / name)


def environment(root: Path, target: Path) -> dict[str, str]:
    """Return the environment variables with which the tests import the copy.

    The caches of compiled code are shared with all other runs, so that code without the fault is not compiled again.
    Their keys depend on the content of the code. If a fault did not change the key, it would survive, and so reveal
    the error in the key.
    """
    return {"JAX_COMPILATION_CACHE_DIR": str(root / ".cache" / "jax"), **os.environ, "PYTHONPATH": str(target)}


def run_tests(root: Path, target: Path, tests: Sequence[str]) -> Outcome:
    """Run tests in a copy that has a fault."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=target, env=environment(root, target), capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return Outcome(f"error: more than {SECONDS} s", time.monotonic() - began)
    seconds = time.monotonic() - began
    if done.returncode == FAILED:
        failed = re.search(r"^(?:FAILED|ERROR) (?:\S*/)?(\S+::.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return Outcome(CAUGHT, seconds, failed[1] if failed else "")
    if done.returncode == PASSED:
        return Outcome(SURVIVED, seconds)
    last = (done.stdout + done.stderr).strip().rpartition("\n")[2]
    return Outcome(f"error: exit code {done.returncode}: {last}", seconds)


def try_fault(root: Path, target: Path, fault: Fault) -> Outcome:
    """Apply a fault to a copy, run its tests, and restore the file."""
    try:
        name, text = mutate(root, fault)
        tests = files_of_tests(root, fault)
    except (PlaceError, SyntaxError) as error:
        return Outcome(f"error: {error}")
    (target / name).write_text(text, encoding="utf-8")
    try:
        return run_tests(root, target, tests)
    finally:
        shutil.copyfile(root / name, target / name)


def try_all(root: Path, faults: Sequence[Fault], jobs: int = 1, tell: Callable[[str], None] = print) -> bool:
    """Try the faults, `jobs` at a time, and return whether all were caught."""
    width = max(len(fault.name) for fault in faults)
    tell(f"{'fault':{width}}  {'seconds':>7}  result")
    copies: queue.Queue[Path] = queue.Queue()

    def attempt(fault: Fault) -> Outcome:
        target = copies.get()
        outcome = try_fault(root, target, fault)
        copies.put(target)
        by = f" by {outcome.by}" if outcome.by else ""
        tell(f"{fault.name:{width}}  {outcome.seconds:7.1f}  {outcome.result}{by}")
        return outcome

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            copy_tracked(root, Path(folder) / str(job))
            copies.put(Path(folder) / str(job))
        outcomes = list(pool.map(attempt, faults))
    caught = sum(outcome.result == CAUGHT for outcome in outcomes)
    tell(f"{caught} of {len(faults)} caught, {sum(outcome.seconds for outcome in outcomes):.0f} s")
    return caught == len(faults)


def main() -> int:
    """Try or list the faults given on the command line, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the faults, and try none")
    parser.add_argument("--only", default="", metavar="PATTERN", help="regular expression: part of name, file or test")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="faults at a time")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="the repository; default: this one")
    arguments = parser.parse_args()
    faults = read_faults(FAULTS.read_text(encoding="utf-8"))
    faults = [f for f in faults if re.search(arguments.only, " ".join((f.name, f.files, *f.tests)))]
    if not faults:
        parser.error(f"no fault fits --only {arguments.only}")
    if arguments.list:
        print(*(f"{fault.name}  {fault.files}  {' '.join(fault.tests)}" for fault in faults), sep="\n")
        return 0
    return 0 if try_all(arguments.root.resolve(), faults, arguments.jobs, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
