import errno
import hashlib
import json
import os
import pickle

import pytest
from sentencepiece import SentencePieceTrainer

from tests.children import printed
from tests.data.small_text import sentences, small_tokenizer
from trimtab.config.corpora import ParallelFiles, TrainCorpus
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.config.transforms import LengthFilter, NormalizeTransform
from trimtab.data import cache
from trimtab.data.corpus import open_corpora
from trimtab.data.tokenizer import adopt_tokenizer, load_tokenizer, sample_lines, train_tokenizer
from trimtab.data.transforms.apply import Dropped, Pipeline, RandomStep, build_transforms
from trimtab.errors import DiskFull, InputError

SMALL = SentencePieceTokenizer(vocabulary_size=400)


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_the_same_lines_give_the_same_bytes(tmp_path, model):
    config = SMALL.model_copy(update={"model": model})
    one = train_tokenizer(config, lines=sentences(300), symbols=["<ui>"], out=tmp_path / "one")
    two = train_tokenizer(config, lines=iter(sentences(300)), symbols=["<ui>"], out=tmp_path / "two")
    assert one.model == two.model
    assert (tmp_path / "one" / "tokenizer.json").read_bytes() == (
        tmp_path / "two" / "tokenizer.json"
    ).read_bytes()


def test_another_process_makes_the_same_bytes(tmp_path):
    def made() -> None:
        out = tmp_path / "there"
        print(train_tokenizer(SMALL, lines=sentences(300), symbols=["<ui>"], out=out).fingerprint)

    here = train_tokenizer(SMALL, lines=sentences(300), symbols=["<ui>"], out=tmp_path / "here")
    assert printed(made).strip() == here.fingerprint


def test_the_model_is_written_with_a_card_and_loads_again(tmp_path):
    tokenizer = train_tokenizer(
        SMALL, lines=sentences(300), symbols=["<ui>", ">>de<<", "<ui>"], out=tmp_path / "new"
    )
    assert sorted(os.listdir(tmp_path / "new")) == ["sentencepiece.model", "tokenizer.json"]
    card = json.loads((tmp_path / "new" / "tokenizer.json").read_text())
    stored = (tmp_path / "new" / "sentencepiece.model").read_bytes()
    assert card["fingerprint"] == hashlib.sha256(stored).hexdigest() == tokenizer.fingerprint
    assert (card["kind"], card["model"], card["num_ids"]) == ("sentencepiece", "unigram", 400)
    assert card["symbols"] == ["<ui>", ">>de<<"]
    assert card["training_lines"] == 300
    loaded = load_tokenizer(tmp_path / "new")
    assert loaded.symbols == tokenizer.symbols
    assert [loaded.id(symbol) for symbol in loaded.symbols] == [4, 5]


def test_training_says_nothing_on_the_terminal(tmp_path, capfd):
    train_tokenizer(SMALL, lines=sentences(300), symbols=[], out=tmp_path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_a_vocabulary_too_large_names_the_largest_that_works(tmp_path, model):
    config = SentencePieceTokenizer(vocabulary_size=30_000, model=model)
    with pytest.raises(InputError, match="do not hold so many different pieces") as caught:
        train_tokenizer(config, lines=sentences(40), symbols=["<ui>"], out=tmp_path / "no")
    assert not (tmp_path / "no").exists()
    largest = int(caught.value.problems[0].allowed.split()[2])
    fitting = config.model_copy(update={"vocabulary_size": largest})
    assert train_tokenizer(fitting, lines=sentences(40), symbols=["<ui>"], out=tmp_path).num_ids == largest


def test_a_vocabulary_too_small_for_the_characters_names_the_smallest(tmp_path):
    config = SentencePieceTokenizer(vocabulary_size=64)
    with pytest.raises(InputError, match="too small for the characters of the text and 256 bytes") as caught:
        train_tokenizer(config, lines=sentences(100), symbols=[], out=tmp_path)
    assert int(caught.value.problems[0].allowed.split()[2].rstrip(",")) > 260


@pytest.mark.parametrize("lines", [[], ["", "  "]])
def test_no_text_to_train_on_is_an_error(tmp_path, lines):
    with pytest.raises(InputError, match="there is no text to train on"):
        train_tokenizer(SMALL, lines=lines, symbols=[], out=tmp_path)


def test_an_error_in_the_lines_comes_out_as_it_is(tmp_path):
    def lines():
        yield from sentences(300)
        raise DiskFull("the disk is full")

    with pytest.raises(DiskFull, match="the disk is full"):
        train_tokenizer(SMALL, lines=lines(), symbols=[], out=tmp_path)


@pytest.mark.parametrize("symbol", ["<s>", "<pad>", "<0x0A>"])
def test_a_tag_that_has_a_meaning_already_is_an_error(tmp_path, symbol):
    with pytest.raises(InputError, match="already has a meaning"):
        train_tokenizer(SMALL, lines=sentences(100), symbols=["<ui>", symbol], out=tmp_path)


def test_lines_with_control_characters_are_trained_on(tmp_path):
    lines = ["a\x00b", "c\nd", "\x1b[0m", *sentences(300)]
    assert train_tokenizer(SMALL, lines=lines, symbols=[], out=tmp_path).num_ids == 400


def test_a_full_disk_leaves_no_model(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache.os, "fsync", full)
    with pytest.raises(DiskFull, match=str(tmp_path)):
        train_tokenizer(SMALL, lines=sentences(300), symbols=[], out=tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_given_model_is_copied_into_the_run(tmp_path):
    (tmp_path / "mine.model").write_bytes(small_tokenizer().model)
    config = SentencePieceTokenizer(path=str(tmp_path / "mine.model"))
    tokenizer = adopt_tokenizer(config, tmp_path / "run", symbols=["<ui>"])
    assert tokenizer.num_ids == 400, "the size is the model's where the recipe does not say one"
    assert load_tokenizer(tmp_path / "run").fingerprint == small_tokenizer().fingerprint
    assert json.loads((tmp_path / "run" / "tokenizer.json").read_text())["adopted_from"] == config.path


def test_a_given_model_of_another_size_than_the_recipe_says_is_an_error(tmp_path):
    (tmp_path / "mine.model").write_bytes(small_tokenizer().model)
    config = SentencePieceTokenizer(path=str(tmp_path / "mine.model"), vocabulary_size=401)
    with pytest.raises(InputError, match=r"vocabulary_size: .* has another size") as caught:
        adopt_tokenizer(config, tmp_path / "run")
    assert caught.value.problems[0].got == "400 pieces in the model, vocabulary_size 401"
    assert not (tmp_path / "run").exists()


def test_a_given_model_without_a_tag_of_the_recipe_is_an_error(tmp_path):
    (tmp_path / "mine.model").write_bytes(small_tokenizer().model)
    with pytest.raises(InputError, match="no piece '<web>'"):
        adopt_tokenizer(
            SentencePieceTokenizer(path=str(tmp_path / "mine.model")), tmp_path / "run", symbols=["<web>"]
        )


@pytest.mark.parametrize("symbol", ["[PAD]", "[UNK]", "[BOS]", "[EOS]", "<0x0A>"])
def test_a_tag_that_is_a_special_piece_of_a_given_model_is_an_error(tmp_path, symbol):
    """Whatever it calls them: its names are known when it is read."""
    names = {"pad_piece": "[PAD]", "unk_piece": "[UNK]", "bos_piece": "[BOS]", "eos_piece": "[EOS]"}
    SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(300)),
        model_prefix=str(tmp_path / "mine"),
        vocab_size=400,
        byte_fallback=True,
        control_symbols=["<ui>"],
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        minloglevel=2,
        **names,
    )
    config = SentencePieceTokenizer(path=str(tmp_path / "mine.model"))
    assert adopt_tokenizer(config, tmp_path / "run", symbols=["<ui>"]).num_ids == 400
    with pytest.raises(InputError, match="already has a meaning") as caught:
        adopt_tokenizer(config, tmp_path / "other", symbols=["<ui>", symbol])
    assert caught.value.problems[0].got == symbol


@pytest.fixture
def corpora(tmp_path):
    """Ten pairs and thirty."""
    for name, count in (("a", 10), ("b", 30)):
        for side in ("en", "de"):
            (tmp_path / f"{name}.{side}").write_text(
                "".join(f"{name} {side} {line}\n" for line in range(count))
            )
    configs = [ParallelFiles(source=f"{name}.en", target=f"{name}.de") for name in "ab"]
    return open_corpora(configs, root=tmp_path, cache=tmp_path / "cache")


def test_a_sample_is_spread_over_the_corpora_in_proportion_to_their_size(corpora):
    lines = list(sample_lines(corpora, 16))
    assert len(lines) == 16
    assert [line for line in lines if line.startswith("a en")] == ["a en 0", "a en 5"]
    assert sum(line.startswith("b") for line in lines) == 12
    assert lines[0::2] == [line.replace("de", "en") for line in lines[1::2]], "both sides of the same pairs"
    assert list(sample_lines(corpora, 16)) == lines


def test_a_sample_as_large_as_the_corpora_is_all_of_them(corpora):
    lines = list(sample_lines(corpora, 80))
    assert len(set(lines)) == len(lines) == 80
    assert list(sample_lines(corpora, 10**9)) == lines
    assert len(list(sample_lines(corpora, 1))) == 2, "one pair at least"


def test_a_sample_is_transformed_and_leaves_out_what_is_dropped(corpora):
    pipeline = build_transforms((NormalizeTransform(), LengthFilter(unit="characters", max=6)))
    lines = list(sample_lines(corpora, 80, pipeline=pipeline))
    assert len(lines) == 40
    assert max(map(len, lines)) == 6


def test_a_random_pipeline_gives_the_same_sample_each_time(corpora):
    def toss(source, target, rng):
        return Dropped("tails") if rng.random() < 0.5 else (source, target)

    one, two = (list(sample_lines(corpora, 80, pipeline=Pipeline((RandomStep(toss),)))) for _ in range(2))
    assert one == two
    assert 0 < len(one) < 80


def test_what_goes_to_the_sample_may_come_from_a_pickled_corpus(corpora):
    assert list(sample_lines(pickle.loads(pickle.dumps(corpora)), 16)) == list(sample_lines(corpora, 16))


def test_lines_of_a_corpus_that_is_read_both_ways_are_taken_once(corpora, tmp_path):
    one_way = TrainCorpus(source="a.en", target="a.de", tags=("<2de>",))
    two_way = one_way.model_copy(update={"both_directions": True, "reverse_tags": ("<2en>",)})
    other = TrainCorpus(source="b.en", target="b.de", tags=("<2de>",))
    opened = [
        open_corpora([config, other], root=tmp_path, cache=tmp_path / "cache")
        for config in (one_way, two_way)
    ]
    assert [len(each) for each in opened] == [2, 3]
    one, two = (list(sample_lines(each, 80)) for each in opened)
    assert one == two
    assert len(one) == 80
    sources = list(sample_lines(opened[1], 1000, side="source"))
    assert sum(line.startswith("a") for line in sources) == 20, "both languages are sources then"


def test_lines_of_a_text_in_one_language_are_taken_once(corpora, tmp_path):
    mono = open_corpora([TrainCorpus(text="a.de")], root=tmp_path, cache=tmp_path / "cache")
    assert mono[0].is_monolingual
    assert not corpora[0].is_monolingual
    assert list(sample_lines(mono, 80)) == [f"a de {line}" for line in range(10)]


@pytest.mark.parametrize("lines", [[], ["", ""]])
def test_no_text_of_a_language_model_is_told_as_documents(tmp_path, lines):
    with pytest.raises(InputError, match="there is no text to train on") as caught:
        train_tokenizer(SMALL, lines=lines, symbols=[], out=tmp_path, exact=True)
    (problem,) = caught.value.problems
    assert problem.got == "no document or pair with a word in it"
    assert "inspect" not in problem.fix
