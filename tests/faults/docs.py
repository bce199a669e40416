"""Faults in the generated documentation."""

from faults.mutant import Mutant

DOCS = (
    Mutant(
        "docs-a-wrong-option-passes",
        "launch/cli.py",
        'if unknown := [word for word in rest if word.startswith("-")]:',
        "if unknown := []:",
        ("test_docs.py",),
    ),
    Mutant(
        "docs-a-continued-line-is-cut",
        "docs/generator/command_lines.py",
        're.split(r"(?<!\\\\)\\n", block[2])',
        'block[2].split("\\n")',
        ("test_docs.py",),
    ),
    Mutant(
        "docs-a-name-is-found-in-any-file",
        "docs/generator/names.py",
        "return name in definitions(module) or name in _variables(module)",
        "return True",
        ("test_docs.py",),
    ),
    Mutant(
        "docs-a-file-that-is-named-need-not-exist",
        "docs/generator/mentions.py",
        "or (ROOT / path).exists() or",
        "or True or",
        ("test_docs.py",),
    ),
    Mutant(
        "docs-a-key-that-is-named-need-not-exist",
        "docs/generator/mentions.py",
        "if name in _keys() or",
        "if True or",
        ("test_docs.py",),
    ),
    Mutant(
        "docs-a-metric-is-left-out",
        "docs/generator/reference.py",
        "if left_out := metrics.REGISTRY.keys() -",
        "if left_out := set() -",
        ("test_docs.py",),
    ),
)
