"""The tables of endgames, compared with plain recursion over whole boards, and with figures measured elsewhere."""

import numpy as np
import pytest
from reference import endgames, rules

from ntuple.endgames.layout import RANK_BITS, arrangement_of, layer_and_place, make_layout, sum_of_lines
from ntuple.endgames.pattern import Pattern, parse_pattern
from ntuple.endgames.solver import solve_layers
from ntuple.endgames.table import EndgameTable
from ntuple.game.bitboard import encode
from tests.slow import others_slow

PATTERNS = {
    "LLLL/LLLL/LLL./....": 16,
    "LLLL/LLLL/LL../..TL": 16,  # the target counts in one cell, and a tile is locked between free ones
    "LL.L/LLLL/..LL/..LL": 32,  # a free cell apart from the others
    "..LL/..LL/LLLL/LLLL": 8,
    "LLLL/LLLL/SSS./..LL": 16,  # tiles that slide along their row
    "LLLL/.SS./L.LL/LLLL": 8,
    "SS../LLLL/LLLL/..T.": 8,
}
LARGE = {"LLLL/LLLL/LL../....": 64, "LLLL/LLLL/L.../....": 64}  # six and seven free cells


def solve(pattern: Pattern) -> EndgameTable:
    layout = make_layout(pattern)
    layers = dict(solve_layers(pattern, layout))
    values = np.concatenate([layers[number] for number in sorted(layers)])
    return EndgameTable(pattern, layout, np.rint(65535 * values).astype(np.uint16))


def check(letters: str, tile: int, largest_sum: int | None = None) -> EndgameTable:
    """Compare all boards of a pattern with the reference, by way of the look-up of moves."""
    pattern = parse_pattern(letters, tile, largest_sum)
    table, of_move = solve(pattern), endgames.solver(*pattern)
    states, expected = [], []
    for board in endgames.boards(pattern.letters, pattern.target):
        row = []
        for action in rules.ACTIONS:
            after, _ = rules.afterstate(board, action)
            row.append(-1.0 if after == board else of_move(board, after))
        states.append(encode(np.array(board)))
        expected.append(row)
    found = table.look_up(np.array(states, np.uint64))
    assert np.abs(found - np.array(expected)).max() < 1.5 / 65535
    assert len({tuple(row) for row in np.round(expected, 6).tolist()}) > 10
    return table


@pytest.mark.parametrize("letters", others_slow(PATTERNS | LARGE, *PATTERNS))
def test_all_boards_equal_the_reference(letters: str) -> None:
    check(letters, (PATTERNS | LARGE)[letters])


@pytest.mark.parametrize("letters", ["LLLL/LLLL/LLL./....", "LLLL/LLLL/SSS./...L"])
def test_boards_above_the_largest_sum_are_lost_and_not_in_the_table(letters: str) -> None:
    bounded, whole = check(letters, 16, 20), solve(parse_pattern(letters, 16))
    assert bounded.layout.layers.tolist() == whole.layout.layers[: 20 // 2 + 2].tolist()
    assert bounded.layout.layers[-1] == bounded.pattern.boards
    assert (whole.values[: bounded.pattern.boards] > bounded.values).any()


@pytest.mark.parametrize(("tile", "probability"), [(64, 0.993), pytest.param(128, 0.795, marks=pytest.mark.slow)])
def test_eight_free_cells_as_an_independent_solver_found_them(tile: int, probability: float) -> None:
    """The probability to build a tile from two small ones on eight free cells."""
    pattern = parse_pattern("LLLL/LLLL/..../....", tile)
    layers = dict(solve_layers(pattern, make_layout(pattern)))
    assert layers[2].max() == pytest.approx(probability, abs=0.001)
    assert sum(layer.size for layer in layers.values()) == pattern.target**8


def test_sums_that_do_not_fit_a_layout_are_refused() -> None:
    layout = make_layout(parse_pattern("LLLL/LLLL/LLL./LLL.", 8192))
    assert (layout.halves >> RANK_BITS).max() == 2048  # a tile of 4096
    for letters, tile, most in (("LLLL/LLLL/LLL./LL..", 8192, 2), ("LLLL/LLLL/L.../....", 4096, 6)):
        with pytest.raises(ValueError, match=f"free cells: give {most} at most with the target {tile}"):
            parse_pattern(letters, tile)


def test_each_board_has_a_place_of_its_own() -> None:
    pattern = parse_pattern("LLLL/LLL./.LLL/.SS.", 16)
    layout = make_layout(pattern)
    places = set()
    for board in endgames.boards(pattern.letters, pattern.target):
        arrangement = int(arrangement_of(pattern, np.where(np.array(board[3:]) > pattern.target, 15, 0))[0])
        word = sum_of_lines(layout.lines[arrangement], encode(np.array(board)).lo | layout.locked[arrangement])
        layer, place = layer_and_place(layout, arrangement, word)
        assert layer == sum(1 << level for row in board for level in row if 0 < level < pattern.target) // 2
        places.add(layout.layers[layer] + place)
    assert places == set(range(pattern.boards))
    assert layout.layers[-1] == pattern.boards == 3 * pattern.target ** len(pattern.free)
