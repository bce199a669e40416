"""Hooks of mkdocs: `make docs` calls them through mkdocs.yml. They make pages, links, equations, and check the text."""

import re
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from docs.generator import command_lines, equations, links, mentions, reference

_WRITTEN = {page: path for path, page in links.PAGES.items()}  # pages that are not in the folder docs
# Weights in the search. A word in a heading counts 1000 times there; in a source file it must count less than a key.
_BOOSTS = (
    ("reference/code/", 0.0005),
    ("reference/files/", 0.0005),
    ("reference/keys/", 2.0),
    ("glossary", 4.0),
    ("", 1.0),
)
_ROW, _CODE = re.compile(r"^\|.*", re.M), re.compile(r"`[^`]+`")
_TABLE_AFTER_COMMENT = re.compile(r"^(<!--.*-->)\n(?=\|)", re.M)  # GitHub needs no empty line there


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    try:
        for path, text in reference.pages().items():
            files.append(File.generated(config, path, content=text))
    except (reference.UndocumentedError, FileNotFoundError) as error:
        raise PluginError(str(error)) from error
    files.append(File.generated(config, "stylesheets/math.ttf", abs_src_path=str(equations.font())))
    if mistakes := [*command_lines.mistakes(), *mentions.mistakes()]:
        raise PluginError("mistakes in the pages:\n" + "\n".join(mistakes))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite the links of a page, and set its weight in the search."""
    place = page.file.src_uri
    page.meta["search"] = {"boost": next(boost for begin, boost in _BOOSTS if place.startswith(begin))}
    if place.startswith("reference/"):
        return _plain_bars(markdown)
    path = _WRITTEN.get(place, f"docs/{place}")
    try:
        rewritten = links.rewrite_links(path, place, markdown)
    except FileNotFoundError as error:
        raise PluginError(f"{path}: {error}") from error
    return _TABLE_AFTER_COMMENT.sub(r"\1\n\n", _plain_bars(rewritten))


def _plain_bars(markdown: str) -> str:
    r"""Replace \| by | in the code of tables: Markdown of Python shows the backslash, that of GitHub needs it."""
    return _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Convert the equations of a page."""
    try:
        return equations.with_mathml(html)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
