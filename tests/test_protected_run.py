"""Runs on real text whose placeholders, tags and numbers are protected, and on the same text without."""

import json
import lzma
from collections import Counter
from importlib.resources import files

import pytest
import sentencepiece

from tests.small_run import small_recipe, small_sources
from trimtab.config.transforms import ProtectTransform
from trimtab.data.transforms.protect import protector_of
from trimtab.errors import InputError
from trimtab.evaluation.translations import evaluate
from trimtab.inference import load_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

PROTECTOR = protector_of(ProtectTransform())
TRANSFORM = {"data.transforms": [{"kind": "protect"}]}
NUM_TRAIN, NUM_TEST = 300, 12


@pytest.fixture(scope="module")
def pairs():
    """Lines of an office program's help with something to protect, some of it on one side only."""
    packed = files("trimtab.demo") / "data" / "train.tsv.xz"
    lines = lzma.decompress(packed.read_bytes()).decode().splitlines()
    found = [tuple(line.split("\t")) for line in lines]
    return [pair for pair in found if len(pair[0]) < 90 and PROTECTOR.values(pair[0])][: NUM_TRAIN + NUM_TEST]


def write(folder, name, lines):
    for side, index in (("en", 0), ("de", 1)):
        (folder / f"{name}.{side}").write_text(
            "".join(pair[index] + "\n" for pair in lines), encoding="utf-8"
        )


def recipe_of(folder, pairs, **changes):
    short = {"length": "20 steps", "evaluate.every": "20 steps", "checkpoint.every": "20 steps"}
    sizes = {"data.tokenizer.vocabulary_size": 500, "data.max_tokens": 96}
    path = small_recipe(folder, **sizes, **{**short, **changes})
    write(folder, "train", pairs[:NUM_TRAIN])
    write(folder, "dev", pairs[NUM_TRAIN:])
    return path


def kept(run, sources):
    """How many of the sources' values stand in the translations as often as in the source."""
    translator = load_translator(str(run), beam=2, device="cpu")
    outputs = translator.translate(sources)
    n_best = translator.n_best(sources, n=2)
    assert [few[0].text for few in n_best] == outputs
    counts = [
        (Counter(PROTECTOR.values(s)), Counter(PROTECTOR.values(o)))
        for s, o in zip(sources, outputs, strict=True)
    ]
    return sum(there[value] == here[value] for here, there in counts for value in here)


@pytest.fixture(scope="module")
def protected(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("protected")
    return train(recipe_of(folder, pairs, **TRANSFORM), out=folder / "run").run


@pytest.mark.slow
def test_every_value_of_the_source_is_kept_and_without_the_transform_few_are(protected, tmp_path, pairs):
    sources = [source for source, _ in pairs[NUM_TRAIN:]]
    total = sum(len(set(PROTECTOR.values(source))) for source in sources)
    plain = train(recipe_of(tmp_path, pairs), out=tmp_path / "run").run
    assert kept(protected, sources) == total
    assert kept(plain, sources) < total / 2


@pytest.mark.slow
def test_a_line_that_is_translated_in_pieces_has_its_values_too(protected, pairs):
    line = " ".join(source for source, _ in pairs[NUM_TRAIN:])
    translator = load_translator(str(protected), beam=1, device="cpu")
    (output,) = translator.translate([line])
    assert translator.counts.cut_lines == 1
    chosen = PROTECTOR.protect(line).values
    found = Counter(PROTECTOR.values(output))
    assert {value: found[value] for value in chosen} == {
        value: count for value, count in Counter(PROTECTOR.values(line)).items() if value in chosen
    }


def test_text_spelled_like_a_symbol_stays_what_it_is(tmp_path, pairs):
    barely = {"length": "2 steps", "step.schedule.warmup": "1 steps", "data.valid": None}
    run = train(recipe_of(tmp_path, pairs, **TRANSFORM, **barely), out=tmp_path / "run").run
    (output,) = load_translator(str(run), beam=1, device="cpu").translate(["Enter <ph3> and <ph0>."])
    assert sorted(PROTECTOR.symbol.findall(output)) == ["<ph0>", "<ph3>"]


@pytest.mark.slow
def test_the_run_is_evaluated_on_the_text_and_its_loss_is_of_the_symbols(protected, tmp_path, pairs):
    write(tmp_path, "dev", pairs[NUM_TRAIN:])
    report = evaluate(str(protected), source=tmp_path / "dev.en", reference=tmp_path / "dev.de", beam=1)
    last = json.loads((protected / "evaluations.jsonl").read_text().splitlines()[-1])
    assert report.loss == pytest.approx(last["loss"], rel=1e-4)


def test_each_symbol_is_one_piece_that_text_becomes_and_that_becomes_text(tmp_path):
    _, sources = small_sources(tmp_path, **TRANSFORM)
    tokenizer = sources.tokenizer
    for number in range(16):
        row = tokenizer.encode([f"the<ph{number}> wind"])[0]
        assert [tokenizer.piece(id) for id in row].count(f"<ph{number}>") == 1
        assert tokenizer.decode([row]) == [f"the<ph{number}> wind"]


def test_a_given_tokenizer_that_splits_the_symbols_is_refused(tmp_path):
    small_recipe(tmp_path / "text")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text" / "train.en"),
        model_prefix=str(tmp_path / "own"),
        vocab_size=40,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3,
        minloglevel=2,
    )  # fmt: skip
    with pytest.raises(InputError, match="splits symbols that the transform"):
        small_sources(tmp_path, **TRANSFORM, **{"data.tokenizer": {"path": str(tmp_path / "own.model")}})


def test_a_tag_may_not_be_one_of_the_symbols(tmp_path):
    with pytest.raises(InputError, match="<ph0> already has a meaning in the vocabulary"):
        small_sources(tmp_path, **TRANSFORM, **{"data.train.0.tags": ["<ph0>"]})
