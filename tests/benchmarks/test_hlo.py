"""Counts from the text of a compiled program: one program written by hand, and programs that XLA writes."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from benchmarks import gpu
from benchmarks.gpu import program_rows
from benchmarks.hlo import Launches, count_launches
from benchmarks.script import run_script
from launch.bench.learner import CONFIGS
from launch.errors import UserError
from launch.experiment.experiment import load_experiment
from muzero2048.muzero.train_step import make_learner

PROGRAM = """\
HloModule jit_f, is_scheduled=true

%fused (p: f32[8,4]) -> f32[8,4] {
  %p = f32[8,4]{1,0} parameter(0)
  ROOT %n = f32[8,4]{1,0} negate(%p)
}

%body (c: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {
  %c = (s32[], /*index=1*/f32[8,4]{1,0:T(8,128)}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %x = f32[8,4]{1,0} get-tuple-element(%c), index=1
  %f = f32[8,4]{1,0} fusion(%x), kind=kLoop, calls=%fused
  %pair = ((f32[8,4]{1,0}, bf16[2]{0}), pred[]) custom-call(%f), custom_call_target="__cudnn$conv(x)"
  ROOT %t = (s32[], f32[8,4]{1,0}) tuple(%i, %f)
}

%condition (c: (s32[], f32[8,4])) -> pred[] {
  %c = (s32[], f32[8,4]{1,0}) parameter(0)
  ROOT %yes = pred[] constant(true)
}

%one.1 (p: f32[8,4]) -> f32[8,4] {
  %p.1 = f32[8,4]{1,0} parameter(0)
  ROOT %sorted = f32[8,4]{1,0} sort(%p.1), dimensions={0}
}

%none (p: f32[8,4]) -> f32[8,4] {
  ROOT %p.2 = f32[8,4]{1,0} parameter(0)
}

ENTRY %main (a: f32[8,4], k: s32[]) -> f32[8,4] {
  %a = f32[8,4]{1,0} parameter(0)
  %k = s32[] parameter(1)
  %start = (s32[], f32[8,4]{1,0}) tuple(%k, %a)
  %known = (s32[], f32[8,4]{1,0}) while(%start), condition=%condition, body=%body, \
backend_config={"known_trip_count":{"n":"5"}}
  %unknown = (s32[], f32[8,4]{1,0}) while(%known), condition=%condition, body=%body
  %y = f32[8,4]{1,0} get-tuple-element(%unknown), index=1
  %either = f32[8,4]{1,0} conditional(%k, %y, %y), branch_computations={%none, %one.1}
  %called = f32[8,4]{1,0} call(%either), to_apply=%one.1
  %sum = f32[8,4]{1,0} all-reduce-start(%called), to_apply=%none
  %summed = f32[8,4]{1,0} all-reduce-done(%sum)
  %copy-start.1 = (f32[8,4]{1,0}, f32[8,4]{1,0}, u32[]) copy-start(%summed)
  ROOT %copy-done.1 = f32[8,4]{1,0} copy-done(%copy-start.1)
}
"""


def test_a_program_by_hand():
    board = 8 * 4 * 4
    body = Launches(2, 0, 2 * board + board + (board + 4 + 1), 0)  # the fusion and the library call of the loop body
    sort = Launches(1, 0, 2 * board, 0)
    assert count_launches(PROGRAM) == Launches(
        kernels=6 * body.kernels + 2 * sort.kernels + 2,
        waits=2,
        bytes=6 * body.bytes + 2 * sort.bytes + (3 * board + 4) + (2 * board),
        sent=board,
    )


def test_what_is_no_program_is_named():
    with pytest.raises(ValueError, match="no operation of an HLO module"):
        count_launches("ENTRY %main () -> f32[] {\n  %a = broken\n}\n")


def test_what_xla_writes_of_loops_is_read():
    def loops(x, count):
        known = jax.lax.fori_loop(0, 7, lambda i, y: jnp.sort(y), x)
        return jax.lax.fori_loop(0, count, lambda i, y: jnp.sort(-y), known)

    whole = count_launches(jax.jit(loops).lower(jnp.zeros(64), 3).compile().as_text())
    once = count_launches(jax.jit(lambda x: jnp.sort(x)).lower(jnp.zeros(64)).compile().as_text())
    assert once.waits == 0
    assert whole.waits == 1
    assert whole.kernels >= 8 * once.kernels > 0


@pytest.mark.slow
@pytest.mark.parametrize(("simulations", "waits"), [(4, False), (8, True)])
def test_a_search_of_one_batch_never_waits_for_the_host(simulations: int, waits: bool):
    """The programs are compiled for the CPU, where the blocks of a deeper search are loops of unknown length too."""
    settings = load_experiment(CONFIGS / "tiny.yaml", [f"muzero.search.simulations={simulations}"]).settings
    rows = program_rows("tiny", settings, tuple(jax.devices()))
    found = {(row.name, row.unit): row.value for row in rows}
    size = "tiny, 64 games, batch 128: "
    assert (found[size + "play, a move", "waits of the host, at least"] > 0) == waits
    assert found[size + "learn, an update", "waits of the host, at least"] == 0
    assert found[size + "play, a move", "launches"] > 10
    assert found[size + "learn, an update", "MB sent to the other devices"] == 0
    assert all(value > 0 for (_, unit), value in found.items() if not unit.startswith(("waits", "MB sent")))


@pytest.mark.slow
def test_a_tree_asks_the_host_less_on_a_gpu():
    """The programs are compared before XLA compiles them, so the test needs no GPU."""
    learner = make_learner(load_experiment(CONFIGS / "tiny.yaml", ["muzero.search.simulations=8"]).settings)
    traced = learner.fill.trace(learner.shapes())
    texts = {platform: traced.lower(lowering_platforms=(platform,)).as_text() for platform in ("cpu", "cuda")}
    for word in ("stablehlo.while", "stablehlo.case"):
        assert texts["cuda"].count(word) < texts["cpu"].count(word)


def test_without_the_plugin_there_is_a_line(monkeypatch: pytest.MonkeyPatch):
    def absent(*arguments, **options):
        raise NotImplementedError("topology not implemented for cuda")

    monkeypatch.setattr(gpu.topologies, "get_topology_desc", absent)
    monkeypatch.setattr(gpu.jax.config, "update", lambda *setting: None)  # keep the cache of the other tests
    with pytest.raises(UserError, match=r"compiles with JAX's CUDA plugin: pip install -e '\.\[gpu\]'"):
        gpu.bench(None, [], 1)


@pytest.mark.parametrize("words", ["my.yaml a=1 --gpus 2", "--gpus 2 my.yaml a=1", "my.yaml --gpus 2 a=1"])
def test_a_config_with_overrides_and_a_number_of_gpus(words: str, monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(gpu, "bench", lambda *what: asked.append(what) or [])
    assert run_script(gpu.parse, gpu.measure, words.split()) == 0
    assert asked == [(Path("my.yaml"), ["a=1"], 2)]
    assert run_script(gpu.parse, gpu.measure, ["a=1"]) == 2
    assert run_script(gpu.parse, gpu.measure, ["--gpus", "0"]) == 2
