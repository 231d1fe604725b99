from tests.for_each import for_each
from trimtab.checks.kinds.huggingface.loading import dtype_word


@for_each(
    ("value", "word"),
    [
        ("torch.bfloat16", "bf16"),
        ("float32", "fp32"),
        ("auto", "auto"),
        ("torch.half", "fp16"),
        ("int8", None),
        (16, None),
    ],
)
def test_a_dtype_has_one_word(value, word):
    assert dtype_word(value) == word
