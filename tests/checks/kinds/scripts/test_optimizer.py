from tests.checks.kinds.describing import document, words
from tests.for_each import for_each
from trimtab.checks.kinds.scripts.optimizer import optimizer_concepts


def told(line, head="import torch"):
    return words(optimizer_concepts(document("a.py", f"{head}\n{line}\n")))


@for_each(
    ("line", "kind", "rate", "decay"),
    [
        ("torch.optim.AdamW(p)", "adamw", 1e-3, 0.01),
        ("torch.optim.AdamW(p, 3e-4)", "adamw", 3e-4, 0.01),
        ("torch.optim.Adam(p, lr=x)", "adam", None, 0.0),
        ("torch.optim.SGD(p, lr=0.1, weight_decay=1e-4)", "sgd", 0.1, 1e-4),
        ("torch.optim.AdamW(p, **more)", "adamw", None, None),
    ],
)
def test_a_constructor_is_told_with_its_own_defaults(line, kind, rate, decay):
    found = told(line)
    assert (found["optimizer"], found.get("learning_rate"), found.get("weight_decay")) == (kind, rate, decay)


def test_an_adamw_that_may_be_of_transformers_has_no_default_decay():
    assert "weight_decay" not in told("AdamW(p)", "from transformers import AdamW")
    assert told("AdamW(p)", "import transformers\nfrom torch.optim import AdamW")["weight_decay"] == 0.01


def test_bits_and_paging_are_told():
    found = told("bnb.optim.PagedAdamW8bit(p, lr=1e-4, betas=(0.9, 0.95))", "import bitsandbytes as bnb")
    assert (found["optimizer_bits"], found["optimizer_paged"], found["beta2"]) == (8, True, 0.95)


def test_two_optimizers_leave_it_open():
    assert told("torch.optim.SGD(p, lr=1)\ntorch.optim.Adam(q, lr=1)") == {}


def test_adafactor_of_torch_has_no_relative_step():
    assert "relative_step" not in told("torch.optim.Adafactor(p, lr=1e-2)")
    assert (
        told("Adafactor(p, lr=1e-3, relative_step=False)", "from transformers import Adafactor")[
            "relative_step"
        ]
        is False
    )


def test_names_without_arguments_or_libraries_are_no_optimizers():
    assert told("AdamW()") == {}
    assert told("AdamW(p)", "import json") == {}
