"""One run on several processes: how they join, exchange values, and end when one of them is lost.

JAX's distributed runtime starts them and sends heartbeats: if a process is lost, it ends the others, and its message
names the lost one. Two things are added here. Values are exchanged through the runtime's key-value store, because the
functions of `jax.experimental.multihost_utils` are computations of the devices, and the others may have to wait for
hours while the first process evaluates. And a process that ends with an error tells those that wait for it.
"""

import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NoReturn

from launch.errors import LaunchError, UserError
from launch.experiment import registry

STORE, ERRORS = "muzero2048", "muzero2048/error/"  # keys of the store
LOST_SECONDS = 30  # without a heartbeat until a process counts as lost; a process that compiles sends heartbeats
STORE_SECONDS = 2.0  # that process 0 keeps the store alive after an error, so that the others can read it
JOIN_SECONDS = 300  # that a process waits for the others to start

# Variables with the number of processes. The first that is set counts; the order is that of JAX, in which mpirun within
# a SLURM step comes before the step.
NUM_PROCESSES, PROCESS_ID, ADDRESS = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"
COUNTS = (NUM_PROCESSES, "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")


class Processes(AbstractContextManager["Processes"]):
    """A single process: it is the first, its values are those of all, and it never waits."""

    is_first = True
    is_alone = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes in order. All processes must make the same calls.

        The values are of JSON. The call may wait for hours; signals are handled meanwhile.
        """
        return [value]

    def anyone(self, flag: bool) -> bool:
        """Return whether the flag is true in any process."""
        return any(self.gather(flag))

    def of_first(self, value: Callable[[], Any]) -> Any:
        """Return the value that the function has in the first process; the others do not call it."""
        return self.gather(value() if self.is_first else None)[0]

    def wait(self) -> None:
        """Wait until all processes have made this call."""
        self.gather(None)


class JoinedProcesses(Processes):
    """One of several processes. An error in its `with` block ends all of them."""

    is_alone = False

    def __init__(self, client: Any, index: int, count: int) -> None:
        """Exchange host names with the others; `client` is that of JAX's distributed runtime."""
        self._client, self._index, self._count = client, index, count
        self.is_first = index == 0
        self._calls = 0
        self._host = socket.gethostname()
        hosts = self.gather(self._host)
        if self.is_first:
            print(f"processes: {', '.join(f'{i} on {host}' for i, host in enumerate(hosts))}", flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.wait()
        elif isinstance(error, LaunchError):
            self._end(error.exit_code, str(error))
        else:
            from jax.errors import JaxRuntimeError

            traceback.print_exception(error)
            # The cause may be a lost process: a computation with it fails at once. JAX needs longer to notice, and then
            # ends this process with the cause.
            if isinstance(error, JaxRuntimeError):
                time.sleep(LOST_SECONDS + 5)
            self._end(1, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")

    def gather(self, value: Any) -> list[Any]:
        """See `Processes.gather`."""
        place, self._calls = f"{STORE}/{self._calls}/", self._calls + 1
        self._client.key_value_set(f"{place}{self._index}", json.dumps(value))
        began = time.monotonic()
        while len(given := self._client.key_value_dir_get(place)) < self._count:
            if errors := self._client.key_value_dir_get(ERRORS):
                exit_code, line = json.loads(errors[0][1])
                self._exit(exit_code, line)
            time.sleep(min(0.5, 0.002 + (time.monotonic() - began) / 10))
        if self._calls > 1:  # all processes make this call, so all have read the values of the call before
            self._client.key_value_delete(f"{STORE}/{self._calls - 2}/{self._index}")
        return [json.loads(text) for _, text in sorted(given, key=lambda pair: int(pair[0].rpartition("/")[2]))]

    def _end(self, exit_code: int, line: str) -> NoReturn:
        """Tell the others why this process ends; those that wait for it end with the same exit code."""
        try:
            told = f"process {self._index} of {self._count} on {self._host} ended: {line}"
            self._client.key_value_set(f"{ERRORS}{self._index}", json.dumps([exit_code, told]))
        finally:  # the store may be lost, with the first process
            self._exit(exit_code, line)

    def _exit(self, exit_code: int, line: str) -> NoReturn:
        """Print the reason and exit at once: a normal exit of JAX would wait for the others, which may be stuck."""
        print(f"error: {line}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        if self.is_first:
            time.sleep(STORE_SECONDS)
        os._exit(exit_code)


def join(learner: str) -> Processes:
    """Join the processes that the environment variables describe (docs/scale.md)."""
    source = next((name for name in COUNTS if name in os.environ), NUM_PROCESSES)
    count = _number(source, "1")
    if count < 1:
        raise UserError(f"{source} is {count}; set it to the number of processes, or leave it out")
    if count == 1:
        return Processes()
    if not registry.spec_of(learner).several_processes:
        raise UserError(
            f"{source} is {count}, but the learner '{learner}' trains in one process;"
            f" set {NUM_PROCESSES}=1, also for processes that train runs of their own"
        )
    import jax
    from jax._src.distributed import global_state  # JAX has no public way to its key-value store

    jax.config.update("jax_enable_preemption_service", False)  # launch/signals.py handles signals
    by_hand: dict[str, Any] = {}
    if source == NUM_PROCESSES:
        if not os.environ.get(ADDRESS, "").rpartition(":")[2].isdecimal():
            address = f"is '{os.environ[ADDRESS]}'" if ADDRESS in os.environ else "is not set"
            raise UserError(f"{source} is {count}, but {ADDRESS} {address}; give host:port of the first process")
        index = _number(PROCESS_ID)
        by_hand = {"num_processes": count, "process_id": index, "cluster_detection_method": "deactivate"}
    where = f" at {os.environ[ADDRESS]}" if ADDRESS in os.environ else ""
    print(f"waiting up to {JOIN_SECONDS} s for {count} processes ({source}){where}", flush=True)
    try:
        jax.distributed.initialize(
            initialization_timeout=JOIN_SECONDS, heartbeat_timeout_seconds=LOST_SECONDS, **by_hand
        )
    except (ValueError, RuntimeError) as error:
        line = str(error).partition("\n")[0]
        raise UserError(
            f"{count} processes ({source}) do not find each other: {line}; set {ADDRESS}, {NUM_PROCESSES} and"
            f" {PROCESS_ID}"
        ) from error
    return JoinedProcesses(global_state.client, global_state.process_id, global_state.num_processes)


def _number(name: str, default: str = "") -> int:
    word = os.environ.get(name, default)
    if not word.isdecimal():
        raise UserError(f"{name} is '{word}'; set it to a number")
    return int(word)
