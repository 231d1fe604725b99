from collections import Counter

from trimtab.checks.say.causes import SYMPTOMS


def test_every_symptom_has_a_name_of_its_own_and_more_than_one_cause():
    assert len({symptom.name for symptom in SYMPTOMS}) == len(SYMPTOMS)
    assert all(len(symptom.causes) >= 2 and symptom.also for symptom in SYMPTOMS)


def test_no_phrase_belongs_to_two_symptoms():
    phrases = Counter(phrase for symptom in SYMPTOMS for phrase in (symptom.name, *symptom.also))
    assert [phrase for phrase, count in phrases.items() if count > 1] == []
