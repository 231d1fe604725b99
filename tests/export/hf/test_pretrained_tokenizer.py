import json

from tests.pretrained_folder import TEMPLATE, fast_tokenizer
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.export.hf.pretrained_tokenizer import write_pretrained_tokenizer


def test_transformers_reads_the_file_that_the_model_came_with(tmp_path):
    content = fast_tokenizer().to_str().encode()
    special = SpecialIds(pad=2, unknown=0, start=1, end=2)
    made = FastTokenizer(content, special=special, num_ids=270, template=TEMPLATE)
    write_pretrained_tokenizer(made, tmp_path, window=48)
    assert (tmp_path / "tokenizer.json").read_bytes() == content
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert (settings["eos_token"], settings["pad_token"]) == ("<|im_end|>", "<|im_end|>")
    assert (tmp_path / "chat_template.jinja").read_text() == TEMPLATE
