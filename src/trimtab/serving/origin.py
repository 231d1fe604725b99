"""Keeps pages of other sites away from a server on the user's own machine."""

import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

from trimtab.errors import input_error
from trimtab.serving.refused import refused

HOST_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")


def host_names(given: Sequence[str]) -> frozenset[str]:
    """The names under which a server may be called, in lower case; InputError for what is no name of a host. An empty
    one would let in every request whose Host cannot be read."""
    for name in given:
        if len(name) > 253 or not HOST_NAME.fullmatch(name.lower()):
            raise input_error(
                "--allow-host: not the name of a host",
                got=repr(name[:80]),
                allowed="a name such as mt.example.org, without http://, port and path; in ASCII (xn--...)",
                fix="leave it out: localhost and addresses are always allowed",
            )
    return frozenset(name.lower().removesuffix(".") for name in given)


def check_host(headers: Mapping[str, str], *, names: Collection[str]) -> None:
    """Refuses a request whose Host is a name other than localhost and `names`.

    A page of a site whose name its owner lets point to 127.0.0.1 (DNS rebinding) is of the same origin for a browser;
    its requests still carry the site's name. An address is no name that could be rebound.
    """
    host = headers.get("host", "")
    if not _is_own(_name(f"//{host}"), names):
        raise refused(
            403,
            "Host: the request was meant for another site",
            got=host or "no Host",
            allowed=" or ".join(["localhost", "an IP address", *sorted(names)]),
            fix="call the server by its address, or start it with --allow-host NAME",
        )


def check_origin(headers: Mapping[str, str]) -> None:
    """Refuses a request that a page of another site makes; its own page, and clients that are no browser, may."""
    origin, host = headers.get("origin"), headers.get("host", "")
    crosses = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if crosses or (origin is not None and origin.partition("://")[2].lower() != host.lower()):
        raise refused(
            403,
            "Origin: a page of another site may not use this server",
            got=origin or f"Sec-Fetch-Site: {headers.get('sec-fetch-site', '')}",
            allowed=f"requests from http://{host}, and from programs that are no browser",
            fix="let your site's own server call this one",
        )


def _is_own(name: str, names: Collection[str]) -> bool:
    if name == "localhost" or name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _name(url: str) -> str:
    """The host in a URL, without port and brackets; empty where there is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for a port that is none
        plain = f"//{parts.netloc}" == url and "@" not in url
        return (parts.hostname or "").removesuffix(".") if plain else ""
    except ValueError:
        return ""
