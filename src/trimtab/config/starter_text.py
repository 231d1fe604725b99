"""The commented recipe of a language model."""

LANGUAGE_MODEL = """\
# A recipe for trimtab: one file that says the whole run of a language model.
#
#   trimtab train recipe.yaml --smoke      overfit one step's worth, to see that the line works
#   trimtab train recipe.yaml              the run; it becomes the folder runs/recipe
#   trimtab generate runs/recipe --prompt "Once upon a time"
#   trimtab evaluate runs/recipe --text FILE
#
# Any key can be changed for one run:  trimtab train recipe.yaml step.optimizer.learning_rate=3e-4
# A length is a number and its unit: 500 steps, 3 epochs, 2B tokens, 30 minutes.

task: language_model

data:
  # Text files (or .gz, .xz, .zst) whose documents are blocks between blank lines, or .jsonl files with a document a
  # line, in the field `text`. Paths start from this file's folder. weight 2 shows a corpus twice as often.
  train:
    - {text: train.txt, weight: 1.0}
  # Held-out text that the run is judged by. Several sets have names: valid: {news: {text: ...}, books: {text: ...}}
  valid: {text: dev.txt}
  # Learned from the training text when the run begins; newlines and spaces stay as they are, and what has no piece is
  # spelled in bytes. 4000 to 8000 pieces for a few megabytes, 32000 for gigabytes; {kind: bytes} needs none.
  tokenizer: {kind: sentencepiece, model: unigram, vocabulary_size: 16000}
  # Longest row in tokens, and so the most that the model sees at once; longer documents are split, nothing is dropped.
  max_tokens: 512

# tiny (2M parameters besides the vocabulary), small, base (350M) or big (1.3B). Any value can be set beside the preset,
# such as dropout: 0.1 where a text is seen more than a few times.
model: {kind: decoder, preset: small}

# z_loss: 1.0e-4 keeps logits from drifting in long runs.
loss: {kind: cross_entropy}

step:
  # Tokens that one update of the weights is made from. More is steadier, and slower to react.
  tokens_per_step: 32768
  # How many of them run at once. Halve it when memory runs out: the result stays the same.
  tokens_per_micro_batch: 16384
  # auto takes bf16 where the GPU has it, fp16 with loss scaling on older GPUs, fp32 on a CPU.
  precision: auto
  # The learning rate is the first thing to tune: try half and double. Larger models want smaller ones.
  optimizer: {kind: adamw, learning_rate: 1.0e-3, betas: [0.9, 0.95], weight_decay: 0.1}
  # Up over the warmup, then down to zero at `length`. Others: linear_warmup, warmup_stable_decay, constant.
  schedule: {kind: cosine, warmup: 200 steps}
  # Scales gradients down to this norm.
  clip: {kind: global_norm, at: 1.0}

# How long to train.
length: 5000 steps

evaluate:
  # Score the validation sets: nats per token, perplexity per token and per byte, bits per byte.
  every: 500 steps
  # Which score chooses the best checkpoint; `trimtab generate` takes that one.
  best: {metric: loss}
  # Stop after so many evaluations without a new best; null goes on to the end.
  patience: null

checkpoint:
  # `trimtab train recipe.yaml --resume` goes on from the newest one.
  every: 500 steps
  keep: 3

# Where the model is meant to go, such as [hf]: what cannot be exported is refused before training.
export: []

# The same seed and data give the same order of documents and the same first weights.
seed: 1
"""
