"""The table of what calls take, against itself and against the libraries that are installed."""

import json
from pathlib import Path

import pytest

from tests.for_each import for_each
from trimtab.checks import signatures


def test_the_table_is_of_the_versions_that_it_names():
    table = json.loads(Path(signatures.__file__).with_suffix(".json").read_text())
    assert set(table) == {"versions", "calls", "passed", "gone"}
    assert all(signatures.newest(name) for name in table["versions"])
    assert "processing_class" in signatures.keywords_of("trl.SFTTrainer")
    assert signatures.canonical("pytorch_lightning.Trainer") == signatures.canonical("lightning.Trainer")
    assert not set(table["gone"]["transformers"]["4.57.3"].split()) & {"Trainer", "BertTokenizer", "Any"}


@pytest.mark.slow  # imports transformers
def test_the_table_agrees_with_the_installed_libraries():
    """The slow twin of the table: what it says of the installed version is what that version says itself."""
    import inspect
    from importlib.metadata import version

    transformers = pytest.importorskip("transformers")
    if version("transformers").split(".")[:2] != [
        str(part) for part in signatures.newest("transformers")[:2]
    ]:
        pytest.skip("another version is installed")
    names = inspect.signature(transformers.EarlyStoppingCallback).parameters
    assert set(names) == set(signatures.keywords_of("transformers.EarlyStoppingCallback"))


@for_each(
    ("name", "library"),
    [("trl.PPOTrainer", "trl"), ("trl.SFTTrainer", None), ("mine.PPOTrainer", None), ("PPO", None)],
)
def test_a_name_is_gone_from_the_library_that_had_it(name, library):
    found = signatures.gone(name)
    assert (found.library if found is not None else None) == library
    assert signatures.passed_to("transformers.Trainer", "training_step") == (3, frozenset())
    assert signatures.passed_to("transformers.Trainer", "nothing") is None
    assert signatures.keywords_of("mine.Trainer") == ()
