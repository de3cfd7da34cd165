"""A sample folder of pictures to try the studio with: drawn birds of eight kinds."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likewise._optional import require
from likewise.exceptions import LikewiseError
from likewise.studio.wording import Wording

N_PICTURES, MOST_PICTURES = 96, 600
FIRST = "bird-001.png"
_SIDE, _FINE = 320, 3  # pixels of a picture; drawn larger by this factor, then reduced, for smooth edges

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Species:
    """What all birds of a kind have in common; lengths in units of the body."""

    name: str
    back: Colour
    belly: Colour
    head: Colour
    length: float = 1.0  # of the body
    height: float = 0.62
    neck: float = 0.0
    legs: float = 0.3
    tail: float = 0.45
    tail_up: float = 0.0
    bill: float = 0.3
    bill_thick: float = 0.12
    bill_colour: Colour = (230, 150, 40)
    crest: float = 0.0
    mask: Colour | None = None


SPECIES = (
    Species(
        "robin",
        (126, 104, 78),
        (226, 98, 48),
        (126, 104, 78),
        0.9,
        0.7,
        legs=0.32,
        bill=0.18,
        bill_thick=0.07,
        bill_colour=(60, 56, 52),
        mask=(226, 98, 48),
    ),
    Species(
        "heron",
        (142, 154, 166),
        (206, 212, 216),
        (196, 206, 216),
        1.05,
        0.46,
        neck=0.85,
        legs=0.85,
        tail=0.25,
        bill=0.55,
        bill_thick=0.09,
        crest=0.3,
    ),
    Species(
        "duck",
        (120, 92, 66),
        (206, 196, 180),
        (34, 120, 84),
        1.2,
        0.52,
        neck=0.18,
        legs=0.12,
        tail=0.25,
        tail_up=0.2,
        bill=0.34,
        bill_thick=0.13,
        bill_colour=(236, 190, 52),
    ),
    Species(
        "crow",
        (46, 48, 58),
        (46, 48, 58),
        (40, 42, 52),
        1.1,
        0.54,
        legs=0.34,
        tail=0.5,
        bill=0.36,
        bill_thick=0.15,
        bill_colour=(36, 36, 42),
    ),
    Species(
        "owl",
        (150, 116, 78),
        (222, 200, 164),
        (150, 116, 78),
        0.78,
        0.98,
        legs=0.1,
        tail=0.15,
        bill=0.12,
        bill_thick=0.1,
        bill_colour=(232, 188, 64),
        mask=(244, 232, 208),
    ),
    Species(
        "flamingo",
        (240, 132, 148),
        (246, 160, 172),
        (244, 146, 160),
        0.82,
        0.5,
        neck=1.0,
        legs=1.0,
        tail=0.18,
        bill=0.28,
        bill_thick=0.15,
        bill_colour=(52, 48, 52),
    ),
    Species(
        "wren",
        (156, 106, 62),
        (204, 168, 122),
        (156, 106, 62),
        0.76,
        0.72,
        legs=0.28,
        tail=0.42,
        tail_up=1.25,
        bill=0.22,
        bill_thick=0.06,
        bill_colour=(96, 76, 56),
    ),
    Species(
        "kingfisher",
        (30, 128, 190),
        (238, 146, 58),
        (30, 116, 178),
        0.86,
        0.64,
        legs=0.14,
        tail=0.16,
        bill=0.6,
        bill_thick=0.1,
        bill_colour=(48, 50, 56),
        crest=0.12,
    ),
)
_PAPERS: tuple[Colour, ...] = (
    (250, 246, 236),
    (232, 240, 246),
    (236, 244, 230),
    (246, 236, 240),
    (240, 240, 240),
)
WORDING = Wording(
    criterion="The same kind of bird, whatever its size, its direction and the background.",
    questions={"pair": "Are these the same kind of bird?"},
    guideline="# What to look at\n\n- the shape of the **bill**, the **legs** and the **tail**\n"
    "- the colours of the *back* and the *belly*\n\n# What does not matter\n\n"
    "The size, the direction that the bird looks in, the background, and how dark the drawing is.\n\n"
    "If you cannot tell, answer **Unsure**.",
)


def write_sample(folder: str | os.PathLike[str], *, n: int = N_PICTURES, seed: int = 0) -> list[str]:
    """Draw `n` birds of eight kinds as PNG files of 320 x 320 pixels and return their kinds.

    File names such as ``bird-001.png`` do not reveal the kind. The folder is written under a temporary name
    and then renamed; an existing folder is an error.
    """
    target = Path(folder).absolute()
    if target.exists():
        raise LikewiseError(f"{target} already exists; choose another folder for the sample.")
    if not 2 <= n <= MOST_PICTURES:
        raise LikewiseError(f"n must be between 2 and {MOST_PICTURES}; got {n}.")
    rng = np.random.default_rng(seed)
    chosen = [SPECIES[at % len(SPECIES)] for at in rng.permutation(n).tolist()]
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        for number, species in enumerate(chosen, start=1):
            _draw(species, rng).save(part / f"bird-{number:03d}.png", "PNG")
        part.chmod(0o755)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return [species.name for species in chosen]


def _draw(species: Species, rng: np.random.Generator) -> Any:
    """Draw one bird: size, place, direction, light and background differ from picture to picture."""
    image_module, draw_module = require("PIL.Image", extra="studio"), require("PIL.ImageDraw", extra="studio")
    side = _SIDE * _FINE
    paper = np.array(_PAPERS[int(rng.integers(len(_PAPERS)))])
    light = float(rng.uniform(0.9, 1.08))
    image = image_module.new("RGB", (side, side), tuple(paper.tolist()))
    pen = draw_module.Draw(image)
    tall = species.height + species.neck * 0.75 + species.legs + 0.3
    tail = species.tail if species.tail_up < 1 else 0.1
    wide = 1.1 * species.length + species.bill + tail + 0.2
    unit = side * float(rng.uniform(0.66, 0.84)) / max(tall, wide)
    ground = side * (0.5 + float(rng.uniform(0.0, 0.05))) + unit * tall / 2
    _draw_scene(pen, side, ground, paper, rng)

    def shade(colour: Colour, by: float = 1.0) -> Colour:
        red, green, blue = (min(max(round(part * light * by), 0), 255) for part in colour)
        return red, green, blue

    x = side * (0.5 + float(rng.uniform(-0.03, 0.03))) - unit * (species.bill + 0.15 - tail) / 2
    y = ground - unit * (species.legs + species.height / 2)
    wide, high = unit * species.length / 2 * 1.15, unit * species.height / 2
    tilt = float(rng.uniform(-0.06, 0.06))
    _draw_legs(pen, species, x, y + high * 0.8, ground, unit, shade)
    _draw_tail(pen, species, x - wide * 0.8, y, unit, tilt, shade(species.back, 0.82))
    pen.ellipse((x - wide, y - high, x + wide, y + high), fill=shade(species.back))
    pen.chord(
        (x - wide * 0.92, y - high * 0.72, x + wide * 0.97, y + high * 0.98),
        8,
        172,
        fill=shade(species.belly),
    )
    radius = unit * (0.24 if species.name != "owl" else 0.37)
    hx = x + wide * (0.78 if species.name != "owl" else 0.12)
    hy = y - high * 0.72 - unit * species.neck * 0.75
    _draw_neck(pen, species, (x + wide * 0.62, y - high * 0.2), (hx, hy), unit, shade(species.head))
    _draw_head(pen, species, hx, hy, radius, unit, shade)
    wing = [
        (x + wide * 0.35, y - high * 0.45),
        (x - wide * 0.15, y - high * 0.62),
        (x - wide * 0.98, y + high * 0.12),
        (x - wide * 0.1, y + high * 0.42),
    ]
    pen.polygon(_smooth(wing), fill=shade(species.back, 0.86))
    if rng.random() < 0.5:
        image = image.transpose(image_module.Transpose.FLIP_LEFT_RIGHT)
    return image.resize((_SIDE, _SIDE), image_module.Resampling.LANCZOS)


def _draw_scene(
    pen: Any, side: int, ground: float, paper: np.ndarray[Any, Any], rng: np.random.Generator
) -> None:
    """Draw the ground and some grass or stones, which say nothing about the kind."""
    below = tuple((paper * 0.93).astype(int).tolist())
    pen.rectangle((0, ground, side, side), fill=below)
    darker = tuple((paper * 0.84).astype(int).tolist())
    for at in rng.uniform(0, side, int(rng.integers(3, 9))).tolist():
        size = side * float(rng.uniform(0.02, 0.06))
        if rng.random() < 0.5:
            pen.polygon(
                [(at, ground - size), (at + size * 0.22, ground + 2), (at - size * 0.22, ground + 2)],
                fill=darker,
            )
        else:
            pen.ellipse((at - size, ground - size * 0.25, at + size, ground + size * 0.4), fill=darker)


def _draw_legs(
    pen: Any, species: Species, x: float, top: float, ground: float, unit: float, shade: Any
) -> None:
    colour = shade((214, 150, 70) if species.legs > 0.5 or species.name == "duck" else (90, 80, 72))
    for step in (-0.1, 0.14):
        foot = x + unit * step
        pen.line([(foot, top), (foot, ground)], fill=colour, width=round(unit * 0.035))
        pen.line(
            [(foot - unit * 0.04, ground), (foot + unit * 0.1, ground)],
            fill=colour,
            width=round(unit * 0.035),
        )


def _draw_tail(
    pen: Any, species: Species, x: float, y: float, unit: float, tilt: float, colour: Colour
) -> None:
    angle = math.pi - species.tail_up - tilt - 0.08
    across = unit * 0.11
    end = (x + math.cos(angle) * unit * species.tail, y - math.sin(angle) * unit * species.tail)
    side = (math.sin(angle) * across, math.cos(angle) * across)
    base = unit * 0.2
    pen.polygon(
        [
            (x + base, y - side[1] - across * 0.4),
            (end[0] - side[0], end[1] - side[1]),
            (end[0] + side[0], end[1] + side[1]),
            (x + base, y + side[1] + across),
        ],
        fill=colour,
    )


def _draw_neck(
    pen: Any,
    species: Species,
    start: tuple[float, float],
    end: tuple[float, float],
    unit: float,
    colour: Colour,
) -> None:
    """Draw the neck as a curve of circles; a long one is bent like an S."""
    bend = unit * 0.22 * species.neck
    for t in np.linspace(0, 1, 40).tolist():
        x = start[0] + (end[0] - start[0]) * t + bend * math.sin(2 * math.pi * t)
        y = start[1] + (end[1] - start[1]) * t
        thick = unit * ((0.22 * (1 - t) + 0.09 * t) if species.neck > 0.5 else 0.22)
        pen.ellipse((x - thick, y - thick, x + thick, y + thick), fill=colour)


def _draw_head(
    pen: Any, species: Species, x: float, y: float, radius: float, unit: float, shade: Any
) -> None:
    head, bill = shade(species.head), shade(species.bill_colour)
    thick, long = unit * species.bill_thick, unit * species.bill
    if species.crest:
        for rise in (0.2, 0.5):
            tip = (x - radius * 0.6 - unit * species.crest, y - radius * rise - unit * species.crest * 0.4)
            pen.polygon([(x, y - radius * 0.9), tip, (x - radius * 0.8, y - radius * 0.1)], fill=head)
    owl, flamingo = species.name == "owl", species.name == "flamingo"
    if not owl:
        tip = (x + radius * 0.8 + long, y + (thick * 2.2 if flamingo else thick * 0.4))
        pen.polygon(
            _smooth([(x + radius * 0.6, y - thick), tip, (x + radius * 0.6, y + thick * 1.2)])
            if flamingo
            else [(x + radius * 0.6, y - thick), tip, (x + radius * 0.6, y + thick)],
            fill=bill,
        )
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=head)
    ink, white = (28, 28, 30), (250, 250, 248)
    if owl:
        pen.polygon(
            [
                (x - radius * 0.95, y - radius * 1.25),
                (x - radius * 0.2, y - radius * 0.8),
                (x - radius * 0.95, y - radius * 0.2),
            ],
            fill=head,
        )
        pen.polygon(
            [
                (x + radius * 0.95, y - radius * 1.25),
                (x + radius * 0.2, y - radius * 0.8),
                (x + radius * 0.95, y - radius * 0.2),
            ],
            fill=head,
        )
        for at in (-0.42, 0.42):
            for size, colour in ((0.42, shade(species.mask)), (0.26, (236, 186, 60)), (0.15, ink)):
                cx, cy, r = x + radius * at, y - radius * 0.05, radius * size
                pen.ellipse((cx - r, cy - r, cx + r, cy + r), fill=colour)
        pen.polygon(
            [
                (x - thick, y + radius * 0.2),
                (x + thick, y + radius * 0.2),
                (x, y + radius * 0.2 + long * 1.6),
            ],
            fill=bill,
        )
        return
    if species.mask is not None:
        pen.chord(
            (x - radius * 0.5, y - radius * 0.5, x + radius, y + radius), -40, 150, fill=shade(species.mask)
        )
    ex, ey, er = x + radius * 0.3, y - radius * 0.22, radius * 0.2
    pen.ellipse((ex - er * 1.35, ey - er * 1.35, ex + er * 1.35, ey + er * 1.35), fill=white)
    pen.ellipse((ex - er, ey - er, ex + er, ey + er), fill=ink)


def _smooth(corners: list[tuple[float, float]], steps: int = 4) -> list[tuple[float, float]]:
    """Round the corners of a polygon (Chaikin's algorithm)."""
    for _ in range(steps):
        following = [*corners[1:], corners[0]]
        corners = [
            (a[0] * (1 - t) + b[0] * t, a[1] * (1 - t) + b[1] * t)
            for a, b in zip(corners, following, strict=True)
            for t in (0.25, 0.75)
        ]
    return corners
