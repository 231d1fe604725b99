import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.corpora import TrainCorpus
from trimtab.config.transforms import DenoiseTransform, LengthFilter, ProtectTransform


def test_a_length_filter_is_in_order():
    with pytest.raises(ValidationError, match="greater than max"):
        LengthFilter(min=3, max=2)
    assert LengthFilter(min=3, max=3).min == 3


def test_noise_that_does_nothing_is_refused():
    with pytest.raises(ValidationError, match="nothing is corrupted"):
        DenoiseTransform(infill=0)
    assert not DenoiseTransform(infill=0, delete=0.1).masks
    assert DenoiseTransform().masks


def test_noise_is_for_texts_or_for_what_it_names():
    text, pair = TrainCorpus(text="a", name="mono"), TrainCorpus(source="a", target="b", name="news")
    assert [DenoiseTransform().is_for(each) for each in (text, pair)] == [True, False]
    assert [DenoiseTransform(only=("news",)).is_for(each) for each in (text, pair)] == [False, True]


@for_each(
    ("settings", "said"),
    [
        ({"patterns": ()}, "nothing is protected"),
        ({"expressions": ("(",)}, "no regular expression"),
        ({"expressions": ("(a)",)}, "has a group"),
        ({"expressions": ("a*",)}, "matches where there is nothing"),
    ],
)
def test_what_cannot_be_protected_is_refused(settings, said):
    with pytest.raises(ValidationError, match=said):
        ProtectTransform(**settings)
