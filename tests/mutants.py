"""Mutation test: put one fault at a time into the code, and run the tests that must fail.

python tests/mutants.py [--only NAME ...] [--root DIR]

tests/faults/ has the faults, each with the fast tests that must catch it. The tracked files of the repository
are copied to a temporary folder. The steps for each fault are:

1. Replace one text in one file of the copy.
2. Run the tests until the first failure.
3. Restore the file.

A fault is caught if a test fails. An error of import or collection does not count. The tests are not run without a
fault, so run the whole suite first: a test that always fails seems to catch every fault.

The exit code is 1 if a fault survives, cannot be applied, or ends the tests in another way than by a failed test.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from faults.mutant import Mutant
from mutants_list import MUTANTS

ROOT = Path(__file__).parents[1]
SECONDS = 600  # time limit of the tests of one fault; a longer run is reported as an error
FAILED = 1  # pytest's exit code if tests ran and some failed
PASSED = 0
CAUGHT, SURVIVED, NOT_FOUND = "caught", "SURVIVED", "old text not found"


class Outcome(NamedTuple):
    """The result of one fault."""

    result: str
    seconds: float
    by: str = ""  # the test that failed


def copy_tracked(root: Path, copy: Path) -> None:
    """Copy the files that git tracks, with the uncommitted changes of the work tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        if name and (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, copy / name)


def environment(root: Path, copy: Path) -> dict[str, str]:
    """Return the environment variables with which the tests import the copy.

    The caches of compiled code are shared with all other runs, so that code without the fault is not compiled again.
    Their keys depend on the content of the code. If a fault did not change the key, it would survive, and so reveal
    the error in the key.
    """
    return {"JAX_COMPILATION_CACHE_DIR": str(root / ".cache" / "jax"), **os.environ, "PYTHONPATH": str(copy)}


def run_tests(root: Path, copy: Path, mutant: Mutant) -> Outcome:
    """Run the tests of a fault that has been applied to the copy.

    Args:
        root: the repository, for the caches of compiled code.
        copy: folder with the fault.
        mutant: the fault.

    Returns:
        The result and the name of the failed test.
    """
    files = [f"tests/{name}" for name in mutant.tests]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment(root, copy), capture_output=True, text=True, timeout=SECONDS
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


def try_mutant(root: Path, copy: Path, mutant: Mutant) -> Outcome:
    """Apply a fault to the copy, run its tests, and restore the file.

    Args:
        root: the repository, for the caches of compiled code.
        copy: folder with the files of the repository.
        mutant: the fault.

    Returns:
        The result.
    """
    file = copy / mutant.file
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    if text.count(mutant.old) != 1:
        return Outcome(NOT_FOUND, 0.0)
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return run_tests(root, copy, mutant)
    finally:
        file.write_text(text, encoding="utf-8")


def try_all(root: Path, mutants: Sequence[Mutant], tell: Callable[[str], None] = print) -> bool:
    """Try the faults one after the other.

    Args:
        root: the repository.
        mutants: the faults.
        tell: prints one line of the report.

    Returns:
        Whether all faults were caught.
    """
    width = max(len(mutant.name) for mutant in mutants)
    tell(f"{'fault':{width}}  {'seconds':>7}  result")
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy_tracked(root, copy)
        for mutant in mutants:
            outcome = try_mutant(root, copy, mutant)
            outcomes.append(outcome)
            by = f" by {outcome.by}" if outcome.by else ""
            tell(f"{mutant.name:{width}}  {outcome.seconds:7.1f}  {outcome.result}{by}")
    caught = sum(outcome.result == CAUGHT for outcome in outcomes)
    tell(f"{caught} of {len(mutants)} caught, {sum(outcome.seconds for outcome in outcomes):.0f} s")
    return caught == len(mutants)


def main() -> int:
    """Try the faults given on the command line, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[mutant.name for mutant in MUTANTS], default=[])
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="the repository; default: this one")
    arguments = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if not arguments.only or mutant.name in arguments.only]
    return 0 if try_all(arguments.root.resolve(), mutants, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
