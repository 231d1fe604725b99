"""Labels of the references that are about one thing belong to the one rule about it."""

from tests.for_each import for_each
from trimtab.checks.catalogue import all_rules


@for_each(
    ("label", "codes"),
    [
        ("TT205", ["S309"]),
        ("LORA008", ["X104"]),
        ("OPT003", ["S112"]),
        ("TT804", ["C107", "C108"]),
    ],
)
def test_a_label_leads_to_the_rule_that_says_what_it_is_about(label, codes):
    assert [rule.code for rule, _ in all_rules() if label in rule.aliases] == codes
