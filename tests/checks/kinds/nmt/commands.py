"""Command lines of the three tools as runs, for tests; each is written by hand, and nothing is wrong with it."""

from tests.checks.kinds.describing import describe_all
from trimtab.checks.kinds.shell_launch import KIND

MARIAN = """#!/bin/bash
MARIAN=${MARIAN:-../marian/build}
LR=0.0003
$MARIAN/marian --type transformer --model run/model.npz \\
    --train-sets corpus.en corpus.de --valid-sets dev.en dev.de --vocabs joint.spm joint.spm \\
    --dim-vocabs 32000 32000 --max-length 120 --mini-batch-words 3000 -w 9000 --maxi-batch 500 --optimizer-delay 4 \\
    --enc-depth 6 --dec-depth 4 --transformer-heads 8 --transformer-dim-ffn 1536 --transformer-dropout 0.1 \\
    --learn-rate $LR --lr-warmup 8000 --lr-decay-inv-sqrt 8000 --optimizer-params 0.9 0.98 1e-09 --clip-norm 1 \\
    --label-smoothing 0.1 --tied-embeddings-all --exponential-smoothing --cost-type=ce-mean-words \\
    --after 100Ku --valid-freq 2500u --save-freq 5Ku --early-stopping 8 -d 0 1 --sync-sgd --fp16 --seed 7 -b6 -n1
"""
SOCKEYE = """
sockeye-prepare-data --source corpus.en --target corpus.de --shared-vocab --output prepared --max-seq-len 100
torchrun --no_python --nproc_per_node 4 sockeye-train --prepared-data prepared \\
    -vs dev.en -vt dev.de --output model --dist --num-layers 6:3 --transformer-model-size 512 \\
    --transformer-feed-forward-num-hidden 1024 --amp --batch-type max-word --batch-size 4000 --update-interval 2 \\
    --optimizer-betas 0.9:0.98 --initial-learning-rate 0.03 --learning-rate-scheduler-type inv-sqrt-decay \\
    --learning-rate-warmup 4000 --gradient-clipping-type norm --checkpoint-interval 500 --max-updates 30000 \\
    --max-num-checkpoint-not-improved 12 --seed 2
"""
FAIRSEQ = """
TEXT=data/tokenized
fairseq-preprocess --source-lang de --target-lang en --trainpref $TEXT/train --validpref $TEXT/valid \\
    --destdir data-bin/iwslt --joined-dictionary --workers 8
CUDA_VISIBLE_DEVICES=0,1 fairseq-train --fp16 data-bin/iwslt/ \\
    --arch transformer_iwslt_de_en --share-all-embeddings --dropout 0.2 --weight-decay 0.0001 \\
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 7e-4 --lr-scheduler inverse_sqrt \\
    --warmup-updates 4000 --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \\
    --max-tokens 4096 --update-freq 4 --max-update 40000 --patience 9 --save-interval-updates 1000 \\
    --validate-interval-updates 1000 --keep-interval-updates 5 --save-dir out --seed 3
"""


def runs(text):
    """Every run of a script, the two that prepare data among them."""
    return describe_all(KIND, text, file="run.sh")


def run(text):
    """The one that trains."""
    (trained,) = [each for each in runs(text) if each.setting("optimizer") or each.setting("learning_rate")]
    return trained
