"""How training spreads over the devices of all processes: environments, replay and batches are cut, parameters copied.

A mesh with the single axis "data"; one device is a mesh of one. The programs are those of one device: XLA partitions
them by the shardings of what goes in and out, so that the number of devices changes nothing but rounding. The search
alone is told where the cut is: XLA would have every device search all the boards.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from muzero2048.muzero.config import MuZeroConfig

Devices = tuple[jax.Device, ...]


class Shardings(NamedTuple):
    """Where arrays lie."""

    copied: NamedSharding  # whole on every device
    cut: NamedSharding  # along the first axis, of environments or of a batch


def make_shardings(config: MuZeroConfig, devices: Devices | None = None) -> Shardings:
    """Shardings over devices, or over all of all processes (None).

    Raises:
        ValueError: if environments, batch, or what of it is searched anew cannot be cut evenly.
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
    """The function of (parameters, batch) that treats each row by itself, run by each device on its own rows."""
    return jax.shard_map(
        function, mesh=rows.mesh, in_specs=(PartitionSpec(), rows.spec), out_specs=rows.spec, check_vma=False
    )


def local_copy(copied: Any) -> Any:
    """A copy of whole arrays on the first device of this process, which the others need not know of."""
    own = jax.tree.map(lambda x: x.addressable_data(0), copied)
    return jax.device_put(own, jax.local_devices()[0], may_alias=False)
