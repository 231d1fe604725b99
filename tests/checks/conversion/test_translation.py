from tests.checks.conversion.made import OPENNMT, lacking, made, recipe


def test_smoothing_is_taken_over_unchanged():
    assert recipe(OPENNMT).loss.label_smoothing == 0.1


def test_what_has_no_counterpart_is_named_and_nothing_else():
    assert lacking(OPENNMT) == ["src_vocab"]


def test_differences_in_the_arithmetic_are_said():
    text = OPENNMT.replace("normalization: tokens", "normalization: sents")
    assert any("number of sentences" in note for note in made(text).notes)
    assert any("other weights" in note for note in made(OPENNMT + "train_from: a.pt\n").notes)


def test_a_width_that_says_the_same_again_is_no_loss():
    assert lacking(OPENNMT + "word_vec_size: 512\naccum_steps: [0]\n") == ["src_vocab"]
    assert lacking(OPENNMT + "word_vec_size: 300\n") == ["src_vocab", "word_vec_size"]
