"""How evidence is named to people: its grade, its source, its text."""

from trimtab.checks.evidence import Arithmetic, Evidence, Folklore, Maintainer, Measured, Paper

GRADES: dict[type, str] = {
    Measured: "measured here",
    Paper: "paper",
    Maintainer: "maintainers",
    Arithmetic: "arithmetic",
    Folklore: "folklore",
}
"""The best first."""
HOMES = {"marian": "marian-nmt/", "sockeye": "awslabs/sockeye", "fairseq": "facebookresearch/fairseq"}
"""In the address of what maintainers say, whose it is; of tools that share nothing with the others."""


def grade(evidence: Evidence) -> str:
    """One or two words that say how much it is worth."""
    return GRADES[type(evidence)]


def source(evidence: Evidence) -> str:
    """The address of a paper or a page, the name of an experiment; empty if the text is all."""
    match evidence:
        case Measured():
            return f"experiments/{evidence.experiment}"
        case Paper() | Maintainer():
            return evidence.url
        case Arithmetic() | Folklore():
            return ""


def best_first(evidence: tuple[Evidence, ...], *, tool: str = "") -> list[Evidence]:
    """By grade; what was opened before what is cited from memory. What the maintainers of another tool say is left
    out where the tool is one of `HOMES`."""
    order, own = list(GRADES), HOMES.get(tool, "")
    fitting = (each for each in evidence if not isinstance(each, Maintainer) or own in each.url)
    return sorted(fitting, key=lambda each: (not getattr(each, "opened", True), order.index(type(each))))


def sentence(evidence: Evidence) -> str:
    """`paper: what it says`."""
    unread = "" if getattr(evidence, "opened", True) else " (from memory)"
    return f"{grade(evidence)}{unread}: {evidence.text}"
