"""A training prints the memory that it needs, and then takes this memory; one that cannot fit is refused."""

import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import pytest

from launch import memory
from launch.cli import main
from launch.experiment import registry
from launch.experiment.experiment import load_experiment
from launch.memory import available_bytes, check_memory, device_bytes, size_text

CONFIGS = Path(__file__).parents[2] / "configs"
TINY = CONFIGS / "muzero" / "tiny.yaml"


def test_a_training_says_what_it_takes(toy_yaml: Path, capsys, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2.5e9)
    assert main(["train", "toy.yaml"]) == 0
    assert "\nmemory: 0.0 kB of 2.5 GB (a weight: 0.0 kB)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("config", "override", "words"),
    [
        ("ntuple/8x6-otc", "ntuple.stages=2^5", ("4,294,967,296 weights of 12 bytes: 51.5 GB", "lower ntuple.stages")),
        (
            "muzero/tiny",
            "muzero.replay.capacity=1_024_000_000_000",
            (
                "tiny-muzero takes 31,7",
                "replay of 1,024,000,000,000 moves, 31 bytes each",
                "lower muzero.replay.capacity",
            ),
        ),
        ("deep_td/td-cnn-2x2", "deep_td.replay.capacity=1_024_000_000_000", ("lower deep_td.replay.capacity",)),
    ],
)
def test_a_training_that_cannot_fit_is_refused_and_leaves_nothing(config, override, words, mistake, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 16e9)
    line = mistake("train", str(CONFIGS / f"{config}.yaml"), override)
    assert all(word in line for word in (*words, " and 16.0 GB are there; lower "))
    assert not Path("runs").exists()


def test_a_program_that_does_not_fit_ends_with_a_line(toy_yaml: Path, mistake, monkeypatch):
    """The memory that a program takes while it runs is not known in advance."""
    text = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9.9GiB.\nBufferAssignment: ..."

    def advance(self, tick):
        raise RuntimeError(text)

    monkeypatch.setattr("toy.ToyLearner.advance", advance)
    assert mistake("train toy.yaml") == (
        "one takes more memory than there is (RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 9.9GiB.); lower toy.rate"
    )
    text = "INTERNAL: broken"
    with pytest.raises(RuntimeError, match="broken"):
        main(["train", "toy.yaml", "run.name=other"])


@pytest.mark.parametrize("config", ["muzero/tiny", pytest.param("deep_td/td-cnn-2x2", marks=pytest.mark.slow)])
def test_the_state_of_a_learner_on_the_device_takes_what_was_said(config: str):
    experiment = load_experiment(CONFIGS / f"{config}.yaml")
    said = registry.memory(experiment.learner, experiment.settings)
    state = registry.make_learner(experiment.learner, experiment.settings, 1)._state
    assert sum(said.values()) == sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state))


@pytest.mark.parametrize(
    ("fraction", "average", "stages", "count"),
    [
        (0.5, 0, "2^3", 8),
        pytest.param(0.0, 0, "2^3", 8, marks=pytest.mark.slow),
        (0.5, 500, "2^3", 8),
        pytest.param(0.5, 0, "[]", 1, marks=pytest.mark.slow),
    ],
    ids=["tc", "td", "average", "one-stage"],
)
def test_an_n_tuple_learner_takes_what_was_said(tmp_path: Path, fraction: float, average: int, stages: str, count: int):
    overrides = [f"ntuple.step_size.adaptive_fraction={fraction}", "ntuple.env_steps=2000", "ntuple.threads=1"]
    overrides += [f"ntuple.average.env_steps={average}", "ntuple.report_env_steps=500", f"ntuple.stages={stages}"]
    overrides += ["ntuple.exploration.temperature=0"]  # the kernel of other tests
    settings = load_experiment(CONFIGS / "ntuple/2x3.yaml", overrides).settings
    learner = registry.make_learner("ntuple", settings, 1)
    while learner.progress["env_steps"] < learner.env_steps_total:
        learner.advance()
    tables, *mean, stage = registry.memory("ntuple", settings).values()
    weights = tables // (12 if fraction else 4)
    assert tables == learner.network.weights.nbytes + learner.network.memory.nbytes
    assert (mean, stage) == ([4 * weights] if average else [], 4 * weights // count)
    assert _peak(partial(learner.save, tmp_path)) < 1.05 * stage + 3e5
    del learner
    whole = _peak(lambda: registry.make_learner("ntuple", settings, 1).restore(tmp_path))
    assert whole < 1.05 * sum((tables, *mean, stage)) + 2e6


def _peak(work: Callable[[], None]) -> int:
    """Return the largest number of bytes that arrays and objects took while it worked."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_an_accelerator_says_what_it_has(monkeypatch):
    class Accelerator:
        def memory_stats(self) -> dict[str, int]:
            return {"bytes_limit": 1_000_000}

    assert device_bytes() == pytest.approx(available_bytes(), rel=0.2)
    monkeypatch.setattr(jax, "local_devices", lambda: [Accelerator()])
    assert device_bytes() == 1e6
    experiment = load_experiment(TINY, ["muzero.replay.capacity=16384"])
    assert " of 1.0 MB (replay of 16,384 moves, 31 bytes each: 507.9 kB, " in check_memory(experiment)


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/slurm/job_7/step_0\n", {"slurm/job_7/memory.max": "3000", "slurm/job_7/step_0/memory.max": "max"}, 3000),
        ("0::/\n", {"memory.max": "4000"}, 4000),
        ("0::/a\n",
         {"a/memory.max": "4000", "a/memory.current": "3000", "a/memory.stat": "file 900\ninactive_file 500\n"}, 1500),
        ("0::/\n", {"memory.max": "9000"}, 8192),
        ("3:cpu,cpuacct:/a\n2:memory:/docker/7\n0::/\n",
         {"memory/memory.limit_in_bytes": "5000", "cpu/a/memory.limit_in_bytes": "1",
          "memory/memory.usage_in_bytes": "2000", "memory/memory.stat": "cache 7\ntotal_inactive_file 100\n"}, 3100),
        ("2:hugetlb,memory:/slurm/job_7\n",
         {"memory/slurm/job_7/memory.limit_in_bytes": "2000", "memory/memory.limit_in_bytes": "9223372036854771712"},
         2000),
    ],
    ids=["2, the group above", "2, in a container", "2, in use", "no more than there is", "1, in use", "1, job"],
)  # fmt: skip
def test_a_job_takes_no_more_than_its_control_groups_allow(groups, limits, expected, tmp_path: Path, monkeypatch):
    files = {"proc/self/cgroup": groups, "proc/meminfo": "MemTotal: 9 kB\nMemAvailable:  8 kB\n"}
    for name, text in (files | {f"groups/{name}": text for name, text in limits.items()}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "groups")
    assert available_bytes() == expected


def test_sizes_are_readable():
    assert [size_text(size) for size in (12, 1e3, 2.345e6, 2.5e12)] == ["0.0 kB", "1.0 kB", "2.3 MB", "2,500.0 GB"]
