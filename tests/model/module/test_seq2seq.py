from dataclasses import replace

import pytest
import torch
from transformers import LogitsProcessorList

from tests.module_folder import LANGUAGES, SEQ2SEQ, families, module_folder, oracle, oracle_tokenizer
from tests.small_run import small_pairs, small_sources
from trimtab.build import build
from trimtab.decode.beam import beam_search
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.export.hf.marian_opened import EndAt
from trimtab.model.module.network import shared_names
from trimtab.tasks.text.probing import between, one_pack, window_of
from trimtab.types import Ragged

PAIRS = small_pairs(4, seed=3)
LIMIT = 12


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a family and the parts of a run that begins from it, its dropout off; made once."""
    known = {}

    def of(family):
        if family not in known:
            folder = tmp_path_factory.mktemp(family)
            module_folder(folder / "base", family)
            changes = {"model": {"kind": "pretrained", "path": "base", "dropout": 0.0}, "data.max_tokens": 64}
            recipe, datasets = small_sources(folder, **changes, **{"data.tokenizer": LANGUAGES.get(family)})
            parts = build(recipe, datasets, device=torch.device("cpu"))
            parts.model.fill(recipe.model.path)
            known[family] = folder / "base", parts
        return known[family]

    return of


def window(parts):
    sides = parts.datasets.tokenizers
    source = Ragged.of(sides.source.encode([one for one, _ in PAIRS]))
    return window_of(source, Ragged.of(sides.target.encode([other for _, other in PAIRS])))


def loss_and_gradient(parts, cuts):
    """Of the window in so many equal packs: sums over targets, divided by the targets of all of them."""
    model, whole = parts.model.train(), window(parts)
    model.zero_grad()
    size, total = len(PAIRS) // cuts, 0.0
    for start in range(0, len(PAIRS), size):
        found = parts.stepper.loss(model, one_pack(parts, between(whole, start, start + size)))
        (found.objective / whole.num_targets).backward()
        total += float(found.loss) / whole.num_targets
    return total, {
        name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None
    }


@pytest.mark.quick("t5")
@pytest.mark.parametrize("family", families(SEQ2SEQ, quick=("marian", "t5")))
def test_a_window_has_one_loss_and_one_gradient_however_it_is_cut(made, family):
    _, parts = made(family)
    loss, gradient = loss_and_gradient(parts, 1)
    for cuts in (2, 4):
        other, cut = loss_and_gradient(parts, cuts)
        assert other == pytest.approx(loss, abs=1e-5)
        assert cut.keys() == gradient.keys()
        for name, each in gradient.items():
            assert torch.allclose(cut[name], each, atol=1e-5, rtol=1e-4), name


@pytest.mark.quick("marian", "t5")
@pytest.mark.parametrize("family", families(SEQ2SEQ, quick=("marian", "nllb", "t5")))
def test_loss_and_tokens_are_those_of_transformers(made, family):
    folder, parts = made(family)
    network, tokenizer = oracle(folder), oracle_tokenizer(folder, family)
    total = 0.0
    for number, (one, other) in enumerate(PAIRS):
        given = tokenizer(one, text_target=other)
        labels = given["labels"]
        own = window(parts)
        assert own.source.row(number).tolist() == given["input_ids"]
        if family == "mbart":  # its last label, the language behind the end, is of no use
            assert labels.pop() == parts.datasets.tokenizers.target.start
        assert own.target.row(number).tolist() == labels
        start = parts.datasets.tokenizers.target.start
        logits = network(
            input_ids=torch.tensor([given["input_ids"]]),
            decoder_input_ids=torch.tensor([[start, *labels[:-1]]]),
        ).logits[0]
        total += float(torch.nn.functional.cross_entropy(logits, torch.tensor(labels), reduction="sum"))
    assert loss_and_gradient(parts, 1)[0] == pytest.approx(total / own.num_targets, abs=1e-5)


@pytest.mark.quick("marian")
@pytest.mark.parametrize("family", families(SEQ2SEQ, quick=("marian", "nllb")))
def test_translations_are_those_of_generate(made, family):
    folder, parts = made(family)
    model, sides = parts.model.eval(), parts.datasets.tokenizers
    network, rows = oracle(folder), sides.source.encode([one for one, _ in PAIRS])
    symbols = Symbols.of(sides.target)
    for beam in (1, 3):
        stream, limits = stream_of(rows, torch.device("cpu")), [LIMIT] * len(rows)
        if beam == 1:
            found = greedy(model, stream, limits=limits, symbols=symbols)
        else:
            found = beam_search(model, stream, limits=limits, symbols=symbols, search=Search(beam=beam))
        for row, each in zip(rows, found, strict=True):
            written = network.generate(
                torch.tensor([row]), num_beams=beam, do_sample=False, early_stopping="never" if beam > 1 else False,
                length_penalty=1.0, max_length=LIMIT + 1, min_length=0, suppress_tokens=list(symbols.suppress),
                forced_bos_token_id=model.forced_first, forced_eos_token_id=None, decoder_start_token_id=symbols.start,
                logits_processor=LogitsProcessorList([EndAt(LIMIT, end=symbols.end)]),
            )[0, 1:].tolist()  # fmt: skip
            assert written[: written.index(symbols.end)] == each.ids


@pytest.mark.parametrize("family", families(SEQ2SEQ, quick=("marian", "nllb", "t5")))
def test_a_token_with_the_padding_id_is_a_token(made, family):
    """Rows are masked by their lengths: a padding id in the middle of a text is read like any other, and what fills up
    a row is never seen."""
    _, parts = made(family)
    model, whole = parts.model.eval(), window(parts)
    pad = parts.datasets.tokenizers.source.pad
    longest = int(whole.source.lengths.argmax())
    rows = [whole.source.row(number).tolist() for number in range(len(PAIRS))]
    with_pad = [[*row[:2], pad, *row[2:]] if number == longest else row for number, row in enumerate(rows)]
    changed = replace(whole, source=Ragged.of(with_pad))
    together = parts.stepper.loss(model, one_pack(parts, changed)).loss
    alone = sum(
        parts.stepper.loss(model, one_pack(parts, between(changed, number, number + 1))).loss
        for number in range(len(PAIRS))
    )
    assert float(together) == pytest.approx(float(alone), rel=1e-5)
    assert float(together) != pytest.approx(
        float(parts.stepper.loss(model, one_pack(parts, whole)).loss), rel=1e-5
    )


@pytest.mark.parametrize("family", families(("marian", "t5", "mt5", "bart"), quick=("marian",)))
def test_tied_matrices_stand_once_in_the_state_and_come_back_tied(made, family):
    _, parts = made(family)
    state = parts.model.state_dict()
    assert len({each.data_ptr() for each in state.values()}) == len(state)
    assert not parts.model.wrongly_tied()
    assert ("network.lm_head.weight" in state) == (family == "mt5")
    assert shared_names(parts.model.network)
    parts.model.load_state_dict({name: torch.zeros_like(each) for name, each in state.items()})
    assert all(not each.any() for each in parts.model.parameters())
    parts.model.load_state_dict(state)
    parts.model.fill(parts.recipe.model.path)
