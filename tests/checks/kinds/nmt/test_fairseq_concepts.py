import pytest

from tests.checks.kinds.nmt.commands import run
from tests.for_each import for_each


@for_each(
    ("more", "word", "value"),
    [
        ("--memory-efficient-fp16", "weights_dtype", "fp16"),
        ("--bf16", "autocast", "bf16"),
        ("--batch-size 64", "batch_unit", "examples"),
        ("--update-freq 4,2", "accumulation", 2),
        ("--encoder-normalize-before --decoder-normalize-before", "norm_placement", "pre"),
        ("--encoder-embed-dim 256 --encoder-ffn-embed-dim 512", "feed_forward", 512),
        ("--decoder-learned-pos", "positions", "learned"),
        ("--sentence-avg", "loss_normalization", "examples"),
        ("--finetune-from-model old.pt", "from_scratch", False),
        ("--restore-file checkpoint_last.pt", "from_scratch", True),
        ("--restore-file $OLD", "from_scratch", None),
        ("--criterion cross_entropy", "label_smoothing", 0.0),
        ("--lr-scheduler fixed", "schedule", "constant"),
        ("--lr-scheduler polynomial_decay", "warmup_steps", 0),
        ("--lr-scheduler inverse_sqrt", "warmup_steps", 4000),
        ("--task language_modeling", "task", "language_model"),
        ("--task masked_lm", "task", None),
        ("--store-ema --ema-decay 0.999", "moving_average", pytest.approx(0.001)),
        ("--lr none", "learning_rate", None),
    ],
)
def test_an_option_says_its_word(more, word, value):
    line = "fairseq-train bin --arch transformer --optimizer adam --weight-decay 0.0"
    assert run(f"{line} {more}\n").value(word) == value
