"""A full disk: within a `with` block a write beyond a size of its file fails, as the rest of it does at `close`."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_beyond(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes; keep other writes out of the block, also prints."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
