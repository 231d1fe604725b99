from tests.config.tasks.recipes import TEXT, TRANSLATION, load, refused
from tests.for_each import for_each

ALIGNED = {
    **TRANSLATION,
    "data.train": "[{source: a.en, target: a.de, alignments: a.links}]",
    "loss.guided_alignment": "{weight: 0.1}",
}
KEY = "loss.guided_alignment"


def test_a_recipe_with_both_is_taken():
    recipe = load(ALIGNED).recipe
    assert recipe.loss.guided_alignment is not None
    assert recipe.loss.guided_alignment.layer_of(6) == 5
    assert recipe.loss.guided_alignment.layer_of(1) == 1
    assert recipe.data.train[0].alignments == "a.links"


@for_each(
    ("kind", "changes", "path", "what"),
    [
        (ALIGNED, {KEY: "null"}, "data.train.0.alignments", "nothing learns these alignments"),
        (ALIGNED, {"data.train": TRANSLATION["data.train"]}, KEY, "no corpus has alignments"),
        (TEXT, {KEY: "{weight: 0.1}"}, KEY, "only a translator attends to a source"),
        (
            ALIGNED,
            {"data.transforms": "[{kind: protect}]"},
            "data.transforms.0",
            "symbols in the place of words",
        ),
        (ALIGNED, {KEY: "{layer: 3}"}, f"{KEY}.layer", "the decoder has no such layer"),
        (ALIGNED, {KEY: "{head: 4}"}, f"{KEY}.head", "the decoder has no such head"),
    ],
)
def test_what_alignments_cannot_go_with_is_refused_with_its_place(kind, changes, path, what):
    refused(kind, changes, path, what)
