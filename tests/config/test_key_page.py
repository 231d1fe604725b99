from tests.for_each import for_each
from trimtab.config.key_page import is_key, key_lines, keys_called, near_keys
from trimtab.config.places import known_keys


def test_every_key_of_a_recipe_has_its_page():
    pages = {key: key_lines(key) for key in known_keys()}
    assert [key for key, page in pages.items() if not page or page[0] != f"# {key}"] == []
    assert [key for key, page in pages.items() if not key.endswith("kind") and not page[2].strip()] == []


@for_each(
    ("key", "words"),
    [
        ("step.optimizer.learning_rate", ["- default (lion): `0.0001`", "--reset learning_rate"]),
        ("step.schedule.kind", ["- `cosine`: Rises over", "--reset schedule"]),
        ("step.clip", ["Keys below it: ", "`decay`", "--reset optimizer"]),
        ("data.train[].weight", ["# data.train.0.weight", "RECIPE data.train.0.weight=VALUE"]),
        ("data.train.3.weight", ["# data.train.0.weight"]),
        ("data.valid.dev.source", ["Path of the source text"]),
        ("model.layers", ["Layers of the encoder", "(decoder, pretrained)"]),
        ("evaluate.patience", ["- default: null", "A run that resumes may change it."]),
        ("model.dim", ["A run that resumes cannot change it."]),
    ],
)
def test_a_page_has_meaning_default_allowed_values_and_what_a_resumed_run_may_do(key, words):
    page = "\n".join(key_lines(key))
    assert [each for each in words if each not in page] == []


@for_each(
    ("text", "answer"),
    [
        ("step.clip.at", True),
        ("data.train[].weight", True),
        ("length", True),
        ("step", False),
        ("loss is nan", False),
        ("config.yaml", False),
        ("step.", False),
    ],
)
def test_what_is_meant_as_a_key(text, answer):
    assert is_key(text) == answer


def test_a_key_that_is_not_there_has_no_page_but_neighbours():
    assert key_lines("step.optimizer.learning_rat") == []
    assert near_keys("step.optimizer.learning_rat")[0] == "step.optimizer.learning_rate"


def test_keys_are_found_by_their_last_word():
    assert keys_called("learning-rate") == ["step.optimizer.learning_rate"]
    assert keys_called("nothing") == []
