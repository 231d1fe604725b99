import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

import pytest

from tests.report.folder_of_a_run import (
    ARABIC,
    HOSTILE,
    JAPANESE,
    finding_line,
    sentences_line,
    step_line,
    write_run,
)
from trimtab.report.page import page_html, plain, report_of, script_json, with_code, write_page
from trimtab.report.run_data import open_run


def html_of(*folders, live=False):
    return page_html(report_of([open_run(each) for each in folders]), live=live)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def tags(html):
    parser = Tags()
    parser.feed(html)
    return parser.found


def policy_of(html):
    return next(a["content"] for tag, a in tags(html) if tag == "meta" and "http-equiv" in a)


def test_the_page_loads_nothing_and_runs_only_its_own_scripts(tmp_path):
    html = html_of(write_run(tmp_path / "my"))
    for tag, attributes in tags(html):
        assert tag not in ("iframe", "object", "embed", "base", "form", "img")
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert tag != "link" or attributes["href"] == "data:,"
    policy = policy_of(html)
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    hashes = [f"'sha256-{b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts]
    assert f"script-src {' '.join(hashes)};" in policy
    assert "connect-src 'none'" in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize(
    "place",
    [
        "metrics",
        "samples",
        "quarantine",
        "findings",
        "evaluations",
        "recipe",
        "ledger",
        "name",
        "sentences",
        "health",
        "facts",
    ],
)
def test_text_from_data_stays_text_wherever_it_comes_from(tmp_path, place):
    plain_tags = [tag for tag, _ in tags(html_of(write_run(tmp_path / "plain", samples=[], quarantine=[])))]
    folder = tmp_path / ("<b onclick=x>run" if place == "name" else "my")
    logs = {
        "metrics": {"metrics": [step_line(1, **{HOSTILE: 1.0, "refused": HOSTILE, "skipped": True})]},
        "samples": {
            "samples": [
                {"step": 1, "set": HOSTILE, "line": HOSTILE, "source": HOSTILE, "translation": HOSTILE}
            ]
        },
        "quarantine": {
            "quarantine": [{"step": 1, "source": HOSTILE, "code": HOSTILE, "loss": HOSTILE, "place": HOSTILE}]
        },
        "findings": {
            "findings": [
                finding_line(1, code=HOSTILE, name=HOSTILE, message=HOSTILE, why=HOSTILE, fix=HOSTILE)
            ]
        },
        "evaluations": {"evaluations": [{"step": 1, "set": HOSTILE, HOSTILE: 1.0, "loss": 2.0}]},
        "sentences": {
            "sentences": [
                sentences_line(1)
                | {
                    "set": HOSTILE,
                    "attention": [{"source": [HOSTILE], "target": [HOSTILE], "percent": [[50]]}],
                }
            ]
        },
        "health": {"health": [{"step": 1, "rms_by_depth": {HOSTILE: 1.0}, "update_ratios": {HOSTILE: 2.0}}]},
        "recipe": {"recipe": f"task: {json.dumps(HOSTILE)}\nlength: {json.dumps(HOSTILE)}\n"},
    }.get(place, {})
    run = write_run(folder, **({"samples": [], "quarantine": []} | logs))
    if place == "ledger":
        (run / "data_ledger.json").write_text(
            json.dumps({"corpora": [{"name": HOSTILE, "dropped": {HOSTILE: {"count": 1}}}]})
        )
    if place == "facts":
        side = {"name": HOSTILE, "bins": [1], "tokens": 1, "unknown": 1}
        facts = {"machine": {"device": HOSTILE, "system": HOSTILE, "cuda": HOSTILE}, "command": [HOSTILE]}
        memory = {"planned": {"reserved": 1, "owners": {HOSTILE: 1}}}
        (run / "facts.json").write_text(json.dumps(facts | {"examples": {"sides": [side]}, "memory": memory}))
    html = html_of(run)
    found = tags(html)
    assert [tag for tag, _ in found].count("script") == plain_tags.count("script")
    assert {tag for tag, _ in found} <= {*plain_tags, "mark", "article", "i", "details", "h3", "progress"}
    assert not [a for _, a in found if any(name.startswith("on") for name in a)]
    data = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', html, re.DOTALL)
    assert json.loads(data[1])["runs"][0]["name"] == folder.name


def test_other_scripts_keep_their_direction_and_their_characters(tmp_path):
    html = html_of(write_run(tmp_path / "my"))
    assert ARABIC in html
    assert JAPANESE in html
    assert html.count('dir="auto" class="text"') > 10


def test_a_comparison_begins_with_what_differs(tmp_path):
    a = write_run(tmp_path / "a")
    b = write_run(tmp_path / "b", recipe=(a / "recipe.yaml").read_text().replace("0.002", "0.5"))
    html = html_of(a, b)
    assert html.index("What differs in the recipes") < html.index('<article class="run"')
    assert "<code>step.optimizer.learning_rate</code>" in html
    assert "What differs" not in html_of(a)


def test_a_live_page_may_ask_its_own_server_and_nobody_else(tmp_path):
    html = html_of(write_run(tmp_path / "my"), live=True)
    assert "connect-src 'self'" in policy_of(html)
    assert '"live": true' in html


@pytest.mark.parametrize(
    "logs", [{"metrics": []}, {"evaluations": [], "samples": [], "health": []}, {"metrics": [{"step": 1}]},
             {"metrics": [{"loss": "nan"}, {"loss": "inf"}]}, {"metrics": [step_line(5), step_line(2), step_line(2)]}],
)  # fmt: skip
def test_a_run_with_little_or_odd_content_has_a_page(tmp_path, logs):
    assert "</html>" in html_of(write_run(tmp_path / "my", **logs))


def test_long_runs_stay_small(tmp_path):
    lines = [step_line(step) for step in range(1, 8_502)]
    folder = write_run(tmp_path / "my", metrics=lines)
    size = write_page([open_run(folder)], tmp_path / "report.html")
    assert size == (tmp_path / "report.html").stat().st_size
    assert size < 700_000  # a million steps have no more points


def test_json_in_a_script_cannot_end_it():
    text = script_json({"a": "</script><!--\u2028&"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028&"}


def test_backticks_are_code_and_what_cannot_be_seen_is_shown():
    assert with_code("run `a <b>` now") == "run <code>a &lt;b&gt;</code> now"
    assert with_code("one ` alone <b>") == "one ` alone &lt;b&gt;"
    assert plain("a\u202eb\x1b\n") == "a\\u202eb\\u001b\n"
