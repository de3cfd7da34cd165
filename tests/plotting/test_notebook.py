"""A notebook is executed: displays show themselves, and results show tables rather than raw dataclasses."""

import base64
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def outputs():
    """Execute the notebook in a separate kernel; return the outputs by the id of the cell."""
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def pictures_of(outputs):
    shown = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return [imread(io.BytesIO(base64.b64decode(picture))) for picture in shown]


def html_of(outputs):
    (html,) = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    return html


@pytest.mark.parametrize("cell", ["display", "inline", "curves"])
def test_a_display_shows_itself_once(outputs, cell):
    (picture,) = pictures_of(outputs[cell])
    assert picture.shape[0] > 200
    assert picture.std() > 0.01  # not blank


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("hints", ["Supervision: 178 rows, 7 of them in hints", "must-links", "0 = 20", "0 ≠ 60"]),
        ("violations", ["of the links kept", "must-links", "cannot-links"]),
        ("scores", ["on 178 rows", "adjusted Rand index", "pairwise F"]),
        ("question", ["belong together?", "SAME, DIFFERENT, UNSURE"]),
        ("validation", ["accuracy", "held-out hints"]),
        ("information", ["3 classes", "bits per answer"]),
        ("comparison", ["random", "min-max", "Sorted by area"]),
    ],
)
def test_a_result_is_a_table(outputs, cell, message):
    html = html_of(outputs[cell])
    assert [text for text in message if text not in html] == []
    assert "array(" not in html


def test_nothing_is_printed_or_warned_of(outputs):
    kinds = {output.output_type for cell in outputs.values() for output in cell}
    assert kinds <= {"execute_result", "display_data"}


def test_the_text_of_violations_is_a_sentence(outputs):
    (output,) = outputs["violations"]
    assert re.fullmatch(
        r"Satisfaction\(\d of 4 must-links and \d of 2 cannot-links kept \(\d+\.\d%\)\)",
        output.data["text/plain"],
    )


def test_a_script_that_uses_pyplot_can_show_a_display():
    code = (
        "import matplotlib; matplotlib.use('agg')\n"
        "import matplotlib.pyplot as plt\n"
        "from likewise.plotting import ClusterDisplay\n"
        "display = ClusterDisplay.from_predictions([[0.0, 1.0], [2.0, 3.0]], [0, 1])\n"
        "assert plt.gcf() is display.figure_\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
