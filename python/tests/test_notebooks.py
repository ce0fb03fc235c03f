"""The notebooks run to their ends, and their results are small."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb") if "spark" not in path.name)

LARGEST_OUTPUT = 200_000
"""Bytes of all outputs of a notebook: people read them, and files of results stay elsewhere."""


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 4


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    form: Any = nbformat
    notebook = form.read(FOLDER / name, as_version=4)
    form.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs for cell in code), "commit it without outputs"
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, resources=resources).execute()
    assert all(cell.outputs or cell is not code[-1] for cell in code)
    size = sum(len(str(output)) for cell in code for output in cell.outputs)
    assert 500 < size < LARGEST_OUTPUT
