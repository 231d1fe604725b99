"""The commented recipe to start from."""

from typing import Literal

from trimtab.config.starter_text import CLASSIFICATION, DETECTION, DIFFUSION, LANGUAGE_MODEL, RECOGNITION

RecipeKind = Literal[
    "translation", "language_model", "classification", "recognition", "detection", "diffusion"
]


def init_recipe(kind: RecipeKind = "translation") -> str:
    """A recipe that loads as it stands, with a comment at every key that a first run may want to change."""
    return _STARTERS[kind]


_TRANSLATION = """\
# A recipe for trimtab: one file that says the whole run.
#
#   trimtab data inspect recipe.yaml       what is in the files, and what would be dropped
#   trimtab train recipe.yaml --smoke      overfit one batch, to check the whole pipeline
#   trimtab train recipe.yaml              the run; it becomes the folder runs/recipe
#
# Any key can be changed for one run:  trimtab train recipe.yaml step.optimizer.learning_rate=3e-4
# A length is a number and its unit: 500 steps, 3 epochs, 2M tokens (of the target side), 30 minutes.

task: translation

data:
  # Two aligned text files, line by line (or .gz, .xz, .zst). Paths start from this file's folder. One file with both
  # sides is {pairs: corpus.tsv, source: 1, target: 2}, with columns by number or name; .jsonl takes names.
  # weight 2 shows a corpus twice as often as its size says; tags puts words such as <ui> before each source line.
  train:
    - {source: train.en, target: train.de, weight: 1.0, tags: []}
  # More text of the target language: {text: mono.de, tags: [<denoise>]} with the transform {kind: denoise}, or
  # back-translated, {source: bt.en, target: mono.de, tags: [<bt>]}; docs/how_to/back_translation.md has both.
  # temperature: 5.0 evens out corpora of very different size; stages mixes them by other weights at other steps:
  # stages: [{until: 5000 steps, weights: {crawl: 1.0}}, {weights: {crawl: 0}}]   (a corpus of the name crawl)
  # Held-out text that the run is judged by. Several sets have names: valid: {news: {...}, talks: {...}}
  valid: {source: dev.en, target: dev.de}
  # One vocabulary for both languages, learned from the training text when the run begins. 4000 to 8000 pieces for
  # less than 100,000 lines, 16000 to 32000 for millions. Where there is little text, splitting each line in another way
  # each time makes more of it: sampling: {kind: subword_regularization, alpha: 0.1}
  # normalization makes one character of those that look alike, and goes along with the model wherever it is exported.
  tokenizer: {kind: sentencepiece, model: unigram, vocabulary_size: 16000, normalization: nmt_nfkc}
  # Applied to each pair in this order, while training. What a filter drops is counted in data_ledger.json.
  transforms:
    - {kind: length, unit: words, min: 1, max: 200}
    - {kind: ratio, max: 4.0}
  # Longest side in tokens; longer training pairs are dropped and counted.
  max_tokens: 256

# tiny, small, base or big. Any value can be set beside the preset, such as dropout: 0.3 where there is little text.
model: {kind: encoder_decoder, preset: small, dropout: 0.1}

loss: {kind: cross_entropy, label_smoothing: 0.1}

step:
  # Target tokens that one update of the weights is made from. More is steadier, and slower to react.
  tokens_per_step: 16384
  # How many of them run at once. Halve it when memory runs out: the result stays the same.
  tokens_per_micro_batch: 8192
  # auto takes bf16 where the GPU has it, fp16 with loss scaling on older GPUs, fp32 on a CPU.
  precision: auto
  # The learning rate is the first thing to tune: try half and double. Others: stable_adamw, adafactor, lion, sgd.
  optimizer: {kind: adamw, learning_rate: 7.0e-4, betas: [0.9, 0.98], weight_decay: 0.01}
  # Up over the warmup, then down in a line to zero at `length`. Others: inverse_sqrt, cosine,
  # warmup_stable_decay, one_cycle, exponential, constant, and noam, whose learning_rate is a factor.
  schedule: {kind: linear_warmup, warmup: 500 steps}
  # Scales gradients down to this norm; {kind: adaptive} goes by each tensor's own history, {kind: off} only measures.
  clip: {kind: global_norm, at: 1.0}

# How long to train.
length: 10000 steps

evaluate:
  # Score the validation sets and write sample translations.
  every: 500 steps
  metrics: [bleu, chrf]
  # Which score chooses the best checkpoint; `trimtab translate` takes that one.
  best: {metric: chrf}
  # Stop after this many evaluations without a new best; null continues to the end.
  patience: 10

checkpoint:
  # `trimtab train recipe.yaml --resume` continues from the newest one.
  every: 500 steps
  keep: 3

# Where the model is meant to go, such as [hf, ctranslate2, onnx]: what cannot be exported is refused before training.
export: []

# The same seed and data give the same order of examples and the same first weights.
seed: 1
"""

_STARTERS: dict[RecipeKind, str] = {
    "translation": _TRANSLATION,
    "language_model": LANGUAGE_MODEL,
    "classification": CLASSIFICATION,
    "recognition": RECOGNITION,
    "detection": DETECTION,
    "diffusion": DIFFUSION,
}
