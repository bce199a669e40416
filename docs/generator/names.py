"""The public names of the packages and their docstrings, read from the source text: nothing is imported."""

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

from docs.generator.links import ROOT

PUBLIC = ("muzero2048", "ntuple")  # packages whose __init__ lists public names
PROTOCOLS = ("launch.experiment.interfaces",)  # a module all of whose classes are public
Node = ast.ClassDef | ast.FunctionDef


class Name(NamedTuple):
    """A public name."""

    package: str  # that it is imported from
    name: str
    module: str  # that defines it

    @property
    def path(self) -> str:
        """Its dotted path."""
        return f"{self.module}.{self.name}"


def public_names() -> list[Name]:
    """Return the public names of all packages, in their order there."""
    return [name for package in PUBLIC for name in _names_of(package)]


def _names_of(package: str) -> list[Name]:
    """Read the names and their modules from the imports under TYPE_CHECKING, in alphabetical order."""
    [block] = [node for node in _tree(f"{package}/__init__.py").body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    names = [Name(package, alias.name, str(node.module)) for node in imports for alias in node.names]
    return sorted(names, key=lambda name: name.name)


def undocumented() -> list[str]:
    """Return the public names, and the public methods and properties of public classes, that have no docstring."""
    protocols = [f"{module}.{name}" for module in PROTOCOLS for name in definitions(module) if "." not in name]
    found = []
    for path in [*(name.path for name in public_names()), *protocols]:
        module, _, name = path.rpartition(".")
        defined = definitions(module)
        members = [other for other in defined if other.startswith(f"{name}.") and "._" not in other]
        found += [f"{module}.{each}" for each in [name, *members] if not ast.get_docstring(defined[each])]
    return found


def exists(path: str) -> bool:
    """Return whether a dotted path names a class, a function, a method or a variable of a module."""
    module, name = path, ""
    while "." in module:
        module, _, last = module.rpartition(".")
        name = f"{last}.{name}" if name else last
        if (ROOT / f"{module.replace('.', '/')}.py").is_file():
            return name in definitions(module) or name in _variables(module)
    return False


def definitions(module: str) -> dict[str, Node]:
    """Return the functions, the classes and their methods of a module, by name; a method is named Class.method."""
    return dict(_definitions(_tree(f"{module.replace('.', '/')}.py").body, ""))


def _definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Node]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{prefix}{node.name}.")


def _variables(module: str) -> set[str]:
    tree = _tree(f"{module.replace('.', '/')}.py")
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


@functools.cache
def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))
