import json
from pathlib import Path

import pytest

from tests.cli.refusal import refused
from tests.export.test_translation_gate import GOOD
from trimtab.errors import RunFailed
from trimtab.export.quantized import Quantized
from trimtab.export.write_export import ExportReport


@pytest.fixture
def calls(stand_in):
    seen = []

    def export_model(run, **options):
        seen.append((run, options))
        if run == "worse":
            raise RunFailed("the export of step 5 for hf differs from the trainer; nothing was written")
        return ExportReport(folder=Path("out"), target="hf", step=5, gate=GOOD)

    stand_in("exporting", export_model=export_model)
    return seen


def test_it_says_how_exact_the_export_is(call, calls, tmp_path):
    result = call("export", "run@5", "--to", "hf", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "step 5 for hf, as exact as the trainer" in result.stdout
    plain = Quantized(kind="float32", most_loss=10.0)
    assert calls == [
        (
            "run@5",
            {
                "to": "hf",
                "out": tmp_path / "out",
                "source": None,
                "reference": None,
                "tags": (),
                "quantized": plain,
            },
        )
    ]


def test_json_has_the_same(call, calls, tmp_path):
    told = json.loads(call("export", "run", "--out", tmp_path / "out", "--json").stdout)
    assert told["gate"]["worst_token"] == 1e-6
    assert told["gate"]["passed"] is True


def test_text_of_ones_own_and_its_tags_are_handed_on(call, calls, tmp_path):
    call("export", "run", "--out", "x", "--source", "a", "--reference", "b", "--tag", "<2de>")
    ((_, options),) = calls
    assert (options["source"], options["reference"], options["tags"]) == (Path("a"), Path("b"), ["<2de>"])


def test_an_export_that_differs_ends_with_1(call, calls, tmp_path):
    refused(call("export", "worse", "--out", tmp_path / "out"), "differs from the trainer", code=1)


def test_a_target_that_is_none_ends_with_2(call, trained_run, tmp_path):
    refused(
        call("export", trained_run, "--to", "gguf", "--out", tmp_path / "out"),
        "--to gguf: unknown target",
        "hf",
    )
