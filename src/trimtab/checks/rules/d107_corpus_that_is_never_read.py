"""D107 corpus-that-is-never-read"""

from collections.abc import Iterator

from trimtab.checks.corpora import corpora_of, setting_of
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  news: {{path_src: news.en, path_tgt: news.de, weight: {news}}}\n"
    "  web: {{path_src: web.en, path_tgt: web.de, weight: {web}}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="D107",
    name="corpus-that-is-never-read",
    severity="error",
    message="corpus `{corpus}` has weight {weight}, of which the tool takes the whole part, {whole}: it is "
    "never read",
    why="A weight is how many lines in a row are taken from a corpus before the next one has its turn; the "
    "tool cuts it to a whole number. Shares such as 0.7 and 0.3 all become 0. Where no corpus is left, "
    "training ends at once.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/inputters/dynamic_iterator.py",
            "`int(self.corpora_info[ds_name]['weight'])`, and `for _ in range(ds_weight): yield ds_name`.",
        ),
    ),
    fix=Fix(
        "write whole numbers in the same proportion: 7 and 3 for 0.7 and 0.3; to skip a corpus, remove it"
    ),
    bad=Example("opennmt.yaml", _YAML.format(news=0.7, web=0.3)),
    good=Example("opennmt.yaml", _YAML.format(news=7, web=3)),
    symptoms=("training ends at once", "one corpus has no effect"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for OpenNMT-py; Eole refuses fractions by itself and Mammoth samples by real weights."""
    for corpus in corpora_of(run) if run.tool == "opennmt" else ():
        setting = setting_of(run, corpus, "weight")
        if setting is None or corpus.is_validation or type(setting.value) not in (int, float):
            continue
        if -1e9 < setting.value < 1 and setting.value != 0:
            yield RULE.at(setting, corpus=corpus.name, weight=f"{setting.value:g}", whole=int(setting.value))
