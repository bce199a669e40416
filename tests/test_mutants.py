"""The faults of `make test-mutants` fit the code: here without running one."""

import ast
from collections import Counter

from mutants import FAULTS, ROOT, PlaceError, files_of_tests, mutate, read_faults


def test_every_fault_changes_one_place_and_has_tests():
    faults, errors = read_faults(FAULTS.read_text(encoding="utf-8")), []
    for fault in faults:
        try:
            files_of_tests(ROOT, fault)
            ast.parse(mutate(ROOT, fault)[1])
        except (PlaceError, SyntaxError) as error:
            errors.append(str(error))
    assert not errors, "correct tests/faults.txt:\n" + "\n".join(errors)
    assert [name for name, count in Counter(fault.name for fault in faults).items() if count > 1] == []
