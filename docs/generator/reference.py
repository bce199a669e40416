"""The reference pages, made from the code: keys, metrics, commands, example configs, public names, modules."""

import argparse
import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from docs.generator import links, names
from docs.generator.searches import SEARCHES
from launch.cli import make_parser
from launch.experiment import metrics, registry
from launch.experiment.describe import learner_keys
from launch.tables import fields, render
from ntuple.core.settings import Key, full_condition, keys_of

METRICS = {
    "Axes": metrics.AXES,
    "Training": metrics.TRAINING,
    "The learner ntuple": metrics.NTUPLE,
    "The learner deep_td": metrics.DEEP_TD,
    "The learner muzero": metrics.MUZERO,
    "Evaluation": metrics.EVALUATION,
    "Probes": metrics.PROBES,
    "Diagnosis": metrics.DIAGNOSIS,
}


_PAGE = re.compile(r"docs/(\w+\.md)")
_PUBLIC = '::: {}\n    options:\n      filters: ["!^_"]\n'
MODULES_PAGE = "reference/modules.md"


class UndocumentedError(Exception):
    """Something that needs a description has none."""


def pages() -> dict[str, str]:
    """Return all generated pages: path from the folder docs -> Markdown.

    Raises:
        UndocumentedError: a key, a metric, an option or a public name has no description.
        FileNotFoundError: a page links to no file.
    """
    if missing := names.undocumented():
        raise UndocumentedError(f"these public names have no docstring: {', '.join(missing)}")
    return {
        **{page: (links.ROOT / path).read_text(encoding="utf-8") for path, page in links.PAGES.items()},
        **{
            f"reference/keys/{learner}.md": keys_page(f"Keys of `learner: {learner}`", learner, learner)
            for learner in registry.LEARNERS
        },
        "reference/keys/run.md": keys_page("Keys of every run", next(iter(registry.LEARNERS)), "run"),
        "reference/keys/search.md": search_page(),
        "reference/metrics.md": metrics_page(),
        "reference/commands.md": commands_page(make_parser()),
        links.CONFIGS_PAGE: configs_page(),
        "reference/library.md": names_page("muzero2048", "Library: muzero2048"),
        "reference/ntuple.md": names_page("ntuple", "Library: ntuple"),
        MODULES_PAGE: modules_page(),
        **dict(_file_pages()),
    }


def keys_page(title: str, learner: str, section: str) -> str:
    """Return the page of the keys of a learner's experiments that stand in a section."""
    return f"# {title}\n\n{_keys([key for key in learner_keys(learner) if key.name.startswith(f'{section}.')])}"


def search_page() -> str:
    """Return the page of the keys of searches, as `muzero2048 evaluate` takes them."""
    parts = [f"## {title}\n\n{_keys(keys_of(kind(), 'search.'), kind().__name__)}" for title, kind in SEARCHES.items()]
    return "# Keys of a search\n\nWords of `muzero2048 evaluate`, `moves` and `submit evaluate`.\n\n" + "\n".join(parts)


def _keys(keys: list[Key], search: str = "") -> str:
    """Return a table for each group of keys; `search` is the class of a search, one of several on its page."""
    groups: dict[str, list[Key]] = defaultdict(list)
    for key in keys:
        if not key.meaning:
            raise UndocumentedError(f"the key {key.name} has no meaning")
        groups[key.name.rpartition(".")[0]].append(key)
    columns = fields("key", "default", "values", "meaning")
    return "\n".join(
        f"### {group}\n\n{render([_key(key, search) for key in of], columns, 'markdown')}\n"
        for group, of in groups.items()
    )


def _key(key: Key, search: str) -> list[str]:
    section = "" if search else key.name.partition(".")[0] + "."  # the conditions of a search begin with it
    anchor = f"{search}-{key.name}" if search else key.name
    default = "required" if key.default is dataclasses.MISSING else code(_value(key.default))
    only_if = f" Only with {code(full_condition(key.only_if, section))}." if key.only_if else ""
    accepts = key.accepts if key.type in key.accepts or key.type == "choice" else f"{key.type}: {key.accepts}"
    short = key.name.rpartition(".")[2]
    return [f'<a id="{anchor}"></a>{code(short)}', default, plain(accepts), plain(key.meaning) + only_if]


def _value(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)


def metrics_page() -> str:
    """Return the page of the metrics."""
    parts = []
    for title, group in METRICS.items():
        for metric in group:
            if not (metric.unit and metric.meaning):
                raise UndocumentedError(f"the metric {metric.name} has no unit or no meaning")
        rows = [(code(metric.name), metric.unit, plain(metric.meaning)) for metric in group]
        parts.append(f"## {title}\n\n{render(rows, fields('metric', 'unit', 'meaning'), 'markdown')}\n")
    if left_out := metrics.REGISTRY.keys() - {metric.name for group in METRICS.values() for metric in group}:
        raise UndocumentedError(f"the page of metrics leaves out {', '.join(sorted(left_out))}")
    head = "Each row of a run's metrics.jsonl has some of these names. `muzero2048 compare` draws any of them.\n\n"
    return f"# Metrics\n\n{head}" + "\n".join(parts)


def commands_page(parser: argparse.ArgumentParser) -> str:
    """Return the page of all commands and their options."""
    return "# Commands\n\n" + "\n".join(_commands(parser, "", 1))


def _commands(parser: argparse.ArgumentParser, help_text: str, level: int) -> Iterator[str]:
    for action in parser._actions:
        if not action.help and not isinstance(action, argparse._SubParsersAction):
            raise UndocumentedError(f"the word {_words(action)} of `{parser.prog}` has no help")
    rows = [
        (code(_words(action)), plain(action.help or ""))
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
        and action.help != argparse.SUPPRESS
    ]
    if level > 1:
        text = f"{'#' * level} {parser.prog}\n\n{plain(help_text.capitalize())}.\n"
        about = (parser.epilog or "").replace(f"{links.ROOT}/", "")
        epilog = f"\n{_PAGE.sub(_link, plain(about))}.\n" if about else ""
        yield text + epilog
    if rows:
        yield render(rows, fields("word", "meaning"), "markdown") + "\n"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help for choice in action._choices_actions}
            for name, command in action.choices.items():
                if not helps.get(name):
                    raise UndocumentedError(f"the command `{command.prog}` has no help")
                yield from _commands(command, str(helps[name]), min(level + 1, 4))


def _link(page: re.Match[str]) -> str:
    """Link the name of a page in a text of the program, if there is such a page."""
    return f"[{page[0]}](../{page[1]})" if (links.ROOT / page[0]).is_file() else page[0]


def _words(action: argparse.Action) -> str:
    """Return an argument as the user writes it."""
    shown = action.metavar or (action.choices and "{" + ",".join(map(str, action.choices)) + "}") or action.dest.upper()
    value = "" if action.nargs == 0 else str(shown)
    value = {"*": f"[{value} ...]", "+": f"{value} [{value} ...]", "?": f"[{value}]"}.get(str(action.nargs), value)
    return f"{', '.join(action.option_strings)} {value}".strip()


def configs_page() -> str:
    """Return the page of the example configs."""
    parts = ["# Example configs\n\nEach header has the command, the machine, the time and the result to expect.\n"]
    folder = ""
    for path in sorted((links.ROOT / "configs").rglob("*.yaml"), key=lambda path: (path.parent, path.name)):
        relative = path.relative_to(links.ROOT).as_posix()
        if path.parent.as_posix() != folder:
            folder = path.parent.as_posix()
            parts.append(f"## {path.parent.relative_to(links.ROOT).as_posix()}/\n")
        parts.append(f"### {path.name} {{ #{links.anchor_of(relative)} }}\n\n{_fenced('yaml', path.read_text())}")
    return "\n".join(parts)


def names_page(package: str, title: str) -> str:
    """Return the page of the public names of a package."""
    listed: Mapping[str, names.Name] = {name.path: name for name in reversed(names.public_names())}
    parts = [f"# {title}\n\nNames of `import {package}`.\n"]
    for name in names.public_names():
        if name.package == package:
            is_here = listed[name.path].package == package
            parts.append(
                _PUBLIC.format(name.path) if is_here else f"- [`{name.name}`][{name.path}], as in muzero2048\n"
            )
    return "\n".join(parts)


def modules_page() -> str:
    """Return the list of the modules and files that have a page."""
    rows = [f"- [{path}]({links.place_of(path).removeprefix('reference/')})" for path in _shown_files()]
    head = "Modules and files to which a page of this documentation leads, with their docstrings and sources.\n"
    return "\n".join(["# Modules and files\n", head, *rows]) + "\n"


def _shown_files() -> list[str]:
    return sorted({*links.linked_files(), *(f"{module.replace('.', '/')}.py" for module in names.PROTOCOLS)})


def _file_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each module and each other file to which a page links."""
    shown = {name.path for name in names.public_names()}
    for path in _shown_files():
        place = links.place_of(path)
        if not links.is_module(path):
            yield place, f"# {path}\n\n{_fenced(path.rpartition('.')[2], (links.ROOT / path).read_text())}"
            continue
        module = links.module_of(path)
        elsewhere = [name for name in names.definitions(module) if f"{module}.{name}" in shown]
        filters = ", ".join(f'"!^{name}$"' for name in ["__", *elsewhere]).replace("!^__$", "!^__")
        others = "".join(f"- [`{name}`][{module}.{name}]\n" for name in elsewhere)
        options = f"    options:\n      filters: [{filters}]\n      show_root_heading: false\n"
        yield place, f"# {path}\n\n::: {module}\n{options}\n{others}"


def plain(text: str) -> str:
    """Return a text of the program as Markdown that shows its characters."""
    return re.sub(r"[*_\[\]]", r"\\\g<0>", text).replace("<", "&lt;").replace(">", "&gt;")


def code(value: object) -> str:
    """Return a value as inline code."""
    return f"`{value}`"


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````\n"
