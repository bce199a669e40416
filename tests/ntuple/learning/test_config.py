from typing import Any

import pytest

from ntuple import NTupleConfig
from ntuple.core.settings import from_plain

POSITIONS = {"kind": "positions", "positions": {"file": "boards.npy"}}
JUMP = {"kind": "jump_start"}
STATES, MINIMAX = {"values": "state"}, {"opponent": "minimax"}


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ({"rows": 5}, "rows is 5; give 1 to 4"),
        ({"network": "4x7"}, "network '4x7'"),
        ({"rows": 2, "columns": 2}, "leaves the 2x2 board"),
        ({"stages": [16384, 8192]}, "stages = '16384,8192'"),
        ({"stages": [0, 64], "frozen_stages": 2}, "frozen_stages is 2; give a number below the 2 of"),
        ({"frozen_tuples": 4}, "frozen_tuples is 4; give a number below the 4 tuples"),
        ({"promotion": "inter"}, "promotion is 'inter'; give intra, or set stages"),
        ({"target": {"method": "delayed", "direction": "backward"}}, "set target.method = trace"),
        ({"target": {"method": "expected", "rectified": "relu"}}, "expected updates are forward and not rectified"),
        ({"target": {"method": "n_step", "search": {"simulations": 2}}}, "method is 'n_step'; give td, forward"),
        ({"step_size": {"alpha_steps": [[0.5, 0]]}}, r"alpha_steps\[0\]\[1\] is 0; give a number in \(0, 2\]"),
        ({"step_size": {"alpha_steps": [[0.75, 0.1], [0.5, 0.01]]}}, "give ascending shares"),
        ({"start": {"kind": "boundary"}}, "start.kind is 'boundary', which needs frozen stages"),
        ({"start": {"kind": "positions"}}, "start.positions.file is ''; give a file of `muzero2048 positions`"),
        (
            {"start": {"kind": "positions", "positions": {"file": "boards.npy", "until": 100}}},
            "start.positions.until is 100; give 0, or a tile of 2048 such as 2048",
        ),
        ({"start": {"kind": "carousel"}}, "start.kind is 'carousel', which needs stages"),
        ({"start": {"carousel": {"stages": "many"}}}, r"start.carousel.stages is \('many',\); give ascending"),
        ({"start": {"blocks": {"tile": 48}}}, "start.blocks.tile is 48; give a power of 2"),
        ({"start": JUMP, "rows": 2, "columns": 2, "network": "01"}, "at most 1 tiles on a board of 2x2"),
        (
            {"start": JUMP | {"jump_start": {"tiles": [4096, 3]}}},
            r"start.jump_start.tiles is \(4096, 3\); give tiles from 8 to 131072, such as \[4096, 2048\]",
        ),
        (STATES | {"target": {"method": "n_step"}}, "leave out target"),
        (STATES | {"start": {"kind": "restart"}}, "leave out start"),
        (STATES | {"promotion": "intra"}, "leave out promotion"),
        ({"values": "action", "network": "01234567"}, "too large with 8 cells"),
        (MINIMAX | STATES, "opponent is 'minimax'; give chance, or leave out values"),
        (MINIMAX | {"target": {"method": "expected"}}, "opponent is 'minimax'; give chance, or leave out target"),
        (
            MINIMAX | {"target": {"search": {"simulations": 5}}},
            "opponent is 'minimax'; give chance, or leave out target",
        ),
        # Other games.
        ({"game": "chess"}, "game is 'chess'; give one of: 2048, 2584, 2584-hard, threes"),
        ({"game": "2584", "network": "0123456"}, "smaller tuples, or fewer levels: 24 values of a cell make 4,586,"),
        ({"game": "2584", "stages": "top4"}, "stages = 'top4': give ascending sets of tiles of 2584, such as 2584,4"),
        ({"game": "2584", "stages": [2584, 2048]}, "stages = '2584,2048': give ascending sets of tiles of 2584"),
        ({"game": "2584", "levels": 33}, "levels is 33; give 0 to 32"),
        ({"game": "threes", "start": {"kind": "blocks"}}, "start.kind is 'blocks', which threes has not"),
        ({"game": "threes", "start": POSITIONS}, "start.kind is 'positions': a board is not all of threes"),
        ({"game": "threes", "start": JUMP}, "start.jump_start.tiles is .*; give tiles from 3"),
        ({"game": "threes-easy", "rows": 2, "columns": 3, "network": "0"}, "threes-easy begins with 9 tiles"),
        ({"game": "2584", "places": True}, "places is True; give false, or a game and values whose afterstates"),
        ({"game": "threes", "places": True, "values": "state"}, "places is True; give false, or a game and values"),
        ({"game": "threes", "places": True, "levels": 15}, "places is True; give false, or levels 16"),
        ({"game": "threes", "places": True, "promotion": "intra"}, "places is True; give false: promotion"),
    ],
)
def test_mistakes_are_refused_by_name(mistake: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        from_plain(NTupleConfig, mistake)
    assert "\n" not in str(caught.value)


def test_levels_are_those_of_the_game_in_2048() -> None:
    assert (NTupleConfig(levels=12).num_levels, NTupleConfig(game="2584", levels=12).num_levels) == (16, 12)
