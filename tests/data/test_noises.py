import dataclasses

import numpy as np
import pytest

from tests.data.small_text import sentences, small_tokenizer
from tests.small_run import WORDS, small_recipe, small_sources
from trimtab.config.data import DataConfig
from trimtab.config.transforms import DenoiseTransform, NormalizeTransform
from trimtab.data.chunk import encode_chunk
from trimtab.data.noises import mask_symbols, plan_noises
from trimtab.data.transforms.apply import build_transforms
from trimtab.errors import InputError
from trimtab.inference import load_translator
from trimtab.launch import train

DENOISE = {"kind": "denoise", "infill": 0.3, "delete": 0.1, "shuffle": 2}
MONO = {
    "data.train": [
        {"source": "train.en", "target": "train.de", "tags": ["<2de>"]},
        {"text": "mono.de", "tags": ["<denoise>"]},
    ],
    "data.valid.tags": ["<2de>"],
    "data.transforms": [DENOISE],
    "data.tokenizer.vocabulary_size": 70,
}


@dataclasses.dataclass
class OneWay:
    is_reversed: bool = False


def mono_sources(folder, **changes):
    write_mono(folder)
    return small_sources(folder, **MONO | changes)


def write_mono(folder):
    folder.mkdir(parents=True, exist_ok=True)
    words = list(WORDS.values())
    draw = np.random.default_rng(5)
    lines = [" ".join(draw.choice(words, draw.integers(3, 7))) for _ in range(150)]
    (folder / "mono.de").write_text("".join(line + "\n" for line in lines))


def planned(train, *transforms, corpora=None):
    config = DataConfig.model_validate({"train": train, "transforms": transforms})
    opened = corpora or [OneWay() for _ in train]
    return [len(each) for each in plan_noises(config, opened, small_tokenizer())]


def test_noise_goes_to_texts_in_one_language_or_to_the_corpora_that_it_names():
    pair, text = {"source": "a", "target": "b", "name": "news"}, {"text": "mono.de"}
    delete = {"kind": "denoise", "infill": 0, "delete": 0.1}
    assert planned([pair, text]) == [0, 0]
    assert planned([pair, text], delete) == [0, 1]
    assert planned([pair, text], {**delete, "only": ["news"]}, delete, delete) == [1, 2]
    both = [OneWay(), OneWay(is_reversed=True), OneWay()]
    assert planned([pair, text], {**delete, "only": ["news"]}, corpora=both) == [1, 1, 0]


def test_the_mask_is_a_symbol_where_something_is_masked():
    shuffle = DenoiseTransform(infill=0, shuffle=3)
    assert mask_symbols([NormalizeTransform(), shuffle]) == ()
    assert mask_symbols([shuffle, DenoiseTransform()]) == ("<mask>",)
    with pytest.raises(InputError, match="no piece '<mask>'"):
        planned([{"text": "mono.de"}], {"kind": "denoise"})


def test_words_by_spaces_or_pieces_are_what_is_moved():
    tokenizer = small_tokenizer()
    line = tokenizer.encode(sentences(1))[0][:-1]
    for unit, count in (("words", len(sentences(1)[0].split())), ("pieces", len(line))):
        config = DataConfig.model_validate(
            {
                "train": [{"text": "a"}],
                "transforms": [{"kind": "denoise", "infill": 0, "shuffle": 1, "unit": unit}],
            }
        )
        ((noise,),) = plan_noises(config, [OneWay()], tokenizer)
        assert len(noise.words(line)) == count


def test_texts_are_not_touched_by_it_so_validation_and_translation_are_not_either():
    pipeline = build_transforms([DenoiseTransform(delete=0.9)])
    assert not pipeline.needs_random
    assert pipeline.apply("a line", "eine Zeile") == ("a line", "eine Zeile")


def test_a_text_in_one_language_is_a_corpus_with_spoiled_sources_and_whole_targets(tmp_path):
    _, sources = mono_sources(tmp_path)
    tokenizer, mask = sources.tokenizer, sources.tokenizer.id("<mask>")
    assert set(tokenizer.symbols) == {"<2de>", "<denoise>", "<mask>"}
    chunk = encode_chunk(sources.feed, start=0, count=350)
    assert not chunk.dropped
    masks = 0
    for number, (corpus, line) in enumerate(zip(chunk.corpus.tolist(), chunk.line.tolist(), strict=True)):
        source, target = chunk.source.row(number).tolist(), chunk.target.row(number).tolist()
        pair = sources.corpora[corpus].pair(line)
        assert tokenizer.decode([target]) == [pair[1]], "the target stays as it is"
        assert source[-1] == tokenizer.end
        if corpus == 0:
            assert tokenizer.decode([source]) == [pair[0]]
        else:
            assert source[0] == tokenizer.id("<denoise>")
            assert set(tokenizer.decode([source])[0].split()) <= set(pair[0].split())
            masks += source.count(mask)
    assert masks > 50


def test_noise_follows_from_seed_epoch_and_example_not_from_where_a_chunk_begins(tmp_path):
    _, sources = mono_sources(tmp_path)
    whole = encode_chunk(sources.feed, start=0, count=700)
    part = encode_chunk(sources.feed, start=123, count=300)
    assert part.source.values.tolist() == whole.source.between(123, 423).values.tolist()

    def spoiled(chunk, start):
        ids = zip(chunk.corpus.tolist(), chunk.line.tolist(), strict=True)
        rows = {
            each: chunk.source.row(start + n).tolist()
            for n, each in enumerate(list(ids)[start : start + 350])
        }
        return [row for (corpus, _), row in sorted(rows.items()) if corpus == 1]

    first, second = spoiled(whole, 0), spoiled(whole, 350)
    assert len(first) == len(second) == 150
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 40
    other = dataclasses.replace(sources.feed, mixture=dataclasses.replace(sources.feed.mixture, seed=2))
    assert (
        sum(a == b for a, b in zip(first, spoiled(encode_chunk(other, start=0, count=350), 0), strict=True))
        < 40
    )


@pytest.mark.slow
def test_a_run_trains_on_pairs_and_on_spoiled_text_and_then_translates_with_either_tag(tmp_path):
    write_mono(tmp_path)
    changes = {"length": "40 steps", "evaluate.every": "40 steps", "checkpoint.every": "40 steps"}
    result = train(small_recipe(tmp_path, **MONO, **changes), out=tmp_path / "run")
    assert result.state.step == 40
    assert [corpus["kept"] > 0 for corpus in result.state.data["corpora"]] == [True, True]
    for tag, line in (("<denoise>", "das schiff dreht"), ("<2de>", "the ship turns")):
        translator = load_translator(str(tmp_path / "run"), beam=1, tags=[tag], device="cpu")
        (output,) = translator.translate([line])
        assert set(output.split()) & set(WORDS.values()), "words of the target"
