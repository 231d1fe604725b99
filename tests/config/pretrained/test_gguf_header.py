import pytest

from tests.pretrained_folder import SIZES
from trimtab.config.pretrained.gguf_header import read_gguf_header
from trimtab.errors import InputError

gguf_file = pytest.importorskip("tests.gguf_file", reason="needs gguf").gguf_file


def test_the_header_holds_settings_and_the_names_of_tensors(tmp_path):
    header = read_gguf_header(gguf_file(tmp_path / "small.gguf"))
    assert header.architecture == "llama"
    assert header.settings["llama.embedding_length"] == SIZES["hidden_size"]
    assert header.settings["llama.attention.layer_norm_rms_epsilon"] == SIZES["rms_norm_eps"]
    assert header.settings["tokenizer.ggml.tokens"][:2] == ["<|endoftext|>", "<|im_start|>"]
    assert "blk.1.attn_q.weight" in header.tensors
    assert "output.weight" not in header.tensors


@pytest.mark.parametrize("content", [b"", b"GGML", b"GGUF\x09\0\0\0", b"GGUF\x03\0\0\0" + b"\xff" * 16])
def test_what_is_no_gguf_file_is_refused(tmp_path, content):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a GGUF file that can be read"):
        read_gguf_header(path)


def test_a_file_that_was_cut_short_is_refused(tmp_path):
    path = gguf_file(tmp_path / "small.gguf")
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(InputError, match="ends within its header"):
        read_gguf_header(path)
