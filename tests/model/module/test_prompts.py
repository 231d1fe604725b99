import pytest
import torch

from tests.causal_folder import CAUSAL, causal_network
from tests.module_folder import families
from trimtab.model.module.prompts import NetworkPrompts

ROWS = [[1, 9, 70, 3, 25], [1, 40], [1, 33, 8, 91, 10, 11, 250, 13, 14, 15, 16, 17, 18]]
LONGEST = max(map(len, ROWS))


@torch.inference_mode()
@pytest.mark.parametrize("family", families(CAUSAL, quick=("gpt2", "gemma3_text")))
def test_each_step_gives_the_logits_of_the_whole_text(family):
    """Rows of different lengths, two texts each, of which one row ends first."""
    network = causal_network(family)
    prompts = NetworkPrompts(network, rows=3, width=2)
    filled = torch.tensor([[0] * (LONGEST - len(row)) + row for row in ROWS])
    prompts.feed(filled[:, :-1], torch.tensor([LONGEST - len(row) for row in ROWS]))
    texts = [[*row] for row in ROWS for _ in range(2)]
    kept, fed = [0, 1, 2], filled[:, -1:].expand(3, 2)
    for step in range(4):
        logits = prompts.step(fed)
        for number, row in enumerate(kept):
            for text in range(2):
                whole = network(input_ids=torch.tensor([texts[2 * row + text]])).logits[0, -1]
                assert torch.allclose(logits[number, text], whole, atol=2e-5)
        if step == 1:
            kept = [0, 2]
            prompts.keep(torch.tensor(kept))
        fed = torch.tensor([[20 + 7 * step + row, 30 + 5 * step + row] for row in kept])
        for number, row in enumerate(kept):
            for text in range(2):
                texts[2 * row + text].append(int(fed[number, text]))


@torch.inference_mode()
def test_rows_may_run_on_beyond_the_last_position():
    """What they say then is not read any more."""
    network = causal_network("gpt2", n_positions=6)
    prompts = NetworkPrompts(network, rows=1, width=1)
    prompts.feed(torch.tensor([[1, 2, 3, 4]]), torch.tensor([0]))
    for _ in range(4):
        assert prompts.step(torch.tensor([[5]])).isfinite().all()
