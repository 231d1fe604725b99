import dataclasses

import pytest

from tests.decode.copying import copying
from trimtab.decode.setup import TranslationCounts


def test_counts_begin_at_zero():
    assert set(dataclasses.asdict(TranslationCounts()).values()) == {0}


def test_a_setup_cannot_be_changed_under_a_running_translation():
    with pytest.raises(dataclasses.FrozenInstanceError):
        copying().max_tokens = 3
