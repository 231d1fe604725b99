import pytest

from tests.checks.conversion.made import made, recipe
from trimtab.config.source_factors import CaseFactor, FileFactor

SOCKEYE = (
    "python -m sockeye.train --source a.en --target a.de --validation-source d.en --validation-target d.de "
    "--output m --transformer-model-size 64 --source-factors a.pos a.ner --validation-source-factors d.pos d.ner "
)
OPENNMT = """
data:
  corpus_1: {path_src: a.feats, path_tgt: a.de, transforms: [inferfeats]}
  valid: {path_src: d.feats, path_tgt: d.de, transforms: [inferfeats]}
n_src_feats: 2
feat_merge: sum
save_model: m
encoder_type: transformer
decoder_type: transformer
train_steps: 100
"""
MARIAN = "type: transformer\ntrain-sets: [a.en, a.de]\nvalid-sets: [d.en, d.de]\nmodel: m.npz\ndim-emb: 64\n"


def test_files_of_sockeye_stand_beside_their_corpora():
    options = "--source-factors-combine sum concat --source-factors-num-embed 64 8\n"
    told = recipe(SOCKEYE + options, "run.sh")
    assert told.data.train[0].factors == {"factor1": "a.pos", "factor2": "a.ner"}
    assert told.data.valid["valid"].factors == {"factor1": "d.pos", "factor2": "d.ner"}
    assert told.data.source_factors == (
        FileFactor(name="factor1"),
        FileFactor(name="factor2", combine="concat", dim=8),
    )
    assert told.model.tie_embeddings == "decoder"
    assert not any("factor" in setting.key for setting in made(SOCKEYE + options, "run.sh").unmatched)


def test_files_of_sockeye_that_were_prepared_are_found():
    script = (
        "python -m sockeye.prepare_data --source a.en --target a.de --source-factors a.pos --output prepared\n"
        "python -m sockeye.train --prepared-data prepared --validation-source d.en --validation-target d.de "
        "--validation-source-factors d.pos --output m --source-factors-combine sum\n"
    )
    told = recipe(script, "run.sh")
    assert told.data.train[0].factors == {"factor1": "a.pos"}
    assert told.data.source_factors == (FileFactor(name="factor1"),)


def test_without_files_for_validation_sockeyes_factors_are_left_out_and_named():
    script = SOCKEYE.replace("d.pos d.ner", "d.pos") + "\n"
    assert recipe(script, "run.sh").data.source_factors == ()
    assert any("for the validation set too" in note for note in made(script, "run.sh").notes)


def test_features_of_opennmt_are_behind_the_words_of_the_source():
    told = recipe(OPENNMT, "onmt.yaml")
    assert told.data.train[0].factor_separator == told.data.valid["valid"].factor_separator == "￨"
    assert told.data.source_factors == (FileFactor(name="feature1"), FileFactor(name="feature2"))


@pytest.mark.parametrize(("combine", "dim"), [("sum", None), ("concat", 16)])
def test_a_factored_vocabulary_of_marian_becomes_the_case_factor(combine, dim):
    told = recipe(
        f"{MARIAN}vocabs: [v.fsv, v.fsv]\nfactors-combine: {combine}\nfactors-dim-emb: 16\n", "m.yml"
    )
    assert told.data.source_factors == (CaseFactor(combine=combine, dim=dim),)
    assert dim is None or told.model.tie_embeddings != "all"
    assert recipe(f"{MARIAN}vocabs: [v.spm, v.spm]\n", "m.yml").data.source_factors == ()
