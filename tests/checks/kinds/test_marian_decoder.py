from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks.kinds.yaml_runs import VALUES, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.marian_decoder import KIND

DECODER = "relative-paths: true\nmodels: [model.npz]\nvocabs: [v.spm, v.spm]\nbeam-size: 6\nnormalize: 0.6\n"


def test_it_says_how_wide_it_searches():
    run = told(KIND, DECODER)
    assert run.value("beam") == 6
    assert run.value("learning_rate") is None
    assert unknown_keys(run) == []


def test_what_it_does_not_know_is_in_no_table():
    assert unknown_keys(told(KIND, DECODER + "beam-sise: 4\n")) == ["beam-sise"]


@settings(max_examples=5, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(load_table("marian_decoder").keys)), st.sampled_from(VALUES), max_size=6
    )
)
def test_no_value_is_too_strange(tree):
    settle(KIND, {"models": ["a"], "beam-size": 1, "normalize": 1, **tree})
