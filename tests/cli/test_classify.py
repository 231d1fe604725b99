import json

import pytest

from tests.cli.refusal import has_four_parts, refused
from trimtab.errors import input_error
from trimtab.tasks.classification.classifier import Classified


class Loud:
    """Labels a text by whether it has capitals."""

    def __init__(self, spec, *, device, adapter=None) -> None:
        if spec == "other":
            raise input_error("other: no classifier", got="a", allowed="b", fix="c")

    def classify(self, lines):
        for line in lines:
            loud = 0.9 if line.isupper() else 0.25
            best = "loud" if loud > 0.5 else "soft"
            yield Classified(best, {"loud": loud, "soft": 1 - loud})


@pytest.fixture
def label(call, stand_in):
    stand_in("tasks.classification.classifier", load_classifier=Loud)
    return lambda *arguments, given="": call("classify", *arguments, stdin=given)


def test_a_label_and_its_probability_a_line(label):
    assert label("run", given="HELLO\nhello\n").stdout == "loud\t0.900000\nsoft\t0.750000\n"


def test_files_in_and_out_and_objects(label, tmp_path):
    (tmp_path / "in.txt").write_text("HELLO\n")
    result = label("run", "--input", tmp_path / "in.txt", "--output", tmp_path / "out", "--json")
    assert (result.exit_code, result.stdout) == (0, "")
    found = json.loads((tmp_path / "out").read_text())
    assert found == {"label": "loud", "probabilities": {"loud": 0.9, "soft": pytest.approx(0.1)}}


def test_another_run_is_refused(label):
    assert has_four_parts(refused(label("other", given="a\n"), "no classifier"))
