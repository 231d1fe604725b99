from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow.ends import last_of

BEGIN = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
CLASS = "class Net(nn.Module):\n    def forward(self, x):\n        return F.log_softmax(x, dim=-1)\n"


@for_each(
    ("text", "last"),
    [
        ("use(torch.softmax(x, dim=-1))", "softmax"),
        ("use(F.log_softmax(x, dim=-1))", "log_softmax"),
        ("use(x.sigmoid())", "sigmoid"),
        ("use(nn.Softmax(dim=1)(x))", "softmax"),
        ("use(nn.Sequential(nn.Linear(2, 3), nn.Sigmoid())(x))", "sigmoid"),
        ("use(nn.Sequential(nn.Sigmoid(), nn.Linear(2, 3))(x))", "linear"),
        (CLASS + "use(Net()(x))", "log_softmax"),
        ("use(x)", ""),
        ("use(torch.softmax(x, dim=-1) + 1)", ""),
        ("use(nn.Sequential(*layers)(x))", ""),
    ],
)
def test_it_is_what_made_the_tensor_last(text, last):
    assert last_of(next(flow(BEGIN + text).named("use")).value.args[0]) == last
