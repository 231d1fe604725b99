import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
import torch

from tests.small_run import small_parts
from trimtab.checkpoint.journal import Journal, cut_back, read_journal
from trimtab.training.example_losses import (
    MOST,
    ExampleLosses,
    example_losses,
    suspect_examples,
    worst_examples,
)
from trimtab.training.trace import trace


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    return small_parts(
        tmp_path_factory.mktemp("losses"), **{"model.dropout": 0.3, "loss.label_smoothing": 0.1}
    )


@pytest.fixture
def window(parts):
    window, _ = next(iter(parts.stream.host_batches(0)))
    return window


def only(window, number):
    """A window of one example."""
    one = np.asarray([number])
    return dataclasses.replace(
        window,
        source=window.source.take(one),
        target=window.target.take(one),
        corpus=window.corpus[one],
        line=window.line[one],
        prompt=None if window.prompt is None else window.prompt[one],
    )


def alone(parts, window):
    """The slow twin: the loss of each example by the run's own loss, one at a time."""
    parts.model.eval()
    found = []
    with torch.no_grad():
        for number in range(len(window.target)):
            (pack,) = parts.batching.cut(only(window, number))
            found.append(float(parts.stepper.objective(pack.to(parts.device)).loss) / pack.num_targets)
    parts.model.train()
    return found


def broken_source(parts, row, monkeypatch):
    """Embeddings of the sources with these ids are not finite."""
    embed = parts.model.embed_source

    def embedded(stream):
        x = embed(stream)
        bounds = stream.cu_seqlens.tolist()
        for start, stop in itertools.pairwise(bounds):
            if stream.ids[start:stop].tolist() == row:
                x = x.index_fill(0, torch.arange(start, stop), float("nan"))
        return x

    monkeypatch.setattr(parts.model, "embed_source", embedded)


@pytest.mark.slow
def test_each_example_has_the_loss_that_it_has_alone(parts, window):
    losses = example_losses(parts, window)
    assert losses.loss.tolist() == pytest.approx(alone(parts, window), rel=1e-5)
    assert losses.targets.tolist() == window.target.lengths.tolist()


@pytest.mark.slow
def test_given_target_tokens_do_not_count(parts, window):
    prompt = np.minimum(window.target.lengths - 1, np.arange(len(window.target)) % 3).astype(np.int32)
    given = dataclasses.replace(window, prompt=prompt)
    losses = example_losses(parts, given)
    assert losses.loss.tolist() == pytest.approx(alone(parts, given), rel=1e-5)
    assert losses.targets.tolist() == (window.target.lengths - prompt).tolist()


def test_it_leaves_no_trace(parts, window):
    for parameter in parts.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    weights = {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}
    random_state, first = torch.get_rng_state(), suspect_examples(parts, window, step=3)
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(module.training for module in parts.model.modules())
    assert all(torch.equal(each.grad, torch.ones_like(each)) for each in parts.model.parameters())
    assert all(torch.equal(tensor, weights[name]) for name, tensor in parts.model.state_dict().items())
    assert suspect_examples(parts, window, step=3) == first
    for parameter in parts.model.parameters():
        parameter.grad = None


def test_an_example_that_is_far_worse_is_named_as_it_stands_in_its_corpus(parts, window, monkeypatch):
    # As a model that has learned something: every target is certain but the one that is broken.
    number, losses = 5, example_losses(parts, window)
    told = dataclasses.replace(
        losses, loss=np.where(np.arange(len(losses.loss)) == number, 9.0, losses.loss / 9)
    )
    monkeypatch.setattr("trimtab.training.example_losses.example_losses", lambda parts, window: told)
    (worst,) = suspect_examples(parts, window, step=31)
    line = int(window.line[number])
    assert (worst.step, worst.corpus, worst.line) == (31, parts.datasets.corpora[0].name, line + 1)
    assert (worst.source, worst.target) == parts.datasets.corpora[0].pair(line)
    assert worst.place.endswith(f"train.en:{line + 1}")
    assert (worst.loss, worst.targets) == (9.0, int(window.target.lengths[number]))
    assert worst.stands_out
    assert worst.reason.startswith("loss 9 a token, the median of the window's")


def test_the_largest_share_of_the_loss_comes_first_and_sixteen_at_most(parts, window, monkeypatch):
    losses = example_losses(parts, window)
    loss, targets = np.ones(len(losses.loss)), np.full(len(losses.loss), 5)
    loss[1:19] = 8.0
    targets[11], loss[17] = 20, 9.0
    told = dataclasses.replace(losses, loss=loss, targets=targets)
    monkeypatch.setattr("trimtab.training.example_losses.example_losses", lambda parts, window: told)
    found = suspect_examples(parts, window, step=1)
    assert len(found) == MOST == 16
    expected = [11, 17, *(number for number in range(1, 19) if number not in (11, 17))][:16]
    assert [each.line for each in found] == [int(window.line[number]) + 1 for number in expected]


def test_of_examples_that_are_alike_the_one_with_the_largest_share_is_named_as_no_outlier(parts, window):
    (worst,) = suspect_examples(parts, window, step=2)
    losses = example_losses(parts, window)
    middle = sorted(losses.loss)[(len(losses.loss) - 1) // 2]
    share = (losses.loss - middle) * losses.targets
    assert worst.line == int(window.line[int(np.argmax(share))]) + 1
    assert not worst.stands_out
    assert "no outlier" in worst.reason


def test_an_example_that_alone_is_not_finite_is_found(parts, window, monkeypatch):
    broken_source(parts, window.source.row(7).tolist(), monkeypatch)
    found = suspect_examples(parts, window, step=4)
    same = {
        n for n in range(len(window.source)) if window.source.row(n).tolist() == window.source.row(7).tolist()
    }
    assert {each.line for each in found} == {int(window.line[n]) + 1 for n in same}
    assert all(math.isnan(each.loss) and each.stands_out for each in found)
    assert "not finite" in found[0].reason


def test_where_every_loss_is_not_finite_no_line_is_blamed(parts, window, monkeypatch):
    monkeypatch.setattr(
        parts.model, "embed_source", lambda stream: torch.full((len(stream.ids), 32), math.nan)
    )
    (worst,) = suspect_examples(parts, window, step=4)
    assert not worst.stands_out
    assert "the weights are at fault" in worst.reason


def test_a_corpus_that_is_gone_meanwhile_does_not_end_the_run(parts, window, monkeypatch):
    def gone(self, line):
        raise FileNotFoundError("no such file: train.en")

    monkeypatch.setattr("trimtab.data.corpus.Corpus.pair", gone)
    (worst,) = suspect_examples(parts, window, step=4)
    assert (worst.source, worst.target) == ("", "")
    assert "cannot be read any more (no such file" in worst.reason


def test_half_precision_gives_about_the_same(parts, window, monkeypatch):
    wide = example_losses(parts, window).loss
    monkeypatch.setattr(parts, "precision", "bf16_mixed")
    assert example_losses(parts, window).loss.tolist() == pytest.approx(wide.tolist(), rel=0.05)


def test_the_quarantine_has_a_line_for_each_with_long_texts_cut(parts, window, tmp_path):
    (worst,) = suspect_examples(parts, window, step=9)
    long = dataclasses.replace(worst, source="/" * 1_000_000, loss=math.inf)
    with Journal(tmp_path / "quarantine.jsonl") as journal:
        for each in (worst, dataclasses.replace(long, step=12)):
            journal.write(each.to_dict(code="S902"))
    first, second = read_journal(tmp_path / "quarantine.jsonl")
    assert set(first) == {
        "step", "corpus", "line", "place", "source", "target", "source_characters", "target_characters",
        "loss", "targets", "reason", "code",
    }  # fmt: skip
    assert (first["step"], first["code"], first["source"]) == (9, "S902", worst.source)
    assert (len(second["source"]), second["source_characters"], second["loss"]) == (2000, 1_000_000, "inf")
    assert cut_back(tmp_path / "quarantine.jsonl", 10) == 1
    assert json.loads((tmp_path / "quarantine.jsonl").read_text())["step"] == 9


def test_the_finding_names_the_worst_line_and_the_command(parts, window):
    (worst,) = suspect_examples(parts, window, step=9)
    finding = worst_examples([worst])
    assert (finding.code, finding.where) == ("S911", worst.place)
    assert f"no example stands out; {worst.corpus} line {worst.line}" in finding.message
    assert "trimtab replay RUN --step 9" in finding.fix
    outlier = dataclasses.replace(worst, stands_out=True)
    assert f"line {worst.line} stands out" in worst_examples([outlier]).message
    assert f"line {worst.line} and 2 more stand out" in worst_examples([outlier] * 3).message


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", ["on", "off"])
def test_packs_without_padding_and_compiled_blocks_give_each_example_its_loss(tmp_path, compiled):
    parts = small_parts(tmp_path, **{"step.compile": compiled, "step.precision": "bf16_mixed"})
    assert parts.model.kernel == "varlen"
    window, packs = next(iter(parts.stream.batches(0)))
    for pack in packs:
        parts.stepper.objective(pack).objective.backward()
    losses = example_losses(parts, window)
    with torch.compiler.set_stance("force_eager"):
        assert losses.loss.tolist() == pytest.approx(alone(parts, window), rel=0.05)
    assert trace(parts, window, step=1) is None
    parts.model.decoder.blocks[0].feed_forward.register_forward_hook(
        lambda module, inputs, out: out * math.inf
    )
    assert trace(parts, window, step=1).name == "decoder.blocks.0.feed_forward"


def test_among_few_examples_one_that_holds_most_of_the_loss_stands_out(parts, window, monkeypatch):
    """A long broken line widens the deviation that it is measured by; what it holds of the window shows it."""
    losses = np.array([4.1, 5.0, 4.4, 6.4, 5.3, 4.9, 3.9, 6.1, 5.32, 7.6])
    targets = np.array([9, 12, 8, 20, 15, 9, 11, 14, 10, 400])
    monkeypatch.setattr(
        "trimtab.training.example_losses.example_losses", lambda *_: ExampleLosses(losses, targets)
    )
    blamed = suspect_examples(parts, only_first(window, 10), step=1)
    assert [(each.targets, each.stands_out) for each in blamed] == [(400, True)]
    targets[-1] = 10  # as long as the others it is one of several that are somewhat harder
    assert not suspect_examples(parts, only_first(window, 10), step=1)[0].stands_out


def only_first(window, count):
    """A window of its first examples."""
    return dataclasses.replace(
        window,
        source=window.source.between(0, count),
        target=window.target.between(0, count),
        corpus=window.corpus[:count],
        line=window.line[:count],
    )
