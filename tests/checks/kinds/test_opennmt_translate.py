from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told, unknown_keys
from trimtab.checks.kinds.opennmt_translate import KIND


def test_decoding_is_told_and_nothing_of_training():
    run = told(KIND, "model: model.pt\nsrc: test.en\nbeam_size: 4\nblock_ngram_repeat: 3\n")
    assert values(run, "beam", "no_repeat_ngram", "learning_rate") == (4, 3, None)
    assert unknown_keys(run) == []


def test_its_names_for_sampling_are_a_sign():
    assert told(KIND, "random_sampling_topk: 40\n").value("beam") == 5


def test_translation_refuses_keys_that_it_does_not_know():
    run = told(KIND, "random_sampling_topk: 40\ntop_k: 40\n")
    assert (run.table.unknown_keys, unknown_keys(run)) == ("refused", ["top_k"])
