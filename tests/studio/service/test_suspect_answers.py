"""Answers that look wrong: listed, confirmed, undone, asked again; and who may do so."""

import pytest

from likewise.exceptions import ConflictError, NotFoundError
from likewise.studio.records import NewEvent
from likewise.studio.store import open_store
from studio.service.desk import ids_of, new_key, open_desk

WRONG = ("a3", "b3")  # answered SAME, though one is in each group


def give(desk, person, a, b, word):
    """Store an answer of a person and return its seq."""
    seq = store(desk, person, a, b, word)
    desk.hub.refresh()
    return seq


def store(desk, person, a, b, word):
    """Store an answer of a person without a refit, and return its seq."""
    body = {"kind": "pair", "items": [a, b], "answer": word, "source": "import"}
    event = NewEvent(new_key(), "answer", person.id, body)
    stored, _ = desk.studio.store.write(lambda tx: tx.append(event))
    return stored.seq


def plant(desk, person):
    """Give right answers and one wrong answer, and return its seq."""
    for k in range(6):
        store(desk, person, f"a{k}", f"a{k + 1}", "SAME")
        store(desk, person, f"b{k}", f"b{k + 1}", "SAME")
        store(desk, person, f"a{k}", f"b{k + 1}", "DIFFERENT")
    wrong = give(desk, person, *WRONG, "SAME")
    desk.settle()
    return wrong


def odd_seqs(desk, person):
    return [
        event["seq"]
        for one in desk.groups.show_suspect_answers(person)["suspects"]
        for event in one["answers"]
    ]


def are_together(desk, a, b):
    labels = desk.hub.picture.labels
    return bool(labels[desk.project.items.get_row(a)] == labels[desk.project.items.get_row(b)])


@pytest.fixture
def planted(open_studio):
    """A studio of 24 texts with one wrong answer of Ann's, and its seq."""
    desk = open_studio(24)
    ann = desk.person("Ann")
    return desk, ann, plant(desk, ann)


@pytest.fixture
def restart(request):
    """Open a studio; it is closed at the end of the test."""

    def again(desk):
        opened = desk.again()
        request.addfinalizer(opened.close)
        return opened

    return again


# ---------------------------------------------------------------------- listing


def test_a_wrong_answer_is_listed_with_who_gave_it_and_why_it_looks_wrong(planted):
    desk, ann, wrong = planted
    found = desk.groups.show_suspect_answers(ann)
    (suspect,) = found["suspects"]
    assert found["hidden"] == 0
    assert {item["id"] for item in suspect["items"]} == set(WRONG)
    (answer,) = suspect["answers"]
    assert (answer["seq"], answer["person"], answer["answer"]) == (wrong, "Ann", "SAME")
    assert answer["time"]
    assert answer["can_undo"]
    assert suspect["chance"] > 0.5
    assert suspect["n_against"] > 0
    assert suspect["n_near"] > 0
    assert not are_together(desk, *WRONG)


def test_progress_includes_the_share_of_wrong_answers(planted):
    desk, ann, _ = planted
    progress = desk.asking.show_progress(ann)
    mean, low, high = progress["error_rate"]
    assert 0 < low < mean < high < 0.5
    assert progress["suspects"] == 1


def test_without_answers_nothing_is_odd_and_no_share_is_reported(desk):
    assert desk.groups.show_suspect_answers(desk.owner) == {"suspects": [], "hidden": 0}
    assert desk.asking.show_progress(desk.owner)["error_rate"] is None


def test_the_most_suspicious_answer_is_first(planted):
    desk, ann, _ = planted
    give(desk, ann, "a0", "b9", "SAME")
    desk.settle()
    chances = [suspect["chance"] for suspect in desk.groups.show_suspect_answers(ann)["suspects"]]
    assert len(chances) >= 2
    assert chances == sorted(chances, reverse=True)


# ---------------------------------------------------------------------- keeping


def test_a_confirmed_answer_counts_more_and_leaves_the_list(planted, restart):
    desk, ann, wrong = planted
    desk.asking.keep(ann, key=new_key(), of=wrong)
    assert wrong not in odd_seqs(desk, ann)  # at once, before the next fit
    (event,) = desk.events("confirm")
    assert event.body == {"of": wrong}
    n_answers = desk.asking.show_progress(ann)["n_answers"]
    desk.settle()
    assert wrong not in odd_seqs(desk, ann)
    assert are_together(desk, *WRONG)
    assert n_answers == 19  # nothing was asked
    again = restart(desk)
    assert wrong not in odd_seqs(again, ann)
    assert are_together(again, *WRONG)


def test_confirming_can_be_undone_in_the_history(planted, restart):
    desk, ann, wrong = planted
    kept = desk.asking.keep(ann, key=new_key(), of=wrong)["seq"]
    event = desk.asking.show_history(ann, None, 1)["events"][0]
    assert (event["seq"], event["kind"], event["answer"], event["can_undo"]) == (
        kept,
        "confirm",
        "SAME",
        True,
    )
    assert [item["id"] for item in event["question"]["items"]] == list(WRONG)
    desk.undo(ann)  # the last action of Ann
    desk.settle()
    assert odd_seqs(desk, ann) == [wrong]
    assert not are_together(desk, *WRONG)
    assert odd_seqs(restart(desk), ann) == [wrong]


def test_a_replaced_answer_is_no_longer_confirmed(planted):
    desk, ann, wrong = planted
    desk.asking.keep(ann, key=new_key(), of=wrong)
    give(desk, ann, *WRONG, "DIFFERENT")
    desk.settle()
    assert odd_seqs(desk, ann) == []
    assert not are_together(desk, *WRONG)


# ---------------------------------------------------------------------- taking back


def test_an_undone_suspect_answer_no_longer_counts(planted, restart):
    desk, ann, wrong = planted
    desk.undo(ann, of=wrong)
    assert odd_seqs(desk, ann) == []
    desk.settle()
    assert odd_seqs(desk, ann) == []
    assert desk.asking.show_progress(ann)["n_answers"] == 18
    assert odd_seqs(restart(desk), ann) == []


# ---------------------------------------------------------------------- asking again


def find_repeated_question(desk, person):
    """The question that is asked again, if this person gets it first."""
    questions = desk.ask(person, 1)
    return questions[0] if questions and questions[0]["id"].startswith("again-") else None


def test_a_single_person_is_asked_again_and_the_new_answer_counts(planted):
    desk, ann, wrong = planted
    desk.asking.ask_again(ann, key=new_key(), of=wrong)
    assert odd_seqs(desk, ann) == []
    desk.settle()
    assert desk.asking.show_progress(ann)["n_answers"] == 19  # the old one counts until there is another
    question = find_repeated_question(desk, ann)
    assert set(ids_of(question)) == set(WRONG)
    desk.answer(ann, question, "DIFFERENT")
    desk.settle()
    assert odd_seqs(desk, ann) == []
    assert desk.asking.show_progress(ann)["n_answers"] == 19
    assert desk.groups.show_conflicts(ann)["conflicts"] == []
    assert find_repeated_question(desk, ann) is None


def test_the_same_answer_again_confirms_it(planted):
    desk, ann, wrong = planted
    desk.asking.ask_again(ann, key=new_key(), of=wrong)
    desk.settle()
    desk.answer(ann, find_repeated_question(desk, ann), "SAME")
    desk.settle()
    given = desk.events("answer")[-1].seq
    assert given not in odd_seqs(desk, ann)
    assert are_together(desk, *WRONG)


@pytest.mark.parametrize(("word", "together"), [("SAME", True), ("DIFFERENT", False)])
def test_if_others_answer_too_they_are_asked(planted, word, together):
    desk, ann, wrong = planted
    bob = desk.person("Bob")
    give(desk, bob, "a8", "a9", "SAME")
    desk.asking.ask_again(ann, key=new_key(), of=wrong)
    desk.settle()
    assert find_repeated_question(desk, ann) is None
    question = find_repeated_question(desk, bob)
    desk.answer(bob, question, word)
    desk.settle()
    assert not {wrong, desk.events("answer")[-1].seq} & {*odd_seqs(desk, desk.owner)}
    assert are_together(desk, *WRONG) is together
    # Two people who disagree are a contradiction, as usual.
    disputed = [c for c in desk.groups.show_conflicts(desk.owner)["conflicts"] if len(c["answers"]) == 2]
    assert bool(disputed) is not together


def test_asked_again_on_both_databases_with_two_answers_to_each_question(database_url, tmp_path, request):
    store = open_store(database_url, backups=tmp_path / "copies")
    request.addfinalizer(store.close)
    desk = open_desk(tmp_path, 24, options={"store": store}, overlap=2)
    request.addfinalizer(desk.close)
    ann, bob, eve = (desk.person(name) for name in ("Ann", "Bob", "Eve"))
    wrong = plant(desk, ann)
    give(desk, bob, *WRONG, "SAME")
    give(desk, eve, "a8", "a9", "SAME")
    desk.asking.ask_again(desk.owner, key=new_key(), of=wrong)
    with pytest.raises(ConflictError, match="already"):
        desk.asking.ask_again(bob, key=new_key(), of=desk.events("answer")[-2].seq)  # the same question
    desk.settle()
    assert find_repeated_question(desk, ann) is None
    assert find_repeated_question(desk, bob) is None
    question = find_repeated_question(desk, eve)
    desk.answer(eve, question, "DIFFERENT")
    desk.settle()
    assert desk.hub.log.get_revisits() == {}


def test_asking_again_survives_a_restart_and_comes_first(planted, restart):
    desk, ann, wrong = planted
    desk.asking.ask_again(ann, key=new_key(), of=wrong)
    again = restart(desk)
    assert odd_seqs(again, ann) == []
    assert set(ids_of(find_repeated_question(again, ann))) == set(WRONG)


def test_asking_again_can_be_undone(planted):
    desk, ann, wrong = planted
    seq = desk.asking.ask_again(ann, key=new_key(), of=wrong)["seq"]
    desk.settle()
    desk.undo(ann, of=seq)
    desk.settle()
    assert odd_seqs(desk, ann) == [wrong]
    assert find_repeated_question(desk, ann) is None


def test_an_undone_new_answer_restores_the_old_one_and_asks_again(planted):
    desk, ann, wrong = planted
    desk.asking.ask_again(ann, key=new_key(), of=wrong)
    desk.settle()
    question = find_repeated_question(desk, ann)
    desk.answer(ann, question, "DIFFERENT")
    assert desk.undo(ann)["question"]["id"] == question["id"]
    desk.settle()
    assert desk.asking.show_progress(ann)["n_answers"] == 19
    assert question["id"] in [held["id"] for held in desk.ask(ann, 10)]


def test_a_question_that_was_skipped_is_not_asked_for_ever(planted):
    desk, ann, wrong = planted
    desk.asking.ask_again(ann, key=new_key(), of=wrong)
    desk.settle()
    desk.skip(ann, find_repeated_question(desk, ann))
    desk.settle()
    assert find_repeated_question(desk, ann) is None
    assert odd_seqs(desk, ann) == [wrong]


def test_with_a_used_up_budget_nothing_is_asked_again(open_studio):
    desk = open_studio(24, budget=19)
    ann = desk.person("Ann")
    wrong = plant(desk, ann)
    with pytest.raises(ConflictError, match="All 19 answers"):
        desk.asking.ask_again(ann, key=new_key(), of=wrong)
    desk.asking.keep(ann, key=new_key(), of=wrong)


# ---------------------------------------------------------------------- who may


def acts(desk):
    return (desk.asking.keep, desk.asking.ask_again)


def test_others_can_neither_see_nor_change_a_suspect_answer(planted):
    desk, _, wrong = planted
    bob = desk.person("Bob")
    assert desk.groups.show_suspect_answers(bob) == {"suspects": [], "hidden": 1}
    for act in acts(desk):
        with pytest.raises(NotFoundError, match=r"There is no answer \d+ that you can change"):
            act(bob, key=new_key(), of=wrong)
    with pytest.raises(NotFoundError, match=r"There is no action \d+ that you can undo"):
        desk.undo(bob, of=wrong)
    assert desk.events("confirm", "again", "undo") == []


def test_the_owner_may_keep_and_ask_again(planted):
    desk, ann, wrong = planted
    assert odd_seqs(desk, desk.owner) == [wrong]
    kept = desk.asking.keep(desk.owner, key=new_key(), of=wrong)["seq"]
    with pytest.raises(NotFoundError):
        desk.undo(ann, of=kept)  # it is the owner's
    desk.undo(desk.owner, of=kept)
    desk.asking.ask_again(desk.owner, key=new_key(), of=wrong)
    assert [event.person for event in desk.events("confirm", "again")] == [desk.owner.id] * 2


def test_sent_twice_it_counts_once(planted):
    desk, ann, wrong = planted
    for act in acts(desk):
        key = new_key()
        first, second = (act(ann, key=key, of=wrong) for _ in range(2))
        assert (first["seq"], first["new"], second["new"]) == (second["seq"], True, False)
        with pytest.raises(ConflictError):
            act(ann, key=new_key(), of=wrong)
    assert len(desk.events("confirm", "again")) == 2


def test_answers_that_do_not_count_are_refused(planted):
    desk, ann, wrong = planted
    desk.undo(ann, of=wrong)
    for act in acts(desk):
        with pytest.raises(ConflictError, match="no longer counts"):
            act(ann, key=new_key(), of=wrong)
        with pytest.raises(NotFoundError):
            act(ann, key=new_key(), of=999)
        with pytest.raises(NotFoundError):
            act(ann, key=new_key(), of=desk.events("undo")[0].seq)


def test_a_wrong_repair_is_a_contradiction_and_not_listed_here(open_studio):
    """Who made it saw the group, so that asking again would say nothing new."""
    desk = open_studio(24)
    ann = desk.person("Ann")
    for k in range(6):
        store(desk, ann, f"a{k}", f"a{k + 1}", "SAME")
        store(desk, ann, f"b{k}", f"b{k + 1}", "SAME")
        give(desk, ann, f"a{k}", f"b{k + 1}", "DIFFERENT")
    desk.settle()
    items = desk.project.items
    number = int(desk.hub.picture.shown_labels[items.get_row("b3")])
    rows = items.get_rows(["a3"])
    seq = desk.studio.repairs.repair(ann, key=new_key(), act="move", rows=rows, groups=[number])["seq"]
    desk.settle()
    assert seq not in {event for one in desk.hub.picture.suspects for event in one.events}
    shown = desk.groups.show_conflicts(ann)["conflicts"]
    assert shown
    assert all(seq in [answer["seq"] for answer in one["answers"]] for one in shown)
