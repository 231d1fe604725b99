from tests.checks.kinds.nmt.commands import run
from tests.for_each import for_each
from trimtab.checks.kinds.nmt.sockeye_concepts import sides


@for_each(
    ("more", "word", "value"),
    [
        ("--num-layers 12:2", "layers", 2),
        ("--num-layers 12:2", "encoder_layers", 12),
        ("--transformer-postprocess drn --transformer-preprocess ''", "norm_placement", "post"),
        ("--batch-type sentence", "batch_unit", "examples"),
        ("--gradient-clipping-type none", "clip", 0.0),
        ("--gradient-clipping-type abs", "clip", None),
        ("--learning-rate-scheduler-type none", "warmup_steps", 0),
        ("--weight-tying-type none", "tied_embeddings", False),
        ("--weight-tying-type trg_softmax", "shared_vocabulary", False),
        ("--params old/params.best", "from_scratch", False),
        ("--apex-amp", "autocast", "fp16"),
        ("--deepspeed-bf16", "autocast", "bf16"),
        ("--dtype float16", "weights_dtype", "fp32"),
        ("--max-num-epochs 3", "epochs", 3.0),
        (
            "--transformer-activation-type swish1 --transformer-feed-forward-use-glu",
            "activation",
            "gated-silu",
        ),
        ("--keep-last-params 5", "keep_checkpoints", 5),
    ],
)
def test_an_option_says_its_word(more, word, value):
    line = "sockeye-train -s a.en -t a.de -vs d.en -vt d.de -o m --max-num-checkpoint-not-improved 9"
    assert run(f"{line} {more}\n").value(word) == value


@for_each(
    ("value", "both"),
    [
        ("6:3", ["6", "3"]),
        ([6, 3], [6, 3]),
        (6, [6, 6]),
        ("6", ["6", "6"]),
        ([6], [6, 6]),
        ([], [None, None]),
    ],
)
def test_a_value_is_of_both_sides_or_one_for_both(value, both):
    assert sides(value) == both
