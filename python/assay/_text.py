"""Numbers for people, and tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def duration(nanoseconds: int | float | None) -> str:
    """A length of time with three digits and its unit: ``1.23 ms``."""
    if nanoseconds is None:
        return "–"
    for size, unit in _UNITS:
        if nanoseconds >= size or size == 1:
            return f"{nanoseconds / size:.3g} {unit}" if size > 1 else f"{nanoseconds:.0f} ns"
    raise AssertionError("the last unit fits everything")


def rate(per_second: float) -> str:
    """Operations per second, with spaces between thousands."""
    return f"{per_second:,.0f}".replace(",", "\u202f") + "/s"


def share(part: float) -> str:
    """A share as a percentage."""
    return f"{part * 100:.3g} %"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], foot: str = "") -> str:
    """An HTML table; every text is escaped here, so callers give plain texts."""
    cells = "".join(f'<th style="text-align:right">{html.escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:right">{html.escape(text)}</td>' for text in row)
        + "</tr>"
        for row in rows
    )
    foot = f"<p>{html.escape(foot)}</p>" if foot else ""
    return (
        f"<div><p><b>{html.escape(title)}</b></p>"
        f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"
    )
