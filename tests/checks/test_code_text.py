from tests.checks.kinds.describing import document
from trimtab.checks.code_text import says


def test_words_in_code_count_and_words_in_comments_do_not():
    assert says(document("a.py", "optimizer.zero_grad()\n"), "zero_grad")
    assert not says(document("a.py", "a = 1  # zero_grad is missing\n"), "zero_grad")
    assert says(document("a.py", "a = 1  # b\nb = 2\n"), "c", "b")
