import pytest

from tests.checks.rules.findings import findings
from tests.for_each import for_each
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.llamafactory_parts.versions import NEWEST, accepted
from trimtab.checks.rules import c108_key_removed as c108

YAML = (
    "model_name_or_path: a/b\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: qwen\ndataset: c\n"
    "output_dir: out\nlearning_rate: 0.00001\nwarmup_ratio: 0.1\n"
)
SHELL = "llamafactory-cli train --model_name_or_path a/b --stage sft --do_train --warmup_ratio 0.1 --output_dir out\n"


@for_each(
    ("versions", "kept"),
    [
        ({}, {}),
        ({"transformers": (4, 40)}, {"transformers": (4, 40)}),
        ({"transformers": (5, 8, 0), "torch": (2, 13)}, {"transformers": (5, 8, 0), "torch": (2, 13)}),
        ({"transformers": (5, 24, 0), "peft": (0, 18)}, {"peft": (0, 18)}),
        ({"trl": (1, 7), "peft": (0, 21), "accelerate": (1, 16)}, {}),
        (
            {"transformers": (5, 24), "llamafactory": (0, 9, 6)},
            {"llamafactory": (0, 9, 6)},
        ),
        (
            {"transformers": (5, 24), "llamafactory": (0, 10)},
            {"transformers": (5, 24), "llamafactory": (0, 10)},
        ),
    ],
)
def test_versions_with_which_it_does_not_start_do_not_count(versions, kept):
    assert accepted(Surroundings(versions=versions)).versions == kept


def test_every_bound_is_a_version_of_three_numbers():
    assert all(len(version) == 3 for version in NEWEST.values())


@pytest.mark.parametrize(("file", "text"), [("sft.yaml", YAML), ("run.sh", SHELL)])
def test_a_key_is_not_called_gone_for_a_version_that_it_cannot_run_with(file, text):
    assert findings(c108, file, text, versions="transformers=5.24.0") == []
    later = findings(c108, file, text, versions="transformers=5.24.0 llamafactory=0.10.0")
    assert [found.finding.severity for found in later] == ["error"]
