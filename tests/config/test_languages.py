from tests.for_each import for_each
from trimtab.config.languages import known_languages, labels_of


@for_each(
    ("code", "labels"),
    [
        ("de", {"de"}),
        ("DEU", {"de"}),
        ("ger", {"de"}),
        ("de_AT", {"de"}),
        ("zh-Hant-TW", {"zh", "wuu", "yue"}),
        ("yue", {"yue"}),
        ("no", {"no", "nn"}),
        ("nb", {"no"}),
        ("nn", {"nn"}),
        ("ara", {"ar", "ary", "arz"}),
        ("arz", {"arz"}),
        ("iw", {"he"}),
        ("english", set()),
        ("xx", set()),
        ("", set()),
    ],
)
def test_a_code_stands_for_labels(code, labels):
    assert labels_of(code) == labels


def test_every_label_stands_for_itself():
    assert all(label in labels_of(label) for label in known_languages())
    assert len(known_languages()) == 139
