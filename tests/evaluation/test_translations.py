import dataclasses
import gzip
import io
import lzma
import sys
from types import SimpleNamespace

import pytest
import torch
import zstandard

from tests.small_run import small_pairs, write_pairs
from tests.streams import pack_of
from trimtab.config.transforms import NormalizeTransform
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.evaluation.report import Timing, report_on
from trimtab.evaluation.translations import evaluate, reference_loss
from trimtab.inference import load_model
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms

PAIRS = small_pairs(20, seed=5)
SOURCES, REFERENCES = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(str(trained_run), device="cpu")


@pytest.fixture
def files(tmp_path):
    write_pairs(tmp_path, "test", PAIRS)
    return {"source": tmp_path / "test.en", "reference": tmp_path / "test.de"}


@torch.no_grad()
def plain_loss(loaded, sources, references):
    """One pair at a time, with whole logits."""
    model, tokenizer = loaded.model, loaded.tokenizer
    total, count = 0.0, 0
    for source, target in zip(tokenizer.encode(sources), tokenizer.encode(references), strict=True):
        pack = pack_of([source], [target])
        terms = Terms(model.num_ids)
        total += float(plain_cross_entropy(model(pack), model.output_matrix, pack.labels, terms).loss)
        count += len(target)
    return total / count


@pytest.mark.quick("3-0.5")
@pytest.mark.parametrize(("beam", "penalty"), [(1, 1.0), (3, 0.5)])
def test_the_report_is_that_of_the_translations_that_the_run_gives(trained_run, loaded, files, beam, penalty):
    found = evaluate(str(trained_run), **files, beam=beam, length_penalty=penalty)
    outputs = loaded.translator(search=Search(beam=beam, length_penalty=penalty)).translate(SOURCES)
    expected = report_on(
        outputs,
        sources=SOURCES,
        references=REFERENCES,
        timing=Timing(seconds=1.0, num_tokens=1),
        loss=plain_loss(loaded, SOURCES, REFERENCES),
    )
    measured = {"loss", "seconds", "tokens_per_second"}
    for field in dataclasses.fields(expected):
        if field.name not in measured:
            assert getattr(found, field.name) == getattr(expected, field.name), field.name
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)
    assert found.lines == 20
    assert found.seconds > 0
    assert found.tokens_per_second > 0


def test_a_checkpoint_can_be_named(trained_run, files):
    losses = [evaluate(f"{trained_run}@{step}", **files, beam=1).loss for step in (20, 60)]
    assert losses[0] > losses[1]


def test_the_loss_is_that_of_all_pairs_together_each_target_token_weighing_the_same(loaded):
    found = reference_loss(loaded, SOURCES, REFERENCES)
    assert found == pytest.approx(plain_loss(loaded, SOURCES, REFERENCES), rel=1e-5)
    assert found < 4.0, "a model that has learned something; the logarithm of the vocabulary is 4.19"


def test_pairs_that_are_too_long_have_no_loss_and_the_others_keep_theirs(loaded):
    long = "ship " * 50
    found = reference_loss(loaded, [*SOURCES, long, "ship"], [*REFERENCES, "schiff", long])
    assert found == pytest.approx(reference_loss(loaded, SOURCES, REFERENCES), rel=1e-6)
    assert reference_loss(loaded, [long], ["schiff"]) is None


def test_sources_are_normalised_as_they_were_in_training(loaded):
    data = loaded.recipe.data.model_copy(update={"transforms": (NormalizeTransform(),)})
    recipe = loaded.recipe.model_copy(update={"data": data})
    normalising = dataclasses.replace(loaded, recipe=recipe)
    # A separator that Unicode calls white space and sentencepiece leaves out.
    odd = [source.replace(" ", "\x1f") for source in SOURCES]
    plain = reference_loss(loaded, SOURCES, REFERENCES)
    assert reference_loss(normalising, odd, REFERENCES) == pytest.approx(plain, rel=1e-6)
    assert reference_loss(loaded, odd, REFERENCES) != pytest.approx(plain, rel=1e-3)


@pytest.mark.quick("zst-open")
@pytest.mark.parametrize(
    ("suffix", "opened"), [("gz", gzip.open), ("xz", lzma.open), ("zst", zstandard.open)]
)
def test_compressed_files_are_read_as_they_are(trained_run, files, suffix, opened):
    packed = {}
    for name, path in files.items():
        packed[name] = path.with_name(f"{path.name}.{suffix}")
        with opened(packed[name], "wb") as file:
            file.write(path.read_bytes())
    plain, compressed = (evaluate(str(trained_run), **each, beam=1) for each in (files, packed))
    assert (compressed.bleu, compressed.chrf, compressed.loss) == (plain.bleu, plain.chrf, plain.loss)


def test_one_of_the_files_may_be_standard_input(trained_run, files, monkeypatch):
    named = evaluate(str(trained_run), **files, beam=1)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(files["source"].read_bytes())))
    piped = evaluate(str(trained_run), source="-", reference=files["reference"], beam=1)
    assert (piped.bleu, piped.chrf, piped.loss) == (named.bleu, named.chrf, named.loss)
    with pytest.raises(InputError, match="both are standard input"):
        evaluate(str(trained_run), source="-", reference="-")


def test_unequal_empty_missing_and_broken_files_are_wrong_input(trained_run, files, tmp_path):
    def refused(content, match):
        files["reference"].write_bytes(content)
        with pytest.raises(InputError, match=match):
            evaluate(str(trained_run), **files)

    refused("".join(f"{line}\n" for line in REFERENCES[:-1]).encode(), "different numbers of lines")
    refused(b"ein\xff\n" * 20, r"test\.de")
    with pytest.raises(InputError, match=r"gone\.de"):
        evaluate(str(trained_run), source=files["source"], reference=tmp_path / "gone.de")
    for path in files.values():
        path.write_bytes(b"")
    refused(b"", "empty")


def test_a_run_that_is_not_there_is_wrong_input(files, tmp_path):
    with pytest.raises(InputError, match="no such run"):
        evaluate(str(tmp_path / "nothing"), **files)
