import pytest
import torch

from tests.export.text_models import WINDOW, network
from trimtab.export.torch_export.program import PROGRAM, RowDecoder, write_program
from trimtab.export.trainer import row_logits

ROWS = [[2, 5, 6, 7, 8], [2, 9], [2, *[11] * (WINDOW - 1)]]
KINDS = {
    "defaults": {},
    "what transformers has no class for": {"positions": "learned", "norm": "layer", "activation": "gelu"},
    "a bias on the scores of attention": {"positions": "alibi"},
    "shared heads and norms of queries": {"kv_heads": 2, "qk_norm": True},
    "vectors by distance": {"positions": "sinusoidal+shaw", "norm_position": "sandwich", "rezero": True},
    "rotated values": {"positions": "rotary_qkv", "norm_position": "none", "rezero": True},
}


def filled(rows):
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
@torch.inference_mode()
def test_rows_of_one_length_give_the_logits_of_the_flat_stream(changes):
    model = network(60, **changes)
    for own, row in zip(row_logits(model, ROWS), RowDecoder(model)(filled(ROWS)), strict=True):
        torch.testing.assert_close(row[: len(own)], own, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_the_program_takes_any_number_of_rows_of_any_length_up_to_the_window(tmp_path):
    model = network(60)
    write_program(model, tmp_path)
    program = torch.export.load(tmp_path / PROGRAM).module()
    with torch.inference_mode():
        for rows in (ROWS, ROWS[1:2], [[2]]):
            for own, row in zip(row_logits(model, rows), program(filled(rows)), strict=True):
                torch.testing.assert_close(row[: len(own)], own, rtol=0, atol=1e-5)
        with pytest.raises(AssertionError, match="Guard failed"):
            program(torch.zeros((1, WINDOW + 1), dtype=torch.long))


@pytest.mark.slow
@pytest.mark.parametrize("changes", [KINDS["vectors by distance"], KINDS["rotated values"]], ids=str)
def test_a_program_of_other_parts_takes_rows_of_any_length_too(changes, tmp_path):
    model = network(60, **changes)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("gain"):
                weight.fill_(0.5)
    write_program(model, tmp_path)
    program = torch.export.load(tmp_path / PROGRAM).module()
    for rows in (ROWS, ROWS[:1]):
        wanted = row_logits(model, rows)
        for own, row in zip(wanted, program(filled(rows)), strict=True):
            torch.testing.assert_close(row[: len(own)], own, rtol=0, atol=1e-5)
