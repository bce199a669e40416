import random

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules

from ntuple.core.games.known import find_game
from ntuple.game.bitboard import make_rules
from ntuple.tables.entries import stage_of
from ntuple.tables.file_order import read_field, write_field
from ntuple.tables.network import make_network
from ntuple.tables.patterns import parse_network
from ntuple.tables.stages import SCHEMES, make_stages
from ntuple.td.step_sizes import TD, update
from tests.ntuple.drivers import board_of_tiles, entries, step_size, to_board, value

# Matsuzaki 2017, sec. 4.1: a stage begins when a set of tiles, here in units of 1024, first appears in a game.
CONDITIONS = {
    "top4": "16 32 32+16",
    "top8": "8 16 16+8 32 32+8 32+16 32+16+8",
    "max4": "8 16 32",
    "max8": "0.5 1 2 4 8 16 32",
    "decr4": "32 32+16 32+16+8",
    "decr8": "32 32+16 32+16+8 32+16+8+4 32+16+8+4+2 32+16+8+4+2+1 32+16+8+4+2+1+0.5",
    "hand8": "16 16+8 16+8+4 32 32+16 32+16+8 32+16+8+4",
}


def _stage(text: str, tiles: list[int]) -> int:
    return int(stage_of(make_stages(text), board_of_tiles(tiles)))


@pytest.mark.parametrize("scheme", CONDITIONS)
def test_schemes_divide_where_the_paper_says(scheme: str) -> None:
    conditions = [{int(1024 * float(tile)) for tile in word.split("+")} for word in CONDITIONS[scheme].split()]
    assert len(conditions) == int(scheme[-1]) - 1
    assert set(SCHEMES) == set(CONDITIONS)
    rng = random.Random(1)
    seen = set()
    for _ in range(500):
        # Each large tile is present or not, in decreasing order, as in a game; small tiles do not count.
        share = rng.random()
        tiles = [tile for tile in (2**k for k in range(15, 8, -1)) if rng.random() < share]
        passed = [k for k, condition in enumerate(conditions, 1) if condition <= set(tiles)]
        if scheme.startswith("max"):
            passed = [k for k, (least,) in enumerate(conditions, 1) if tiles and max(tiles) >= least]
        found = _stage(scheme, [*tiles, 8, 4, 2])
        assert found == max(passed, default=0), (tiles, found)
        seen.add(found)
    assert seen == set(range(int(scheme[-1])))


def test_equal_stages_of_jaskowski() -> None:
    # "starts in stage 0 and switches to stage 1 when 4096 is achieved, 2 on 8192, 3 when both, 4 on 16384" (sec. V-D)
    boards = [[2048, 1024], [4096, 2048], [8192], [8192, 4096], [16384], [16384, 8192, 4096, 8], [32768, 16384]]
    assert [_stage("2^4", tiles) for tiles in boards] == [0, 1, 2, 3, 4, 7, 12]
    assert [_stage("2^1", tiles) for tiles in boards] == [0, 0, 0, 0, 0, 0, 1]


def test_turns_are_counted_by_the_sum_of_tiles() -> None:
    assert make_stages("turn4").thresholds.tolist() == [18022, 36045, 54067]  # 8192, 16384 and 24576 moves of 2.2 each
    assert make_stages("turn8").thresholds.size == 7
    boards = [[16384, 1024], [16384, 1024, 512, 64, 32, 4, 4], [16384, 1024, 512, 64, 32, 8], [32768, 4096]]
    assert [_stage("turn4", tiles) for tiles in boards] == [0, 1, 1, 2]


def test_lists_of_thresholds() -> None:
    assert make_stages("0,16384,16384+8192").thresholds.tolist() == [16384, 24576]
    assert make_stages("0,16384,24576").thresholds.tolist() == [16384, 24576]
    assert make_stages("").thresholds.size == make_stages("0").thresholds.size == 0
    assert _stage("0,65536,65536+32768", [65536, 32768]) == 2
    threes = find_game("threes", 4, 4)  # 384 has level 10
    assert make_stages("0,384,384+3", threes).thresholds.tolist() == [2**10, 2**10 + 2**3]


@pytest.mark.parametrize("text", ["top5", "2^6", "2^0", "16384,8192", "0,0", "512,512", "3", "-2", "a+b", "0,"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="stages = ") as caught:
        make_stages(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("promotion", ["none", "inter", "intra", "both"])
def test_promotion_equals_the_reference(promotion: str) -> None:
    game, text, cuts = make_rules(3, 3), "012,0134", (16, 64)
    network = make_network(text, 3, 3, 50.0, stages=(16, 64), promotion=promotion)
    stages = make_stages("16,64")

    def stage_number(board: rules.Board) -> int:
        present = sum({2**tile for tile in rules.cells(board) if tile})
        return sum(present >= cut for cut in cuts)

    truth = reference.Network(list(parse_network(text, 3, 3)), 8, 50.0, stage_number, promotion)
    rng = random.Random(3)
    boards = [tuple(tuple(rng.choices(range(8), [5, 5, 4, 3, 3, 2, 2, 1], k=3)) for _ in range(3)) for _ in range(300)]
    for board in boards:
        assert stage_of(stages, to_board(board)) == stage_number(board)
        error = rng.uniform(-100, 100)
        update(network, entries(game, network, board), 0, np.float32(error), np.float32(1), step_size(TD))
        truth.td_error(board, error, 0.5)
    size = int(network.part_size)
    weights = read_field(network)
    for (k, m, number), weight in truth.weights.items():
        assert weights[k * size + int(network.tables[m]) + number] == pytest.approx(weight, abs=1e-2)
    assert {k for k, _, _ in truth.weights} == {0, 1, 2}
    fresh = [tuple(tuple(rng.choices(range(8), k=3)) for _ in range(3)) for _ in range(200)]
    for board in boards[:50] + fresh:
        assert value(game, network, board) == pytest.approx(truth.value(board), abs=0.05)


def test_one_stage_is_many_with_equal_tables() -> None:
    game, text = make_rules(3, 3), "012,0134"
    one, many = make_network(text, 3, 3, 0.0), make_network(text, 3, 3, 0.0, stages=(8, 32, 128))
    weights = np.random.default_rng(1).standard_normal(int(one.part_size), np.float32)
    write_field(one, weights)
    write_field(many, np.tile(weights, 4))
    rng = random.Random(4)
    for _ in range(50):
        board = tuple(tuple(rng.choices(range(9), k=3)) for _ in range(3))
        assert value(game, one, board) == value(game, many, board)
