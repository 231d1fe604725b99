import pytest

from tests.for_each import for_each
from trimtab.checks.convert import convert
from trimtab.checks.read.document import read_document
from trimtab.checks.unrecognised import LAUNCHED, tool_not_read, unrecognised, what_is_there, what_may_be
from trimtab.errors import InputError


def document(name, text):
    return read_document(name, text.encode())


@for_each(
    ("line", "tool"),
    [
        ("fairseq-generate data-bin --path a.pt", "fairseq"),
        ("CUDA_VISIBLE_DEVICES=0 fairseq-interactive data-bin --path a.pt", "fairseq"),
        ("marian-scorer --model a.npz", "Marian"),
        ("t2t-trainer --model=transformer", "tensor2tensor"),
        ("sockeye-translate --models a", "Sockeye"),
        ("python train.py --lr 1", ""),
    ],
)
def test_a_launch_of_a_tool_that_is_not_read_is_told_by_the_name_of_the_tool(line, tool):
    launch = document("run.sh", f"#!/bin/bash\n{line}\n")
    assert tool_not_read(launch) == tool
    problem = unrecognised(launch)
    assert ("is not supported" in problem.what) == bool(tool)
    assert tool in problem.what
    assert problem.allowed == LAUNCHED


def test_a_conversion_says_that_a_tool_is_not_supported_and_names_what_it_got():
    with pytest.raises(InputError) as caught:
        convert(document("fs.sh", "#!/bin/bash\nfairseq-generate data --beam 5\n"))
    (problem,) = caught.value.problems
    assert problem.what == "fs.sh: of fairseq, which is not supported"
    assert problem.got == "only `fairseq-generate`"
    assert "--as" not in problem.fix


def test_what_is_there_is_told_by_names_not_by_all_of_them():
    assert (
        what_is_there(document("a.yaml", "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n")) == "only `a`, `b`, `c`, `d`, ..."
    )
    assert what_is_there(document("a.yaml", f"{'k' * 99}: 1\n")) == f"only `{'k' * 40}`"
    assert what_is_there(document("a.yaml", "7\n")) == "a number or a word, no keys"
    assert "trimtab recipe" in what_may_be(document("a.yaml", "a: 1\n"))
