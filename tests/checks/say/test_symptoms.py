from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.say.causes import SYMPTOMS
from trimtab.checks.say.symptoms import search

SEEN = [
    ("repeats the same words", "repeats the same words"),
    ("my model keeps repeating itself", "repeats the same words"),
    ("it is stuck in a loop", "repeats the same words"),
    ("one translation for every input", "same output for every input"),
    ("NaN", "loss is NaN"),
    ("the loss became nan after 200 steps", "loss is NaN"),
    ("loss is inf", "loss is NaN"),
    ("the loss doesn't go down", "loss is flat"),
    ("loss stays flat", "loss is flat"),
    ("loss 0.0", "loss is zero"),
    ("loss stuck at 10", "loss is flat"),
    ("my loss is stuck at 11.7 and never moves", "loss is flat"),
    ("eval loss goes up while train loss goes down", "overfits"),
    ("accuracy doesn't improve", "loss is flat"),
    ("lora does not learn", "adapter does not learn"),
    ("bleu is 0", "score is zero"),
    ("CUDA OOM", "out of memory"),
    ("out of memory after 3 hours", "out of memory"),
    ("diverged after 2000 steps", "diverged after some steps"),
    ("training divreges", "diverged after some steps"),
    ("spikes in the loss", "diverged after some steps"),
    ("worse after resuming", "worse after resume"),
    ("the merged model is worse", "worse after merge"),
    ("never emits EOS", "never stops generating"),
    ("hallucinations", "output has nothing to do with the input"),
    ("catastrophic forgetting", "forgets what it knew"),
    ("my setting is ignored", "setting has no effect"),
    ("TypeError: unexpected keyword", "crashes at the start"),
    ("GPU idle", "training is slow"),
    ("gradients are None", "no gradient"),
    ("unk in output", "unknown tokens in the output"),
    ("squashed images", "images are unreadable"),
]


@for_each(("text", "name"), SEEN)
def test_what_people_say_leads_to_the_symptom_they_mean(text, name):
    assert search(text).symptoms[0].name == name


@for_each("symptom", SYMPTOMS, called=lambda each: each.name)
def test_every_symptom_is_found_by_each_of_its_names(symptom):
    for phrase in (symptom.name, *symptom.also):
        assert symptom in search(phrase).symptoms, phrase


def test_rules_and_guards_that_know_the_symptom_are_told_with_it():
    answer = search("model learns nothing")
    assert "S104" in [rule.code for rule in answer.rules]
    assert "E901" in [page.code for page in search("repeats the same words").seen]


def test_a_symptom_speaks_for_rules_in_all_its_words():
    assert "S104" in [rule.code for rule in search("no progress").rules]


@for_each("text", ["banana", "", "the of and", "zzzzzz qqqqq"])
def test_where_nothing_is_known_the_nearest_symptoms_are_offered(text):
    answer = search(text)
    assert answer.is_empty
    assert len(answer.nearest) == 5


@given(st.text(max_size=60))
def test_no_text_is_too_strange(text):
    answer = search(text)
    assert answer.is_empty == bool(answer.nearest)
