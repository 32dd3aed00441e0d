"""The labelled questions over coding sessions are whole: what a benchmark stands on."""

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parent.parent / "scripts" / "bench"


@pytest.fixture(scope="module")
def labelled() -> ModuleType:
    specification = importlib.util.spec_from_file_location("coding_set", BENCH / "coding_set.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["coding_set"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def test_every_question_has_answers_that_exist_once(labelled: ModuleType) -> None:
    ids = Counter(each.id for one in labelled.sessions() for each in one.messages)
    assert max(ids.values()) == 1
    asked = labelled.questions()
    assert len({each.id for each in asked}) == len(asked) >= 150
    for question in asked:
        assert question.relevant, question.id
        assert set(question.relevant) <= set(ids), question.id


def test_the_categories_are_balanced_and_no_question_is_asked_twice(labelled: ModuleType) -> None:
    asked = labelled.questions()
    counted = Counter(each.category for each in asked)
    assert set(counted) == set(labelled.CATEGORIES)
    assert max(counted.values()) <= 2 * min(counted.values())
    assert min(counted.values()) >= 10
    assert len({each.text for each in asked}) == len(asked)


def test_answers_stand_among_many_messages_of_several_clients_and_months(
    labelled: ModuleType,
) -> None:
    sessions = labelled.sessions()
    messages = [each for one in sessions for each in one.messages]
    assert 40 <= len(sessions) <= 120
    assert len(messages) >= 1_500
    assert len({each.client for each in sessions}) == 3
    assert len({each.project for each in sessions}) >= 5
    assert len({each.at.strftime("%Y-%m") for each in messages}) >= 6
    assert {"user", "assistant", "tool_call", "tool_result", "reasoning"} <= {
        each.role for each in messages
    }


def test_the_set_is_the_same_each_time(labelled: ModuleType) -> None:
    assert labelled.sessions() == labelled.sessions()


def test_paraphrased_questions_share_no_long_word_with_their_answers(labelled: ModuleType) -> None:
    said = {each.id: each.text.lower() for one in labelled.sessions() for each in one.messages}
    for question in labelled.questions():
        if question.category == "paraphrase":
            words = set(re.findall(r"[a-z]{7,}", question.text.lower()))
            for name in question.relevant:
                assert not words & set(re.findall(r"[a-z]{7,}", said[name])), (question.id, name)
