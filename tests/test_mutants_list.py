"""The faults of `make test-mutants` follow the code: here without running one."""

from collections import Counter
from pathlib import Path

import pytest
from faults.mutant import Mutant
from mutants_list import MUTANTS

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_can_be_put_into_the_code(mutant: Mutant):
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert mutant.new != mutant.old
    assert mutant.tests
    assert all((ROOT / "tests" / test).is_file() for test in mutant.tests)


def test_names_of_faults_are_unique():
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []
