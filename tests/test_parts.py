import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.for_each import for_each
from trimtab import parts
from trimtab.parts import Terms, accumulate_batches, chunked_cross_entropy, permuted

PAGE = Path(__file__).parent.parent / "docs" / "functions.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@for_each("name", parts.HOMES)
def test_each_part_is_what_lives_in_its_home_and_says_what_it_is(name):
    part = getattr(parts, name)
    assert (part.__module__, part.__name__) == (parts.HOMES[name], name)
    assert part.__doc__


def test_type_checkers_are_told_of_the_same_parts():
    nodes = ast.walk(ast.parse(Path(parts.__file__).read_text(encoding="utf-8")))
    imports = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.module.startswith("trimtab")]
    assert {alias.name: node.module for node in imports for alias in node.names} == parts.HOMES


def test_the_package_says_that_it_has_types():
    assert (Path(parts.__file__).parent / "py.typed").is_file()


def test_an_unknown_part_is_an_import_error():
    with pytest.raises(AttributeError, match="has no attribute 'acumulate'"):
        parts.acumulate  # noqa: B018


def test_naming_the_parts_loads_nothing_heavy():
    code = "import sys, trimtab.parts; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {"torch", "numpy"}.isdisjoint(loaded.split())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: re.findall(r"parts import (\w+)", text)[0])
def test_each_example_of_the_page_runs(example, capsys):
    torch.manual_seed(0)
    exec(compile(example, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.strip()


def test_the_page_shows_every_part():
    assert [name for name in parts.HOMES if f"`{name}`" not in PAGE.read_text(encoding="utf-8")] == []


class Tagger(nn.Module):
    """Somebody's own model: a recurrent network that names each word."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 16)
        self.recurrent = nn.GRU(16, 16, batch_first=True)
        self.output = nn.Linear(16, 40, bias=False)

    def hidden(self, words):
        return self.recurrent(self.embedding(words))[0]


def own_batches(order):
    """Rows of different lengths, one a batch, in the order of a permutation; the tag of a word is the word plus one."""
    generator = torch.Generator().manual_seed(1)
    rows = [torch.randint(0, 39, (n,), generator=generator) for n in (3, 30, 8, 15, 5, 22, 11, 2)]
    return [(rows[place][None], rows[place] + 1) for place in order]


def test_a_plain_loop_takes_accumulation_the_chunked_loss_and_the_order_of_data():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    terms = Terms(40, label_smoothing=0.05)

    def loss_of(batch):
        words, tags = batch
        return chunked_cross_entropy(model.hidden(words)[0], model.output.weight, tags, terms).objective

    losses = []
    for step in range(60):
        order = permuted(torch.arange(8).numpy(), n=8, key=(1, step))
        batches = own_batches(order.tolist())
        losses.append(float(accumulate_batches(loss_of, batches, num_targets=lambda batch: len(batch[1]))))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    assert losses[-1] < 0.4 * losses[0]


def test_a_hugging_face_loop_takes_the_same_parts_and_gets_the_gradient_of_one_batch():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=64,
        n_positions=32,
        n_embd=16,
        n_layer=1,
        n_head=2,
        resid_pdrop=0,
        embd_pdrop=0,
        attn_pdrop=0,
    )
    model = transformers.GPT2LMHeadModel(config)
    ids = torch.randint(0, 64, (4, 20))
    labels = ids.clone()
    for row, length in enumerate((5, 20, 9, 14)):
        labels[row, length:] = -100

    def loss_of(batch):
        rows, wanted = batch
        hidden = model.transformer(input_ids=rows).last_hidden_state[:, :-1].flatten(0, 1)
        targets = wanted[:, 1:].flatten()
        return chunked_cross_entropy(hidden, model.lm_head.weight, targets, Terms(64)).objective

    batches = [(ids[row : row + 1], labels[row : row + 1]) for row in range(4)]
    loss = accumulate_batches(
        loss_of, batches, num_targets=lambda batch: int((batch[1][:, 1:] != -100).sum())
    )
    ours = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    whole = model(input_ids=ids, labels=labels).loss
    whole.backward()
    torch.testing.assert_close(loss, whole.detach())
    for one, other in zip(ours, model.parameters(), strict=True):
        torch.testing.assert_close(one, other.grad, atol=1e-5, rtol=1e-4)
