import pytest

from trimtab.config.pretrained.gguf_header import GgufHeader
from trimtab.data.gguf_tokenizer import gguf_parts
from trimtab.errors import InputError


@pytest.mark.parametrize(("kind", "cut"), [("llama", "default"), ("gpt2", "llama-bpe")])
def test_a_tokenizer_that_cannot_be_rebuilt_exactly_is_refused(kind, cut):
    header = GgufHeader({"tokenizer.ggml.model": kind, "tokenizer.ggml.pre": cut}, ())
    with pytest.raises(InputError, match="cannot be rebuilt exactly") as error:
        gguf_parts(header, name="small.gguf")
    assert error.value.problems[0].got == f"{kind}, cut as by {cut}"


def test_digits_are_pieces_of_their_own_for_smollm():
    header = GgufHeader(
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "smollm",
            "tokenizer.ggml.tokens": ["<|end|>", "1", "2", "12"],
            "tokenizer.ggml.token_type": [3, 1, 1, 1],
            "tokenizer.ggml.merges": ["1 2"],
            "tokenizer.ggml.eos_token_id": 0,
        },
        (),
    )
    from tokenizers import Tokenizer

    parts = gguf_parts(header, name="small.gguf")
    assert Tokenizer.from_str(parts.content.decode()).encode("12").ids == [1, 2]
    assert parts.symbols == {"pad": None, "unknown": None, "start": None, "end": 0}
