from dataclasses import replace

import numpy as np

from ntuple import NTupleConfig, NTupleLearner
from ntuple.learning.schedule import exploration_at, learning_rate_at, stretch_of
from ntuple.tables.file_order import read_field
from ntuple.td.config import AutostepConfig, ExplorationConfig, StepSizeConfig
from ntuple.td.step_sizes import SECOND
from tests.ntuple.learning.trainings import CAROUSEL, METHODS, SMALL, TC, TD, learn


def test_rates_fall_and_memory_is_lost_on_time() -> None:
    config = METHODS[CAROUSEL]
    learner = NTupleLearner(config, seed=1)
    rates, touched = {}, {}  # by the first move of a stretch, and by the first one after it
    while learner.progress["env_steps"] < config.env_steps:
        start = learner.progress["env_steps"]
        rates[start] = learner.advance()["td/learning_rate"]
        if rates[start] == 1:
            touched[learner.progress["env_steps"]] = np.count_nonzero(read_field(learner.network, SECOND))
    # Reports every 1000 moves; the rate falls at 400 and 1200; TC starts at 2000; E and A are reset at 2700 and 3400.
    stops = [0, 400, 1000, 1200, 2000, 2700, 3000, 3400]
    assert set(rates) == {*stops, *range(0, config.env_steps, 40)}  # exploration falls in a hundred steps
    assert [rates[move] for move in stops] == [0.1, 0.05, 0.05, 0.01, 1.0, 1.0, 1.0, 1.0]
    assert touched[2700] > touched[3000] < touched[3400]  # entries touched 300, not 700, moves after a reset
    assert touched[3440] < touched[3000]


def test_otd_tc_switches_once_and_with_fresh_memory() -> None:
    learner = NTupleLearner(
        replace(SMALL, step_size=StepSizeConfig(adaptive_fraction=0.625)), seed=3
    )  # TC begins at move 1500
    reports = learn(learner)
    assert [(r["td/coherence"], r["td/learning_rate"]) for r in reports] == [(0, 0.1)] * 2 + [(1, 1.0)] * 3
    # Before the switch, training equals TD(0) without a switch. After it, E and A hold the updates of TC only.
    td = NTupleLearner(replace(SMALL, step_size=TD), seed=3)
    np.testing.assert_equal([r["td/error_abs_mean"] for r in reports[:1]], [td.advance()["td/error_abs_mean"]])
    assert td.network.memory.size == 0
    assert np.count_nonzero(read_field(learner.network, SECOND)) < np.count_nonzero(read_field(learner.network))


def test_pure_tc_has_no_td_phase_and_pure_td_no_memory() -> None:
    assert all(r["td/coherence"] == 1 for r in learn(NTupleLearner(replace(SMALL, step_size=TC), 1)))
    autostep = StepSizeConfig(adaptive="autostep", autostep=AutostepConfig(first=0.25))
    report = NTupleLearner(replace(SMALL, step_size=autostep), 1).advance()
    assert (report["td/coherence"], report["td/learning_rate"]) == (0, 0.25)
    learner = NTupleLearner(replace(SMALL, step_size=TD), 1)
    assert all(r["td/coherence"] == 0 for r in learn(learner))
    assert learner.network.memory.size == 0


def test_where_the_adaptive_rule_starts() -> None:
    configs = [NTupleConfig(env_steps=1000, step_size=StepSizeConfig(adaptive_fraction=p)) for p in (0.0, 0.1, 1.0)]
    assert [config.adaptive_starts for config in configs] == [1000, 900, 0]


def test_rates_fall_by_steps_and_exploration_linearly() -> None:
    # The step-size decay of Guei 2023, sec. 3.3.1.
    size = StepSizeConfig(alpha=0.1, alpha_steps=((0.5, 0.01), (0.75, 0.001)), adaptive_fraction=0.0)
    config = NTupleConfig(env_steps=1000, step_size=size, exploration=ExplorationConfig(epsilon=0.1, decay=0.5))
    rates = [learning_rate_at(config, move, False) for move in (0, 499, 500, 749, 750, 999)]
    assert rates == [0.1, 0.1, 0.01, 0.01, 0.001, 0.001]
    assert [exploration_at(config, move) for move in (0, 250, 500, 900)] == [(0.1, 0.0), (0.05, 0.0), (0, 0), (0, 0)]
    assert exploration_at(config, 254) == (0.05, 0.0)
    # A training has the exploration of each of the hundred steps, however few its reports.
    assert [stretch_of(config, move) for move in (0, 254, 498)] == [(0, 5), (250, 255), (495, 500)]
