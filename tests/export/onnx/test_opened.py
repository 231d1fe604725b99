from trimtab.decode.rows import translate_rows
from trimtab.decode.search import Search
from trimtab.export.onnx.target import Onnx
from trimtab.export.samples import gate_lines
from trimtab.inference import load_model
from trimtab.types import Ragged


def test_it_reads_searches_and_writes_as_the_trainer_does(trained_run, onnx_run):
    model = load_model(f"{trained_run}@last", device="cpu")
    opened, lines = Onnx().as_users_open_it(onnx_run), gate_lines(model, count=24)
    rows = [line.source_ids for line in lines]
    assert opened.encode([line.source for line in lines], ()) == rows
    ours = translate_rows(rows, model.translator(search=Search(beam=4)).setup)
    limits = [min(32, 2 * len(row) + 10) for row in rows]
    found = opened.search(Ragged.of(rows), beam=4, limits=limits)
    assert found == [list(each.ids) for each in ours]
    assert opened.decode(found) == model.tokenizer.decode(found)


def test_no_translation_is_longer_than_its_limit(onnx_run):
    opened = Onnx().as_users_open_it(onnx_run)
    rows = Ragged.of(opened.encode(["the red sail pulls the small boat"] * 5, ()))
    found = opened.search(rows, beam=2, limits=[1, 2, 3, 5, 9])
    assert all(len(row) < limit for row, limit in zip(found, [1, 2, 3, 5, 9], strict=True))


def test_graphs_that_give_no_numbers_find_nothing_so_that_the_comparison_can_tell(onnx_run, monkeypatch):
    opened = Onnx().as_users_open_it(onnx_run)
    decode = opened.model.decode

    def spoilt(inputs, outputs):
        decode(inputs, outputs)
        outputs["logits"].buffer.fill_(float("nan"))

    monkeypatch.setattr(opened.model, "decode", spoilt)
    assert opened.search(Ragged.of([[5, 3], [6, 3]]), beam=4, limits=[4, 4]) == [[], []]
