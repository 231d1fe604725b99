import json

from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from trimtab.config.load import load_recipe
from trimtab.inspection import inspect_recipe, render


def test_conversations_are_counted_and_an_example_shows_what_counts(tmp_path):
    pretrained_folder(tmp_path / "base")
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    lines = [{"messages": talk}, {"messages": talk * 2}, {"messages": talk[:1]}]
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, lines)))
    sets = {"text": "chat.jsonl", "learn": "answers"}
    recipe = pretrained_recipe(tmp_path, **{"data.train": [sets], "data.valid": sets, "data.max_tokens": 100})
    report = inspect_recipe(load_recipe(recipe))
    (chats,) = report.chats
    assert (chats.conversations, chats.answers, chats.dropped) == (3, 3, {"empty_target": 1})
    assert chats.counted == 6
    assert chats.example == "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[[b<|im_end|>]]"
    assert not report.nothing_left
    assert "6 of " in render(report)


def test_each_reason_has_its_first_line_and_what_the_template_says(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    settings = json.loads((base / "tokenizer_config.json").read_text())
    settings["chat_template"] = (
        "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must "
        "alternate') }}{% endif %}{{ m.content }}{% endfor %}"
    )
    (base / "tokenizer_config.json").write_text(json.dumps(settings))
    asked, said = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
    talks = [[asked, said], [asked, asked, said], [asked, said, asked, {**said, "content": "b" * 99}]]
    (tmp_path / "chat.jsonl").write_text("\n".join(json.dumps({"messages": each}) for each in talks))
    sets = {"text": "chat.jsonl", "learn": "answers"}
    recipe = pretrained_recipe(tmp_path, **{"data.train": [sets], "data.valid": sets, "data.max_tokens": 80})
    (chats,) = inspect_recipe(load_recipe(recipe)).chats
    path = tmp_path / "chat.jsonl"
    assert (chats.answers, chats.dropped) == (2, {"chat template": 1, "too_long": 1})
    assert chats.such_as == {"chat template": f"{path}:2: roles must alternate", "too_long": f"{path}:3"}
