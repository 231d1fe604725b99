import json

from trimtab.vocabulary.gate import GateReport
from trimtab.vocabulary.model import Size
from trimtab.vocabulary.report import CorpusLengths, SideReport, VocabularyReport, write_card

REPORT = VocabularyReport(
    action="extend",
    out="out/new",
    model="runs/my@500",
    init="mean",
    sides={
        "shared": SideReport(
            algorithm="BPE", before=100, after=140, dropped=0, added=40, unreachable=2, unspelled=3
        )
    },
    corpora=(CorpusLengths(name="law.de", side="shared", lines=10, words=50, before=200, after=100),),
    before=Size(parameters=1_000_000, weight_bytes=4_000_000),
    after=Size(parameters=1_200_000, weight_bytes=4_800_000),
    gate=GateReport(lines=10, same_split=4, positions=99, worst=2e-7),
    notes=("vocab.bin was left out",),
)


def test_it_says_lengths_sizes_and_what_is_left_to_do():
    text = REPORT.render()
    assert "100 -> 140 pieces, 40 added (2 fewer than asked for" in text
    assert "4.00 -> 2.00 tokens a word, 20.0 -> 10.0 a line" in text
    assert "1.00M -> 1.20M parameters, 4.0 -> 4.8 MB" in text
    assert "train it on before use" in text


def test_json_has_the_same():
    told = json.loads(json.dumps(REPORT.to_dict()))
    assert told["corpora"][0]["tokens_per_line_after"] == 10.0
    assert told["vocabularies"]["shared"]["unspelled"] == 3
    assert told["gate"]["bound"] == 1e-5


def test_the_card_comes_behind_the_model_s_own(tmp_path):
    (tmp_path / "README.md").write_text("# NLLB\n")
    write_card(REPORT, tmp_path)
    assert (tmp_path / "README.md").read_text().startswith("# NLLB\n\n# new\n")
    assert json.loads((tmp_path / "vocabulary.json").read_text())["action"] == "extend"
