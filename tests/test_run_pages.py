"""The pages on fine-tuning, early stopping and resuming: their recipes load, and resets are those of the table."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from trimtab.config.load import load_recipe
from trimtab.config.resets import CHANGES, RESETS

PAGES = Path(__file__).parent.parent / "docs" / "how_to"
NAMES = ("fine_tune_a_translator", "early_stopping", "resume_and_requeue")
REST = {
    "data": {"train": [{"source": "a.en", "target": "a.de"}], "valid": {"source": "d.en", "target": "d.de"}},
    "model": {"preset": "tiny"},
    "length": "9000 steps",
}
BLOCKS = [
    (name, text)
    for name in NAMES
    for text in re.findall(
        r"^```yaml\n(.*?)^```", (PAGES / f"{name}.md").read_text(), re.DOTALL | re.MULTILINE
    )
]


@pytest.mark.parametrize(("name", "text"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_a_recipe_of_a_page_loads(name, text):
    tree = YAML(typ="safe").load(text)
    if "warm_start" in tree.get("model", {}):  # the sizes are those of a run that is not here
        tree["model"] = {"preset": "tiny", "dropout": tree["model"]["dropout"]}
    assert load_recipe(REST | tree).recipe.task == "translation"


def test_the_page_on_resets_names_what_may_change_with_each():
    text = (PAGES / "resume_and_requeue.md").read_text()
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| .*? \| ?(.*?) ?\|$", text, re.MULTILINE)}
    assert {*RESETS} <= {*rows}
    keys = {name.removeprefix("recipe."): needed for name, needed in CHANGES.items() if needed in RESETS}
    for key in ("step.optimizer", "step.clip", "step.ema", "loss", "model.dropout", "step.schedule", "seed"):
        assert f"`{key}`" in rows[keys[key]]
    freely = text[text.index("## Train longer") : text.index("## Go on with")]
    named = {name.removeprefix("recipe.") for name, needed in CHANGES.items() if needed == "nothing"}
    assert {*re.findall(r"`([\w.]+)`", freely.split("may change")[0])} <= named
