"""A bound on connections: no one can use up the file descriptors of the server by requests that never end."""

import asyncio
import resource
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 5.0  # for the header of a request to arrive
MOST_CONNECTIONS = 256  # at most half of the file descriptors: players and files need some too


class BoundedConnection(H11Protocol):
    """A connection that is closed if no whole header of a request arrives within HEADER_SECONDS.

    uvicorn itself closes a connection on which nothing arrives after an answer. It waits without end for a first
    request, and for the rest of one.
    """

    _deadline: asyncio.TimerHandle | None = None  # or that of uvloop
    _waits_since = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether the connection is open, and all requests whose header has arrived are answered."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        return not is_answering and not self.transport.is_closing()

    def connection_made(self, transport: Any) -> None:
        """Take a connection; beyond the bound close the one that has waited longest for a header."""
        super().connection_made(transport)
        self._wait_for_header()
        if len(self.connections) > min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2):
            bounded = (other for other in self.connections if isinstance(other, BoundedConnection))
            waiting = (other for other in bounded if other.is_waiting)
            min(waiting, key=lambda other: other._waits_since).transport.close()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; wait for the rest of its header, but not from each part anew."""
        super().data_received(data)
        if not self.is_waiting:
            self._end_deadline()
        elif self._deadline is None:
            self._wait_for_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the deadline with the connection."""
        self._end_deadline()
        super().connection_lost(exc)

    def _wait_for_header(self) -> None:
        self._waits_since = time.monotonic()  # the loop's clock stands still while it takes several connections
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
