"""The commented recipes of a language model and of a classifier."""

LANGUAGE_MODEL = """\
# A recipe for trimtab: one file that says the whole run of a language model.
#
#   trimtab train recipe.yaml --smoke      overfit one batch, to check the whole pipeline
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
  # Stop after this many evaluations without a new best; null continues to the end.
  patience: null

checkpoint:
  # `trimtab train recipe.yaml --resume` continues from the newest one.
  every: 500 steps
  keep: 3

# Where the model is meant to go, such as [hf]: what cannot be exported is refused before training.
export: []

# The same seed and data give the same order of documents and the same first weights.
seed: 1
"""

CLASSIFICATION = """\
# A recipe for trimtab: one file that says the whole run of a classifier, which gives each line one of a set of labels.
#
#   trimtab train recipe.yaml --smoke      overfit one batch in about a minute to check the whole pipeline
#   trimtab train recipe.yaml              the run; it becomes the folder runs/recipe
#   trimtab classify runs/recipe < FILE    a label and its probability for each line
#
# Any key can be changed for one run:  trimtab train recipe.yaml step.optimizer.learning_rate=3e-4
# A length is a number and its unit: 500 steps, 3 epochs, 2M tokens (here: examples), 30 minutes.

task: classification

data:
  # A file with a text and its label a line, in columns between tabs (or .gz, .xz, .zst; .jsonl and .parquet take names
  # of columns), or two aligned files {source: texts.txt, target: labels.txt}. Paths start from this file's folder.
  # weight 2 shows a corpus twice as often as its size says. The labels are those of these files.
  train:
    - {pairs: train.tsv, source: 1, target: 2, weight: 1.0}
  # Held-out texts that the run is judged by. Several sets have names: valid: {news: {...}, talks: {...}}
  valid: {pairs: dev.tsv, source: 1, target: 2}
  # The vocabulary of the texts, learned when the run begins. 4000 to 8000 pieces for less than 100,000 lines.
  tokenizer: {kind: sentencepiece, model: unigram, vocabulary_size: 8000}
  # Of a text of more tokens the beginning is read.
  max_tokens: 128

# tiny, small, base or big: the encoders of the encoder-decoders of these names. The mean of its output over a text says
# which label it has. Any value can be set beside the preset, such as dropout: 0.3 where there are few examples.
model: {kind: encoder, preset: tiny, dropout: 0.1}

# label_smoothing: 0.1 keeps probabilities from coming too close to 0 and 1.
loss: {kind: cross_entropy, label_smoothing: 0.0}

step:
  # Examples that one update of the weights is made from.
  tokens_per_step: 256
  # How many of them run at once. Halve it when memory runs out: the result stays the same.
  tokens_per_micro_batch: 256
  # auto takes bf16 where the GPU has it, fp16 with loss scaling on older GPUs, fp32 on a CPU.
  precision: auto
  # The learning rate is the first thing to tune: try half and double.
  optimizer: {kind: adamw, learning_rate: 1.0e-3, weight_decay: 0.01}
  # Up over the warmup, then down in a line to zero at `length`.
  schedule: {kind: linear_warmup, warmup: 100 steps}
  # Scales gradients down to this norm.
  clip: {kind: global_norm, at: 1.0}

# How long to train.
length: 2000 steps

evaluate:
  # Score the validation sets.
  every: 200 steps
  metrics: [accuracy, macro_f1]
  # Which score chooses the best checkpoint; `trimtab classify` takes that one.
  best: {metric: accuracy}
  # Stop after this many evaluations without a new best; null continues to the end.
  patience: 5

checkpoint:
  # `trimtab train recipe.yaml --resume` continues from the newest one.
  every: 200 steps
  keep: 3

# The same seed and data give the same order of examples and the same first weights.
seed: 1
"""

RECOGNITION = """\
# A recipe for trimtab: one file that says the whole run of a recognizer, which reads lines of text in images.
#
#   trimtab train recipe.yaml --smoke      overfit one batch in about a minute to check the whole pipeline
#   trimtab train recipe.yaml              the run; it becomes the folder runs/recipe
#   trimtab recognise runs/recipe line1.png line2.png
#   trimtab recognise runs/recipe --score test/labels.tsv     error rates, and what is mistaken for what
#
# Needs `pip install "trimtab[train,vision]"`. Any key can be changed for one run:
#   trimtab train recipe.yaml step.optimizer.learning_rate=3e-4
# A length is a number and its unit: 500 steps, 3 epochs, 2M tokens (here: characters), 30 minutes.

task: recognition

data:
  # Images with their texts: a list (.tsv or PaddleOCR's .txt with path, tab, text; .jsonl with image and text; docTR's
  # labels.json), or a folder with such a list or with a .gt.txt beside each image. Or a text whose lines are drawn anew
  # each time they are seen, with the fonts of files and folders. weight 2 shows a corpus twice as often.
  train:
    - {images: train/labels.tsv, weight: 1.0}
    - {text: lines.txt, render: {fonts: [/usr/share/fonts/truetype/dejavu]}}
  # Held-out images that the run is judged by. Several sets have names: valid: {scans: {images: ...}, photos: {...}}
  valid: {images: dev/labels.tsv}
  # Every image is brought to this height, whatever its width; wider ones are squeezed, or dropped and counted
  # (too_wide: drop). augment: null reads them as they are.
  images: {fit: height, size: 32, max_width: 1024}
  # Which characters there are follows from the training texts, or from a `file` with one on each line.
  charset: {normalization: nfc}
  # Longest text in characters, its end included; longer ones are dropped and counted.
  max_tokens: 128

# tiny, small, base or big. head: ctc reads column by column and learns quickly; attention writes like a language model
# and needs far more data; both trains the second with the help of the first. Any value can be set beside the preset.
model: {kind: vision, preset: small, head: ctc}

step:
  # Characters that one update of the weights is made from.
  tokens_per_step: 4096
  # How many of them run at once. Halve it when memory runs out: the result stays the same.
  tokens_per_micro_batch: 4096
  # auto takes bf16 where the GPU has it, fp16 with loss scaling on older GPUs, fp32 on a CPU.
  precision: auto
  # The learning rate is the first thing to tune: try half and double.
  optimizer: {kind: adamw, learning_rate: 1.0e-3, betas: [0.9, 0.98], weight_decay: 0.01}
  # Up over the warmup, then down to zero at `length`. Others: linear_warmup, warmup_stable_decay, constant.
  schedule: {kind: cosine, warmup: 200 steps}
  # Scales gradients down to this norm.
  clip: {kind: global_norm, at: 1.0}

# How long to train.
length: 10000 steps

evaluate:
  # Read the validation sets: error rates of characters and words, share of lines without an error, share of loops.
  every: 500 steps
  metrics: [cer, wer, exact, loops]
  # Which score chooses the best checkpoint; `trimtab recognise` takes that one.
  best: {metric: cer}
  # Stop after this many evaluations without a new best; null continues to the end.
  patience: null

checkpoint:
  # `trimtab train recipe.yaml --resume` continues from the newest one.
  every: 500 steps
  keep: 3

# The same seed and data give the same order of images, the same rendering, and the same first weights.
seed: 1
"""

DETECTION = """\
# A recipe for trimtab: one file that says the whole run of a detector, which finds objects in images.
#
#   trimtab train recipe.yaml --smoke      overfit one batch in about a minute to check the whole pipeline
#   trimtab train recipe.yaml              the run; it becomes the folder runs/recipe
#   trimtab detect runs/recipe image1.png image2.png --draw drawn
#   trimtab detect runs/recipe --score test/boxes.json      AP, precision and recall, before and after NMS
#
# Needs `pip install "trimtab[train,vision,pretrained]"`. Any key can be changed for one run:
#   trimtab train recipe.yaml step.optimizer.learning_rate=3e-4
# A length is a number and its unit: 500 steps, 3 epochs, 30 minutes.

task: detection

data:
  # Boxes in COCO's form (a .json file), or in YOLO's (a data.yaml, or a folder with images/ and labels/). Boxes that
  # cannot be used are counted and named. weight 2 shows a corpus twice as often.
  train:
    - {boxes: train/boxes.json, weight: 1.0}
  # Held-out images that the run is judged by. Several sets have names: valid: {scans: {boxes: ...}, photos: {...}}
  valid: {boxes: dev/boxes.json}
  # fit: native keeps the aspect ratio and gives each image a canvas of its own shape with size x size pixels; letterbox
  # pads to a square; squash stretches the image to it. augment: null changes nothing; flip is off, for pages of text.
  canvas: {fit: letterbox, size: 640, augment: {flip: 0.0, scale: 0.3, crop: 0.3, color: 0.3}}

# architecture: d_fine, rt_detr_v2, deimv2 or detr. tiny, small, base or big; path: FOLDER fine-tunes a trained one, and
# then its own sizes hold. queries is how many boxes are predicted for an image.
model: {kind: detector, architecture: d_fine, preset: small, queries: 300}

# ciou, diou or giou.
loss: {boxes: {iou: ciou}}

step:
  # Images that one update of the weights is made from.
  tokens_per_step: 16
  # How many of them run at once. Halve it when memory runs out: the result stays the same, except with live batch norm.
  tokens_per_micro_batch: 16
  # auto takes bf16 where the GPU has it, fp16 with loss scaling on older GPUs, fp32 on a CPU; boxes stay in fp32.
  precision: auto
  # The learning rate is the first thing to tune: try half and double. The backbone may learn at another one.
  optimizer: {kind: adamw, learning_rate: 5.0e-4, weight_decay: 1.0e-4}
  # Up over the warmup, then down to zero at `length`. Others: linear_warmup, warmup_stable_decay, constant.
  schedule: {kind: cosine, warmup: 300 steps}
  # Scales gradients down to this norm; detectors are clipped harder than language models.
  clip: {kind: global_norm, at: 0.1}
  # Detectors are evaluated with averaged weights (`evaluate.weights: ema`).
  ema: {decay: 0.9995}

# How long to train.
length: 20000 steps

evaluate:
  # AP as COCO computes it, before and after duplicates are removed, and predictions for each object.
  every: 1000 steps
  metrics: [ap, ap50, ap75, ap_nms, predictions_per_object]
  # Which score chooses the best checkpoint; `trimtab detect` takes that one.
  best: {metric: ap}
  weights: ema
  # Stop after this many evaluations without a new best; null continues to the end.
  patience: null

checkpoint:
  # `trimtab train recipe.yaml --resume` continues from the newest one.
  every: 1000 steps
  keep: 3

# The same seed and data give the same order of images, the same changes of them, and the same first weights.
seed: 1
"""

DIFFUSION = """\
# A recipe for trimtab: one file that says the whole run of a diffusion model, which makes small images.
#
#   trimtab train recipe.yaml --smoke      overfit one batch in about a minute to check the whole pipeline
#   trimtab train recipe.yaml              the run; it becomes the folder runs/recipe, with samples in it
#   trimtab sample runs/recipe --out samples
#   trimtab sample runs/recipe --class cat --guidance 3 --nearest --out cats
#
# Needs `pip install "trimtab[train,vision]"`. Any key can be changed for one run:
#   trimtab train recipe.yaml step.optimizer.learning_rate=3e-4
# A length is a number and its unit: 500 steps, 3 epochs, 2M tokens (here: images), 30 minutes.

task: diffusion

data:
  # A folder whose subfolders are classes, a folder of images without classes, or a list of images with their labels
  # (.tsv with path, tab, label; .jsonl with image and label). weight 2 shows a corpus twice as often.
  train:
    - {images: train, weight: 1.0}
  # Held-out images, on which the loss is measured, always with the same noise.
  valid: {images: valid}
  # Every image becomes a square of this size: its middle (fit: crop), or all of it with margins (fit: longest).
  images: {fit: crop, size: 32, channels: rgb}

# tiny, small, base or big. prediction: flow (rectified flow), epsilon, v or x0. Smaller patches are better and slower.
# guidance: 1 samples from the model as it is, more makes images more typical of their class.
model:
  kind: diffusion_transformer
  preset: small
  patch: 4
  prediction: flow
  class_dropout: 0.1
  sampling: {sampler: euler, steps: 50, guidance: 2.0}

step:
  # Images that one update of the weights is made from.
  tokens_per_step: 256
  # How many of them run at once. Halve it when memory runs out: the result stays the same.
  tokens_per_micro_batch: 256
  # auto takes bf16 where the GPU has it, fp16 with loss scaling on older GPUs, fp32 on a CPU.
  precision: auto
  optimizer: {kind: adamw, learning_rate: 5.0e-4, betas: [0.9, 0.99], weight_decay: 0.01}
  # Up over the warmup, then down to zero at `length`. Others: linear_warmup, warmup_stable_decay, constant.
  schedule: {kind: cosine, warmup: 200 steps}
  clip: {kind: global_norm, at: 1.0}
  # Samples come from a moving average of the weights, which covers the last tenth of the run at first.
  ema: {decay: 0.9995}

# How long to train.
length: 20000 steps

evaluate:
  # The loss on held-out images, by how much noise there is, and a grid of samples in runs/recipe/samples.
  every: 1000 steps
  samples: 8
  best: {metric: loss}
  weights: ema

checkpoint:
  # `trimtab train recipe.yaml --resume` continues from the newest one.
  every: 1000 steps
  keep: 3

# The same seed and data give the same order of images, the same noise, and the same first weights.
seed: 1
"""
