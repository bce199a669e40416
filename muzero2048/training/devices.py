"""How training is divided among the devices of all processes.

Environments, replay and batches are cut among the devices; parameters are copied to all of them. The devices form a
mesh with the single axis "data"; one device is a mesh of one.

The programs are those of one device. XLA partitions them by the shardings of their arguments and results, so the number
of devices changes only rounding. Two parts are exceptions, which state the cut explicitly: the search (`by_device`),
since XLA would let every device search all boards, and the gradients (`sum_by_device`), which are added up as one
vector.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.flatten_util import ravel_pytree
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from muzero2048.training.config import TrainingConfig

Devices = tuple[jax.Device, ...]


class Shardings(NamedTuple):
    """Where arrays lie."""

    copied: NamedSharding  # the whole array on every device
    cut: NamedSharding  # cut along the first axis, of environments or of a batch


def make_shardings(config: TrainingConfig, devices: Devices | None = None) -> Shardings:
    """Return the shardings over `devices`, or over all devices of all processes (None).

    Raises:
        ValueError: if environments, batch, or the reanalysed part of the batch cannot be divided evenly.
    """
    devices, replay = devices or tuple(jax.devices()), config.replay
    count = len(devices)
    for name, size in (
        ("num_envs", config.num_envs),
        ("replay.batch_size", replay.batch_size),
        ("replay.reanalyse * replay.batch_size", replay.reanalysed),
    ):
        if size % count:
            raise ValueError(f"{name} is {size}: must be a multiple of the number of devices, {count}")
    mesh = jax.make_mesh((count,), ("data",), axis_types=(AxisType.Auto,), devices=devices)
    return Shardings(NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data")))


def by_device(function: Callable[[Any, Any], Any], rows: NamedSharding) -> Callable[[Any, Any], Any]:
    """Let each device run a function of (parameters, batch) on its own rows of the batch.

    The function must treat each row by itself.
    """
    return _on_own_rows(function, rows, rows.spec)


def sum_by_device(function: Callable[[Any, Any], Any], rows: NamedSharding) -> Callable[[Any, Any], Any]:
    """Let each device run a function of (parameters, batch) on its own rows of the batch, and add up the first result.

    The function returns what is summed, a pytree of one dtype, and an array of one row for each row of the batch. The
    sum is one vector: devices wait for each other at every array that they add, on CPU cores about 50 us.
    """

    def run(parameters: Any, batch: Any) -> Any:
        part, each = function(parameters, batch)
        if rows.mesh.size == 1:
            return part, each
        vector, unravel = ravel_pytree(part)
        return unravel(jax.lax.psum(vector, rows.mesh.axis_names)), each

    return _on_own_rows(run, rows, (PartitionSpec(), rows.spec))


def _on_own_rows(function: Callable[[Any, Any], Any], rows: NamedSharding, results: Any) -> Callable[[Any, Any], Any]:
    """Let each device run a function of (parameters, batch) on its own rows; `results`: how its results are cut."""
    cut = PartitionSpec(), rows.spec
    return jax.shard_map(function, mesh=rows.mesh, in_specs=cut, out_specs=results, check_vma=False)


def local_part(arrays: Any) -> Any:
    """Return what the first device of this process holds, without a copy; other processes take no part.

    Of arrays that are cut this is the part of this device.
    """
    return jax.tree.map(lambda x: x.addressable_data(0), arrays)


def local_copy(copied: Any) -> Any:
    """Copy arrays that every device holds whole to the first device of this process; other processes take no part."""
    return jax.device_put(local_part(copied), jax.local_devices()[0], may_alias=False)
