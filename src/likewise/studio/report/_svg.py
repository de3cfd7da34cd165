"""Small SVG charts, a line and bars. They use the text colour, so they suit light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 12, 40


def draw_line_chart(points: Sequence[tuple[float, float]], *, title: str, x: str, y: str) -> str:
    """Draw shares between 0 and 1 against numbers of answers."""
    most_x = max((px for px, _ in points), default=1) or 1
    most_y = _round_up(max((py for _, py in points), default=0.0))
    inner_w, inner_h = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(px: float, py: float) -> tuple[float, float]:
        return _LEFT + inner_w * px / most_x, _TOP + inner_h * (1 - py / most_y)

    parts = []
    for share in (0.0, most_y / 2, most_y):
        _, at = place(0, share)
        parts.append(_make_rule(_LEFT, at, _WIDTH - _RIGHT, at))
        parts.append(
            _make_text(_LEFT - 6, at + 4, f"{share:.0%}" if most_y >= 0.02 else f"{share:.1%}", "end")
        )
    for number in _choose_ticks(most_x):
        at, _ = place(number, 0)
        parts.append(_make_text(at, _HEIGHT - 22, f"{number:,}", "middle"))
    dots = [place(px, py) for px, py in points]
    parts.append(f'<polyline class="line" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in dots)}"/>')
    if len(dots) <= 60:
        parts += [f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in dots]
    parts.append(_make_text(_LEFT + inner_w / 2, _HEIGHT - 4, x, "middle"))
    return _make_svg(parts, title, f"{y} against {x}")


def draw_bar_chart(bars: Sequence[tuple[str, int]], *, title: str, x: str) -> str:
    """Draw a bar for each count."""
    most = max((n for _, n in bars), default=1) or 1
    inner_w, inner_h = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM - 14
    step = inner_w / max(len(bars), 1)
    parts = [_make_rule(_LEFT, _TOP + 14 + inner_h, _WIDTH - _RIGHT, _TOP + 14 + inner_h)]
    for number, (name, n) in enumerate(bars):
        left, height = _LEFT + step * number, inner_h * n / most
        top = _TOP + 14 + inner_h - height
        parts.append(
            f'<rect class="bar" x="{left + step * 0.12:.1f}" y="{top:.1f}" '
            f'width="{step * 0.76:.1f}" height="{height:.1f}"/>'
        )
        if n:
            parts.append(_make_text(left + step / 2, top - 4, f"{n:,}", "middle"))
        parts.append(_make_text(left + step / 2, _HEIGHT - 22, name, "middle"))
    parts.append(_make_text(_LEFT + inner_w / 2, _HEIGHT - 4, x, "middle"))
    return _make_svg(parts, title, f"number of answers by {x}")


def draw_swatch(color: str) -> str:
    """Draw a small square in the colour of a group, without a text alternative: its name is next to it."""
    return (
        '<svg class="swatch" aria-hidden="true" viewBox="0 0 10 10" width="12" height="12">'
        f'<rect width="10" height="10" rx="2" fill="{escape(color)}"/></svg>'
    )


def _make_svg(parts: list[str], title: str, what: str) -> str:
    inside = "\n".join(parts)
    return (
        f'<svg class="chart" role="img" aria-label="{escape(f"{title}: {what}")}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">\n{inside}\n</svg>'
    )


def _make_text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _make_rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="rule" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _round_up(share: float) -> float:
    """Round a share up to a readable axis limit.

    >>> _round_up(0.13), _round_up(0.0), _round_up(0.7)
    (0.2, 0.01, 1.0)
    """
    return next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if share <= step or step == 1.0)


def _choose_ticks(most: float) -> list[int]:
    """Return up to seven readable integers from 0.

    >>> _choose_ticks(30), _choose_ticks(4)
    ([0, 5, 10, 15, 20, 25, 30], [0, 1, 2, 3, 4])
    """
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if most / step <= 6:
                return list(range(0, int(most) + 1, step))
        size *= 10
