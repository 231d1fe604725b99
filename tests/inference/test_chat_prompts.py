import pytest

from tests.data.test_chat_rows import chats
from tests.pretrained_folder import pretrained_folder
from trimtab.errors import InputError
from trimtab.inference.chat_prompts import ChatPrompts
from trimtab.inference.generating import load_generator


def test_a_prompt_is_what_the_model_reads_before_an_answer():
    own = ChatPrompts.of(chats().tokenizer, name="base")
    (row,) = own.encode(["the"])
    text = own.inner.decode_with_symbols([own.start, *row])
    assert text == "<|im_start|>user\nthe<|im_end|>\n<|im_start|>assistant\n<|im_end|>"


def test_a_template_that_refuses_a_prompt_says_why():
    own = ChatPrompts.of(chats("{{ raise_exception('no users') }}").tokenizer, name="base")
    with pytest.raises(InputError, match="the chat template refuses 'the'"):
        own.encode(["the"])


@pytest.mark.slow
def test_a_pretrained_model_answers_and_one_without_a_template_does_not(tmp_path, text_run):
    generator = load_generator(str(pretrained_folder(tmp_path / "base")), chat=True)
    assert generator.whole("the") == "user\nthe\nassistant\n"
    assert next(iter(generator.generate(["the"]))).prompt == "the"
    with pytest.raises(InputError, match="has no chat template"):
        load_generator(str(text_run), chat=True)
