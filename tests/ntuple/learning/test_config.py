import math

import pytest

from ntuple import NTupleConfig
from ntuple.td.config import (
    BlocksConfig,
    CarouselConfig,
    JumpStartConfig,
    StartConfig,
    StepSizeConfig,
    TargetConfig,
    TargetSearchConfig,
)
from tests.settings import configured


@pytest.mark.parametrize(
    ("part", "mistake", "says"),
    [
        (NTupleConfig, {"rows": 5}, "rows is 5; give 1 to 4"),
        (NTupleConfig, {"network": "4x7"}, "network '4x7'"),
        (NTupleConfig, {"rows": 2, "columns": 2}, "leaves the 2x2 board"),
        (TargetConfig, {"method": "delayed", "direction": "backward"}, "set target.method = trace"),
        (TargetConfig, {"method": "expected", "rectified": "relu"}, "expected updates are forward and not rectified"),
        (StepSizeConfig, {"alpha_steps": (0.5,)}, r"alpha_steps\[0\] is 0.5; give a pair of numbers"),
        (StepSizeConfig, {"alpha_steps": [[0.5, 0.1], [0.75]]}, r"alpha_steps\[1\]\[1\] is missing"),
        (
            StepSizeConfig,
            {"alpha_steps": [[0.5, math.nan]]},
            r"alpha_steps\[0\]\[1\] is nan; give a number in \(0, 2\]",
        ),
        (StepSizeConfig, {"alpha_steps": ((0.5, 0),)}, r"alpha_steps\[0\]\[1\] is 0; give a number in \(0, 2\]"),
        (StepSizeConfig, {"alpha_steps": ((0.75, 0.1), (0.5, 0.01))}, "give ascending shares"),
        (
            NTupleConfig,
            {"start": StartConfig(carousel=CarouselConfig(stages=("many",)))},
            r"start.carousel.stages is \('many',\); give ascending",
        ),
        (
            NTupleConfig,
            {"start": StartConfig(kind="jump_start", jump_start=JumpStartConfig(tiles=(4096, 3)))},
            r"start.jump_start.tiles is \(4096, 3\); give tiles from 8 to 131072, such as \[4096, 2048\]",
        ),
        (NTupleConfig, {"stages": (16384, 8192)}, "stages = '16384,8192'"),
        (
            TargetConfig,
            {"method": "n_step", "search": TargetSearchConfig(simulations=2)},
            "target.method is 'n_step'; give td, forward",
        ),
        (NTupleConfig, {"frozen_tuples": 4}, "frozen_tuples is 4; give a number below the 4 tuples"),
        (NTupleConfig, {"stages": (0, 64), "frozen_stages": 2}, "frozen_stages is 2; give a number below the 2 of"),
        (NTupleConfig, {"promotion": "inter"}, "promotion is 'inter'; give intra, or set stages"),
        (BlocksConfig, {"tile": 48}, "start.blocks.tile is 48; give a power of 2"),
        (NTupleConfig, {"start": StartConfig(kind="boundary")}, "start.kind is 'boundary', which needs frozen stages"),
        (NTupleConfig, {"start": StartConfig(kind="carousel")}, "start.kind is 'carousel', which needs stages"),
        (
            NTupleConfig,
            {"start": StartConfig(kind="jump_start"), "rows": 2, "columns": 2, "network": "01"},
            "at most 1 tiles on a board of 2x2",
        ),
    ],
)
def test_mistakes_are_refused_by_name(part: type, mistake: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        configured(part, **mistake)
    assert "\n" not in str(caught.value)
