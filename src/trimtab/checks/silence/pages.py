"""C190 to C194: the rules that suppressions and baselines themselves are held to.

They are checked by `apply` and `baseline`, after all others, and cannot be suppressed.
"""

from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Example, Fix, Rule

_RUFF = Maintainer(
    "https://docs.astral.sh/ruff/rules/unused-noqa/",
    "ruff's RUF100: a suppression that no longer matches anything is likely there by mistake and should be removed.",
)
_START = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nmax_steps: 500\n"

WITHOUT_REASON = Rule(
    code="C190",
    name="silence-without-reason",
    severity="error",
    message="`{rule}` is suppressed without a reason, so it is still reported",
    why="The next reader cannot know whether the finding was judged or only in the way, so the suppression "
    "stays for ever.",
    evidence=(Arithmetic("Nobody can check a suppression without a reason, so trimtab ignores it."),),
    fix=Fix("write the reason behind it: `allow {rule} because ...`", "same training"),
    bad=Example("axolotl.yaml", _START + "# trimtab: allow S104\nwarmup_steps: 1000\n"),
    good=Example(
        "axolotl.yaml",
        _START + "# trimtab: allow S104 because this is a smoke test of the warm-up\nwarmup_steps: 1000\n",
    ),
)
OF_NOTHING = Rule(
    code="C191",
    name="silence-of-nothing",
    severity="warning",
    message="`{rule}` is allowed here, but has nothing to say",
    why="The setting was fixed, or is on another line. A suppression that is left behind "
    "will one day hide a new mistake.",
    evidence=(_RUFF,),
    fix=Fix("remove the suppression", "same training"),
    bad=Example("axolotl.yaml", _START + "# trimtab: allow S104 because of a smoke test\nwarmup_steps: 20\n"),
    good=Example("axolotl.yaml", _START + "warmup_steps: 20\n"),
)
OF_UNKNOWN_RULE = Rule(
    code="C192",
    name="silence-of-unknown-rule",
    severity="warning",
    message="no rule is called `{rule}`{nearest}",
    why="A misspelled name suppresses nothing, and the finding it was meant for is still reported.",
    evidence=(_RUFF,),
    fix=Fix("write a code or a name that `trimtab rules` lists", "same training"),
    bad=Example(
        "axolotl.yaml",
        _START + "# trimtab: allow warmup-longer-than-runs because of a smoke test\nwarmup_steps: 1000\n",
    ),
    good=Example(
        "axolotl.yaml",
        _START + "# trimtab: allow warmup-longer-than-run because of a smoke test\nwarmup_steps: 1000\n",
    ),
)
NOT_UNDERSTOOD = Rule(
    code="C193",
    name="silence-not-understood",
    severity="error",
    message="a comment addresses trimtab, but `{text}` is nothing that it knows",
    why="The comment was written to change what is reported, and does not.",
    evidence=(
        Maintainer(
            "https://astral.sh/blog/ruff-v0.0.278",
            "ruff passed over invalid suppression comments, or took them for suppressions of everything, until it "
            "began to warn of them.",
        ),
    ),
    fix=Fix(
        "write `trimtab: allow CODE because REASON`, or `allow CODE in this file because REASON`",
        "same training",
    ),
    bad=Example("axolotl.yaml", _START + "# trimtab: ignore S104\nwarmup_steps: 20\n"),
    good=Example("axolotl.yaml", _START + "# trim the warm-up later\nwarmup_steps: 20\n"),
)
BASELINE_OF_NOTHING = Rule(
    code="C194",
    name="baseline-of-nothing",
    severity="note",
    message="the baseline remembers {code} in {file}, which is not found any more",
    why="The finding was fixed. An entry that is left behind would hide it if it came back.",
    evidence=(_RUFF,),
    fix=Fix("write the baseline again with `--write-baseline`", "same training"),
    bad=Example(
        "baseline.json",
        '{"version": 1, "findings": [{"code": "S104", "path": "args.json", "key": "warmup_steps", '
        '"fingerprint": "0000000000000000"}]}',
    ),
    good=Example("baseline.json", '{"version": 1, "findings": []}'),
)
PAGES = (WITHOUT_REASON, OF_NOTHING, OF_UNKNOWN_RULE, NOT_UNDERSTOOD, BASELINE_OF_NOTHING)
