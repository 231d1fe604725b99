import torch

from tests.module_folder import module_folder
from tests.small_run import small_pairs, small_sources
from trimtab.build import build
from trimtab.decode.stream import stream_of


def test_rows_and_hypotheses_can_be_left_out_and_exchanged(tmp_path):
    module_folder(tmp_path / "base", "marian")
    changes = {"data.tokenizer": None, "data.max_tokens": 64}
    recipe, datasets = small_sources(tmp_path, model={"kind": "pretrained", "path": "base"}, **changes)
    model = build(recipe, datasets, device=torch.device("cpu")).model.eval()
    model.fill(recipe.model.path)
    rows = datasets.tokenizers.source.encode([line for line, _ in small_pairs(3)])

    def logits(rows, *tokens):
        session = model.open_session(
            stream_of(rows, torch.device("cpu")), rows=len(rows), width=1, max_length=9
        )
        for token in tokens:
            found = session.step(torch.tensor([[each] for each in token]))
        return found[:, 0]

    with torch.inference_mode():
        session = model.open_session(stream_of(rows, torch.device("cpu")), rows=3, width=2, max_length=9)
        session.step(torch.full((3, 2), datasets.tokenizers.target.start))
        session.step(torch.tensor([[3, 4]] * 3))
        session.reorder(torch.tensor([[1, 1]] * 3))
        session.keep(torch.tensor([2, 0]))
        found = session.step(torch.tensor([[5, 6], [5, 6]]))
        start = datasets.tokenizers.target.start
        for place, row in enumerate((2, 0)):
            for width, last in enumerate((5, 6)):
                wanted = logits([rows[row]], [start], [4], [last])[0]
                assert torch.allclose(found[place, width], wanted, atol=1e-5)
        session.cut_output(torch.tensor([7, 2]))
        assert session.step(torch.tensor([[5, 6], [5, 6]])).shape == (2, 2, 2)
