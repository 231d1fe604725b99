"""The page docs/how_to/from_marian_sockeye_fairseq.md: what it shows is what the commands say."""

import re
from pathlib import Path

from trimtab.checks.check import check
from trimtab.checks.convert import convert
from trimtab.checks.mend_files import mend_files
from trimtab.checks.say.text import as_text
from trimtab.config.load import parse_recipe

PAGE = (Path(__file__).parent.parent / "docs/how_to/from_marian_sockeye_fairseq.md").read_text(
    encoding="utf-8"
)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_is_checked_fixed_and_converted_as_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.sh").write_text(blocks("bash")[0])
    said = as_text(check("train.sh"))
    for line in re.findall(r"^train\.sh:.*$", PAGE, re.MULTILINE):
        assert line in said
    mend_files("train.sh", changes_training=True)
    conversion = convert(Path("train.sh"))
    assert [f"note: {note}" for note in conversion.notes] == re.findall(r"^note: .*$", PAGE, re.MULTILINE)
    assert (conversion.unmatched, conversion.is_trainable) == ((), True)
    recipe = parse_recipe(conversion.recipe_text).recipe
    assert (recipe.step.tokens_per_step, recipe.evaluate.weights) == (4000 * 4 * 2, "ema")


def test_rules_that_the_page_names_have_a_page():
    rules = Path(__file__).parent.parent / "docs/rules"
    assert all((rules / f"{code}.md").exists() for code in set(re.findall(r"\b[A-Z]\d{3}\b", PAGE)))
