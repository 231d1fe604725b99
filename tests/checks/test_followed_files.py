"""Scripts whose loop is in another file of the folder."""

import pytest

from trimtab.checks.check import check

HEAD = "import torch\nmodel = torch.nn.Linear(4, 4)\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
ENGINE = (
    "import torch\ndef epoch(model, loader, optimizer):\n    for x, y in loader:\n"
    "        loss = torch.nn.functional.cross_entropy(model(x), y)\n        loss.backward()\n"
    "        optimizer.step()\n{}"
)
CLASS = (
    "class Engine:\n    def __init__(self, model, optimizer):\n        self.model, self.optimizer = model, optimizer\n"
    "    def fit(self, loader):\n        for x in loader:\n            self.model(x).sum().backward()\n"
    "            self.optimizer.step()\n{}"
)
CLEARS = "        optimizer.zero_grad()\n"


@pytest.mark.parametrize(
    ("main", "name", "text", "clears"),
    [
        ("from engine import epoch\nepoch(model, loader, optimizer)", "engine.py", ENGINE, CLEARS),
        ("import engine\nengine.epoch(model, loader, optimizer)", "engine.py", ENGINE, CLEARS),
        ("from lib.engine import epoch\nepoch(model, loader, optimizer)", "lib/engine.py", ENGINE, CLEARS),
        ("from .engine import epoch\nepoch(model, loader, optimizer)", "engine.py", ENGINE, CLEARS),
        (
            "from engine import epoch as run\nfor e in range(3):\n    run(model, loader, optimizer)",
            "engine.py",
            ENGINE,
            CLEARS,
        ),
        (
            "from engine import Engine\nEngine(model, optimizer).fit(loader)",
            "engine.py",
            CLASS,
            "            self.optimizer.zero_grad()\n",
        ),
    ],
)
def test_a_loop_in_another_file_is_followed(tmp_path, main, name, text, clears):
    script, other = tmp_path / "train.py", tmp_path / name
    other.parent.mkdir(exist_ok=True)
    script.write_text(f"{HEAD}{main}\n")
    other.write_text(text.format(""))
    assert [(each.finding.code, each.place.path) for each in check(script).diagnoses] == [
        ("S137", str(other))
    ]
    other.write_text(text.format(clears))
    assert check(script).diagnoses == ()


def test_what_another_file_does_by_itself_is_not_followed(tmp_path):
    (tmp_path / "train.py").write_text(f"{HEAD}from engine import other\nother()\n")
    (tmp_path / "engine.py").write_text(
        ENGINE.format("def other():\n    pass\nif __name__ == '__main__':\n    epoch(1, 2, 3)\n")
    )
    assert check(tmp_path / "train.py").diagnoses == ()


@pytest.mark.parametrize(
    "text", ["from train import epoch\nbackward = 1\n", "def epoch(:  # backward", "\0backward"]
)
def test_files_that_import_one_another_or_cannot_be_read_do_no_harm(tmp_path, text):
    (tmp_path / "train.py").write_text(f"{HEAD}from engine import epoch\nepoch(model, loader, optimizer)\n")
    (tmp_path / "engine.py").write_text(text)
    report = check(tmp_path / "train.py")
    assert (report.diagnoses, report.problems) == ((), ())
