import json
import lzma
import math

import pytest
import torch

from tests.benchmarks.open_benchmark import open_benchmark

SCRIPT = """import os
from kernels import get_kernel
cap = 9
fa3 = get_kernel("x").flash_attn_interface
from prepare import TIME_BUDGET, evaluate_bpb
DEPTH = 8  # layers
DEVICE_BATCH_SIZE = 128
torch.manual_seed(42)
torch.cuda.manual_seed(42)
val_bpb = evaluate_bpb(model, tokenizer, DEVICE_BATCH_SIZE)
"""


@pytest.fixture
def board(monkeypatch):
    return open_benchmark("board", monkeypatch)


def test_each_edit_is_made_once_and_another_script_is_refused(board):
    text = board.edited(SCRIPT, "train.py")
    assert "kernels" not in text
    assert [line for line in text.splitlines() if line.startswith(("DEPTH", "DEVICE", "TIME"))] == [
        "TIME_BUDGET = fa3.SECONDS",
        "DEPTH = 12  # layers",
        "DEVICE_BATCH_SIZE = 64",
    ]
    with pytest.raises(SystemExit, match="not the script that this board knows"):
        board.edited(SCRIPT.replace("DEPTH = 8", "depth = 8"), "train.py")


def test_attention_is_causal_whatever_the_window(board):
    q, k, v = torch.randn(3, 2, 5, 4, 8)
    found = board.board_peer.flash_attn_func(q, k, v, causal=True, window_size=(2, 0))
    changed = board.board_peer.flash_attn_func(q, k.clone(), v.index_fill(1, torch.tensor([4]), 0.0))
    assert found.shape == q.shape
    torch.testing.assert_close(found[:, :4], changed[:, :4])
    assert not torch.allclose(found[:, 4], changed[:, 4])


def test_a_model_that_knows_nothing_pays_for_every_token_once(board, tmp_path):
    path = tmp_path / "dev.txt.xz"
    texts = ["ab" * 1500, "c", "d\ne"]
    with lzma.open(path, "wt") as file:
        file.write("\n\n".join(texts))

    def model(inputs, labels, reduction):
        assert (inputs[:, 0] == 300).all()
        assert reduction == "sum"
        return math.log(256) * (labels >= 0).sum()

    found = board.board_peer.bits_per_byte(
        model, lambda text: [*text.encode()], start=300, path=path, device="cpu"
    )
    assert found == pytest.approx(8.0)


def test_a_winner_is_named_where_the_interval_of_paired_differences_is_on_one_side(board):
    ours, theirs = (
        {str(seed): {"bits_per_byte": each} for seed, each in enumerate(row)}
        for row in ((1.10, 1.12, 1.11), (1.20, 1.21, 1.22))
    )
    found = board.compared({"trimtab": ours, "autoresearch": theirs})["trimtab against autoresearch"]
    assert (found["wins"], found["seeds"]) == ("trimtab", 3)
    assert found["bits_per_byte_less"] == pytest.approx(0.1)
    noisy = {"0": {"bits_per_byte": 1.0}, "1": {"bits_per_byte": 1.4}}
    assert (
        board.compared({"trimtab": ours, "autoresearch": noisy})["trimtab against autoresearch"]["wins"]
        == "neither"
    )


def test_finished_runs_are_not_made_again_and_all_are_compared(board, tmp_path, monkeypatch):
    (tmp_path / "autoresearch").mkdir()
    made = []

    def single(args, arm, seed, card, **given):
        made.append((arm, seed))
        return {"bits_per_byte": 1.0 + seed / 100 + (arm == "autoresearch") * (0.1 + seed / 1000)}

    monkeypatch.setattr(board, "single", single)
    monkeypatch.setattr(board, "write_shards", lambda data: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a card")
    (tmp_path / "inductor").mkdir()
    command = ["run", "--data", str(tmp_path), "--out", str(tmp_path / "board.json"), "--seeds"]
    for seeds in ("1", "2"):
        board.run(board.arguments([*command, seeds]))
    assert made == [("autoresearch", 1), ("trimtab", 1), ("autoresearch", 2), ("trimtab", 2)]
    found = json.loads((tmp_path / "board.json").read_text())["comparison"]["trimtab against autoresearch"]
    assert (found["wins"], found["bits_per_byte_less"]) == ("trimtab", 0.1015)
