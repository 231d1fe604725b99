from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow.modules import is_module, is_module_class


@for_each(
    ("code", "expected"),
    [
        ("import torch\nmodel = torch.nn.Linear(2, 2)", True),
        ("from transformers import AutoModel\nmodel = AutoModel.from_pretrained('x')", True),
        ("from transformers import AutoTokenizer\nmodel = AutoTokenizer.from_pretrained('x')", False),
        ("import torch\nmodel = torch.nn.CrossEntropyLoss()", False),
        ("model = load()", False),
    ],
)
def test_a_model_is_known_by_what_made_it(code, expected):
    assert is_module(next(iter(flow(code + "\nuse(model)").named("use"))).value.args[0]) is expected


def test_a_class_of_modules_is_known_by_its_bases():
    classes = flow("import torch\nclass A(torch.nn.Module): pass\nclass B(A): pass\nclass C: pass").classes
    assert [is_module_class(classes[name]) for name in "ABC"] == [True, True, False]
