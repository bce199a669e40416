"""Launches, waits and memory of the MuZero learner's programs on a GPU, from compiling them without one.

python -m benchmarks.gpu [CONFIG [KEY=VALUE ...]] [--gpus N] [--json]

It needs JAX's CUDA plugin, `pip install -e '.[gpu]'`, but no GPU and no driver. On a machine with a GPU, XLA
selects kernels by timing them, so its programs may differ a little from these.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jax
from jax.experimental import topologies

from benchmarks.hlo import count_launches
from benchmarks.script import run_script
from launch.bench.learner import experiments, trace
from launch.bench.rows import BenchRow
from launch.commands.parser import Parser, add_json, config_and_overrides
from launch.errors import UserError
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.train_step import make_learner
from muzero2048.training.devices import Devices

MOST_GPUS = 4096  # limit of --gpus: XLA keeps a record of each device
# Description of an H200 for XLA (stream_executor.GpuTargetConfigProto).
H200 = """
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 }
gpu_device_info {
  name: "H200" cuda_compute_capability { major: 9 feature_extension: ACCELERATED_FEATURES } device_address_bits: 64
  core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98 memory_bandwidth: 4800000000000 l2_cache_size: 52428800
  device_memory_size: 151397597184 shared_memory_per_core: 233472 shared_memory_per_block: 49152
  shared_memory_per_block_optin: 232448 registers_per_core_limit: 65536 registers_per_block_limit: 65536
  threads_per_warp: 32 threads_per_block_limit: 1024 threads_per_core_limit: 2048
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  runtime_version: "13.0.0" driver_version: "13.0.0" compile_time_toolkit_version: "13.0.0"
}
"""


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the words of the command line."""
    parser = Parser(prog="python -m benchmarks.gpu", description="Compile the learner's programs for GPUs.")
    parser.add_argument("config", nargs="?", type=Path, metavar="CONFIG", help="a MuZero experiment (default: four)")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="changes a key of the config")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="GPUs of one machine (default: 1)")
    add_json(parser)
    return parser.parse_intermixed_args(argv)


def measure(arguments: argparse.Namespace) -> list[BenchRow]:
    """Return the rows that the command line asks for; UserError if it is wrong."""
    config, overrides = config_and_overrides(arguments)
    if not 1 <= arguments.gpus <= MOST_GPUS:
        raise UserError(f"--gpus is {arguments.gpus}; give 1 to {MOST_GPUS}")
    return bench(config, overrides, arguments.gpus)


def bench(file: Path | None, overrides: Sequence[str], count: int) -> list[BenchRow]:
    """Compile the programs of one config, or of the four configs of `experiments`, for a number of GPUs."""
    devices = absent_devices(count)
    rows = []
    for name, config in experiments(file, overrides):
        try:
            rows += program_rows(name, config, devices)
        except ValueError as error:  # such as environments that cannot be split among the devices
            raise UserError(f"{name}: {error}") from error
    return rows


def absent_devices(count: int) -> Devices:
    """Return descriptions of GPUs, which programs can be compiled for but not run on."""
    jax.config.update("jax_enable_compilation_cache", False)  # since compiling is timed
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"  # otherwise the plugin looks for a driver
    try:
        topology = topologies.get_topology_desc("H200", "cuda", target_config=H200, topology=f"1x1x{count}")
    except NotImplementedError as error:
        raise UserError("this benchmark compiles with JAX's CUDA plugin: pip install -e '.[gpu]'") from error
    return tuple(topology.devices)


def program_rows(name: str, config: MuZeroConfig, devices: Devices) -> list[BenchRow]:
    """Compile the programs `play` and `learn` of a config.

    The rows have the cost on each device of a move of all games and of an update, and memory and compile time.
    """
    learner = make_learner(config, devices)
    size = f"{config.num_envs} games, batch {config.replay.batch_size}"
    rows = []
    for kind, traced in trace(learner).items():
        # A chunk has one more search, after its last move.
        what, steps = ("a move", config.chunk + 1) if kind == "play" else ("an update", config.updates_per_chunk)
        began = time.perf_counter()
        program = traced.lower().compile()
        seconds, memory = time.perf_counter() - began, program.memory_analysis()
        launches, label = count_launches(program.as_text()), f"{name}, {size}: {kind}"
        rows += [
            BenchRow(f"{label}, {what}", launches.kernels / steps, "launches"),
            BenchRow(f"{label}, {what}", launches.waits / steps, "waits of the host, at least"),
            BenchRow(f"{label}, {what}", launches.bytes / steps / 1e9, "GB read and written, at most"),
            BenchRow(f"{label}, {what}", launches.sent / steps / 1e6, "MB sent to the other devices"),
            BenchRow(f"{label}, temporary memory", memory.temp_size_in_bytes / 1e6, "MB"),
            BenchRow(f"{label}, state", memory.argument_size_in_bytes / 1e6, "MB"),
            BenchRow(f"{label}, compiling", seconds, "s"),
        ]
    return rows


if __name__ == "__main__":
    sys.exit(run_script(parse, measure))
