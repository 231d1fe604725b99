from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN

PARSER = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float, default={})\n"
LISTED = "@dataclass\nclass Options:\n  lr: float = field(default=3e-4)\n  name: str = 'gpt2'\n"


def read(text, expression="args.lr"):
    """The argument of a call `f(x=...)` behind a text, and whether it is the default of an option."""
    script = f"import torch\n{text}\nf(x={expression})\n"
    entry = next(call for call in document("a.py", script).calls if call.name == "f").arguments["x"]
    return entry.value, entry.is_option


@for_each(("default", "expected"), [("3e-4", 3e-4), ("'3e-4'", 3e-4), ("1 / 4", 0.25), ("'x'", UNKNOWN)])
def test_the_default_of_an_option_is_its_value(default, expected):
    value, is_option = read(PARSER.format(default) + "args = parser.parse_args()")
    assert (value, is_option) == (expected, expected is not UNKNOWN)


@for_each("default", ["None", "0.0", "0", "False", "''"])
def test_a_default_that_says_not_given_is_unknown(default):
    assert read(PARSER.format(default) + "args = parser.parse_args()") == (UNKNOWN, False)


@for_each(
    "text",
    [
        "args, others = parser.parse_known_args()",
        "args = parser.parse_known_args()[0]",
        "def options():\n  return parser.parse_args()\nargs = options()",
        "parser.add_argument('--other', default=1)\nargs = parser.parse_args()",
        "parser.add_argument('-l', '--lr', default=3e-4)\nargs = parser.parse_args()",
        "class A:\n  def __init__(self):\n    self.args = parser.parse_args()\n  def run(self):\n    f(x=self.args.lr)",
    ],
)
def test_namespaces_are_known_by_what_makes_them(text):
    expression = "1" if "f(x=" in text else "args.lr"  # of the first `f` in the script
    assert read(PARSER.format("3e-4") + text, expression)[0] == 3e-4


@for_each(
    "text",
    [
        "args = parser.parse_args()\nargs.lr = compute()",
        "args = parser.parse_args()\nsetattr(args, 'lr', 1)",
        "args = parser.parse_args()\nargs.__dict__.update(config)",
        "args = parser.parse_args()\nvars(args).update(config)",
        "args = parser.parse_args()\nargs = changed(args)",
        "parser.add_argument('--lr', default=1e-3)\nargs = parser.parse_args()",
        "args = load()",
    ],
)
def test_what_may_say_something_else_leaves_it_unknown(text):
    assert read(PARSER.format("3e-4") + text) == (UNKNOWN, False)


def test_set_defaults_beats_the_option_itself():
    text = PARSER.format("3e-4") + "parser.set_defaults(lr=1e-3)\nargs = parser.parse_args()"
    assert read(text) == (1e-3, True)


@for_each(
    "text",
    [
        "options = HfArgumentParser(Options).parse_args_into_dataclasses()[0]",
        "parser = HfArgumentParser((Options, TrainingArguments))\n"
        "options, more = parser.parse_args_into_dataclasses()",
        "parser = TrlParser(dataclass_types=[TrainingArguments, Options])\n"
        "more, options = parser.parse_args_and_config()",
        "options = tyro.cli(Options)",
        "options = Options().parse_args()",
    ],
)
def test_fields_that_a_parser_fills_are_defaults_of_options(text):
    assert read(LISTED + text, "options.lr") == (3e-4, True)


@for_each(
    ("text", "expression", "expected"),
    [
        (LISTED + "options = Options()", "options.lr", 3e-4),
        (LISTED + "options = Options(lr=1e-3)", "options.lr", 1e-3),
        (LISTED + "options = Options(1e-3)", "options.lr", UNKNOWN),
        (LISTED + "options = Options(**given)", "options.lr", UNKNOWN),
        (LISTED + "class More(Options):\n  lr = 1e-2\noptions = More()", "options.lr", 1e-2),
        (
            LISTED + "class Outer:\n  inner: Options = field(default_factory=Options)\no = Outer()",
            "o.inner.lr",
            3e-4,
        ),
        ("class C:\n  def __init__(self):\n    self.lr = 1e-2\nc = C()", "c.lr", 1e-2),
        ("class C:\n  def __init__(self, lr):\n    self.lr = lr\nc = C(lr=1)", "c.other", UNKNOWN),
        ("c = SimpleNamespace(lr=0.0)", "c.lr", 0.0),
        ("c = {'lr': 1e-2, 'a': {'b': 2}}", "c['lr']", 1e-2),
        ("c = {'lr': 1e-2, 'a': {'b': 2}}", "c['a']['b']", 2),
        ("c = {'lr': 1e-2}\nc['lr'] = 3", "c['lr']", UNKNOWN),
        ("class C:\n  lr = 1e-2\nC.lr = 3", "C.lr", UNKNOWN),
    ],
)
def test_objects_that_the_script_fills_hold_what_it_says(text, expression, expected):
    assert read(text, expression) == (expected, False)


@for_each(
    ("text", "expected"),
    [
        ("def g(model, lr):\n  f(x=lr)\ng(m, 1e-3)", 1e-3),
        ("def g(model, lr=1e-3):\n  f(x=lr)\ng(m)", 1e-3),
        ("def g(*, lr):\n  f(x=lr)\ng(lr=1e-3)", 1e-3),
        ("def g(lr):\n  f(x=lr)\ng(1e-3)\ng(1e-4)", UNKNOWN),
        ("def g(lr=1e-3):\n  f(x=lr)", UNKNOWN),
        ("def g(lr):\n  f(x=lr)\ng(*a)", UNKNOWN),
        ("def g(lr):\n  lr = 2\n  f(x=lr)\ng(1)", UNKNOWN),
        ("def g(lr=1e-3):\n  f(x=lr)\nfire.Fire(g)", 1e-3),
    ],
)
def test_a_parameter_is_the_argument_of_the_one_call(text, expected):
    assert read(text, "1")[0] == expected


def test_a_parser_of_dataclasses_tells_the_class_of_the_library():
    text = (
        "import transformers\nclass Mine(transformers.TrainingArguments):\n  optim: str = 'adafactor'\n"
        "parser = transformers.HfArgumentParser(Mine)\n"
    )
    (call,) = document("a.py", text).parsed
    assert (call.name, call.qualifier, call.has_rest) == ("TrainingArguments", "transformers", True)
    assert call.arguments["optim"].value == "adafactor"
