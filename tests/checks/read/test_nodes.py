from trimtab.checks.read.compose import compose
from trimtab.checks.read.json import scan
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.nodes import MappingNode, Node, ScalarNode, SequenceNode

TEXT = '{"a": [1, "x"], "b": {"c": null}}'


def spans(node: Node) -> list[tuple[type, str]]:
    found = [(type(node), TEXT[node.start : node.end])]
    if isinstance(node, MappingNode):
        found += [each for key, value in node.pairs for each in (*spans(key), *spans(value))]
    elif isinstance(node, SequenceNode):
        found += [each for item in node.items for each in spans(item)]
    return found


def test_json_and_yaml_of_one_text_have_the_same_nodes_at_the_same_places():
    lines = Lines("f", TEXT)
    composed = compose(lines)
    assert composed is not None
    assert spans(scan(lines)) == spans(composed)
    assert (ScalarNode, '"x"') in spans(composed)
