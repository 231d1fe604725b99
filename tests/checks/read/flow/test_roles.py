from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow import roles

IMPORTS = """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM, AutoModel, get_linear_schedule_with_warmup
"""


def value_of(text):
    return next(flow(IMPORTS + text).named("use")).value.args[0]


@for_each(
    ("role", "yes", "no"),
    [
        ("is_optimizer", "torch.optim.AdamW(p)", "torch.optim.lr_scheduler.StepLR(o, 1)"),
        ("is_optimizer", "my_optimizer", "profiler"),
        ("is_schedule", "torch.optim.lr_scheduler.StepLR(o, 1)", "torch.optim.SGD(p)"),
        ("is_schedule", "get_linear_schedule_with_warmup(o, 1, 2)", "env"),
        ("is_schedule", "self.lr_scheduler", "self.optimizer"),
        ("is_scaler", "torch.amp.GradScaler('cuda')", "torch.optim.SGD(p)"),
        ("is_model", "DDP(nn.Linear(1, 1))", "nn.CrossEntropyLoss()"),
        ("is_model", "model", "tokenizer"),
        (
            "is_causal",
            "AutoModelForCausalLM.from_pretrained('gpt2').cuda()",
            "AutoModel.from_pretrained('gpt2')",
        ),
    ],
)
def test_roles(role, yes, no):
    assert getattr(roles, role)(value_of(f"use({yes})"))
    assert not getattr(roles, role)(value_of(f"use({no})"))
    assert not getattr(roles, role)(None)


def test_the_root_is_behind_moves_and_wrappers():
    assert roles.root(value_of("m = nn.Linear(1, 1)\nuse(DDP(m.to(d)).module)")).name == "torch.nn.Linear"
    assert roles.root(None) is None


def test_the_class_of_a_loaded_model():
    assert roles.loaded_class(value_of("use(AutoModel.from_pretrained('a'))")) == "AutoModel"
    assert roles.loaded_class(value_of("use(x)")) == ""


def test_options_of_a_value():
    assert len(roles.options(value_of("use(a if b else c)"))) == 2
    assert roles.options(None) == ()


def test_loops_periods_and_gradients():
    told = flow("""
        import torch
        @torch.no_grad()
        def evaluate():
            model(x)
        for i, x in enumerate(loader):
            model(x)
            if (i + 1) % 4 == 0:
                a()
            if x:
                b()
            with torch.inference_mode():
                model(x)
        evaluate()
    """)
    (a,), (b,) = told.named("a"), told.named("b")
    assert roles.is_periodic(a.path[-1])
    assert not roles.is_periodic(b.path[-1])
    assert roles.innermost_loop(a).kind == "for"
    assert [roles.without_gradients(event) for event in roles.forwards(told.events)] == [False, True, True]


def test_a_known_schedule_is_one_of_a_library():
    assert roles.is_known_schedule(value_of("use(torch.optim.lr_scheduler.OneCycleLR(o, 1))"))
    assert not roles.is_known_schedule(value_of("use(scheduler)"))
