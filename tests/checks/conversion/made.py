"""Configurations turned into recipes, for tests."""

from tests.checks.kinds.describing import document
from trimtab.checks.convert import convert
from trimtab.config.load import parse_recipe

OPENNMT = """
data:
  corpus_1: {path_src: train.en, path_tgt: train.de, transforms: [sentencepiece, filtertoolong], weight: 1}
  valid: {path_src: dev.en, path_tgt: dev.de, transforms: [sentencepiece]}
save_model: run/model
src_vocab: vocab
share_vocab: true
src_subword_model: spm.model
tgt_subword_model: spm.model
src_seq_length: 150
encoder_type: transformer
decoder_type: transformer
layers: 6
hidden_size: 512
heads: 8
transformer_ff: 2048
position_encoding: true
share_embeddings: true
share_decoder_embeddings: true
optim: adam
adam_beta2: 0.998
learning_rate: 2
decay_method: noam
warmup_steps: 8000
max_grad_norm: 0
batch_size: 4096
batch_type: tokens
normalization: tokens
accum_count: 4
world_size: 2
gpu_ranks: [0, 1]
train_steps: 100000
valid_steps: 5000
save_checkpoint_steps: 5000
keep_checkpoint: 5
label_smoothing: 0.1
dropout: 0.1
attention_dropout: 0.0
average_decay: 0.0005
seed: 3435
"""


def made(text, file="config.yaml"):
    """The conversion of a text."""
    return convert(document(file, text))


def recipe(text, file="config.yaml"):
    """The recipe that comes out of it, which must load."""
    conversion = made(text, file)
    assert conversion.is_trainable, conversion.notes
    return parse_recipe(conversion.recipe_text).recipe


def lacking(text, file="config.yaml"):
    """Keys without a counterpart."""
    return [setting.key for setting in made(text, file).unmatched]
