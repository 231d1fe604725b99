import pytest

from trimtab.checks.check import Asked, check_as_asked
from trimtab.checks.reading import reading
from trimtab.checks.say.text import as_text

LOOP = (
    "import argparse\nimport torch\nparser = argparse.ArgumentParser()\n"
    'parser.add_argument("--lr", type=float, default=0.002)\nargs = parser.parse_args()\n'
    "model = torch.nn.Linear(4, 4)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr={rate})\n{schedule}for step, x in enumerate(loader):\n"
    "    model(x).sum().backward()\n{steps}"
)
STEP = "    optimizer.step()\n    optimizer.zero_grad()\n"
EVERY = (
    "    if (step + 1) % 8 == 0:\n        optimizer.step()\n        scheduler.step()\n"
    "        optimizer.zero_grad()\n"
)
SCHEDULE = "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 9)\n"


def read(tmp_path, text, name="train.py"):
    (tmp_path / name).write_text(text)
    report = check_as_asked(tmp_path / name, Asked(explain_reading=True))
    return report, report.readings[str(tmp_path / name)]


@pytest.mark.parametrize(
    ("rate", "schedule", "steps", "words"),
    [
        (
            "1e-5",
            "",
            STEP,
            ["AdamW at 1e-05", "steps in every turn", "no schedule steps in it", "clears gradients"],
        ),
        ("args.lr", "", STEP, ["AdamW at `lr`, 0.002 by default"]),
        ("rate()", "", STEP, ["AdamW at `rate`"]),
        ("1e-3", SCHEDULE, EVERY, ["steps every 8 turns", "schedule steps every 8 turns"]),
        ("1e-3", "", "    optimizer.step()\n", ["clears no gradients itself"]),
        ("1e-3", "", "", ["no step of an optimizer is seen"]),
    ],
)
def test_a_loop_is_told_with_its_steps(tmp_path, rate, schedule, steps, words):
    _, lines = read(tmp_path, LOOP.format(rate=rate, schedule=schedule, steps=steps))
    loop = next(line for line in lines if line.startswith("loop at line"))
    assert [word for word in words if word not in loop] == []


def test_a_configuration_is_told_with_its_defaults(tmp_path):
    text = '{"output_dir": "o", "learning_rate": 2e-5, "bf16": true,'
    text += ' "gradient_accumulation_steps": 8, "warmup_steps": 0}'
    report, lines = read(tmp_path, text, "args.json")
    assert "at 2e-05" in lines[0]
    assert "accumulation 8" in lines[0]
    assert "no warm-up" in lines[0]
    assert "(default)" in lines[0]
    assert "args.json: read as\n  transformers: " in as_text(report)


def test_what_is_not_followed_is_named(tmp_path):
    _, lines = read(tmp_path, "import torch\nfrom .data import Pairs\nmodel = Net(**sizes)\n")
    assert "not followed into other files: `Pairs`" in lines
    assert "arguments that are not written out: `Net`" in lines
    _, lines = read(tmp_path, "import onnx\nonnx.load('x')\n")
    assert any("imports none of the libraries" in line for line in lines)


def test_it_is_silent_unless_it_is_asked_for(tmp_path):
    (tmp_path / "train.py").write_text(LOOP.format(rate="1e-3", schedule="", steps=STEP))
    assert check_as_asked(tmp_path / "train.py", Asked()).readings == {}
    assert reading([]) == ()


def test_what_only_decodes_says_how_wide_it_searches():
    from tests.checks.kinds.nmt.commands import runs

    assert reading(runs("marian-decoder -c model.npz.decoder.yml -b 6\n")) == ("marian: beam 6",)
