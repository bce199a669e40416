"""One run on several processes: how they join, exchange values, and end when one of them is lost.

All messages go through the key-value store of JAX's distributed runtime, which is in the first process. Each process
keeps one key there, its heartbeat: a count that grows every `BEAT_SECONDS`, whether a signal requested a stop, and its
exit code. A single process does not import jax for this.
"""

import ctypes
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

from launch.errors import LaunchError, UserError
from launch.learners import registry
from launch.machine.signals import StopSignals

BEAT_SECONDS = 2.0  # between two heartbeats
LOST_SECONDS = 30.0  # without a heartbeat until a process counts as lost; a process that compiles sends heartbeats
JAX_LOST_SECONDS = 50  # until JAX itself ends the others; needed if the watching thread is stuck
STORE_SECONDS = 10.0  # that process 0 keeps the store alive on exit, so that others can read its last heartbeat
LOST = 1  # exit code

JOIN_SECONDS = 300  # that a process waits for the others to start
_explanations: list[Any] = []  # keeps the callbacks of `_explain_abort` from being freed

# Variables with the number of processes. The first that is set counts; the order is that of JAX, in which mpirun within
# a SLURM step comes before the step.
NUM_PROCESSES, PROCESS_ID, ADDRESS = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"
COUNTS = (NUM_PROCESSES, "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")


class Processes:
    """A single process: it is the first, its values are those of all, and it never waits."""

    is_first = True
    is_alone = True

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def watch(self, stop: StopSignals) -> None:
        """Start to watch the others: end when they end, and stop when any process gets a signal."""

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


@dataclass
class Beat:
    """The last heartbeat of a process."""

    count: int = 0
    stop: bool = False  # whether a signal requested a stop
    exit_code: int | None = None  # None: it has not ended
    line: str = ""  # why it ended


class JoinedProcesses(Processes):
    """One of several processes. An error in its `with` block ends all of them."""

    is_alone = False

    def __init__(self, client: Any, address: str, index: int, count: int) -> None:
        """Exchange host names with the others.

        Args:
            client: of JAX's distributed runtime.
            address: host:port of the first process.
            index: number of this process.
            count: number of processes.
        """
        self._client, self._address, self._index, self._count = client, address, index, count
        self.is_first = index == 0
        self._calls = 0
        self._beat = Beat()
        self._beats = {other: Beat() for other in range(count)}
        self._hosts = self.gather(socket.gethostname())
        self._changed = dict.fromkeys(self._beats, time.monotonic())  # when the heartbeat of each last changed
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None
        self._ending = threading.Lock()  # never released: either the watching thread or the training ends the process

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.wait()
            self._ended.set()
            if self._watcher:
                self._watcher.join()
        elif isinstance(error, LaunchError):
            self._end(error.exit_code, str(error))
        else:
            traceback.print_exception(error)
            # The cause may be a lost process: a computation with it fails at once. The watching thread needs longer to
            # notice, and then ends this process with the cause.
            time.sleep(LOST_SECONDS + 5 * BEAT_SECONDS)
            self._end(1, f"{type(error).__name__}: {_first_line(error)}")

    def gather(self, value: Any) -> list[Any]:
        """See `Processes.gather`."""
        place, self._calls = f"muzero2048/{self._calls}/", self._calls + 1
        self._client.key_value_set(f"{place}{self._index}", json.dumps(value))
        began = time.monotonic()
        while len(given := self._client.key_value_dir_get(place)) < self._count:
            time.sleep(min(0.5, 0.002 + (time.monotonic() - began) / 10))
        if self._calls > 1:  # all processes make this call, so all have read the values of the call before
            self._client.key_value_delete(f"muzero2048/{self._calls - 2}/{self._index}")
        return [json.loads(text) for _, text in sorted(given, key=lambda pair: int(pair[0].rpartition("/")[2]))]

    def watch(self, stop: StopSignals) -> None:
        """See `Processes.watch`."""
        self._watcher = threading.Thread(target=self._watch, args=(stop,), daemon=True)
        self._watcher.start()
        _explain_abort(self._why_abort)

    def _watch(self, stop: StopSignals) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            self._beat.count += 1
            self._beat.stop = stop.requested
            try:
                self._exchange()
            except Exception as error:  # of the runtime: the store is lost with the first process
                self._end(LOST, _loss([self._name(0)], _first_line(error)))
            now = time.monotonic()
            lost = [other for other, changed in self._changed.items() if now - changed > LOST_SECONDS]
            if lost:
                names = [self._name(other) for other in lost]
                self._end(LOST, _loss(names, f"no heartbeat for {LOST_SECONDS:.0f} s"), lost)
            for other, beat in self._beats.items():
                if beat.exit_code is not None:
                    self._end(beat.exit_code, f"{self._name(other)} ended: {beat.line}")
            if not stop.requested and any(beat.stop for beat in self._beats.values()):
                os.kill(os.getpid(), signal.SIGTERM)

    def _exchange(self) -> None:
        """Write the heartbeat of this process and read those of the others."""
        self._client.key_value_set(f"muzero2048/beat/{self._index}", json.dumps(vars(self._beat)), allow_overwrite=True)
        for key, text in self._client.key_value_dir_get("muzero2048/beat/"):
            other, beat = int(key.rpartition("/")[2]), Beat(**json.loads(text))
            if beat != self._beats[other]:
                self._beats[other], self._changed[other] = beat, time.monotonic()

    def _end(self, exit_code: int, line: str, lost: Sequence[int] = ()) -> NoReturn:
        """Print the reason and exit at once: a normal exit of JAX would wait for others, which may be stuck."""
        self._ending.acquire()
        self._ended.set()
        print(f"error: {line}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        self._beat.exit_code, self._beat.line = exit_code, line
        until = time.monotonic() + (STORE_SECONDS if self.is_first else 0)
        try:
            self._exchange()
            while time.monotonic() < until and any(
                beat.exit_code is None for other, beat in self._beats.items() if other not in lost
            ):
                time.sleep(0.1)
                self._exchange()
        finally:
            os._exit(exit_code)

    def _why_abort(self) -> str:
        """Return a line if the first process is lost, else "". Exit if the watching thread is ending this process."""
        if not self._ending.acquire(timeout=1.0):
            os._exit(LOST)
        host, _, port = self._address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except OSError as error:
            return _loss([self._name(0)], str(error))
        return ""

    def _name(self, index: int) -> str:
        return f"process {index} of {self._count} on {self._hosts[index]}"


def join(learner: str) -> Processes:
    """Join the processes that the environment variables describe (docs/scale.md).

    Raises:
        UserError: the learner trains in one process, or the variables are not complete.
    """
    source = next((name for name in COUNTS if name in os.environ), NUM_PROCESSES)
    count = _number(source, "1")
    if count == 1:
        return Processes()
    if not registry.spec_of(learner).several_processes:
        raise UserError(
            f"{source} is {count}, but the learner '{learner}' trains in one process;"
            f" set {NUM_PROCESSES}=1, also for processes that train runs of their own"
        )
    import jax
    from jax._src.distributed import global_state  # JAX has no public way to its key-value store

    jax.config.update("jax_enable_preemption_service", False)  # launch/machine/signals.py handles signals
    by_hand: dict[str, Any] = {}
    if source == NUM_PROCESSES:
        if not os.environ.get(ADDRESS, "").rpartition(":")[2].isdecimal():
            there = f"is '{os.environ[ADDRESS]}'" if ADDRESS in os.environ else "is not set"
            raise UserError(f"{source} is {count}, but {ADDRESS} {there}; give host:port of the first process")
        index = _number(PROCESS_ID)
        by_hand = {"num_processes": count, "process_id": index, "cluster_detection_method": "deactivate"}
    not_joined = f"{count} processes ({source}) do not find each other"
    _explain_abort(lambda: f"{not_joined} in {JOIN_SECONDS} s; are all started, is {ADDRESS} the first one's?")
    try:
        jax.distributed.initialize(
            initialization_timeout=JOIN_SECONDS, heartbeat_timeout_seconds=JAX_LOST_SECONDS, **by_hand
        )
    except (ValueError, RuntimeError) as error:
        raise UserError(
            f"{not_joined}: {_first_line(error)}; set {ADDRESS}, {NUM_PROCESSES} and {PROCESS_ID}"
        ) from error
    address = str(global_state.coordinator_address)
    return JoinedProcesses(global_state.client, address, global_state.process_id, global_state.num_processes)


def _explain_abort(explain: Callable[[], str]) -> None:
    """Print a line when JAX aborts this process, which it does in a thread of C++ where Python can catch nothing.

    Args:
        explain: returns the line for the user. If it returns "", the abort continues.
    """

    def on_abort(number: int) -> None:
        line = explain()
        if line:
            print(f"error: {line}", file=sys.stderr, flush=True)
            os._exit(LOST)

    _explanations.append(ctypes.CFUNCTYPE(None, ctypes.c_int)(on_abort))
    ctypes.CDLL(None).signal(signal.SIGABRT, _explanations[-1])


def _number(name: str, default: str = "") -> int:
    word = os.environ.get(name, default)
    if not word.isdecimal():
        raise UserError(f"{name} is '{word}'; set it to a number")
    return int(word)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _loss(names: list[str], reason: str) -> str:
    return f"lost {', '.join(names)} ({reason}); the same command with --resume goes on from the last save"
