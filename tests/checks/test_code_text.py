from tests.checks.kinds.describing import document
from trimtab.checks.code_text import may_say, says
from trimtab.checks.document import Document


def test_words_in_code_count_and_words_in_comments_do_not():
    assert says(document("a.py", "optimizer.zero_grad()\n"), "zero_grad")
    assert not says(document("a.py", "a = 1  # zero_grad is missing\n"), "zero_grad")
    assert says(document("a.py", "a = 1  # b\nb = 2\n"), "c", "b")


def test_a_word_in_a_comment_may_be_said_and_a_document_without_text_may_say_anything():
    assert may_say(document("a.py", "import torch  # Adafactor\n"), "Adafactor", "other")
    assert not may_say(document("a.py", "import torch\n"), "Adafactor")
    assert may_say(Document(path="a.py", syntax="python", text=""), "Adafactor")
