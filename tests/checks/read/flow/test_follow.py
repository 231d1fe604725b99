import ast

import pytest

from tests.checks.read.flow.following import flow, lines
from tests.for_each import for_each
from trimtab.checks.place import Place
from trimtab.checks.read.flow.follow import follow


def blocks(event):
    return [block.kind for block in event.path]


def test_calls_come_in_the_order_in_which_they_happen():
    told = flow("""
        def step():
            b()
        a()
        step()
        c()
    """)
    assert [event.name for event in told.events] == ["a", "step", "b", "c"]


def test_a_function_is_followed_where_it_is_called_and_its_arguments_are_known_inside():
    told = flow("""
        import torch
        def train(net):
            for batch in loader:
                net(batch).backward()
        model = torch.nn.Linear(1, 2)
        train(model)
    """)
    (backward,) = told.named("backward")
    assert blocks(backward) == ["function", "for"]
    assert backward.subject.of.name == "torch.nn.Linear"


def test_functions_that_nothing_calls_are_followed_with_unknown_arguments():
    told = flow("""
        def train(model, rate=0.1):
            model.fit(rate)
    """)
    (fit,) = told.named("fit")
    assert fit.subject.made == "parameter"
    assert fit.value.args[0].made == "parameter"
    assert fit.value.args[0].keywords["default"].constant == 0.1


def test_a_default_holds_where_the_script_calls_the_function_itself():
    told = flow("""
        def train(rate=0.1):
            fit(rate)
        train()
    """)
    assert next(told.named("fit")).value.args[0].constant == 0.1


def test_methods_share_the_object_and_what_init_puts_on_it():
    told = flow("""
        import torch
        class Runner:
            def __init__(self, model):
                self.model = model
                self.optimizer = torch.optim.SGD(model.parameters(), lr=1)
            def train(self):
                self.optimizer.step()
        Runner(torch.nn.Linear(1, 1)).train()
    """)
    (step,) = told.named("step")
    assert step.subject.name == "torch.optim.SGD"


def test_methods_of_a_class_that_is_never_made_are_followed_too():
    told = flow("""
        class Runner:
            def __init__(self, optimizer):
                self.optimizer = optimizer
            def train(self):
                self.optimizer.step()
    """)
    assert next(told.named("step")).subject.name == "optimizer"


def test_both_branches_are_followed_and_a_name_may_then_hold_either():
    told = flow("""
        if flag:
            model = A()
        else:
            model = B()
        use(model)
    """)
    (use,) = told.named("use")
    assert use.value.args[0].made == "either"
    assert {each.name for each in use.value.args[0].args} == {"A", "B"}


def test_a_branch_that_leaves_has_no_say_in_what_comes_after():
    told = flow("""
        def f(flag):
            x = 1
            if flag:
                x = 2
                return
            use(x)
    """)
    assert next(told.named("use")).value.args[0].constant == 1


def test_a_branch_on_a_known_constant_is_the_only_one():
    told = flow("""
        FAST = False
        if FAST:
            a()
        else:
            b()
    """)
    assert [event.name for event in told.events] == ["b"]


def test_a_number_that_a_loop_changes_is_unknown_inside_it():
    told = flow("""
        step = 0
        size = 4
        for x in data:
            step += 1
            if step % size == 0:
                save()
    """)
    (save,) = told.named("save")
    assert save.path[-1].kind == "if"
    assert not isinstance(save.path[-1].value.constant, bool)


def test_what_main_guards_is_followed_as_the_script():
    told = flow("""
        def main():
            a()
        if __name__ == "__main__":
            main()
    """)
    assert [event.name for event in told.events] == ["main", "a"]


def test_statements_behind_a_return_are_left_out():
    told = flow("""
        def f():
            return 1
            a()
        f()
    """)
    assert not list(told.named("a"))


def test_names_of_imports_are_whole():
    told = flow("""
        import torch.nn.functional as F
        from torch import nn
        from torch.optim import AdamW as A
        F.cross_entropy(x, y)
        nn.Linear(1, 1)
        A(p)
    """)
    assert [event.value.name for event in told.events] == [
        "torch.nn.functional.cross_entropy",
        "torch.nn.Linear",
        "torch.optim.AdamW",
    ]


def test_attributes_that_are_set_are_events_and_are_read_again():
    told = flow("""
        model.config.num_beams = 4
        use(model.config.num_beams)
        labels[labels == 0] = -100
    """)
    beams, item = told.sets("num_beams", "[]")
    assert beams.subject.name == "config"
    assert next(told.named("use")).value.args[0].constant == 4
    assert (item.value.constant, item.item.name) == (-100, "Eq")


def test_with_blocks_and_loops_stand_around_what_happens_in_them():
    told = flow("""
        import torch
        for epoch in range(3):
            while True:
                with torch.no_grad():
                    a()
        for x in [b() for y in z]:
            pass
    """)
    (a,) = told.named("a")
    assert blocks(a) == ["for", "while", "with"]
    assert a.path[-1].contexts[0].name == "torch.no_grad"
    assert blocks(next(told.named("b"))) == ["comprehension"]


def test_recursion_ends():
    told = flow("""
        def f(n):
            a()
            f(n)
        f(3)
    """)
    assert lines(told.named("a")) == [3]
    assert told.is_whole


@for_each(
    "text",
    [
        "match x:\n    case {'a': b}:\n        c()\n    case _:\n        d()",
        "try:\n    a()\nexcept* ValueError:\n    b()\nfinally:\n    c()",
        "async def f():\n    async with a() as b:\n        async for c in b:\n            await d(c)",
        "global x\nx: int\ny: int = 1\ndel y\nassert x, y\nlambda *a, **k: a",
        "def f(a, /, b, *c, d=1, **e):\n    yield a\n    yield from b\n    nonlocal_ = d\nf(*x, **y)",
        "class A(B, metaclass=C):\n    x = 1\n    def m(self): return self.m\nA().m()()",
        "(a := 1) + a\n{**b, 'c': 1}\n[*a]\nx[1:2, ..., ::3] = y\na, (b, *c) = d",
        "@f\ndef g(): ...\nx.y[0].z += 1\nprint(f'{x!r:>{w}}')",
    ],
)
def test_every_kind_of_statement_is_followed_to_its_end(text):
    assert flow(text).is_whole


@pytest.mark.slow
def test_a_script_that_is_too_long_is_given_up_and_says_so():
    told = flow("f()\n" * 30_000)
    assert not told.is_whole
    assert told.events


@pytest.mark.slow
def test_functions_that_call_one_another_many_times_are_given_up():
    text = "\n".join(f"def f{n}():\n" + f"    f{n + 1}()\n" * 12 for n in range(8))
    assert not flow(text + "\nf0()").is_whole


def test_deep_nesting_is_given_up_without_a_traceback():
    tree = ast.parse("x")
    node = tree.body[0].value
    for _ in range(5_000):
        node = ast.UnaryOp(ast.USub(), node, lineno=1, col_offset=0)
    tree.body[0].value = node
    assert not follow(tree, lambda _: Place("s.py")).is_whole
