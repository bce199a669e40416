import pytest

from ntuple import NTupleConfig
from ntuple.config import AverageConfig, ExplorationConfig, StartConfig, StepSizeConfig, TargetConfig


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ({"rows": 5}, "board of 5x4"),
        ({"network": "4x7"}, "network '4x7'"),
        ({"rows": 2, "columns": 2}, "leaves the 2x2 board"),
        ({"env_steps": 0}, "env_steps = 0"),
        ({"report_env_steps": -1}, "report_env_steps = -1"),
        ({"threads": -1}, "threads = -1"),
        ({"v_init": float("nan")}, "v_init = nan"),
    ],
)
def test_mistakes_are_refused_by_name(mistake: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        NTupleConfig(**mistake)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("part", "mistake", "says"),
    [
        (TargetConfig, {"steps": 0}, "target.steps = 0"),
        (TargetConfig, {"decay": 1.5}, "target.decay = 1.5"),
        (TargetConfig, {"horizon": -1}, "target.horizon = -1"),
        (TargetConfig, {"method": "delayed", "direction": "backward"}, "set target.method = trace"),
        (TargetConfig, {"method": "expected", "rectified": "relu"}, "expected is forward and not rectified"),
        (StepSizeConfig, {"alpha": 0.0}, "step_size.alpha = 0.0"),
        (StepSizeConfig, {"adaptive_alpha": 3.0}, "step_size.adaptive_alpha = 3.0"),
        (StepSizeConfig, {"adaptive_fraction": 1.5}, "step_size.adaptive_fraction = 1.5"),
        (StepSizeConfig, {"reset_env_steps": -1}, "step_size.reset_env_steps = -1"),
        (StepSizeConfig, {"mu": 0.0}, "step_size.mu = 0.0"),
        (StepSizeConfig, {"alpha_steps": "0.5"}, "give share:rate pairs"),
        (StepSizeConfig, {"alpha_steps": "0.5:0"}, "give rates above 0"),
        (StepSizeConfig, {"alpha_steps": "0.75:0.1 0.5:0.01"}, "give ascending shares"),
        (ExplorationConfig, {"epsilon": 1.1}, "exploration.epsilon = 1.1"),
        (ExplorationConfig, {"temperature": -1.0}, "exploration.temperature = -1.0"),
        (ExplorationConfig, {"decay": 0.0}, "exploration.decay = 0.0"),
        (StartConfig, {"restart_moves": 0}, "start.restart_moves = 0"),
        (StartConfig, {"jump_fraction": 2.0}, "start.jump_fraction = 2.0"),
        (StartConfig, {"stages": "many"}, "stages = 'many'"),
        (StartConfig, {"jump_tiles": "4096 3"}, "start.jump_tiles = '4096 3'"),
        (NTupleConfig, {"stages": "16384,8192"}, "stages = '16384,8192'"),
        (AverageConfig, {"env_steps": -1}, "average.env_steps = -1"),
        (AverageConfig, {"fraction": 0.0}, "average.fraction = 0.0"),
        (NTupleConfig, {"frozen_tuples": 4}, "frozen_tuples = 4: must be at least 0 and below the 4 of network"),
        (NTupleConfig, {"stages": "0,64", "frozen_stages": 2}, "frozen_stages = 2: must be at least 0 and below the 2"),
        (NTupleConfig, {"promotion": "inter"}, "set stages, or promotion = intra"),
        (NTupleConfig, {"start": StartConfig(kind="carousel")}, "start.kind = carousel needs stages"),
        (NTupleConfig, {"start": StartConfig(kind="jump_start"), "rows": 2, "columns": 2, "network": "01"}, "too many"),
    ],
)
def test_mistakes_in_the_parts_are_refused_by_name(part: type, mistake: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        part(**mistake)
    assert "\n" not in str(caught.value)


def test_where_the_adaptive_rule_starts() -> None:
    configs = [NTupleConfig(env_steps=1000, step_size=StepSizeConfig(adaptive_fraction=p)) for p in (0.0, 0.1, 1.0)]
    assert [config.adaptive_starts for config in configs] == [1000, 900, 0]


def test_rates_fall_by_steps_and_exploration_linearly() -> None:
    # The decay of Guei 2023, sec. 3.3.1.
    size = StepSizeConfig(alpha=0.1, alpha_steps="0.5:0.01 0.75:0.001", adaptive_fraction=0.0)
    config = NTupleConfig(env_steps=1000, step_size=size, exploration=ExplorationConfig(epsilon=0.1, decay=0.5))
    assert [config.alpha_at(move) for move in (0, 499, 500, 749, 750, 999)] == [0.1, 0.1, 0.01, 0.01, 0.001, 0.001]
    assert [config.exploration_at(move) for move in (0, 250, 500, 900)] == [1.0, 0.5, 0.0, 0.0]
