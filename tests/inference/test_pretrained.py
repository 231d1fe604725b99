from tests.pretrained_folder import pretrained_folder
from trimtab.inference.generating import load_generator
from trimtab.inference.pretrained import is_pretrained, load_pretrained


def test_a_pretrained_folder_continues_texts_without_any_run(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    assert is_pretrained(base)
    assert not is_pretrained(tmp_path)
    found = load_pretrained(str(base))
    assert (found.window, found.tokenizer.start, found.model.num_ids) == (128, 1, 270)
    text = next(iter(load_generator(str(base)).generate(["the"])))
    assert text.prompt == "the"
