"""Tests of training rounds: parameters change, reports count, and the same seed gives the same bits."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions, rules

from muzero2048.models.make import make_model
from muzero2048.muzero import train_step
from muzero2048.muzero.batches import Batch
from muzero2048.muzero.learner_state import MuZeroState, acting_params
from muzero2048.muzero.selfplay import add_play
from muzero2048.muzero.train_step import (
    MuZeroPrograms,
    UpdateReport,
    _sample_batch,
    make_setup,
    norms_by_part,
    training_share,
)
from muzero2048.search.config import SearchConfig
from muzero2048.training.replay import Sample
from tests.muzero2048.toy_model import KINDS, shared_learner, small_config
from tests.settings import configured
from tests.slow import others_slow

CONFIG = small_config(rows=2, columns=2)


@pytest.fixture(scope="module")
def learner() -> MuZeroPrograms:
    return shared_learner(CONFIG)


def after_a_round(learner: MuZeroPrograms, seed: int) -> tuple[MuZeroState, list[np.ndarray]]:
    state, _ = learner.fill(learner.init(seed))
    before = [np.array(x) for x in jax.tree.leaves(state.params)]
    state, report = learner.rounds(state, learner.empty(), 1)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(report))
    return state, before


def equal(one: object, other: object) -> bool:
    return all(
        np.array_equal(a, b) for a, b in zip(jax.tree.leaves(words(one)), jax.tree.leaves(words(other)), strict=True)
    )


def words(tree: object) -> object:
    return jax.tree.map(
        lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else np.array(x), tree
    )


def test_a_round_plays_and_learns(learner: MuZeroPrograms) -> None:
    state, before = after_a_round(learner, seed=0)
    after = jax.tree.leaves(state.params)
    changed = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
    assert all(changed)
    assert all(np.isfinite(x).all() for x in after)
    assert int(state.replay.size) == 2 * CONFIG.chunk
    assert int(state.replay.position) == 2 * CONFIG.chunk


def test_same_seed_same_bits(learner: MuZeroPrograms) -> None:
    one, _ = after_a_round(learner, seed=3)
    same, _ = after_a_round(learner, seed=3)
    other, _ = after_a_round(learner, seed=4)
    assert equal(one, same)
    assert not equal(one.params, other.params)
    assert not equal(one.replay, other.replay)


def test_rounds_in_one_call_are_rounds_one_by_one(learner: MuZeroPrograms) -> None:
    together, report = learner.rounds(learner.fill(learner.init(5))[0], learner.empty(), 3)
    state, reports = learner.fill(learner.init(5))[0], []
    for _ in range(3):
        state, one = learner.rounds(state, learner.empty(), 1)
        reports.append(jax.device_get(one))
    assert equal(together, state)
    play = [one.play for one in reports]
    ended = [p.ended for p in play]
    assert int(report.play.ended.games) == sum(games.games for games in ended) > 0
    assert int(report.play.ended.score_max) == max(games.score_max for games in ended)
    np.testing.assert_array_equal(report.play.ended.reached, np.sum([games.reached for games in ended], axis=0))
    np.testing.assert_allclose(report.play.q_range, sum(p.q_range for p in play), rtol=1e-5)
    for total, *values in zip(*map(jax.tree.leaves, [report.update, *(one.update for one in reports)]), strict=True):
        np.testing.assert_allclose(total, np.sum(values, axis=0), rtol=1e-5, atol=1e-7)
    joined = add_play(add_play(play[0], play[1]), play[2])
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-6), joined, jax.device_get(report.play))


@pytest.mark.parametrize("calls", [(1, 1, 1, 1, 1), (2, 3), (4, 1)])
def test_a_report_of_several_calls_has_the_bits_of_one(learner: MuZeroPrograms, calls: tuple[int, ...]) -> None:
    whole, expected = learner.rounds(learner.fill(learner.init(5))[0], learner.empty(), 5)
    state, report = learner.fill(learner.init(5))[0], learner.empty()
    for count in calls:
        state, report = learner.rounds(state, report, count)
    assert equal(state, whole)
    assert equal(report, expected)


def test_the_age_of_samples(learner: MuZeroPrograms) -> None:
    """Sequences of 3 moves in a chunk of 8 begin 2 to 7 moves ago; the age counts moves of all 16 environments."""
    _, report = learner.rounds(learner.fill(learner.init(0))[0], learner.empty(), 1)
    assert 16 * 2 < report.update.age < 16 * 7
    np.testing.assert_allclose(report.update.age, 16 * 4.5, rtol=0.15)


# Averaged parameters and priorities share one program. A round has one update.
PRIORITIES = dataclasses.replace(CONFIG.replay, ratio=0.5, priority_exponent=1.0, importance_exponent=1.0)
WITH_OPTIONS = dataclasses.replace(CONFIG, ema_decay=0.9, replay=PRIORITIES)
TEMPERATURES = {"temperature_steps": [[0.2, 0.0]], "dirichlet_fraction": 0.0}


@pytest.mark.slow
def test_self_play_is_greedy_from_the_planned_share_on() -> None:
    """One of 5 planned updates is made in each round, and a round plays before it; the share 0.2 is reached."""
    search = configured(SearchConfig, root="puct", simulations=6, puct=TEMPERATURES)
    learner = shared_learner(dataclasses.replace(WITH_OPTIONS, search=search))
    state, _ = learner.fill(learner.init(0))
    state, _ = learner.rounds(state, learner.empty(), 2)
    assert float(training_share(state.optimizer, WITH_OPTIONS)) == pytest.approx(0.4)
    moves = jax.device_get(state.replay.storage)
    played = np.take_along_axis(moves.policy, moves.action[..., None].astype(int), axis=-1)[..., 0]
    most_visited = (played == moves.policy.max(axis=-1))[:, : 3 * CONFIG.chunk].reshape(-1, 3, CONFIG.chunk)
    assert (most_visited.mean(axis=(0, 2))[:2] < 0.9).all()  # drawn in proportion to the visits
    assert most_visited[:, 2].all()


@pytest.mark.slow
def test_averaged_parameters_follow_and_play() -> None:
    learner = shared_learner(WITH_OPTIONS)
    state, _ = learner.fill(learner.init(0))
    expected = [np.array(x) for x in jax.tree.leaves(state.params)]
    for t in range(2):
        state, _ = learner.rounds(state, learner.empty(), 1)
        share = (1 + t) / (10 + t)
        expected = [share * e + (1 - share) * p for e, p in zip(expected, jax.tree.leaves(state.params), strict=True)]
    for e, found in zip(expected, jax.tree.leaves(acting_params(state)), strict=True):
        np.testing.assert_allclose(found, e, rtol=1e-5, atol=1e-7)

    def chunk(state: MuZeroState) -> object:
        copy = jax.tree.map(lambda x: x.copy(), state)
        return learner.fill(copy)[0].replay

    zeros = jax.tree.map(jnp.zeros_like, state.params)
    assert equal(chunk(state), chunk(state._replace(params=zeros)))
    assert not equal(chunk(state), chunk(state._replace(average=state.average._replace(params=zeros))))


def test_priorities_follow_the_error_of_the_value() -> None:
    """An update of 64 samples from 96 places changes many priorities: its errors differ from those of self-play."""
    learner = shared_learner(WITH_OPTIONS)
    state, _ = learner.fill(learner.init(0))
    before = np.array(state.replay.priority)
    assert (before[:, : CONFIG.chunk] > 0).all()
    assert (before[:, CONFIG.chunk :] == 0).all()
    state, report = learner.rounds(state, learner.empty(), 1)
    after = np.array(state.replay.priority)
    changed = after[:, : CONFIG.chunk] != before[:, : CONFIG.chunk]
    starts = CONFIG.chunk - CONFIG.unroll_steps
    assert changed[:, :starts].mean() > 0.3
    assert not changed[:, starts:].any()  # no sequence begins there yet
    assert (after[:, : 2 * CONFIG.chunk] > 0).all()
    assert np.isfinite(report.update.loss.total)


def test_priorities_are_those_of_the_trained_parameters() -> None:
    """The average plays, but the values of updates, and so their errors, are those of the parameters that are moved."""
    learner = shared_learner(WITH_OPTIONS)
    state, _ = learner.fill(learner.init(0))
    zeros = jax.tree.map(jnp.zeros_like, state.params)

    def priorities(**changed: object) -> np.ndarray:
        copy = jax.tree.map(lambda x: x.copy(), state._replace(**changed))
        return np.array(learner.rounds(copy, learner.empty(), 1)[0].replay.priority[:, : CONFIG.chunk])

    np.testing.assert_array_equal(priorities(average=state.average._replace(params=zeros)), priorities())
    assert not np.array_equal(priorities(params=zeros), priorities())


def test_each_update_of_a_round_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one key for all, a round would train on one batch again and again."""

    def record(setup: object, state: MuZeroState, key: jax.Array) -> tuple[MuZeroState, UpdateReport]:
        count, bits = state.params
        recorded = count + 1, bits.at[count].set(jax.random.bits(key))
        return state._replace(params=recorded), UpdateReport(*[jnp.zeros(())] * len(UpdateReport._fields))

    monkeypatch.setattr(train_step, "_update", record)
    setup = make_setup(dataclasses.replace(CONFIG, replay=dataclasses.replace(CONFIG.replay, ratio=4.0)), None)
    nothing: Any = dict.fromkeys(MuZeroState._fields)
    nothing |= {"params": (jnp.zeros((), jnp.int32), jnp.zeros(setup.config.updates_per_chunk, jnp.uint32))}
    count, bits = train_step._updates(setup, MuZeroState(**nothing), jax.random.key(0))[0].params
    assert int(count) == len(np.unique(bits)) == setup.config.updates_per_chunk > 1


class Sampled(NamedTuple):
    """A batch whose targets are all searched anew, the sample of replay that it is made of, and how it was made."""

    make: Callable[[MuZeroState], tuple[Batch, Sample]]
    state: MuZeroState
    batch: Batch
    sample: Sample


@pytest.fixture(scope="module")
def sampled() -> Sampled:
    config = dataclasses.replace(WITH_OPTIONS, replay=dataclasses.replace(WITH_OPTIONS.replay, reanalyse=1.0))
    program = jax.jit(functools.partial(_sample_batch, make_setup(config, None), jax.random.key(7)))
    state, _ = shared_learner(WITH_OPTIONS).fill(shared_learner(WITH_OPTIONS).init(0))
    return Sampled(program, state, *jax.device_get(program(state)))


def test_averaged_parameters_reanalyse(sampled: Sampled) -> None:
    """The new targets do not depend on the parameters that the optimizer moves, but on their average."""
    state, batch, zeros = sampled.state, sampled.batch, jax.tree.map(jnp.zeros_like, sampled.state.params)
    same, _ = sampled.make(state._replace(params=zeros))
    other, _ = sampled.make(state._replace(average=state.average._replace(params=zeros)))
    assert equal(same, batch)
    np.testing.assert_array_equal(other.cells, batch.cells)
    assert not np.array_equal(other.policy, batch.policy)
    assert not np.array_equal(other.value, batch.value)


def test_fresh_values_are_those_of_the_averaged_parameters(sampled: Sampled) -> None:
    """Sequences then hold n moves more, of which the batch keeps none."""
    replay = dataclasses.replace(WITH_OPTIONS.replay, fresh_steps=2)
    setup = make_setup(dataclasses.replace(WITH_OPTIONS, replay=replay), None)
    make, state = jax.jit(functools.partial(_sample_batch, setup, jax.random.key(7))), sampled.state
    batch, sample = jax.device_get(make(state))
    assert sample.moves.value.shape[1] == batch.value.shape[1] + 2
    zeros = jax.tree.map(jnp.zeros_like, state.params)
    same, _ = make(state._replace(params=zeros))
    other, _ = make(state._replace(average=state.average._replace(params=zeros)))
    assert equal(same, batch)
    assert not np.array_equal(other.value, batch.value)
    assert equal(other._replace(value=batch.value, afterstate_value=batch.afterstate_value), batch)


def test_each_sample_is_a_random_view(sampled: Sampled) -> None:
    """All 8 views occur, about equally often. Boards with less than 8 different views cannot show which it is."""
    counts = np.zeros(8)
    for stored, found in zip(sampled.sample.moves.cells[:, 0], sampled.batch.cells[:, 0], strict=True):
        board = positions.as_board(stored.reshape(2, 2))
        views = [tuple(rules.cells(view)) for view in rules.symmetries(board)]
        assert tuple(found.tolist()) in views
        if len(set(views)) == 8:
            counts[views.index(tuple(found.tolist()))] += 1
    assert counts.min() > 0
    assert counts.sum() > 20
    assert counts.max() < 0.35 * counts.sum()


def test_the_weight_of_a_sample_reaches_the_loss(sampled: Sampled) -> None:
    assert len(np.unique(sampled.sample.weight)) > 10
    np.testing.assert_array_equal(sampled.batch.weight, sampled.sample.weight)


@pytest.mark.parametrize("kind", others_slow(KINDS, "residual_mlp", "grounded", "cells"))
def test_every_parameter_is_of_one_part(kind: str) -> None:
    config = small_config(kind)
    weights = {} if kind.startswith("grounded") else {"consistency": 1.0}
    config = dataclasses.replace(config, losses=dataclasses.replace(config.losses, **weights))
    model = nnx.eval_shape(lambda: make_model(config, seed=0))
    params = nnx.state(model, nnx.Param)
    names = [name for part in model.parts.values() for name in part]
    assert len(names) == len(set(names))
    assert set(params) <= set(names)
    ones = jax.tree.map(lambda x: np.ones(x.shape, x.dtype), params)
    norms = jax.jit(lambda grads: norms_by_part(grads, model.parts))(ones)
    assert set(norms) == {"representation", "dynamics", "prediction", "encoder"}
    sizes = {name: sum(x.size for x in jax.tree.leaves(params[name])) for name in params}
    for part, norm in norms.items():
        assert float(norm) == pytest.approx(sum(sizes.get(name, 0) for name in model.parts[part]) ** 0.5)


def test_an_oracle_has_no_encoder_to_report() -> None:
    config = small_config(chance=dataclasses.replace(CONFIG.chance, encoder="oracle"))
    model = make_model(config, seed=0)
    assert "encoder" not in norms_by_part(nnx.state(model, nnx.Param), model.parts)
