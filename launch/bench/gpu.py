"""Launches, waits and memory of the MuZero learner's programs on a GPU, from compiling them without one.

The benchmark needs JAX's CUDA plugin, `pip install -e '.[gpu]'`, but no GPU and no driver. On a machine with a GPU, XLA
selects kernels by timing them, so its programs may differ a little from these.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import jax
from jax.experimental import topologies

from launch.bench.hlo import count_launches
from launch.bench.learner import experiments, trace
from launch.bench.rows import Row
from launch.errors import UserError
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.train_step import make_learner
from muzero2048.training.devices import Devices

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


def bench_gpu(file: Path | None, overrides: Sequence[str], count: int) -> list[Row]:
    """Compile the programs of one config, or of four configs.

    Args:
        file: a config file; None: the four configs of `experiments`.
        overrides: "key=value" that change the config.
        count: number of GPUs of one machine.

    Returns:
        The rows of all configs.

    Raises:
        UserError: the plugin is not installed, or the config is missing, wrong, of another learner, or cannot be split
            among the GPUs.
    """
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
        found = topologies.get_topology_desc("H200", "cuda", target_config=H200, topology=f"1x1x{count}").devices
    except NotImplementedError as error:
        raise UserError("bench gpu compiles with JAX's CUDA plugin: pip install -e '.[gpu]'") from error
    return tuple(found)


def program_rows(name: str, config: MuZeroConfig, devices: Devices) -> list[Row]:
    """Compile the programs `play` and `learn` of a config.

    Args:
        name: name of the config, for the rows.
        config: the config.
        devices: the devices to compile for.

    Returns:
        The cost on each device of a move of all games and of an update, and memory and compile time of each program.
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
        found, label = count_launches(program.as_text()), f"{name}, {size}: {kind}"
        rows += [
            Row(f"{label}, {what}", found.kernels / steps, "launches", {}),
            Row(f"{label}, {what}", found.waits / steps, "waits of the host, at least", {}),
            Row(f"{label}, {what}", found.bytes / steps / 1e9, "GB read and written, at most", {}),
            Row(f"{label}, {what}", found.sent / steps / 1e6, "MB sent to the other devices", {}),
            Row(f"{label}, temporary memory", memory.temp_size_in_bytes / 1e6, "MB", {}),
            Row(f"{label}, state", memory.argument_size_in_bytes / 1e6, "MB", {}),
            Row(f"{label}, compiling", seconds, "s", {}),
        ]
    return rows
