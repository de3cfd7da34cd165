"""HTML pages from Jinja2 templates, in which every text is escaped."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from likewise._optional import require

if TYPE_CHECKING:
    from jinja2 import Environment

_UNPRINTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # not allowed in HTML


@cache
def load_templates(package: str, *, extra: str) -> Environment:
    """Return the environment of the templates in the folder ``templates`` of a package.

    Every value is escaped, control characters and unpaired surrogates become U+FFFD, and a name that a
    template uses but is not given is an error.

    >>> page = load_templates("likewise.plotting", extra="plot").from_string('<a title="{{ x }}">')
    >>> page.render(x='"<script>')
    '<a title="&#34;&lt;script&gt;">'
    """
    jinja2 = require("jinja2", extra=extra)
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_replace_unprinted,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment


def _replace_unprinted(value: Any) -> Any:
    return value if hasattr(value, "__html__") else _UNPRINTED.sub("\N{REPLACEMENT CHARACTER}", str(value))
