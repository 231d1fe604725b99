import pytest

from tests.document_run import CONTEXT, document_recipe
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.errors import InputError


def test_a_recipe_with_documents_and_context_is_read_and_its_paths_are_made_absolute(tmp_path):
    recipe = resolve_paths(load_recipe(document_recipe(tmp_path)))
    assert recipe.data.train[0].documents == str(tmp_path / "train.jsonl")
    assert recipe.data.valid["valid"].documents == str(tmp_path / "dev.jsonl")
    assert recipe.data.train[0].source == "src"


FILES = [{"source": "train.en", "target": "train.de"}]
DOCUMENTS = {"documents": "train.jsonl", "source": "src", "target": "tgt"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data.train": FILES}, "no corpus has documents"),
        ({"data.transforms": [CONTEXT, CONTEXT]}, "twice"),
        ({"data.transforms": [CONTEXT, {"kind": "protect"}]}, "do not go together"),
        ({"data.train": [{**DOCUMENTS, "tags": ["<sep>"]}]}, "a tag too"),
        ({"data.train": [{**DOCUMENTS, "pairs": "x.tsv"}]}, "together with `pairs`"),
        ({"data.train": [{**DOCUMENTS, "source": 1}]}, "name of a list"),
        ({"data.train": [DOCUMENTS, DOCUMENTS]}, "same files"),
    ],
)
def test_what_contradicts_documents_is_told(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        load_recipe(document_recipe(tmp_path, **changes))
