from tests.checks.conversion.made import OPENNMT, made, recipe

MAMMOTH = """
tasks:
  en-de:
    {src_tgt: en-de, path_src: a.en, path_tgt: a.de, path_valid_src: v.en, path_valid_tgt: v.de, src_prefix: <to_de>}
  de-en:
    {src_tgt: de-en, path_src: a.de, path_tgt: a.en, path_valid_src: v.de, path_valid_tgt: v.en, src_prefix: <to_en>}
model_dim: 512
enc_layers: [3, 3]
dec_layers: [4]
optim: adam
learning_rate: 0.0005
train_steps: 1000
node_rank: 0
seed: 1
"""


def test_files_and_a_shared_sentencepiece_model_are_taken_over():
    data = recipe(OPENNMT).data
    assert [(corpus.source, corpus.target) for corpus in data.train] == [("train.en", "train.de")]
    assert data.valid["valid"].source == "dev.en"
    assert (data.tokenizer.path, data.max_tokens) == ("spm.model", 151)


def test_two_models_are_not_one():
    text = OPENNMT.replace("tgt_subword_model: spm.model", "tgt_subword_model: other.model")
    assert recipe(text).data.tokenizer.path is None
    assert any("trained again" in note for note in made(text).notes)


def test_prefixes_are_tags_and_tasks_are_named_sets():
    data = recipe(MAMMOTH).data
    assert [corpus.tags for corpus in data.train] == [("<to_de>",), ("<to_en>",)]
    assert list(data.valid) == ["en-de", "de-en"]


def test_missing_files_are_said_in_the_text_and_beside_it():
    text = "\n".join(line for line in OPENNMT.splitlines() if "corpus_1" not in line and "valid:" not in line)
    conversion = made(text.replace("data:\n", ""))
    assert "MISSING" in conversion.recipe_text
    assert any("no pair of training files" in note for note in conversion.notes)
    assert any("no validation files" in note for note in conversion.notes)
    assert conversion.is_trainable


def test_weights_of_several_corpora_mean_something_else():
    text = OPENNMT.replace("  valid:", "  corpus_2: {path_src: b.en, path_tgt: b.de, weight: 3}\n  valid:")
    assert any("weights are not taken over" in note for note in made(text).notes)


def test_a_corpus_that_stands_twice_is_written_once():
    text = OPENNMT.replace("  valid:", "  corpus_2: {path_src: train.en, path_tgt: train.de}\n  valid:")
    assert len(recipe(text).data.train) == 1


DECODERS = """
tasks:
  en-de: {src_tgt: en-de, path_src: a.en, path_tgt: a.de, path_valid_src: v.en, path_valid_tgt: v.de}
  en-fr: {src_tgt: en-fr, path_src: a.en, path_tgt: a.fr, path_valid_src: v.en, path_valid_tgt: v.fr}
model_dim: 512
enc_layers: [3]
dec_layers: [3]
optim: adam
learning_rate: 0.0005
train_steps: 1000
node_rank: 0
"""


def test_tasks_that_differ_by_decoder_are_directions():
    data = recipe(DECODERS).data
    assert [corpus.direction for corpus in data.train] == ["en-de", "en-fr"]
    assert [valid.direction for valid in data.valid.values()] == ["en-de", "en-fr"]


def test_tasks_whose_stacks_cannot_be_read_get_tags():
    unread = DECODERS.replace("enc_layers: [3]\ndec_layers: [3]\n", "")
    data = recipe(unread).data
    assert [corpus.tags for corpus in data.train] == [("<2de>",), ("<2fr>",)]
    assert [valid.tags for valid in data.valid.values()] == [("<2de>",), ("<2fr>",)]
    assert any("tag of its target" in note for note in made(unread).notes)


def test_tasks_of_one_target_get_none():
    one = DECODERS.replace("en-fr", "nl-de").replace("a.en, path_tgt: a.fr", "a.nl, path_tgt: b.de")
    assert [corpus.tags for corpus in recipe(one).data.train] == [(), ()]
