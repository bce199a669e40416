import re

import pytest
from reference import rules as reference_rules

from ntuple.tables.patterns import MATSUZAKI, NETWORKS, YEH, parse_network

CELLS = tuple(tuple(range(row, row + 4)) for row in range(0, 16, 4))


VIEWS_OF_CELLS = [reference_rules.cells(view) for view in reference_rules.symmetries(CELLS)]


def test_named_networks() -> None:
    assert NETWORKS["4x6"] == YEH == ("012345", "456789", "012456", "45689a")
    assert NETWORKS["5x6"] == (*YEH, "89abcd")
    assert NETWORKS["8x6"] == MATSUZAKI
    for name, patterns in NETWORKS.items():
        if counted := re.fullmatch(r"(\d+)x(\d)(-\w+)?", name):
            count, cells = int(counted[1]), int(counted[2])
            assert (len(patterns), {len(pattern) for pattern in patterns}) == (count, {cells})
        parsed = parse_network(name, 4, 4)
        views = [{frozenset(view[cell] for cell in pattern) for view in VIEWS_OF_CELLS} for pattern in parsed]
        if name != "17x4":
            assert all(views[i] != views[j] for i in range(len(views)) for j in range(i)), "one of them twice"
    # Jaskowski 2017, table IV: number of tuples of the networks with redundant encoding.
    sizes = [len(NETWORKS[name]) for name in ("42-33", "42-33-4-22", "42-33-4-22-3", "43-421")]
    assert sizes == [5, 10, 12, 5]
    assert len({tuple(sorted(pattern)) for pattern in parse_network("17x4", 4, 4)}) == 17


@pytest.mark.parametrize(
    ("text", "says"),
    [("9x9", "neither a name"), ("0120", "different cells"), ("01,8", "leaves the 2x3"), ("", "1 to 8")],
)
def test_mistakes_in_patterns_are_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_network(text, 2, 3)
