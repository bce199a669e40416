"""What a request may be: from this machine's own page, small, and with the fields that its route has."""

import ipaddress
import json
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

MOST_BYTES = 4096  # of the body of a request
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class RefusedError(Exception):
    """A request that is not served."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


def check_source(headers: Mapping[str, str], host: str) -> None:
    """Refuse requests that another web site makes the browser send.

    - Host: a name that an attacker owns can point to this machine (DNS rebinding). Addresses in numbers, localhost, the
      name of this machine and the name that the user gave cannot be an attacker's.
    - Origin and Sec-Fetch-Site: browsers say with them which site sends the request.

    Raises:
        RefusedError: the request comes from elsewhere.
    """
    named = (_split(f"//{headers.get('host', '')}").hostname or "").lower()  # without the port: tunnels change it
    if not (_is_address(named) or named in {"localhost", host.lower(), socket.gethostname().lower()}):
        raise RefusedError(403, f"Host {named!r} is not this server; open the address that the command printed")
    origin = headers.get("origin")
    if origin is not None and _split(origin).netloc.lower() != headers.get("host", "").lower():
        raise RefusedError(403, "the request comes from a page of another site")
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise RefusedError(403, "the request comes from a page of another site")


def is_loopback(host: str) -> bool:
    """Return whether a host of the command line is reached from this machine only."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _split(address: str) -> SplitResult:
    """Return the parts of an address; all parts are empty if it cannot be read."""
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Field(NamedTuple):
    """What a field may be: a text of at most `most` characters, or a whole number from `least` to `most`."""

    most: int
    least: int | None = None  # None: a text
    is_optional: bool = False  # it may be missing or null

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that it may not be."""
        if value is None and self.is_optional:
            return
        if self.least is None:
            if not isinstance(value, str) or len(value) > self.most:
                raise RefusedError(400, f"{name} must be a text of at most {self.most} characters")
        elif type(value) is not int or not self.least <= value <= self.most:
            raise RefusedError(400, f"{name} must be a whole number from {self.least} to {self.most}")


def read_fields(content_type: str, body: bytes, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the values of the fields in a body, None for those that are left out.

    Raises:
        RefusedError: it is not a JSON object with these fields, or not declared as JSON, which pages of other sites
            cannot send unasked.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(415, "send a JSON object with Content-Type: application/json")
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "the body is no JSON") from error
    if not isinstance(values, dict):
        raise RefusedError(400, "the body is no JSON object")
    for name, field in fields.items():
        field.check(name, values.get(name))
    if unknown := values.keys() - fields.keys():
        raise RefusedError(400, f"unknown field {min(unknown)[:40]!r}")
    return {name: values.get(name) for name in fields}
