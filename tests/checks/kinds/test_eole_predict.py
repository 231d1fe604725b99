import pytest

from tests.checks.kinds.yaml_runs import told, unknown_keys
from trimtab.checks.kinds.eole_predict import KIND


@pytest.mark.parametrize(
    "text",
    [
        "model_path: model\nsrc: test.en\nbeam_size: 4\n",
        "data_type: audio\nbeam_size: 4\nbatch_type: sents\nlanguage: en\n",
    ],
)
def test_decoding_is_told_and_nothing_of_training(text):
    run = told(KIND, text)
    assert (run.value("beam"), run.value("learning_rate")) == (4, None)
    assert unknown_keys(run) == []


def test_a_server_lists_models_and_nothing_checks_them():
    run = told(KIND, "models_root: .\nmodels:\n  - {id: a, path: b, config: {beam_size: 4}}\n")
    assert (run.table, run.concepts) == (None, {})
