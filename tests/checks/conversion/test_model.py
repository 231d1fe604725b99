import pytest

from tests.checks.conversion.made import OPENNMT, lacking, made, recipe
from tests.checks.conversion.test_corpora import MAMMOTH


def test_the_sizes_are_taken_over():
    model = recipe(OPENNMT).model
    assert (model.dim, model.heads, model.encoder_layers, model.decoder_layers) == (512, 8, 6, 6)
    assert (model.feed_forward, model.dropout, model.positions, model.tie_embeddings) == (
        2048,
        0.1,
        "sinusoidal",
        "all",
    )


def test_stacks_of_layers_are_added_up():
    model = recipe(MAMMOTH).model
    assert (model.encoder_layers, model.decoder_layers, model.heads, model.feed_forward) == (6, 4, 8, 2048)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("heads: 8", "heads: 7", "do not divide"),
        ("decoder_type: transformer", "decoder_type: rnn", "no heads"),
    ],
)
def test_sizes_that_no_transformer_has_become_a_preset(old, new, word):
    text = OPENNMT.replace(old, new)
    assert recipe(text).model.dim == 512
    assert any(word in note and "base" in note for note in made(text).notes)


def test_positions_without_counterpart_are_named():
    text = OPENNMT.replace("position_encoding: true", "max_relative_positions: 20")
    assert recipe(text).model.positions == "sinusoidal"
    assert any("relative" in note for note in made(text).notes)


def test_dropout_on_attention_is_named():
    text = OPENNMT.replace("attention_dropout: 0.0", "attention_dropout: 0.1")
    assert any("attention weights" in note for note in made(text).notes)


def test_only_the_decoder_may_share():
    text = OPENNMT.replace("share_embeddings: true\nshare_decoder", "share_decoder")
    assert recipe(text).model.tie_embeddings == "decoder"


def test_where_training_began_from_weights_the_way_to_do_so_here_is_named():
    text = OPENNMT + "train_from: run/model_step_1000.pt\n"
    assert "train_from" not in lacking(text)
    assert any(
        "`model.warm_start: RUN` begins with those of a run of trimtab" in note for note in made(text).notes
    )
    assert "# warm_start: RUN, in the place of train_from" in made(text).recipe_text
    assert recipe(text).model.warm_start is None
