import pytest

from tests.language_run import PAIRS, language_recipe
from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.config.pairs_alone import learns_pairs_alone, refuse_pairs_alone
from trimtab.errors import InputError

BOTH = {**PAIRS, "data.train": [{"source": "train.en", "target": "train.de"}, {"text": "train.txt"}]}


@pytest.mark.parametrize(
    ("recipe", "changes", "alone"),
    [
        (language_recipe, {}, False),
        (language_recipe, PAIRS, True),
        (language_recipe, BOTH, False),
        (small_recipe, {}, False),
    ],
    ids=["texts", "pairs", "both", "translation"],
)
def test_a_language_model_whose_rows_all_have_a_separator_goes_on_from_no_text(
    tmp_path, recipe, changes, alone
):
    recipe = load_recipe(recipe(tmp_path, **changes)).recipe
    assert learns_pairs_alone(recipe) == alone
    if not alone:
        refuse_pairs_alone(recipe, name="runs/a")
        return
    with pytest.raises(InputError, match="runs/a: was trained on pairs only") as caught:
        refuse_pairs_alone(recipe, name="runs/a")
    assert (
        caught.value.problems[0].fix
        == "translate with it: `trimtab translate runs/a`, or train on a `text` too"
    )
