from tests.checks.kinds.test_marian import WHOLE
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.marian import KIND


@for_each(
    ("more", "word", "value"),
    [
        ("fp16: true", "autocast", "fp16"),
        ("precision: [float16, float32]", "weights_dtype", "fp32"),
        ("alibi: true", "positions", "alibi"),
        ("transformer-train-position-embeddings: true", "positions", "learned"),
        ("transformer-postprocess: dar", "norm", "rms_norm"),
        ("lr-warmup: 50Mt", "warmup_steps", None),
        ("lr-decay-inv-sqrt: 0", "schedule", "constant_with_warmup"),
        ("pretrained-model: old.npz", "from_scratch", False),
        ("after-batches: 5000", "steps", 5000),
        ("devices: ['0 1']", "devices", 2),
        ("mini-batch-fit: false", "batch_unit", "examples"),
        ("type: lm-transformer", "task", "language_model"),
        ("type: bert", "task", None),
        ("type: s2s", "hidden_size", None),
        ("label-smoothing: none", "label_smoothing", None),
    ],
)
def test_an_option_says_its_word(more, word, value):
    key = more.partition(":")[0]
    text = "\n".join(line for line in WHOLE.splitlines() if not line.startswith(f"{key}:"))
    if key == "after-batches":
        text = text.replace("after: 20e,1Gt", "")
    assert told(KIND, f"{text}\n{more}\n").value(word) == value
