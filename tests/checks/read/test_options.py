import ast

from tests.for_each import for_each
from trimtab.checks.read.options import option_defaults
from trimtab.checks.read.scopes import survey


@for_each(
    ("text", "expected"),
    [
        ("p.add_argument('--learning-rate', default=3e-4)", {"learning_rate": 3e-4}),
        ("p.add_argument('-b', '--batch_size', type=int, default='8')", {"batch_size": 8}),
        ("p.add_argument('-b', type=int, default=8)", {"b": 8}),
        ("p.add_argument('--lr', dest='rate', default=1)", {"rate": 1}),
        ("p.add_argument('--lr', dest=name, default=1)", {}),
        ("p.add_argument('--half', action='store_true')", {}),
        ("p.add_argument('--size', type=parse, default='8x8')", {}),
        ("p.add_argument('--size', type=int, default='many')", {}),
        ("p.add_argument(*names, default=1)", {}),
        ("p.add_argument('--a', default=1)\nq.add_argument('--a', default=1)", {"a": 1}),
        ("p.add_argument('--a', default=1)\nq.add_argument('--a')", {}),
        ("p.set_defaults(a=2)\np.add_argument('--a', default=1)", {"a": 2}),
        ("p.add_argument('--a', default=1)\nvars(args).update(more)", {}),
    ],
)
def test_options_have_the_defaults_that_argparse_gives_them(text, expected):
    found = option_defaults(survey(ast.parse(text)))
    assert {name: node.value for name, (node, _) in found.items()} == expected
