"""Links of the pages: written so that they work on GitHub, rewritten so that they work in the site too.

Words of this file: `path` is that of a page from the root of the repository, `text` the content of the page. A link
leads to a path of the repository. In the site

    a page of docs/, README.md, CONTRIBUTING.md, CHANGELOG.md   is a page
    configs/*.yaml                                              is a heading of the page of example configs
    a Python file of the packages                               is the reference page of the module
    the same with a name in backticks as its text               is the entry of that name in the reference
    any other file                                              is a page that shows the file
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("launch", "muzero2048", "ntuple")
PAGES = {"README.md": "about.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}  # in the root
CONFIGS_PAGE = "reference/configs.md"

# Code, a link or an image, or the bare path of a page or a config. Code is skipped: an example of a link is no link.
_PARTS = re.compile(
    r"^(```.*?^```|    [^\n]*)|(`[^`\n]+`(?!\]\())|(!?)\[((?:[^\[\]]|\[\])*)\]\(([^()\s]+)\)"
    r"|(?<![\w/])(docs/[\w/-]+\.md|configs/[a-z0-9_/-]+\.yaml)",
    re.M | re.S,
)
_NAME = re.compile(r"`([A-Za-z_][\w.]*)`")


class Link(NamedTuple):
    """A link of a page, or the path of a page or a config in its text."""

    text: str
    path: str  # of the repository
    anchor: str  # "" or "#heading"

    @property
    def name(self) -> str:
        """The dotted name that the link leads to, such as ntuple.td.targets.learn; "": it leads to a file."""
        found = _NAME.fullmatch(self.text)
        return f"{module_of(self.path)}.{found[1]}" if found and is_module(self.path) else ""


def page_paths() -> list[str]:
    """Return the paths of all pages that people wrote, from the root of the repository."""
    written = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return [*PAGES, *written]


def links_of(path: str, text: str) -> Iterator[Link]:
    """Yield the links of a page to files of the repository, not those to other hosts and to headings of the page."""
    for part in _PARTS.finditer(text):
        if part[6]:
            yield Link(part[6], part[6], "")
        elif part[5] and not re.match(r"[a-z]+:|#", part[5]):
            target, hash_, anchor = part[5].partition("#")
            yield Link(part[4], posixpath.normpath(posixpath.join(posixpath.dirname(path), target)), hash_ + anchor)


def rewrite_links(path: str, page: str, text: str) -> str:
    """Return the text of a page with its links as the site needs them; FileNotFoundError if a link leads to no file.

    `page` is the path in the site, from the folder docs.
    """

    def rewritten(part: re.Match[str]) -> str:
        links = list(links_of(path, part[0]))
        if not links:
            return part[0]
        [link] = links
        if link.name:
            return f"[{link.text}][{link.name}]"
        target = posixpath.relpath(place_of(link.path), posixpath.dirname(page) or ".")
        return f"{part[3] or ''}[{link.text}]({target}{'' if '#' in target else link.anchor})"

    return _PARTS.sub(rewritten, text)


def place_of(path: str) -> str:
    """Return where the site has a file of the repository; FileNotFoundError if there is none of that path."""
    if not (ROOT / path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("configs/"):
        return f"{CONFIGS_PAGE}#{anchor_of(path)}"
    return f"reference/code/{module_of(path)}.md" if is_module(path) else f"reference/files/{path}.md"


def anchor_of(path: str) -> str:
    """Return the anchor of a config file."""
    return re.sub(r"\W+", "-", path.removeprefix("configs/").removesuffix(".yaml"))


def is_module(path: str) -> bool:
    """Return whether a file is a module of the packages."""
    return path.endswith(".py") and path.split("/")[0] in PACKAGES


def module_of(path: str) -> str:
    """Return the dotted name of a Python file."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def linked_files() -> list[str]:
    """Return all files of the repository outside docs/ and configs/ to which a page links, except pages."""
    paths = {link.path for page in page_paths() for link in links_of(page, (ROOT / page).read_text(encoding="utf-8"))}
    return sorted(path for path in paths - set(PAGES) if not path.startswith(("docs/", "configs/")))
