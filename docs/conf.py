"""How the documentation is built: ``make docs``."""

import subprocess
import sys
from importlib.metadata import version as _installed
from pathlib import Path

ROOT = Path(__file__).parents[1]

project = "likewise"
author = "The likewise developers"
copyright = "The likewise developers"
release = version = _installed("likewise")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/__pycache__"]

html_theme = "furo"
html_title = f"likewise {release}"
pygments_style = "friendly"
pygments_dark_style = "monokai"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings state types and shapes
napoleon_google_docstring = False
napoleon_use_param = False  # types such as "(n_samples,)" are text, not names to look up
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]


def _skip(app, what, name, obj, skip, options):
    """Leave out what scikit-learn's base classes bring, which its own pages describe."""
    function = getattr(obj, "fget", None) or getattr(obj, "__func__", obj)
    module = getattr(function, "__module__", None) or ""
    return True if module.startswith("sklearn.") or name.endswith("_request") else skip


def _keep_formulas(app, what, name, obj, options, lines):
    """Keep "n_·c", a sum over one index, from being read as a link to "n"."""
    lines[:] = [line.replace("_·", r"\_·") for line in lines]


def render_release_notes(root=ROOT):
    """Return the notes in changes/ under the heading "Unreleased", then those of all released versions."""
    draft = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next", "--dir", str(root)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout
    unreleased = draft.strip().partition("\n")[2]  # without the heading, which has a version and a date
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    released = changelog.partition("<!-- release notes start -->\n")[2]
    return f"## Unreleased\n{unreleased}\n\n{released}"


def _insert_release_notes(app, docname, source):
    if docname == "changelog":
        source[0] += render_release_notes()


def setup(app):
    app.connect("source-read", _insert_release_notes)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _keep_formulas)
