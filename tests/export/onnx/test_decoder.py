import onnxruntime
import pytest
import torch

from tests.export.variants import variant
from trimtab.export.onnx.decoder import decoder_graph
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store
from trimtab.inference import load_model


@pytest.fixture(scope="module", params=[{}, {"kv_heads": 2, "positions": "rotary"}])
def decoder(request, trained_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoder")
    model = variant(load_model(str(trained_run), device="cpu"), **request.param).model
    with Store(folder / "model.onnx.data") as store:
        graph = decoder_graph(Nodes(store, opset=17), model)
    (folder / "decoder.onnx").write_bytes(graph.SerializeToString())
    return model, onnxruntime.InferenceSession(folder / "decoder.onnx", providers=["CPUExecutionProvider"])


def sources(model, rows, longest, draw):
    block = model.decoder.blocks[0].cross
    shape = (rows, block.kv_heads, longest, block.size)
    names = [
        f"source.{number}.{part}"
        for number in range(len(model.decoder.blocks))
        for part in ("keys", "values")
    ]
    given = {name: torch.randn(shape, generator=draw) for name in names}
    lengths = torch.randint(1, longest + 1, (rows, 1), generator=draw)
    return {**given, "real": torch.arange(longest) < lengths}


def fed(session, tokens, given, past):
    inputs = {**given, **past, "tokens": tokens}
    outputs = session.run(None, {name: value.numpy() for name, value in inputs.items()})
    named = {
        each.name: torch.from_numpy(value) for each, value in zip(session.get_outputs(), outputs, strict=True)
    }
    logits = named.pop("logits")
    return logits, {name.replace("present", "past"): value for name, value in named.items()}


def nothing(model, hypotheses, given):
    return {
        name.replace("source", "past"): value[:1, :, :0].expand(hypotheses, -1, -1, -1).contiguous()
        for name, value in given.items()
        if name != "real"
    }


@pytest.mark.parametrize("pieces", [[7], [1] * 7, [3, 1, 2, 1], [1, 6]])
def test_tokens_at_once_one_by_one_and_in_pieces_give_the_same_logits(decoder, pieces):
    model, session = decoder
    draw = torch.Generator().manual_seed(1)
    given = sources(model, 2, 5, draw)
    tokens = torch.randint(4, model.num_ids, (2, 3, 7), generator=draw)
    whole, kept = fed(session, tokens, given, nothing(model, 6, given))
    past, parts = nothing(model, 6, given), []
    for piece in tokens.split(pieces, dim=2):
        logits, past = fed(session, piece.contiguous(), given, past)
        parts.append(logits)
    torch.testing.assert_close(torch.cat(parts, 2), whole, rtol=0, atol=1e-5)
    for name, value in kept.items():
        torch.testing.assert_close(past[name], value, rtol=0, atol=1e-5)


def test_no_token_sees_what_comes_after_it_and_no_row_sees_another(decoder):
    model, session = decoder
    draw = torch.Generator().manual_seed(2)
    given = sources(model, 2, 4, draw)
    tokens = torch.randint(4, model.num_ids, (2, 2, 5), generator=draw)
    before, _ = fed(session, tokens, given, nothing(model, 4, given))
    changed = tokens.clone()
    changed[1, 1, 3] = (changed[1, 1, 3] - 3) % model.num_ids
    after, _ = fed(session, changed, given, nothing(model, 4, given))
    differs = ((after - before).abs() > 1e-6).any(-1)
    assert differs.nonzero().tolist() == [[1, 1, 3], [1, 1, 4]]


def test_what_stands_behind_the_end_of_a_source_changes_nothing(decoder):
    model, session = decoder
    draw = torch.Generator().manual_seed(3)
    given = {**sources(model, 1, 4, draw), "real": torch.tensor([[True, True, False, False]])}
    tokens = torch.randint(4, model.num_ids, (1, 2, 3), generator=draw)
    before, _ = fed(session, tokens, given, nothing(model, 2, given))
    shorter = {name: value[:, :2] if name == "real" else value[:, :, :2] for name, value in given.items()}
    shorter = {name: value.contiguous() for name, value in shorter.items()}
    after, _ = fed(session, tokens, shorter, nothing(model, 2, given))
    torch.testing.assert_close(after, before, rtol=0, atol=1e-6)
