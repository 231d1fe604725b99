"""Random files of YAML and JSON, written in the many ways in which people write them, for tests of edits."""

import json
import math

from hypothesis import strategies as st

from trimtab.checks.edits import AddKey, RemoveKey, RenameKey, SetValue

names = st.text("abcdefgh_", min_size=1, max_size=4).filter(lambda name: name not in ("y", "n"))
words = st.sampled_from(
    ["cosine", "no", "1e-4", "a b", "", "x: y", "# no comment", "ü", "[", "yes", '"', "012"]
)
leaves = st.one_of(
    st.integers(-1000, 1000),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(float),
    st.booleans(),
    st.none(),
    words,
)
trees = st.dictionaries(
    names,
    st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(names, inner, min_size=1, max_size=3)
        ),
        max_leaves=6,
    ),
    min_size=1,
    max_size=5,
)


def paths(tree, prefix=()):
    """Dotted paths of all keys."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield ".".join((*prefix, key))
            yield from paths(value, (*prefix, key))
    if isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from paths(item, (*prefix, str(index)))


@st.composite
def edits(draw, tree):
    """An edit that has a meaning for the tree."""
    key = draw(st.sampled_from(sorted(paths(tree))))
    parent = key.rpartition(".")[0]
    new = draw(names) + "_new"
    match draw(st.sampled_from(["set", "rename", "remove", "add"])):
        case "set":
            return SetValue(key, draw(st.one_of(leaves, st.lists(leaves, max_size=2))))
        case "rename":
            return RenameKey(key, new)
        case "remove":
            return RemoveKey(key)
        case _:
            return AddKey(f"{parent}.{new}" if parent else new, draw(leaves), after=key)


@st.composite
def yaml_texts(draw, tree):
    """The tree as YAML: blocks and brackets, comments, empty lines, with or without a last line end."""
    lines = _block(draw, tree, 0)
    text = draw(st.sampled_from(["", "# top\n", "---\n"])) + "\n".join(lines)
    if draw(st.booleans()):
        text += "\n"
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def _block(draw, tree, indent):
    lines = []
    for key, value in tree.items():
        if draw(st.integers(0, 5)) == 0:
            lines.append(" " * indent + draw(st.sampled_from(["# why", "", "  # aside"])))
        comment = draw(st.sampled_from(["", "", "  # because"]))
        if isinstance(value, dict) and value and draw(st.booleans()):
            lines += [f"{' ' * indent}{key}:{comment}", *_block(draw, value, indent + 2)]
        elif isinstance(value, list) and value and draw(st.booleans()):
            lines += [f"{' ' * indent}{key}:{comment}", *_items(draw, value, indent)]
        elif value is None and draw(st.booleans()):
            lines.append(f"{' ' * indent}{key}:{comment}")
        else:
            lines.append(f"{' ' * indent}{key}: {_flow(draw, value)}{comment}")
    return lines


def _items(draw, items, indent):
    lines = []
    deeper = indent + draw(st.sampled_from([0, 2]))
    for item in items:
        if isinstance(item, dict) and item and draw(st.booleans()):
            first, *rest = _block(draw, item, deeper + 2)
            while not first.strip() or first.strip().startswith("#"):
                first, *rest = rest
            lines += [" " * deeper + "- " + first.lstrip(), *rest]
        else:
            lines.append(f"{' ' * deeper}- {_flow(draw, item)}")
    return lines


def _flow(draw, value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(draw, item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(draw, item) for item in value) + "]"
    if isinstance(value, float) and value == int(value) and math.fabs(value) < 1e6:
        return f"{int(value)}.0"
    if isinstance(value, float):
        return f"{value:.12e}"
    return json.dumps(value, ensure_ascii=False)


@st.composite
def json_texts(draw, tree):
    """The tree as JSON: on one line, indented, with unusual spaces."""
    indent = draw(st.sampled_from([None, 2, 4, "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]))
    text = json.dumps(tree, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    text += draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
