"""The options of `discreet serve`, checked before anything listens."""

from __future__ import annotations

import ipaddress
import os
import stat
from pathlib import Path

from discreet.domain import Catalog, InputError, Scale

TOKEN = "DISCREET_ADMIN_TOKEN"  # noqa: S105  (the variable's name)


def find_items(release: Path, catalog: Path | None, scale: str | None) -> tuple[Catalog, Scale]:
    """The catalogue and the scale: as given, or else those of the release.

    Raises:
        InputError: Neither says it, or each says something else.
    """
    if catalog is not None and scale is not None:
        from discreet.ratings import read_catalog

        found = read_catalog(catalog), Scale.parse(scale)
        _check_same(release, *found)
        return found
    if catalog is not None or scale is not None or not release.is_file():
        raise InputError("without a release to begin with, give both --catalog and --scale")
    from discreet.release import load

    begun = load(release)
    return begun.catalog, begun.scale


def _check_same(release: Path, catalog: Catalog, scale: Scale) -> None:
    """Refuse to collect for other items than those of the release that is served meanwhile.

    People would be shown one catalogue and get recommendations from another until the first build.
    """
    from discreet.release import load

    if not release.is_file():
        return
    served = load(release)
    others = []
    if served.catalog.digest() != catalog.digest():
        others.append("--catalog has other items")
    if served.scale != scale:
        others.append(f"--scale is {scale}, not {served.scale}")
    if others:
        raise InputError(
            f"is a release of something else: {' and '.join(others)}; serve another file, which "
            "need not be there yet",
            path=release,
        )


def check_proxies(proxies: str | None) -> None:
    """Refuse what is not an address, since no proxy would match it.

    Raises:
        InputError: One is neither an address nor a network.
    """
    for text in () if proxies is None or proxies.strip() == "*" else proxies.split(","):
        try:
            ipaddress.ip_network(text.strip())
        except ValueError:
            raise InputError(
                "--proxies takes IP addresses or networks, like 127.0.0.1,10.0.0.0/8, or *"
            ) from None


def read_token(path: Path | None) -> str | None:
    """The administrator's token from a file, or else from the variable.

    Raises:
        InputError: Names the file and what is wrong with it; the token is not repeated.
    """
    from discreet.serve import check_token

    if path is None:
        return os.environ.get(TOKEN) or None
    try:
        mode, token = path.stat().st_mode, path.read_text("utf-8").strip()
    except OSError as error:
        reason = f"the administrator's token cannot be read: {error.strerror or error}"
        raise InputError(reason, path=path) from None
    except UnicodeDecodeError:
        raise InputError("the administrator's token is not UTF-8 text", path=path) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise InputError(f"others may read this token: chmod 600 {path}", path=path)
    try:
        check_token(token)
    except InputError as error:
        raise InputError(error.reason, path=path) from None
    return token
