import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import Document
from trimtab.checks.read.document import SUFFIXES, read_document
from trimtab.errors import InputError


@for_each(
    ("path", "data", "syntax"),
    [
        ("a.yaml", b"a: 1", "yaml"),
        ("a.YML", b"a: 1", "yaml"),
        ("a.json", b'{"a": 1}', "json"),
        ("a.py", b"f()", "python"),
        ("a.ipynb", b'{"cells": []}', "python"),
        ("a.sh", b"f", "shell"),
        ("a.bash", b"f", "shell"),
        ("-", b"#!/usr/bin/env python3\nf()", "python"),
        ("-", b"#!/bin/bash\nf", "shell"),
        ("-", b'{"a": 1}', "json"),
        ("-", b"[1]", "json"),
        ("-", b'{"cells": [], "nbformat": 4}', "python"),
        ("-", b"accelerate launch train.py --lr 1", "shell"),
        ("-", b"CUDA_VISIBLE_DEVICES=0 python train.py --lr 1", "shell"),
        ("-", b"llamafactory-cli train f.yaml", "shell"),
        ("-", b"import torch\nf()", "python"),
        ("-", b"args = TrainingArguments(lr=1)", "python"),
        ("-", b"learning_rate: 2e-5\nbf16: true", "yaml"),
        ("-", b"base_model: x\ncommand: python train.py --x", "yaml"),
        ("-", b"", "yaml"),
        ("config", b"a: 1", "yaml"),
    ],
)
def test_the_name_decides_and_else_the_content(path: str, data: bytes, syntax: str):
    assert read_document(path, data).syntax == syntax


def test_the_caller_may_decide():
    assert read_document("a.txt", b"f x", syntax="shell").syntax == "shell"
    assert read_document("a.json", b"{a: 1}", syntax="yaml").tree == {"a": 1}


def outcome(path: str, data: bytes) -> Document | InputError:
    try:
        return read_document(path, data)
    except InputError as error:
        return error


@given(st.sampled_from([f"f{suffix}" for suffix in SUFFIXES] + ["-"]), st.binary(max_size=80))
def test_any_bytes_are_a_document_or_a_message(path: str, data: bytes):
    found = outcome(path, data)
    assert isinstance(found, Document) or found.problems[0].where.startswith(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("data", [b"\0", b"\xff\xfe", b"a" * 2_000_001])
def test_what_is_no_text_is_refused_whatever_its_name(suffix: str, data: bytes):
    with pytest.raises(InputError):
        read_document("f" + suffix, data)
