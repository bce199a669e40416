"""A trace of the device during one report of a training (`run.profile`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def recording(folder: Path) -> Iterator[None]:
    """Record a trace of JAX in the `with` block into the folder, and print the path of the trace."""
    import jax

    with jax.profiler.trace(folder):
        yield
    trace = max(folder.rglob("*.trace.json.gz"), key=lambda file: file.stat().st_mtime)
    print(f"profile of one report: {trace} for ui.perfetto.dev, or tensorboard --logdir {folder}", flush=True)
