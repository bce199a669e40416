"""The faults of `make test-mutants` fit the code: here without running one."""

import ast
from collections import Counter

import pytest
from mutants import FAULTS, ROOT, Fault, PlaceError, files_of_tests, mutate, read_faults


def test_every_fault_changes_one_place_and_has_tests():
    faults, errors = read_faults(FAULTS.read_text(encoding="utf-8")), []
    for fault in faults:
        try:
            files_of_tests(ROOT, fault)
            name, text = mutate(ROOT, fault)
            if name.endswith(".py"):
                ast.parse(text)
        except (PlaceError, SyntaxError) as error:
            errors.append(str(error))
    assert not errors, "correct tests/faults.txt:\n" + "\n".join(errors)
    assert [name for name, count in Counter(fault.name for fault in faults).items() if count > 1] == []


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("_a >= _b", "_a > _b", "x > y + 1"),
        ("max(*_a, **_k)", "min(*_a, **_k)", "min(x, 2, key=f)"),
        ("z = _a; g(_b)", "g(_b)", "g(z)"),
        ("g(z)", "", "pass"),
        ("for _i in _s: *_b", "for _i in reversed(_s): *_b", "for i in reversed(s):"),
        ("_v.first - _v.second", "_v.first", "return v.first\n"),
        ("text # note", "# none", "# none"),
        ("z = 2", "z = 3", None),
        ("_a", "1", None),
    ],
)
def test_a_fault(tmp_path, old: str, new: str, changed: str | None):
    code = "if x >= y + 1:  # note\n    z = max(x, 2, key=f)\n    g(z)\n"
    (tmp_path / "a.py").write_text(f"{code}for i in s:\n    h(i)\n    h(i)\ndef f(v):\n    return v.first - v.second\n")
    fault = Fault("name", "*.py", old, new, ())
    if changed is None:
        with pytest.raises(PlaceError, match="must fit one place"):
            mutate(tmp_path, fault)
    else:
        assert changed in mutate(tmp_path, fault)[1]
