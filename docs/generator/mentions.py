"""Checks what the text of the pages names: files and folders, keys of configs, metrics.

Links are checked in links.py, command lines in command_lines.py. This file reads the rest of the text, code too:

    file or folder   a path that begins with a folder of the repository, such as launch/cli.py and ntuple/td/; or with
                     one of configs/, such as ntuple/4x6-tc.yaml
    key              a word in backticks that begins with a section of keys, such as `ntuple.target.method`
    metric           a word in backticks with the group of a metric before a slash, such as `eval/score_mean`

A word with a placeholder, such as docs/NAME.md, configs/*.yaml and `eval/reach_<tile>`, is not checked.
"""

import functools
import re
from collections.abc import Iterator

from docs.generator import names
from docs.generator.links import PACKAGES, ROOT, page_paths
from docs.generator.searches import SEARCHES
from launch.experiment.describe import learner_keys
from launch.experiment.metrics import REGISTRY
from launch.experiment.registry import LEARNERS
from ntuple.core.settings import keys_of

_FOLDERS = "|".join((*PACKAGES, "benchmarks", "docs", "examples", "tests", "configs"))
_ADDRESS = re.compile(r"\w+://\S+|\]\([^()\s]+\)")  # of another host, or of a link
_PATH = re.compile(
    rf"(?<![\w/.-])(?:{_FOLDERS})/(?:[\w./-]+\.(?:py|md|yaml|json|sh|js|css)\b|[\w/-]+/(?![\w<*{{]|\.\w))"
)
_PLACEHOLDER = re.compile(r"\b[A-Z]+\b")  # NAME
_CODE = re.compile(r"`([^`\n]+)`")
_DOTTED = re.compile(r"([a-z][a-z0-9_]*)(?:\.[a-z0-9_]+)+(?==|:?$)")  # a.b, a.b=1, a.b:
_METRIC = re.compile(r"([a-z][a-z0-9_]*)/[a-z0-9_]+")


def mistakes() -> list[str]:
    """Return what the pages name that does not exist, one line for each."""
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in page_paths()}
    return [line for page, text in texts.items() for line in mistakes_of(page, text)]


def mistakes_of(page: str, text: str) -> Iterator[str]:
    """Yield lines with the path of a page, the number of a line, and what it names that does not exist."""
    for number, line in enumerate(_ADDRESS.sub("", text).splitlines(), start=1):
        for path in _PATH.findall(line):
            if not (_PLACEHOLDER.search(path) or (ROOT / path).exists() or (ROOT / "configs" / path).is_file()):
                yield f"{page}:{number}: there is no {path}"
        for word in (word for code in _CODE.findall(line) for word in code.split()):
            if what := _unknown(word):
                yield f"{page}:{number}: there is no {what} {word}"


def _unknown(word: str) -> str:
    """Return "key" or "metric" if a word in backticks looks like one and there is none; else ""."""
    if (found := _METRIC.fullmatch(word)) and found[1] in {name.partition("/")[0] for name in REGISTRY if "/" in name}:
        return "" if word in REGISTRY else "metric"
    if (found := _DOTTED.match(word)) and found[1] in {name.partition(".")[0] for name in _keys() if "." in name}:
        name = found[0]
        return "" if name in _keys() or name.endswith((".key", ".py")) or _is_code(name) else "key"
    return ""


@functools.cache
def _keys() -> set[str]:
    """Return all keys and sections of keys, with the name of the learner before them and without it."""
    whole = {key.name for learner in LEARNERS for key in learner_keys(learner)}
    whole |= {key.name for kind in SEARCHES.values() for key in keys_of(kind(), "search.")}
    keys = whole | {name.partition(".")[2] for name in whole}
    sections = {name[: dot.start()] for name in keys for dot in re.finditer(r"\.", name)}
    return keys | sections


def _is_code(name: str) -> bool:
    """Return whether a dotted name is a module, or a name of one."""
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file() or names.exists(name)
