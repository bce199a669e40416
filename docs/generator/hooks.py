"""Hooks of mkdocs: `make docs` calls them through mkdocs.yml. They make pages, links, equations, and check the text."""

import re
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from docs.generator import command_lines, equations, links, mentions, reference
from launch.viewing.export.export import export

PLAY = "play-here.html"  # the page to play, in the first folder of the site; pages name it as `site/play-here.html`
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
    files.append(File.generated(config, PLAY, content=_page_to_play()))
    if mistakes := [*command_lines.mistakes(), *mentions.mistakes()]:
        raise PluginError("mistakes in the pages:\n" + "\n".join(mistakes))
    return files


def _page_to_play() -> str:
    """Return the page of `muzero2048 serve --export` with the network of the package."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, PLAY)
        export([], Path("runs"), file)
        return file.read_text(encoding="utf-8")


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
    """Convert the equations of a page, and make the name of the page to play a link."""
    html = html.replace(f"<code>site/{PLAY}</code>", f'<a href="{PLAY}">{PLAY}</a>')
    try:
        return equations.with_mathml(html)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
