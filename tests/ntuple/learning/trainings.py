"""Configs of small trainings, shared by the tests of the learner."""

from dataclasses import replace

from ntuple import NTupleConfig, NTupleLearner
from ntuple.learning.config import AverageConfig
from ntuple.td.config import (
    BlocksConfig,
    ExplorationConfig,
    StartConfig,
    StepSizeConfig,
    TargetConfig,
    TargetSearchConfig,
)
from tests.settings import configured

SMALL = NTupleConfig(rows=3, columns=3, network=("012", "0134"), env_steps=4000, report_env_steps=1000, threads=1)

TD, TC = StepSizeConfig(adaptive_fraction=0.0), StepSizeConfig(adaptive_fraction=1.0)

HALF = StepSizeConfig(adaptive_fraction=0.5)

CAROUSEL = "carousel, exploration, rates that fall, memory that is lost"

METHODS = {
    "optimistic, TD then TC": replace(SMALL, v_init=100.0, step_size=HALF),
    "delayed, TD then Autostep, carousel": replace(
        SMALL,
        target=TargetConfig("delayed"),
        step_size=replace(HALF, adaptive="autostep"),
        start=configured(StartConfig, kind="carousel", carousel={"stages": (16, 64)}),  # the kernel of other tests
    ),
    "restart, backward, stages": replace(
        SMALL,
        target=TargetConfig("trace", "backward"),
        start=configured(StartConfig, kind="restart", restart={"moves": 5}),
        stages=(16, 64),
        promotion="both",
    ),
    CAROUSEL: replace(
        SMALL,
        start=configured(StartConfig, kind="carousel", carousel={"stages": (16, 32, 64)}),
        exploration=ExplorationConfig(epsilon=0.2, temperature=5.0),
        step_size=StepSizeConfig(adaptive_fraction=0.5, alpha_steps=((0.1, 0.05), (0.3, 0.01)), reset_env_steps=700),
    ),
    "search": replace(SMALL, target=TargetConfig(search=TargetSearchConfig(simulations=8, c=0.1, plays=False))),
    "averaged": replace(
        SMALL,
        average=AverageConfig(env_steps=600, fraction=0.9),
        exploration=ExplorationConfig(epsilon=0.2),  # the kernel of CAROUSEL
        start=StartConfig("blocks", blocks=BlocksConfig(tile=16, limit=64)),
    ),
    "averaged, promoted": replace(
        SMALL, average=AverageConfig(env_steps=600, fraction=0.9), stages=(16, 32, 64), promotion="both", v_init=50.0
    ),
}


def learn(learner: NTupleLearner) -> list[dict[str, float]]:
    """Train to the end of the budget and return the reports."""
    reports = []
    while learner.progress["env_steps"] < learner.env_steps_total:
        reports.append(learner.advance())
    return reports
