"""HTML templates: every value is escaped, and nothing is silently left out."""

import subprocess
import sys

import pytest

from likewise._templates import load_templates
from likewise.exceptions import MissingDependencyError

jinja2 = pytest.importorskip("jinja2")


def render(text, **values):
    return load_templates("likewise.plotting", extra="plot").from_string(text).render(values)


def test_every_value_is_escaped_in_texts_and_attributes():
    assert render("<b>{{ x }}</b>", x="<i>&</i>") == "<b>&lt;i&gt;&amp;&lt;/i&gt;</b>"
    assert render('<a title="{{ x }}">', x="\"'") == '<a title="&#34;&#39;">'


def test_characters_that_html_does_not_allow_are_replaced():
    assert render("{{ x }}", x="a\x00b\ud800c\nd\te") == "a\ufffdb\ufffdc\nd\te"
    assert render("{{ x | safe }}", x="<b>") == "<b>"


def test_a_value_that_is_not_given_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="'x' is undefined"):
        render("{{ x }}")


def test_the_error_without_jinja2_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"likewise\[studio\]"):
        load_templates.__wrapped__("likewise.studio.report", extra="studio")


def test_jinja2_is_imported_only_to_make_a_page():
    code = (
        "import sys, likewise.plotting, likewise.studio.report, likewise.cli.main\n"
        "print('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
