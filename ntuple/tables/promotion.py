"""Promotion: the weight of an entry before its first update is that of a related entry.

`weight_of` looks such a weight up, so play changes nothing. `promoted` writes all of them out, for uses that have no
promotion: files of other programs, folded networks and means of networks.
"""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntuple.game.jit import either, field_type, inline, kernel
from ntuple.tables import cpu_placement
from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.layout import index_at_place, place_of_index, smaller_index
from ntuple.tables.network import INTER, INTRA, PROMOTIONS, Network


def by_promotion(without: Callable[..., Any], promoted: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a network and other arguments that is `promoted`, or `without` for one without promotion."""
    return either(without, promoted, lambda network, *_: field_type(network, "promotion") is not None)


@kernel
def weight_of(network: Network, base: np.uint64, m: int, place: np.uint32) -> np.float32:
    """Return the weight of an entry; before its first update, the weight that it is promoted to.

        P_k[i] = w_k[i]        if entry i of stage k has been updated, else
                 w_k[half(i)]  if that entry has been updated (intra), else
                 P_{k-1}[i]    if k > 0 (inter), else
                 the initial weight

    k is the stage and half(i) is the entry with all tiles halved. An entry counts as not updated while it has the
    initial weight. Source: Jaskowski 2017, sec. V-D2 (inter); Matsuzaki 2017, sec. 4.2 (intra; "both" tries intra
    first).

    The papers copy a weight when it is first evaluated, so a copy of a copy is possible. Here a weight is written at
    its first update, and the look-up goes back stage by stage instead. Tiles are halved only once. Repeated halving
    would end at the entry of empty cells, which always has an update, and "both" would never reach the previous stage.

    Args:
        base: the first entry of the entry's part.
    """
    kinds: Any = network.promotion  # bits, since a network without promotion does not come here
    weight = _raw_weight(network, base, m, place)
    if weight != network.initial:
        return weight
    smaller = smaller_place(network, place, m) if kinds & INTRA else place
    stage_size = network.part_size * network.hints
    while True:
        if kinds & INTRA:
            weight = _raw_weight(network, base, m, smaller)
        if weight != network.initial or not kinds & INTER or base < stage_size:
            return weight
        base -= stage_size
        weight = _raw_weight(network, base, m, place)
        if weight != network.initial:
            return weight


@kernel
def smaller_place(network: Network, place: np.uint32, m: int) -> np.uint32:
    """Return the place of the entry with all tiles halved."""
    if network.digits.size == 0:
        paired, salt = network.paired[m], network.salts[m]
        return place_of_index(smaller_index(index_at_place(place, paired, salt)), paired, salt)
    smaller, unit = np.uint32(0), np.uint32(1)
    while place > 0:
        digit = place % network.levels
        smaller += unit * (digit - np.uint32(digit > 0))
        place //= network.levels
        unit *= network.levels
    return np.uint32(smaller)


@inline
def _raw_weight(network: Network, base: np.uint64, m: int, place: np.uint32) -> np.float32:
    return network.weights[base + network.tables[m] + np.uint64(place)]


@kernel
def _write_out(network: Network, base: np.uint64, m: int, out: NDArray[np.float32]) -> None:
    """Fill `out` with the promoted weights of table m of a stage, in the order of its entries."""
    for place in range(out.size):
        out[place] = weight_of(network, base, m, np.uint32(place))


def promoted(network: Network) -> Network:
    """Return a network with the same values, without promotion.

    A network without promotion is returned unchanged. Else the new network takes 4 bytes for each weight.
    """
    if network.promotion is None:
        return network
    weights, size = cpu_placement.zeros(network.weights.size), int(network.part_size)

    def write_out(stage: int, m: int, start: int, end: int) -> None:
        _write_out(network, np.uint64(stage), m, weights[stage + start : stage + end])

    tables = enumerate(itertools.pairwise((*network.tables.tolist(), size)))
    tasks = [(stage, m, *ends) for m, ends in tables for stage in range(0, weights.size, size)]
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(write_out, *zip(*tasks, strict=True)))
    return network._replace(weights=weights, promotion=PROMOTIONS["none"])
