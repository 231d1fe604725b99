from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN
from trimtab.checks.read.flow.modules import is_module, is_module_class


def value_of(text):
    return next(flow(text).named("use")).value.args[0]


@for_each(
    ("expression", "constant"),
    [
        ("3", 3),
        ("-2", -2),
        ("2 * 8 + 1", 17),
        ("not True", False),
        ("x", UNKNOWN),
        ("3 + x", UNKNOWN),
        ("'a'", "a"),
    ],
)
def test_constants(expression, constant):
    assert value_of(f"use({expression})").constant == constant


def test_a_mapping_gives_its_members():
    assert value_of("c = {'lr': 0.1}\nuse(c['lr'])").constant == 0.1
    assert value_of("c = {**{'lr': 0.1}, 'n': 2}\nuse(c['lr'])").constant == 0.1


def test_a_mapping_is_spread_into_a_call():
    told = flow("c = dict\nf(**{'lr': 1})\ng(**c)")
    (f,), (g,) = told.named("f"), told.named("g")
    assert f.value.keywords["lr"].constant == 1
    assert g.value.has_rest


def test_the_same_item_is_the_same_value_until_it_is_set():
    told = flow("f(ds['train'], ds['train'], ds['test'])\nds['train'] = 1\ng(ds['train'])")
    one, same, other = next(told.named("f")).value.args
    assert one is same
    assert one is not other
    assert next(told.named("g")).value.args[0].constant == 1


def test_moving_a_module_gives_the_module_itself():
    text = "import torch\nm = torch.nn.Linear(1, 1)\nuse(m.to('cuda').eval())"
    assert value_of(text).name == "torch.nn.Linear"


def test_what_is_prepared_comes_back_in_its_order():
    text = "m = A()\no = B()\nm, o = accelerator.prepare(m, o)\nuse(o)"
    assert value_of(text).name == "B"


def test_enumerated_and_zipped_elements_are_those_of_what_is_gone_over():
    told = flow("for i, (x, y) in enumerate(zip(a, b)):\n    use(x)")
    assert next(told.named("use")).value.args[0].of.name == "a"


def test_a_call_of_a_module_of_the_script_keeps_what_forward_returns():
    told = flow("""
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                self.body = nn.Linear(1, 1)
            def forward(self, x):
                return self.body(x).softmax(-1)
        use(Net()(x))
    """)
    assert next(told.named("use")).value.args[0].fields["<returned>"].name == "softmax"


def test_modules_are_known_by_what_made_them():
    text = "import torch\nfrom transformers import AutoModelForCausalLM as M, AutoTokenizer as T\nuse({})"
    assert is_module(value_of(text.format("M.from_pretrained('a')")))
    assert is_module(value_of(text.format("torch.compile(x)")))
    assert not is_module(value_of(text.format("T.from_pretrained('a')")))
    assert not is_module(value_of(text.format("torch.nn.CrossEntropyLoss()")))


def test_classes_of_modules_are_known_by_their_bases():
    told = flow("from torch import nn\nclass A(nn.Module): ...\nclass B(A): ...\nclass C: ...")
    assert [is_module_class(told.classes[name]) for name in "ABC"] == [True, True, False]


def test_a_mapping_that_is_changed_is_known_as_far_as_it_can_be():
    told = flow("""
        a = {'lr': 1}
        a['eps'] = 2
        f(**a)
        b = {'lr': 1}
        b.update(more)
        g(**b)
        c = {'lr': 1}
        if x:
            c['lr'] = 3
        h(**c)
    """)
    (f,), (g,), (h,) = told.named("f"), told.named("g"), told.named("h")
    assert f.value.keywords["eps"].constant == 2
    assert not f.value.has_rest
    assert g.value.has_rest
    assert h.value.has_rest
