"""The code of docs/loops, on one process."""

import re

import pytest
import torch

from tests.loops import pages
from trimtab import parts

FUNCTIONS = pages.FOLDER.parent / "functions.md"


@pytest.mark.parametrize("name", pages.examples())
def test_the_code_of_each_page_runs(name, capsys, monkeypatch):
    pytest.importorskip(pages.NEEDS.get(name.split()[0], "torch"))
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    torch.manual_seed(0)
    with torch.random.fork_rng():
        names = pages.run(name)
    assert capsys.readouterr().out.strip()
    assert all(torch.isfinite(each).all() for each in names["model"].parameters())


def test_each_page_is_found_from_the_list_of_functions_and_from_the_guard():
    for page in (FUNCTIONS, FUNCTIONS.parent / "how_to" / "guard.md"):
        linked = set(re.findall(r"loops/(\w+)\.md", page.read_text(encoding="utf-8")))
        assert linked == {path.stem for path in pages.FOLDER.glob("*.md")}


def test_pages_take_parts_that_there_are():
    text = "\n".join(pages.examples().values())
    names = {
        name for line in re.findall(r"from trimtab\.parts import (.*)", text) for name in line.split(", ")
    }
    assert names <= set(parts.HOMES)
    assert names
