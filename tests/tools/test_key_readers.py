"""The readers of `tools/key_readers`, on small sources: the tables of the linter are made by them."""

import ast
import sys
from pathlib import Path

from tests.for_each import for_each

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

from key_readers.annotations import enums_of
from key_readers.dataclass_fields import fields_of
from key_readers.history import with_history
from key_readers.tree import Tree
from read_keys import lay_facts_over, open_mappings, render

SOURCE = """
class Strategy(ExplicitEnum):
    NO = "no"
    STEPS = "steps"

@dataclass
class Base:
    rate: float = field(default=5e-5, metadata={"help": "x"})
    steps: int | None = field(default=None)
    kind: Literal["a", "b"] = "a"
    names: list[str] = field(default_factory=list)
    mode: str = field(default="x", metadata={"choices": ["x", "y"]})
    strategy: Strategy = field(default=Strategy.NO)
    options: Optional[Union[dict, str]] = None
    made: str = field(default=somewhere.computed)
    _hidden: int = 3
    size: int = Field(pp_int(5e8), ge=0, alias="stage3_size")

class Child(Base):
    rate: float = 2e-5
"""


def rows(*classes):
    return fields_of(ast.parse(SOURCE), *classes)


@for_each(
    ("name", "row"),
    [
        ("rate", {"types": ["number"], "default": 5e-5}),
        ("steps", {"types": ["integer"], "default": None}),
        ("kind", {"types": ["text"], "choices": ["a", "b"], "default": "a"}),
        ("names", {"types": ["list"], "default": []}),
        ("mode", {"types": ["text"], "default": "x", "choices": ["x", "y"]}),
        ("strategy", {"types": ["text"], "choices": ["no", "steps"], "default": "no"}),
        ("options", {"types": ["mapping", "text"], "default": None}),
        ("made", {"types": ["text"]}),
        ("stage3_size", {"types": ["integer"], "default": 500000000, "minimum": 0}),
    ],
)
def test_a_field_becomes_a_row(name, row):
    assert rows("Base")[name] == row


def test_a_child_speaks_over_its_parent_and_private_fields_are_left_out():
    assert rows("Base", "Child")["rate"]["default"] == 2e-5
    assert "_hidden" not in rows("Base")


def test_enumerations_are_read_by_name():
    assert enums_of(ast.parse(SOURCE)) == {"Strategy": {"NO": "no", "STEPS": "steps"}}


def test_history_claims_only_what_was_seen():
    trees = [Tree(version, Path()) for version in ("4.40.2", "4.45.0", "5.0.0")]
    read = [
        {"old": {"types": ["text"]}, "rate": {"types": ["number"], "default": 1.0}},
        {"new": {"types": ["text"]}, "rate": {"types": ["number"], "default": 1.0}},
        {"new": {"types": ["text"]}, "rate": {"types": ["number"], "default": 2.0}},
    ]
    made = with_history(list(zip(trees, read, strict=True)))
    assert made["rate"] == {"types": ["number"], "default": 2.0, "before": {"5.0.0": {"default": 1.0}}}
    # It came somewhere after 4.40, and was surely gone in 4.45.
    assert made["new"]["since"] == "4.41.0"
    assert made["old"]["removed_in"] == "4.45.0"


def test_facts_are_laid_over_and_can_add_a_key(tmp_path):
    facts = tmp_path / "facts.json"
    facts.write_text('{"rate": {"minimum": 0}, "gone": {"removed_in": "1.0"}, "mode": {"choices": null}}')
    keys = {"rate": {"default": 1.0}, "mode": {"choices": ["x"]}}
    lay_facts_over(keys, facts)
    assert keys == {"rate": {"default": 1.0, "minimum": 0}, "gone": {"removed_in": "1.0"}, "mode": {}}


def test_mappings_are_open_where_nothing_below_is_listed():
    keys = {"a": {"types": ["mapping"]}, "b": {"types": ["mapping"]}, "b.c": {"types": ["text"]}}
    open_mappings(keys)
    assert keys["a"]["open"]
    assert "open" not in keys["b"]


def test_a_table_is_written_with_a_key_a_line():
    text = render({"tool": "x", "keys": {"a": {"default": 1}, "b": {}}})
    assert text == '{\n  "tool": "x",\n  "keys": {\n    "a": {"default": 1},\n    "b": {}\n  }\n}\n'


MARIAN = """
void ConfigParser::addOptionsGeneral(cli::CLIWrapper& cli) {
  int defaultWorkspace = (mode_ == cli::mode::translation) ? 512 : 2048;
  cli.add<int>("--workspace,-w", "Preallocate (arg) MB, or so", defaultWorkspace);
  if(mode_ == cli::mode::training) {
    cli.add<std::string>("--sigterm", "What to do", "save-and-exit");
  } else {
    cli.add<bool>("--skip-cost", "Ignore it");
  }
  addSuboptionsRate(cli);
}
void ConfigParser::addSuboptionsRate(cli::CLIWrapper& cli) {
  cli.add<float>("--learn-rate,-l", "Learning rate; "
     "adjusted", 1e-4f);
  cli.add<std::vector<size_t>>("--lr-decay-start", "First (epoch, stalled)", {10, 1});
  cli.add<float>("--exponential-smoothing", "Smooth", 0.f)->implicit_val("1e-4");
  // cli.add<int>("--not-yet", "no", 1);
}
"""
SOCKEYE = """
def add_batch_args(params):
    params.add_argument(C.BATCH, '-b', type=int_greater_or_equal(1), default=64)
    params.add_argument('--layers', type=multiple_values(num_values=2, greater_or_equal=1), default=(6, 6))
    params.add_argument('--type', choices=C.TYPES, default=C.WORD)

def add_train_cli_args(params):
    group = params.add_argument_group("x")
    group.add_argument('--amp', action='store_true')
    add_batch_args(params)
"""
FAIRSEQ = """
@dataclass
class CommonConfig(FairseqDataclass):
    seed: int = field(default=1, metadata={"help": "x", "argparse_alias": "--sd"})
    lr: List[float] = field(default_factory=lambda: [0.25])
    fp16: bool = II("common.fp16")
"""


def test_options_of_marian_are_those_of_a_mode(tmp_path):
    from key_readers.marian import read

    (tmp_path / "src/common").mkdir(parents=True)
    (tmp_path / "src/common/config_parser.cpp").write_text(MARIAN)
    tables = read([Tree("1.12.0", tmp_path)])
    keys = tables["marian"]["keys"]
    assert keys["workspace"] == {"types": ["integer"], "default": 2048}
    assert tables["marian_decoder"]["keys"]["workspace"]["default"] == 512
    assert ("sigterm" in keys, "skip-cost" in keys, "not-yet" in keys) == (True, False, False)
    assert keys["learn-rate"] == {"types": ["number"], "default": 0.0001}
    assert keys["lr-decay-start"] == {"types": ["list", "integer"], "default": [10, 1]}
    assert keys["exponential-smoothing"]["types"] == ["number", "boolean"]


def test_options_of_sockeye_are_followed_through_its_functions_and_constants(tmp_path):
    from key_readers.sockeye import read

    (tmp_path / "sockeye").mkdir()
    (tmp_path / "sockeye/arguments.py").write_text(SOCKEYE)
    (tmp_path / "sockeye/constants.py").write_text(
        'BATCH = "--batch-size"\nWORD = "word"\nTYPES = [WORD, "max-" + WORD]\n'
    )
    keys = read([Tree("3.1.0", tmp_path)])["sockeye"]["keys"]
    assert keys["batch-size"] == {"types": ["integer"], "minimum": 1, "default": 64}
    assert keys["layers"] == {"types": ["integer", "list", "text"], "default": [6, 6]}
    assert keys["type"] == {"types": ["text"], "choices": ["word", "max-word"], "default": "word"}
    assert keys["amp"] == {"types": ["boolean"], "default": False}


def test_fields_of_fairseq_are_options_with_dashes_and_other_names():
    from key_readers.fairseq import _with_aliases

    (node,) = ast.parse(FAIRSEQ).body
    rows = _with_aliases(node, Tree("0.12.2", Path()))
    assert rows["sd"] == rows["seed"] == {"types": ["integer"], "default": 1}
    assert rows["lr"] == {"types": ["list", "number", "text"], "default": [0.25]}
    assert rows["fp16"] == {"types": ["boolean"]}
