import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from tests.small_run import small_pairs, small_sources, write_pairs
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.valid_set import spread
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets


def ids(rows):
    return [rows.row(number).tolist() for number in range(len(rows))]


def test_validation_sets_are_normalised_but_not_filtered_and_what_is_too_long_has_no_loss(tmp_path):
    folder = tmp_path / "sets"
    folder.mkdir()
    pairs = [("the\x1fship", "das schiff"), ("boat", "boot"), ("wind " * 40, "luft"), ("sail", "segel " * 40)]
    write_pairs(folder, "odd", pairs)
    sets = {
        "plain": {"source": "dev.en", "target": "dev.de"},
        "odd": {"source": str(folder / "odd.en"), "target": str(folder / "odd.de")},
    }
    transforms = [{"kind": "normalize"}, {"kind": "length", "min": 2}]
    _, sources = small_sources(tmp_path, **{"data.valid": sets, "data.transforms": transforms})
    odd = sources.valid["odd"]
    assert list(sources.valid) == ["plain", "odd"]
    assert odd.sources == [pair[0] for pair in pairs], "translation normalises for itself"
    assert odd.too_long == 2
    assert ids(odd.source) == sources.tokenizer.encode(["the ship", "boat"])
    assert sources.valid["plain"].too_long == 0


def test_the_fingerprint_follows_from_the_lines_and_how_they_are_scored_and_not_from_where_they_lie(tmp_path):
    write_pairs(tmp_path, "same", small_pairs(24, seed=2))
    write_pairs(tmp_path, "other", small_pairs(24, seed=3))
    sets = {
        "valid": {"source": "dev.en", "target": "dev.de"},
        "same": {"source": "same.en", "target": "same.de"},
        "other": {"source": "other.en", "target": "other.de"},
        "characters": {"source": "dev.en", "target": "dev.de", "bleu_tokenizer": "char"},
    }
    _, sources = small_sources(tmp_path, **{"data.valid": sets})
    marks = {name: valid.fingerprint for name, valid in sources.valid.items()}
    assert marks["valid"] == marks["same"]
    assert len(set(marks.values())) == 3
    assert marks["valid"].startswith("24 pairs or rows, sha256 ")
    assert sources.fingerprints["data.valid.other"] == marks["other"]


@given(st.integers(1, 500), st.one_of(st.none(), st.integers(1, 600)))
def test_lines_are_spread_evenly_over_the_set(count, limit):
    lines = spread(count, limit)
    assert len(lines) == min(count, limit or count)
    assert lines == sorted(set(lines))
    assert lines[0] == 0
    assert lines[-1] < count
    assert max(np.diff([*lines, count])) <= math.ceil(count / len(lines))


def test_a_set_of_which_nothing_is_measured_is_refused_rather_than_scored_as_no_number(tmp_path):
    write_pairs(tmp_path, "long", [("wind " * 80, "luft " * 80)] * 3)
    sets = {"long": {"source": str(tmp_path / "long.en"), "target": str(tmp_path / "long.de")}}
    with pytest.raises(InputError, match="the set long has no targets left to measure the loss on") as error:
        small_sources(tmp_path, **{"data.valid": sets})
    assert error.value.problems[0].got == "3 examples, all dropped: too_long"


@for_each(
    ("said", "reason", "fix"),
    [
        ({"role": "user", "content": "a"}, "empty_target", "give the examples targets"),
        ({"role": "assistant", "content": "a" * 200}, "too_long", "data.max_tokens"),
        ({"role": "assistant", "content": "a", "weight": 0}, "weight 0", "leave `weight: 0` out"),
    ],
)
def test_conversations_without_an_answer_to_measure_say_why(said, reason, fix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("none")
    pretrained_folder(folder / "base")
    (folder / "dev.jsonl").write_text(json.dumps({"messages": [said]}) + "\n")
    recipe = pretrained_recipe(
        folder, **{"data.valid": {"text": "dev.jsonl", "learn": "answers"}, "data.max_tokens": 64}
    )
    with pytest.raises(InputError, match="the set valid has no targets left") as error:
        open_datasets(resolve_paths(load_recipe(recipe)), tokenizer_folder=folder / "t", progress=Silent())
    assert error.value.problems[0].got == f"1 examples, all dropped: {reason}"
    assert fix in error.value.problems[0].fix
