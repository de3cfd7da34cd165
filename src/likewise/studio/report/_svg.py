"""Small SVG charts, a line and bars. They use the text colour, so they suit light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 12, 40


@dataclass(frozen=True)
class Shape:
    """An SVG element without children."""

    tag: str
    attributes: Mapping[str, str]
    text: str = ""


@dataclass(frozen=True)
class Chart:
    """The shapes of a chart, from back to front, and its text alternative."""

    label: str
    shapes: Sequence[Shape]
    width: int = _WIDTH
    height: int = _HEIGHT


def draw_line_chart(points: Sequence[tuple[float, float]], *, title: str, x: str, y: str) -> Chart:
    """Draw shares between 0 and 1 against numbers of answers."""
    most_x = max((px for px, _ in points), default=1) or 1
    most_y = _round_up(max((py for _, py in points), default=0.0))
    inner_w, inner_h = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(px: float, py: float) -> tuple[float, float]:
        return _LEFT + inner_w * px / most_x, _TOP + inner_h * (1 - py / most_y)

    shapes = []
    for share in (0.0, most_y / 2, most_y):
        _, at = place(0, share)
        shapes.append(_make_rule(at))
        shapes.append(
            _make_text(_LEFT - 6, at + 4, f"{share:.0%}" if most_y >= 0.02 else f"{share:.1%}", "end")
        )
    for number in _choose_ticks(most_x):
        at, _ = place(number, 0)
        shapes.append(_make_text(at, _HEIGHT - 22, f"{number:,}", "middle"))
    dots = [place(px, py) for px, py in points]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in dots)
    shapes.append(_make_shape("polyline", {"class": "line", "points": line}))
    if len(dots) <= 60:
        shapes += [_make_shape("circle", {"class": "dot", "cx": a, "cy": b, "r": "3"}) for a, b in dots]
    shapes.append(_make_text(_LEFT + inner_w / 2, _HEIGHT - 4, x, "middle"))
    return Chart(f"{title}: {y} against {x}", shapes)


def draw_bar_chart(bars: Sequence[tuple[str, int]], *, title: str, x: str) -> Chart:
    """Draw a bar for each count."""
    most = max((n for _, n in bars), default=1) or 1
    inner_w, inner_h = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM - 14
    step = inner_w / max(len(bars), 1)
    shapes = [_make_rule(_TOP + 14 + inner_h)]
    for number, (name, n) in enumerate(bars):
        left, height = _LEFT + step * number, inner_h * n / most
        top = _TOP + 14 + inner_h - height
        bar = {"x": left + step * 0.12, "y": top, "width": step * 0.76, "height": height}
        shapes.append(_make_shape("rect", {"class": "bar", **bar}))
        if n:
            shapes.append(_make_text(left + step / 2, top - 4, f"{n:,}", "middle"))
        shapes.append(_make_text(left + step / 2, _HEIGHT - 22, name, "middle"))
    shapes.append(_make_text(_LEFT + inner_w / 2, _HEIGHT - 4, x, "middle"))
    return Chart(f"{title}: number of answers by {x}", shapes)


def _make_shape(tag: str, attributes: Mapping[str, float | str], text: str = "") -> Shape:
    written = {
        name: value if isinstance(value, str) else f"{value:.1f}" for name, value in attributes.items()
    }
    return Shape(tag, written, text)


def _make_text(x: float, y: float, text: str, anchor: str) -> Shape:
    return _make_shape("text", {"x": x, "y": y, "text-anchor": anchor}, text)


def _make_rule(y: float) -> Shape:
    return _make_shape("line", {"class": "rule", "x1": _LEFT, "y1": y, "x2": _WIDTH - _RIGHT, "y2": y})


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
