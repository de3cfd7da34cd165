"""Several people: whose answers count, what stays undecided, and how far they agree."""

import numpy as np
import pytest

from likewise.studio.jobs._ledger import Ledger, settle
from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.records import Settings
from studio.jobs.events import Log, ids

X = np.r_[np.linspace(0, 1, 20), np.linspace(3, 4, 20)][:, None]
Y = np.repeat([0, 1], 20)


def analysis(log):
    made = ProjectAnalysis(X, ids(40), Settings("toy", n_clusters=2, overlap=2))
    made.tell(log.events)
    return made


def links(log):
    return {(i, j): together for i, j, together in analysis(log).make_picture().links.tolist()}


def right(i, j):
    return "SAME" if Y[i] == Y[j] else "DIFFERENT"


def wrong(i, j):
    return "DIFFERENT" if Y[i] == Y[j] else "SAME"


def test_two_people_who_contradict_each_other_decide_nothing():
    log = Log()
    log.answer((3, 0), "SAME", person=1)
    log.answer((0, 3), "DIFFERENT", person=2)
    picture = analysis(log).make_picture()
    assert picture.links.tolist() == []
    (conflict,) = picture.conflicts
    assert conflict.rows == (0, 3)
    assert conflict.chain == (0, 3)
    assert conflict.events == (1, 2)
    log.undo(1)
    assert analysis(log).make_picture().conflicts == ()
    assert links(log) == {(0, 3): 0}


def test_two_against_one_decide():
    log = Log()
    for person, word in ((1, "SAME"), (2, "DIFFERENT"), (3, "SAME")):
        log.answer((0, 1), word, person)
    assert links(log) == {(0, 1): 1}
    assert analysis(log).make_picture().conflicts == ()


def test_triplets_are_compared_regardless_of_order():
    log = Log()
    log.answer((0, 1, 30), "AB", person=1)
    log.answer((30, 1, 0), "BC", person=2)
    assert links(log) == {(0, 1): 1, (0, 30): 0, (1, 30): 0}
    log.answer((0, 30, 1), "AB", person=1)  # a changed answer
    picture = analysis(log).make_picture()
    assert picture.links.tolist() == []
    assert [conflict.events for conflict in picture.conflicts] == [(2, 3)]


def test_unsure_does_not_affect_answers_of_others():
    log = Log()
    log.answer((0, 1), "UNSURE", person=1)
    log.answer((0, 1), "SAME", person=2)
    assert links(log) == {(0, 1): 1}
    assert analysis(log).make_picture().conflicts == ()


def crowd():
    """Two people who are right, and a third who is wrong about every shared question."""
    log = Log()
    for i, j in zip(range(0, 12), range(28, 40), strict=True):
        for pair in ((i, j), (i, (i + 5) % 20)):
            log.answer(pair, right(*pair), person=1)
            log.answer(pair, right(*pair), person=2)
            log.answer(pair, wrong(*pair), person=3)
    return log


def test_an_unreliable_person_does_not_count_alone():
    log = crowd()
    log.answer((15, 35), "SAME", person=3)
    log.answer((16, 35), "DIFFERENT", person=1)
    found = links(log)
    assert (15, 35) not in found
    assert found[16, 35] == 0
    assert all(bool(together) == (Y[i] == Y[j]) for (i, j), together in found.items())
    log.answer((15, 35), "SAME", person=2)
    assert links(log)[15, 35] == 1


def test_standing():
    agreement = analysis(crowd()).compute_agreement()
    assert agreement.n_shared == 24
    assert agreement.observed == pytest.approx(1 / 3)
    assert agreement.alpha < 0.1
    by_person = {one.person: one for one in agreement.people}
    assert [by_person[person].n_answers for person in (1, 2, 3)] == [24, 24, 24]
    assert by_person[1].reliability > 0.5 > by_person[3].reliability
    assert by_person[1].seconds == 1.0


def test_one_person_has_no_reliability_and_counts():
    log = Log()
    log.answer((0, 1), "SAME")
    log.answer((0, 30), "UNSURE")
    agreement = analysis(log).compute_agreement()
    assert (agreement.n_shared, agreement.observed, agreement.alpha) == (0, None, None)
    (one,) = agreement.people
    assert (one.n_answers, one.n_unsure, one.accuracy, one.reliability) == (2, 1, None, None)
    assert links(log) == {(0, 1): 1}


def test_a_person_who_shares_no_question_counts():
    log = crowd()
    log.answer((17, 37), "DIFFERENT", person=4)
    assert links(log)[17, 37] == 0


# ---------------------------------------------------------------------- answers that count more


def settle_log(log):
    ledger = Ledger({name: row for row, name in enumerate(ids(8))})
    ledger.tell(log.events)
    counted = ledger.get_counted_replies()
    return settle(counted.voices, counted.confirmed)


def test_confirmed_answers_and_corrections_of_the_groups_count_as_ten():
    log = Log()
    log.answer((0, 1), "SAME")
    log.answer((2, 3), "SAME", source="groups")
    first = log.answer((4, 5), "SAME")
    assert settle_log(log).weights == (1.0, 10.0, 1.0)
    confirm = log.add("confirm", {"of": first.seq}, person=2)
    found = settle_log(log)
    assert found.weights == (1.0, 10.0, 10.0)
    assert found.confirmed == {first_key(found, 2)}  # a correction alone is not a confirmation
    log.undo(confirm.seq)
    assert settle_log(log).weights == (1.0, 10.0, 1.0)
    assert settle_log(log).confirmed == frozenset()


def first_key(found, at):
    return found.replies[at].question.key


def test_an_undone_or_replaced_answer_is_no_longer_confirmed():
    log = Log()
    first = log.answer((0, 1), "SAME")
    log.add("confirm", {"of": first.seq})
    log.answer((0, 1), "DIFFERENT")
    assert settle_log(log).weights == (1.0,)
    log.undo(3)
    assert settle_log(log).weights == (10.0,)
    log.undo(first.seq)
    assert settle_log(log).replies == ()


@pytest.mark.parametrize(("rows", "word"), [((2, 0, 1), "AC"), ((0, 1, 2), "BC")])
def test_the_same_answer_to_a_question_that_is_asked_again_confirms_it(rows, word):
    log = Log()
    first = log.answer((0, 1, 2), "BC")
    log.answer((0, 1, 2), "BC", person=2)  # before it is asked again
    assert settle_log(log).confirmed == frozenset()
    again = log.add("again", {"of": first.seq})
    assert settle_log(log).confirmed == frozenset()
    log.answer(rows, word, person=3)
    assert len(settle_log(log).confirmed) == 1
    log.undo(again.seq)
    assert settle_log(log).confirmed == frozenset()


def test_another_answer_to_a_question_that_is_asked_again_does_not_confirm_it():
    log = Log()
    first = log.answer((0, 1), "SAME")
    log.add("again", {"of": first.seq})
    log.answer((0, 1), "DIFFERENT")
    assert settle_log(log).confirmed == frozenset()


def test_confirming_moves_an_item_out_of_another_group_and_undo_moves_it_back():
    log = Log()
    first = log.answer((0, 23), "SAME")
    made = analysis(log)
    assert [suspect.events for suspect in made.make_picture().suspects] == [(first.seq,)]
    log.add("confirm", {"of": first.seq})
    made.tell(log.events)
    picture = made.make_picture()
    assert picture.suspects == ()
    assert picture.labels[0] == picture.labels[23]
    log.undo(2)
    made.tell(log.events)
    picture = made.make_picture()
    assert [suspect.events for suspect in picture.suspects] == [(first.seq,)]
    assert picture.labels[0] != picture.labels[23]
