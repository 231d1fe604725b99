import pytest

from tests.for_each import for_each
from trimtab.config.load import parse_recipe
from trimtab.errors import InputError

RECIPE = """\
data:
  train: [{name: news, source: a.en, target: a.de}]
  transforms: [FILTER]
model: {preset: tiny}
length: 10 steps
"""


def problems(written):
    with pytest.raises(InputError) as caught:
        parse_recipe(RECIPE.replace("FILTER", written))
    return caught.value.problems


@for_each(
    "written",
    [
        "{kind: duplicate}",
        "{kind: duplicate, by: source, exact: false}",
        "{kind: copy, similarity: 1.0, min_characters: 0}",
        "{kind: language, source: en, target: pt-BR, only: [news]}",
        "{kind: letters, min: 0.3}",
        "{kind: word_length, max: 30}",
    ],
)
def test_filters_are_read(written):
    assert len(parse_recipe(RECIPE.replace("FILTER", written)).recipe.data.transforms) == 1


def test_a_language_that_is_not_known_names_those_that_are():
    (problem,) = problems("{kind: language, source: english}")
    assert problem.what.startswith("data.transforms.0.source: a language that trimtab cannot identify")
    assert problem.got == "english"
    assert "de, dz, el, en" in problem.allowed
    assert problem.where.startswith("recipe.yaml:3") or problem.where


def test_a_filter_by_language_judges_something_that_there_is():
    (nothing,) = problems("{kind: language}")
    assert "no language is given" in str(nothing)
    (unknown,) = problems("{kind: language, source: en, only: [prose]}")
    assert (unknown.got, unknown.allowed) == ("prose", "news")
    assert unknown.what.startswith("data.transforms.0.only")


def test_the_filters_are_refused_beside_documents_and_labels():
    for task, files in (("language_model", "{text: a.txt}"), ("classification", "{source: a, target: b}")):
        recipe = RECIPE.replace("{name: news, source: a.en, target: a.de}", files)
        with pytest.raises(InputError, match=r"data\.transforms\.0"):
            parse_recipe(f"task: {task}\n" + recipe.replace("FILTER", "{kind: duplicate}"))
