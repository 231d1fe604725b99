import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from trimtab.checks.kinds.eole import KIND


def run(model):
    return told(KIND, f"src_vocab: v\ntraining: {{optim: adam}}\nmodel: {model}\n")


def test_sizes_of_the_whole_win_over_defaults_of_the_parts():
    whole = run("{architecture: transformer, hidden_size: 256, layers: 3, heads: 4, transformer_ff: 1024}")
    assert values(whole, "hidden_size", "layers", "heads", "feed_forward") == (256, 3, 4, 1024)
    assert whole.setting("layers").key == "model.layers"


def test_a_decoder_has_its_own():
    assert run("{architecture: transformer, layers: -1, decoder: {layers: 2}}").value("layers") == 2


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("{architecture: transformer}", "sinusoidal"),
        ("{architecture: transformer, embeddings: {position_encoding_type: Rotary}}", "rotary"),
        ("{architecture: transformer, embeddings: {position_encoding_type: null}}", "none"),
    ],
)
def test_positions_are_sinusoidal_unless_said(model, kind):
    assert run(model).value("positions") == kind


def test_a_language_model_has_one_side():
    assert values(run("{architecture: transformer_lm}"), "task", "encoder_decoder") == (
        "language_model",
        False,
    )


def test_nothing_is_told_of_a_network_that_is_no_transformer():
    assert values(run("{architecture: rnn, hidden_size: 500}"), "hidden_size", "heads") == (500, None)


def test_one_matrix_for_both_sides_is_tied():
    assert run("{architecture: transformer, share_embeddings: true}").value("tied_embeddings") is True
    assert run("{architecture: transformer}").value("tied_embeddings") is False
