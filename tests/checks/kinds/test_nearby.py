from importlib import import_module

from tests.checks.kinds.describing import document
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.nearby import FILES, nearby

FOLDER = {
    "config.json": '{"model_type": "bart", "d_model": 8}',
    "generation_config.json": '{"num_beams": 4, "do_sample": false}',
    "tokenizer_config.json": "[1]",
}


def test_files_of_the_folder_are_told_and_what_is_no_such_file_is_left_out():
    around = Surroundings(beside=lambda name: document(name, FOLDER[name]) if name in FOLDER else None)
    runs = nearby(
        around, "config.json", "generation_config.json", "tokenizer_config.json", "adapter_config.json"
    )
    assert [run.kind for run in runs] == ["model-config", "generation-config"]
    assert all(not run.nearby for run in runs)


def test_every_file_has_a_kind():
    assert all(import_module(f"trimtab.checks.kinds.{module}").KIND for module in FILES.values())
