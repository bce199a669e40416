"""What limits n-tuple networks: loads, lines and lost updates of small networks."""

import pytest

from benchmarks import ntuple_costs
from benchmarks.ntuple_costs import chase, load_rows, make_cycle, table_rows
from launch.bench.rows import BenchRow
from ntuple import make_rules
from ntuple.tables.network import make_network


def test_rows_of_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("COUNTED_MOVES", 2000), ("DRIFT_REPORTS", 5), ("REPEATS", 2), ("compile_times", list)):
        monkeypatch.setattr(ntuple_costs, name, value)
    monkeypatch.setattr(ntuple_costs, "load_rows", lambda: load_rows(lines=1 << 10, loads=1000))
    rows = {row.name: row for row in ntuple_costs.bench(("0123",), warm_moves=20_000)}
    # One thread loses updates only by float32 rounding.
    assert abs(rows.pop("lost of a million updates, 0123, TC, 1 thread").value) < 1
    assert rows.pop("lost of a million updates, 0123, TC, 2 threads").value < 100_000
    for name in ("one after the other", "independent"):
        assert rows.pop(f"host: a load from 0 MB, {name}").unit == "ns"
    assert rows.pop("lines that the previous move did not touch, 0123").value >= 1
    assert 0 <= rows.pop("huge pages, 0123", BenchRow("", 0, "%")).value <= 100
    assert 8 <= rows.pop("lines a move, 0123").value <= 32
    assert not rows


def test_links_go_through_every_line_once() -> None:
    links = make_cycle(64)
    assert chase(links, 64) == 0
    assert {chase(links, loads) for loads in range(64)} == set(range(0, 64 * 16, 16))


def test_lines_of_tables_that_fit_in_one_are_counted() -> None:
    """A tuple of one cell has 16 weights, in one line; that of each tuple is touched by every move."""
    for network, expected in (("0", 1), ("0,5,6", 3)):
        network_of_one = make_network(network, 4, 4, 0.0)
        touched, new = (row.value for row in table_rows(make_rules(4, 4), network_of_one, network)[:2])
        assert (touched, new) == (expected, 0)
