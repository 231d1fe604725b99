"""The translator of a trained run with forced prefixes, lists and samples."""

import io
import lzma
from importlib.resources import files

import pytest

from tests.small_run import small_pairs
from trimtab.decode.limits import target_limit
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.inference import load_model, load_translator

LINES = [source for source, _ in small_pairs(30, seed=3)]


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(str(trained_run), device="cpu")


def translator_of(loaded, **options):
    return loaded.translator(search=Search(**options))


def first_ids(loaded, texts, count):
    return [row[: min(count, len(row) - 1)] for row in loaded.tokenizer.encode(texts)]


@pytest.mark.slow
def test_the_beginning_of_the_models_own_translation_gives_that_translation(loaded):
    translator = translator_of(loaded, beam=1)
    own = translator.translate(LINES)
    assert translator.translate(LINES, prefixes=["" for _ in LINES]) == own
    respelled = loaded.tokenizer.decode(loaded.tokenizer.encode(own))
    same = [number for number, text in enumerate(own) if respelled[number] == text]
    for count in (1, 3, 100):
        prefixes = first_ids(loaded, own, count)
        found = translator.n_best(LINES, n=1, prefixes=prefixes)
        free = translator.n_best(LINES, n=1)
        kept = 0
        for number in same:
            text = loaded.tokenizer.decode([prefixes[number]])[0]
            assert found[number][0].text.startswith(text)
            at_limit = free[number][0].num_tokens == target_limit(
                len(loaded.tokenizer.encode(LINES)[number]), max_tokens=loaded.recipe.data.max_tokens
            )
            if free[number][0].num_tokens == len(loaded.tokenizer.encode([own[number]])[0]) and not at_limit:
                assert found[number][0].text == own[number]
                assert found[number][0].log_probability == pytest.approx(
                    free[number][0].log_probability, abs=1e-3
                )
                kept += 1
        assert kept > 5


@pytest.mark.quick(
    "{'beam': 1}",
    "{'sampling': Sampling(temperature=1.0, top_k=None, top_p=None, min_p=None, epsilon=None, seed=1)}",
)
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"sampling": Sampling()}], ids=str)
def test_every_translation_begins_with_its_prefix_even_of_a_line_that_is_cut(loaded, options):
    lines = [*LINES[:6], "ship " * 60, ""]
    found = translator_of(loaded, **options).translate(lines, prefixes="das alte boot")
    assert all(text.startswith("das alte boot") for text in found[:-1])
    assert found[-1] == ""
    assert len(set(found[:-1])) > 3
    long = translator_of(loaded, **options).translate(["ship " * 60])[0]
    assert found[-2].count("das alte boot") <= long.count("das alte boot") + 1


def test_a_prefix_of_other_characters_or_too_long_is_wrong_input(loaded):
    translator = translator_of(loaded)
    with pytest.raises(InputError, match="prefix of line 2: cannot be forced"):
        translator.translate(LINES[:2], prefixes=["das", "漢字"])
    with pytest.raises(InputError, match="tokens long"):
        translator.translate(LINES[:1], prefixes=["das " * 100])


@pytest.mark.slow
def test_the_first_of_a_list_is_the_translation_and_scores_fall(loaded):
    translator = translator_of(loaded, beam=4)
    lists = translator.n_best([*LINES, "", "ship " * 60], n=4)
    assert [few[0].text for few in lists] == translator.translate([*LINES, "", "ship " * 60])
    for few in lists[:-2]:
        assert len(few) == 4
        assert [each.score for each in few] == sorted((each.score for each in few), reverse=True)
        for each in few:
            assert each.score == pytest.approx(each.log_probability / each.num_tokens)
    assert len(lists[-2]) == 1
    with pytest.raises(InputError, match="1 to 4, the beam"):
        translator.n_best(LINES, n=5)


def test_lists_are_written_line_by_line_with_their_numbers(loaded):
    translator, output = translator_of(loaded, beam=3), io.StringIO()
    translator.write_n_best(io.BytesIO("\n".join(LINES[:4]).encode()), output, n=2, prefixes="das")
    rows = [line.split(" ||| ") for line in output.getvalue().splitlines()]
    lists = translator.n_best(LINES[:4], n=2, prefixes="das")
    assert [(row[0], row[1]) for row in rows] == [
        (str(number), each.text) for number, few in enumerate(lists) for each in few
    ]


def test_samples_differ_from_each_other_and_are_the_same_in_any_company(loaded):
    translator = translator_of(loaded, sampling=Sampling(seed=5))
    lists = translator.n_best(LINES, n=4)
    assert sum(len({each.text for each in few}) > 1 for few in lists) > len(LINES) // 2
    again = translator.n_best(["", *LINES[1:9]], n=2)
    assert [[each.text for each in few] for few in again[1:]] == [
        [each.text for each in few[:2]] for few in lists[1:9]
    ]


def test_no_ngram_comes_twice(loaded):
    lines = ["ship " * 9, "the " * 9]
    blocked = translator_of(loaded, beam=2, no_repeat_ngram=1).translate(lines)
    free = translator_of(loaded, beam=2).translate(lines)
    assert free != blocked
    assert all(len(set(text.split())) == len(text.split()) for text in blocked)


@pytest.mark.slow
def test_real_text_is_translated_with_each_option_one_line_for_each(trained_run):
    packed = (files("trimtab.demo") / "data" / "valid.tsv.xz").read_bytes()
    lines = [line.split("\t")[0] for line in lzma.decompress(packed).decode().splitlines()][:200]
    for search in (Search(no_repeat_ngram=3, beam=2), Search(sampling=Sampling(top_p=0.9))):
        lists = load_translator(str(trained_run), search=search, device="cpu").n_best(
            lines, n=2, prefixes="das"
        )
        assert len(lists) == len(lines)
        assert all(each.text.startswith("das") for few in lists for each in few if each.num_tokens)
