import io
import random

import pytest
import torch

from tests.cli.refusal import has_four_parts
from tests.decode.hostile import hostile_lines
from tests.small_run import small_pairs, small_parts
from tests.streams import pack_of
from trimtab.decode.limits import target_limit
from trimtab.decode.lines import BLOCK_LINES
from trimtab.decode.rows import translate_rows
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.inference import Tagged, Translator, load_model, load_translator

LINES = [source for source, _ in small_pairs(40, seed=3)]
TAGS = {"data.train.0.tags": ["<ui>"], "data.valid.tags": ["<ui>"]}


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(str(trained_run), device="cpu")


@torch.no_grad()
def log_probabilities(model, source, inputs):
    """Of the symbol after each prefix of `inputs`, by one forward pass over the whole."""
    hidden = model(pack_of([source], [[*inputs, 0]]))
    return (hidden @ model.output_matrix.T)[:, : model.num_ids].log_softmax(1)


def greedily(model, tokenizer, source, *, max_tokens):
    """Greedy search as it is written in a textbook: everything again for each symbol."""
    never = [tokenizer.pad, tokenizer.unknown, tokenizer.start]
    found = []
    for _ in range(target_limit(len(source), max_tokens=max_tokens) - 1):
        scores = log_probabilities(model, source, found)[-1]
        scores[never] = -torch.inf
        best = int(scores.argmax())
        if best == tokenizer.end:
            break
        found.append(best)
    return found


def score_of(model, source, target):
    """Summed log-probability of ids that end with the end symbol."""
    return float(log_probabilities(model, source, target[:-1]).gather(1, torch.tensor(target)[:, None]).sum())


def test_one_text_in_place_of_a_list_is_refused_at_once(loaded):
    translator = loaded.translator(search=Search(beam=2))
    calls = (
        translator.translate,
        translator.stream,
        lambda lines: translator.n_best(lines, n=1),
        lambda lines: translator.n_best_stream(lines, n=1),
        translator.translate_documents,
        translator.stream_documents,
    )
    for call in calls:
        with pytest.raises(InputError, match=r'(lines|documents): a single text[\s\S]*a list: \["..."\]'):
            call("AB")
    for call in (translator.translate_documents, translator.stream_documents):
        with pytest.raises(InputError, match="document 1: a single text"):
            list(call(["AB"]))


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_documents_are_refused_by_a_model_that_reads_no_context_before_anything_is_read(loaded, form):
    translator, source, output = loaded.translator(search=Search(beam=1)), io.BytesIO(b"AB"), io.StringIO()
    with pytest.raises(InputError, match="reads each sentence by itself") as raised:
        translator.write_documents(source, output, form=form)
    assert has_four_parts(f"error: {raised.value}")
    assert (source.tell(), output.getvalue()) == (0, "")


@pytest.mark.slow
def test_greedy_translation_is_what_recomputing_the_whole_prefix_gives(loaded):
    tokenizer = loaded.tokenizer
    rows = tokenizer.encode(LINES)
    found = [greedily(loaded.model, tokenizer, row, max_tokens=loaded.recipe.data.max_tokens) for row in rows]
    assert loaded.translator(search=Search(beam=1)).translate(LINES) == tokenizer.decode(found)
    assert len(set(map(tuple, found))) > 20, "a model that has learned something"


@pytest.mark.slow
def test_a_beam_finds_what_the_model_itself_scores_higher(loaded):
    rows = loaded.tokenizer.encode(LINES)
    greedy, beam = (
        translate_rows(rows, loaded.translator(search=Search(beam=width)).setup) for width in (1, 4)
    )
    for row, one, other in zip(rows, greedy, beam, strict=True):
        for hypothesis in (one, other):
            ids = [*hypothesis.ids, loaded.tokenizer.end]
            assert hypothesis.score == pytest.approx(score_of(loaded.model, row, ids), abs=1e-3)
            assert hypothesis.normalised == pytest.approx(hypothesis.score / len(ids), abs=1e-6)
    pairs = list(zip(greedy, beam, strict=True))
    assert sum(other.normalised >= one.normalised - 1e-5 for one, other in pairs) >= 0.9 * len(pairs)
    assert any(other.normalised > one.normalised + 1e-3 for one, other in pairs)


@pytest.mark.slow
def test_the_translator_of_a_run_searches_as_it_is_told(trained_run, loaded):
    for beam, penalty in ((1, 1.0), (3, 0.0)):
        search = Search(beam=beam, length_penalty=penalty)
        translator = load_translator(str(trained_run), beam=beam, length_penalty=penalty, device="cpu")
        assert translator.setup.search == search
        assert translator.translate(LINES[:9]) == loaded.translator(search=search).translate(LINES[:9])
    with pytest.raises(InputError, match="beam"):
        load_translator(str(trained_run), beam=0)


def test_what_was_translated_is_counted(loaded):
    translator = loaded.translator(search=Search(beam=1))
    translator.translate([*LINES[:5], "", "ship " * 100])
    counts = translator.counts
    assert (counts.lines, counts.empty_lines, counts.cut_lines) == (7, 1, 1)
    assert counts.pieces > 6
    assert counts.source_tokens > sum(map(len, loaded.tokenizer.encode(LINES[:5])))


@pytest.mark.slow
def test_a_thousand_hostile_lines_give_a_thousand_lines_in_order(loaded):
    hostile = hostile_lines(1000)
    spoken = dict(zip(range(7, 1000, 125), LINES, strict=False))
    lines = [spoken.get(number, line) for number, line in enumerate(hostile)]
    outputs = loaded.translator(search=Search(beam=1)).translate(lines)
    assert len(outputs) == len(lines) == 1000
    assert all(len(output.splitlines()) <= 1 for output in outputs)
    alone = loaded.translator(search=Search(beam=1)).translate(spoken.values())
    assert [outputs[number] for number in spoken] == alone
    assert all(output == "" for line, output in zip(lines, outputs, strict=True) if not line.strip())


def test_hostile_lines_pass_through_a_stream_one_for_one(loaded):
    lines = [line.replace("\n", " ") for line in hostile_lines(60, seed=2) if len(line) < 2000]
    output = io.StringIO(newline="")
    given = "".join(line + "\n" for line in lines).encode()
    loaded.translator(search=Search(beam=2)).translate_stream(io.BytesIO(given), output)
    written = output.getvalue()
    assert written.count("\n") == len(lines)
    assert all(len(line.splitlines()) <= 1 for line in written.removesuffix("\n").split("\n"))


@pytest.mark.quick("4")
@pytest.mark.parametrize("beam", [1, 4])
def test_each_line_keeps_its_translation_whatever_stands_around_it(loaded, beam):
    translator = loaded.translator(search=Search(beam=beam))
    lines = [*LINES, "", "ship " * 100, LINES[0]]
    first = translator.translate(lines)
    order = list(range(len(lines)))
    random.Random(4).shuffle(order)
    assert translator.translate([lines[number] for number in order]) == [first[number] for number in order]
    assert first[0] == first[-1]
    assert translator.translate([]) == []


def test_translations_come_block_by_block_and_not_at_the_end(loaded):
    read = 0

    def lines():
        nonlocal read
        for _ in range(3 * BLOCK_LINES):
            read += 1
            yield ""

    translations = loaded.translator(search=Search(beam=1)).stream(lines())
    assert next(translations) == ""
    assert read <= BLOCK_LINES + 1


def test_a_line_that_is_not_utf_8_is_named_after_those_before_it_are_written(loaded):
    good = LINES[:3]
    given = "".join(line + "\n" for line in good).encode() + b"the \xff ship\nthe boat\n"
    output = io.StringIO()
    translator = loaded.translator(search=Search(beam=1))
    with pytest.raises(InputError, match=r"in\.txt: line 4 is not UTF-8") as caught:
        translator.translate_stream(io.BytesIO(given), output, name="in.txt")
    assert caught.value.problems[0].where == "in.txt:4:5"
    assert output.getvalue().split("\n")[:-1] == translator.translate(good)


@pytest.mark.slow
def test_a_model_in_training_translates_behind_its_tags(tmp_path):
    parts = small_parts(tmp_path, **TAGS)
    model, inner = parts.model.eval(), parts.datasets.tokenizer
    tagged = Tagged(parts.datasets.tokenizers, ("<ui>",))
    translator = Translator.of(parts, model, beam=1, tags=("<ui>",))
    wanted = [greedily(model, inner, row, max_tokens=32) for row in tagged.encode(LINES[:6])]
    assert translator.translate([*LINES[:6], "\u200b"]) == [*inner.decode(wanted), ""]
    with pytest.raises(InputError, match="<gui>"):
        Translator.of(parts, model, beam=1, tags=("<gui>",)).translate(LINES[:1])


def test_lines_are_normalised_as_they_were_in_training(tmp_path):
    parts = small_parts(tmp_path, **{"data.transforms": [{"kind": "normalize"}]})
    translator = Translator.of(parts, parts.model.eval(), beam=1, tags=())
    assert translator.setup.normalise(" the\x1f ship\x07") == "the ship"
    assert translator.translate(["the\x1fship"]) == translator.translate(["the ship"])


def test_a_piece_of_text_is_refused_as_a_tag(trained_run, loaded):
    piece = loaded.tokenizer.piece(10)
    with pytest.raises(InputError, match="is a piece of ordinary text, not a tag"):
        load_translator(str(trained_run), tags=[piece], device="cpu")


def test_a_translator_that_reads_nothing_ahead_answers_each_line_before_the_next(loaded):
    translator = loaded.translator(search=Search())
    translator.read_ahead = 1
    asked, answers = [], []

    def lines():
        for line in ("the wind", "never", ""):
            asked.append(len(answers))
            yield line

    for answer in translator.stream(lines()):
        answers.append(answer)
    assert asked == [0, 1, 2]
    assert answers == loaded.translator(search=Search()).translate(["the wind", "never", ""])


def test_each_answer_is_handed_on_at_once_to_whom_types(loaded):
    translator = loaded.translator(search=Search())
    translator.read_ahead = 1
    flushed = []

    class Shown(io.StringIO):
        def flush(self):
            flushed.append(self.getvalue().count("\n"))

    translator.translate_stream(io.BytesIO(b"never\nnever\n"), Shown())
    translator.write_n_best(io.BytesIO(b"never\n"), Shown(), n=2)
    assert flushed == [1, 2, 2, 2, 2]
    links = Shown()
    translator.translate_stream(io.BytesIO(b"never\nnever\n"), Shown(), alignments=links)
    assert flushed[5:] == [1, 1, 2, 2, 2]


def test_alignments_are_written_beside_the_translations(loaded):
    translator = loaded.translator(search=Search(beam=2))
    source = io.BytesIO("".join(f"{line}\n" for line in LINES[:5]).encode() + b"\xff\n")
    output, alignments = io.StringIO(), io.StringIO()
    with pytest.raises(InputError, match="line 6"):
        translator.translate_stream(source, output, alignments=alignments)
    texts = output.getvalue().splitlines()
    assert texts == translator.translate(LINES[:5])
    assert alignments.getvalue().splitlines() == [
        " ".join(f"{i}-{j}" for i, j in links) for links in translator.align(LINES[:5], texts)
    ]
