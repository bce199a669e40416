"""How training spreads over the local devices: environments, replay and batches are cut, parameters are copied.

A mesh with the single axis "data"; one device is a mesh of one. The programs are those of one device: XLA partitions
them by the shardings of what goes in and out, so that the number of devices changes nothing but rounding.
"""

from typing import NamedTuple

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from muzero2048.config import MuZeroConfig


class Shardings(NamedTuple):
    """Where arrays lie."""

    copied: NamedSharding  # whole on every device
    cut: NamedSharding  # along the first axis, of environments or of a batch


def make_shardings(config: MuZeroConfig) -> Shardings:
    """Shardings over all local devices.

    Raises:
        ValueError: if environments or batch cannot be cut evenly.
    """
    devices = jax.local_device_count()
    for name, size in (("num_envs", config.num_envs), ("replay.batch_size", config.replay.batch_size)):
        if size % devices:
            raise ValueError(f"{name} is {size}: must be a multiple of the number of devices, {devices}")
    mesh = jax.make_mesh((devices,), ("data",), axis_types=(AxisType.Auto,))
    return Shardings(NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data")))
