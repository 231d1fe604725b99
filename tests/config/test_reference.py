from pathlib import Path

from tests.for_each import for_each
from trimtab.config.places import ROOT, Place, field_of, known_keys, meanings
from trimtab.config.reference import REFERENCE_PAGE, reference_page

ROOT_FOLDER = Path(__file__).parents[2]


def groups(place: Place):
    for model in place.models:
        yield model
        for key in model.model_fields:
            below = field_of(model, key)
            if below is not None:
                yield from groups(below.item or below)


GROUPS = list(dict.fromkeys(groups(ROOT)))


def test_the_page_in_docs_is_that_of_the_settings():
    assert (ROOT_FOLDER / REFERENCE_PAGE).read_text(encoding="utf-8") == reference_page(), (
        "run python tools/write_pages.py"
    )


@for_each("model", GROUPS, called=lambda model: model.__name__)
def test_every_group_and_every_key_says_what_it_means(model):
    assert model.__doc__
    silent = [name for name in model.model_fields if name != "kind" and not meanings(model).get(name)]
    assert silent == []


def test_every_key_of_a_recipe_stands_on_the_page():
    page = reference_page()
    names = {key.rsplit(".", 1)[-1] for key in known_keys()} - {"kind"}
    assert [name for name in sorted(names) if f"| `{name}` |" not in page] == []


def test_no_group_stands_on_the_page_twice():
    headings = [line for line in reference_page().splitlines() if line.startswith("## ")]
    assert len(headings) == len(set(headings))
