from tests.for_each import for_each
from trimtab.data.transforms.filters import has_few_letters


@for_each(
    ("text", "share"),
    [
        ("abcd", 1.0),
        ("ab 12", 0.5),
        ("....", 0.0),
        ("a...", 0.25),
        ("हिन्दी", 1.0),
        ("日本語。", 0.75),
        ("", 0.0),
    ],
)
def test_the_share_is_of_the_characters_that_are_no_spaces(text, share):
    assert not has_few_letters(text, "word", least=share)
    assert has_few_letters("word", text, least=share + 0.01)
