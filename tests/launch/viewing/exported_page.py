"""What is in a page of `serve --export`, read apart from the code that writes it, and networks to export."""

import base64
import json
import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from launch.viewing.export.page import render
from launch.viewing.export.weights import pack
from ntuple import NTupleConfig
from ntuple.files.stored_network import StoredNetwork
from ntuple.tables.stages import count_stages


def description_of(page: str) -> dict[str, Any]:
    """Return the network of a page, without its weights."""
    return json.loads(_element(page, "network"))


def weights_of(page: str) -> NDArray[np.float32]:
    """Return the weights that a page computes with, in the order of files."""
    network = description_of(page)
    halves = np.frombuffer(zlib.decompress(base64.b64decode(_element(page, "weights"))), "<f2").astype(np.float32)
    sizes = [network["levels"] ** len(pattern) for pattern in network["patterns"]]
    return halves * np.repeat(np.float32(network["scales"]), sizes)


def random_network(rng: np.random.Generator, size: float, **keys: Any) -> StoredNetwork:
    """Return a network of random weights up to `size` points."""
    config = NTupleConfig(**keys)
    count = sum(StoredNetwork(config, np.zeros(0, np.float32)).table_sizes) * count_stages(config.stages)
    return StoredNetwork(config, rng.uniform(-0.2 * size, size, count).astype(np.float32))


def page_of(network: StoredNetwork, score_line: str | None = None) -> str:
    """Return the page of a network."""
    tables = [table[0] for table in network.tables(network.weights)]
    return render("<made>", 1000, network, pack(tables, 10**9), score_line)


def _element(page: str, name: str) -> str:
    match = re.search(rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', page, re.S)
    assert match
    return match[1]
