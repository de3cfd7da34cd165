"""Questions and answers: who gets which, what counts, and what can be undone."""

import threading
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import BadRequestError, ConflictError, NotFoundError
from patience import wait_until
from profiles import fewer
from studio.service.desk import Clock, ids_of, new_key

pytest.importorskip("sqlalchemy")


@pytest.fixture
def ann(desk):
    return desk.person("Ann")


def run_at_once(*works):
    """Run functions in threads that start together; return their results or errors, in order."""
    gate, found = threading.Barrier(len(works)), [None] * len(works)

    def run(at, work):
        gate.wait()
        try:
            found[at] = work()
        except Exception as error:
            found[at] = error

    threads = [threading.Thread(target=run, args=(at, work)) for at, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


# ---------------------------------------------------------------------- who gets which


def test_two_people_never_get_the_same_question(open_studio):
    desk = open_studio(20)
    people = [desk.person(name) for name in ("Ann", "Bob", "Cem")]
    got = run_at_once(*(lambda who=who: desk.ask(who, 3) for who in people))
    assert [len(questions) for questions in got] == [3, 3, 3]
    assert len({question["id"] for questions in got for question in questions}) == 9
    assert len({frozenset(ids_of(question)) for questions in got for question in questions}) == 9


def test_asking_again_gives_the_same_questions(desk, ann):
    first = desk.ask(ann, 2)
    assert [q["id"] for q in desk.ask(ann, 2)] == [q["id"] for q in first]
    assert [q["id"] for q in desk.ask(ann, 3)][:2] == [q["id"] for q in first]


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_each_question_is_answered_by_the_required_number_of_people(open_studio, overlap):
    desk = open_studio(overlap=overlap)
    people = [desk.person(name) for name in ("Ann", "Bob", "Cem")]
    asked = defaultdict(list)
    going = True
    while going:
        going = False
        for person in people:
            for question in desk.ask(person, 1):
                going = True
                asked[frozenset(ids_of(question))].append(person.name)
                desk.answer(person, question, desk.true_word(question))
        desk.settle()
    assert asked
    assert all(len(who) == len(set(who)) == overlap for who in asked.values())
    assert desk.asking.give_questions(people[0], 1)["state"] == "finished"


def test_implied_questions_are_not_asked(open_studio):
    """Two groups of two items."""
    desk = open_studio(4, n_clusters=2)
    ann = desk.person("Ann")
    asked = []
    while questions := desk.ask(ann, 3):
        question = questions[0]
        asked.append(question)
        desk.answer(ann, question, desk.true_word(question))
        assert not any(desk.hub.log._known.is_implied(ids_of(held)) for held in desk.ask(ann, 3))
        desk.settle()
    # Of the six pairs of a0 a1 b0 b1 three are enough: two that join and one that separates. Any other
    # question that is asked separates, before it is implied.
    assert [desk.true_word(question) for question in asked].count("SAME") <= 2
    assert len(asked) <= 4


def test_a_statement_about_groups_withdraws_an_implied_question(desk, ann):
    (question,) = desk.ask(ann, 1)
    desk.state(ann, *ids_of(question), "DIFFERENT")
    assert question["id"] not in [q["id"] for q in desk.ask(ann, 3)]


# ---------------------------------------------------------------------- posts that come twice or late


def test_a_repeated_request_counts_once(desk, ann):
    (question,) = desk.ask(ann, 1)
    key = new_key()
    first = desk.answer(ann, question, "SAME", key=key)
    again = desk.answer(ann, question, "SAME", key=key)
    assert (first["seq"], first["new"]) == (again["seq"], True)
    assert again["new"] is False
    assert again["progress"]["n_answers"] == 1
    assert len(desk.events("answer")) == 1


def test_twenty_at_once_with_one_key_count_once(desk, ann):
    (question,) = desk.ask(ann, 1)
    key = new_key()
    got = run_at_once(*[lambda: desk.answer(ann, question, "SAME", key=key)] * 20)
    assert len({view["seq"] for view in got}) == 1
    assert Counter(view["new"] for view in got) == {True: 1, False: 19}
    assert len(desk.events("answer")) == 1


def test_a_key_cannot_be_reused_for_another_action(desk, ann):
    one, other = desk.ask(ann, 2)
    key = new_key()
    desk.answer(ann, one, "SAME", key=key)
    with pytest.raises(ConflictError, match="already used"):
        desk.answer(ann, one, "DIFFERENT", key=key)
    with pytest.raises(ConflictError, match="already used"):
        desk.answer(ann, other, "SAME", key=key)
    with pytest.raises(ConflictError, match="already used"):
        desk.skip(ann, other, key=key)
    assert len(desk.events("answer", "skip")) == 1


def test_a_key_of_another_person_cannot_be_used(desk, ann):
    bob = desk.person("Bob")
    (mine,), (theirs,) = desk.ask(ann, 1), desk.ask(bob, 1)
    key = new_key()
    desk.answer(ann, mine, "SAME", key=key)
    with pytest.raises(ConflictError, match="already used"):
        desk.answer(bob, theirs, "SAME", key=key)


def test_answers_may_come_in_another_order(open_studio):
    desk = open_studio(12)
    ann = desk.person("Ann")
    questions = desk.ask(ann, 3)
    for question in reversed(questions):
        assert desk.answer(ann, question, desk.true_word(question))["new"]
    answered = {event.question for event in desk.events("answer")}
    assert answered == {question["id"] for question in questions}


def test_the_last_answer_of_two_tabs_counts(desk, ann):
    """Both tabs show the same question and both are answered: it is stored twice and counts once."""
    (here,), (there,) = desk.ask(ann, 1), desk.ask(ann, 1)
    assert here["id"] == there["id"]
    desk.answer(ann, here, "SAME")
    last = desk.answer(ann, there, "DIFFERENT")
    assert last["progress"]["n_answers"] == last["progress"]["mine"] == 1
    desk.settle()
    assert len(desk.events("answer")) == 2
    assert [link[2] for link in desk.hub.picture.links.tolist()] == [0]
    desk.undo(ann)
    desk.settle()
    assert [link[2] for link in desk.hub.picture.links.tolist()] == [1]
    assert desk.asking.show_progress(ann)["n_answers"] == 1


def test_an_answer_after_the_end_of_a_lease_is_still_accepted(open_studio):
    clock = Clock()
    desk = open_studio(options={"clock": clock, "lease_seconds": 60.0})
    ann, bob = desk.person("Ann"), desk.person("Bob")
    held = desk.ask(ann, 3)
    assert held[0]["until"] == clock.now + 60
    assert not {q["id"] for q in held} & {q["id"] for q in desk.ask(bob, 3)}
    clock.now += 61
    desk.settle()
    given_to_bob = {q["id"] for q in desk.ask(bob, 10)}
    assert {q["id"] for q in held} & given_to_bob
    assert desk.answer(ann, held[0], desk.true_word(held[0]))["new"]
    assert desk.events("answer")[-1].person == ann.id


def test_requesting_questions_again_keeps_those_held(open_studio):
    clock = Clock()
    desk = open_studio(options={"clock": clock, "lease_seconds": 60.0})
    ann, bob = desk.person("Ann"), desk.person("Bob")
    (held,) = desk.ask(ann, 1)
    clock.now += 50
    assert desk.ask(ann, 1)[0]["until"] == clock.now + 60
    clock.now += 50
    assert held["id"] not in {q["id"] for q in desk.ask(bob, 10)}


@pytest.mark.parametrize("word", ["AB", "NEITHER", "same", "", "YES"])
def test_an_invalid_answer_is_refused(desk, ann, word):
    (question,) = desk.ask(ann, 1)
    with pytest.raises(BadRequestError, match="is not a valid answer to a pair question"):
        desk.answer(ann, question, word)
    assert not desk.events("answer")


def test_a_question_of_another_person_cannot_be_answered(desk, ann):
    bob = desk.person("Bob")
    (question,) = desk.ask(ann, 1)
    for act in (lambda: desk.answer(bob, question, "SAME"), lambda: desk.skip(bob, question)):
        with pytest.raises(NotFoundError, match="not asked this question"):
            act()
    with pytest.raises(NotFoundError, match="not asked this question"):
        desk.answer(bob, {"id": "0123456789abcdef"}, "SAME")
    assert not desk.events("answer", "skip")


# ---------------------------------------------------------------------- how it ends


def test_a_budget_is_kept(open_studio):
    desk = open_studio(12, budget=3)
    ann = desk.person("Ann")
    for left in (3, 2, 1):
        questions = desk.ask(ann, 10)
        assert len(questions) <= left
        desk.answer(ann, questions[0], desk.true_word(questions[0]))
        desk.settle()
    found = desk.asking.give_questions(ann, 3)
    assert (found["questions"], found["state"]) == ([], "finished")
    assert found["message"] == "All 3 answers have been given. Thank you."
    desk.undo(ann)
    desk.settle()
    assert len(desk.ask(ann, 3)) == 1


def test_triplets_are_asked_and_answered_to_the_end(open_studio):
    desk = open_studio(8, ask="triplets")
    ann = desk.person("Ann")
    for questions in desk.ask_to_the_end(ann):
        assert questions[0]["text"] == "Which two belong together?"
        assert len(questions[0]["items"]) == 3
        desk.answer(ann, questions[0], desk.true_word(questions[0]))
        desk.settle()
    assert desk.asking.give_questions(ann, 1)["state"] == "finished"
    assert sorted(group["size"] for group in desk.groups.show_all()["groups"]) == [4, 4]


def test_answering_continues_without_a_worker(desk, ann):
    first, *_ = desk.ask(ann, 3)
    desk.teller.paused.set()
    answered = desk.answer(ann, first, desk.true_word(first))
    assert answered["new"]
    assert answered["progress"]["behind"] == 1
    for question in desk.ask(ann, 10):
        desk.answer(ann, question, desk.true_word(question))
    while questions := desk.ask(ann, 10):
        desk.answer(ann, questions[0], desk.true_word(questions[0]))
    assert desk.asking.give_questions(ann, 1)["state"] == "thinking"
    desk.teller.paused.clear()
    desk.settle()
    assert desk.asking.show_progress(ann)["behind"] == 0


def test_a_report_between_the_groups_and_their_progress_is_an_older_one(desk, ann, monkeypatch):
    reports = []

    def note(name, content, emit=desk.hub.emit):
        if name in ("picture", "progress"):
            reports.append(desk.asking.show_progress(ann))
        emit(name, content)

    (question,) = desk.ask(ann, 1)
    monkeypatch.setattr(desk.hub, "emit", note)
    desk.answer(ann, question, desk.true_word(question))
    desk.settle()
    versions = [report["version"] for report in reports]
    assert versions == sorted(versions)
    assert versions[-1] == (desk.hub.log.last,) * 3
    between = next(report for report in reports if report["version"][1] == desk.hub.log.last)
    assert between["version"] < versions[-1]
    contents = {}
    for report in reports:  # those of equal version are equal
        assert contents.setdefault(report["version"], report["changed"]) == report["changed"]


def test_failed_notifications_are_retried_without_a_new_answer(desk, ann):
    (question,) = desk.ask(ann, 1)
    desk.teller.paused.set()
    desk.answer(ann, question, desk.true_word(question))
    wait_until(lambda: desk.hub.trouble is not None, "a word of the trouble")
    desk.teller.paused.clear()
    wait_until(lambda: desk.asking.show_progress(ann)["behind"] == 0, "a refit")
    assert desk.hub.trouble is None


# ---------------------------------------------------------------------- taking back


def test_undo_returns_the_question(desk, ann):
    (question,) = desk.ask(ann, 1)
    seq = desk.answer(ann, question, "SAME")["seq"]
    undone = desk.undo(ann)
    assert undone["undone"]["seq"] == seq
    assert undone["undone"]["undone"] is True
    assert undone["question"]["id"] == question["id"]
    assert desk.ask(ann, 1)[0]["id"] == question["id"]
    assert desk.asking.show_progress(ann)["n_answers"] == 0
    assert desk.answer(ann, question, "DIFFERENT")["new"]
    desk.settle()
    assert desk.hub.picture.links[:, 2].tolist() == [0]


def test_a_repeated_undo_undoes_one_action(desk, ann):
    one, other = desk.ask(ann, 2)
    desk.answer(ann, one, "DIFFERENT")
    desk.answer(ann, other, desk.true_word(other))
    key = new_key()
    got = run_at_once(*[lambda: desk.undo(ann, key=key)] * 8)
    assert {view["undone"]["question_id"] for view in got} == {other["id"]}
    assert len(desk.events("undo")) == 1


def test_an_undone_answer_cannot_be_undone_again(desk, ann):
    (question,) = desk.ask(ann, 1)
    seq = desk.answer(ann, question, "SAME")["seq"]
    desk.undo(ann, of=seq)
    with pytest.raises(ConflictError, match="already undone"):
        desk.undo(ann, of=seq)
    with pytest.raises(NotFoundError, match="nothing to undo"):
        desk.undo(ann)


def test_only_the_owner_can_undo_answers_of_others(desk, ann):
    bob = desk.person("Bob")
    (question,) = desk.ask(ann, 1)
    seq = desk.answer(ann, question, "SAME")["seq"]
    with pytest.raises(NotFoundError, match=f"no action {seq} that you can undo"):
        desk.undo(bob, of=seq)
    undone = desk.undo(desk.owner, of=seq)
    assert undone["question"] is None  # it was not the owner's
    assert desk.asking.show_progress(ann)["mine"] == 0


@pytest.mark.parametrize("of", [999, 2**53 - 1])
def test_with_nothing_to_undo_undo_is_refused(desk, ann, of):
    with pytest.raises(NotFoundError):
        desk.undo(ann, of=of)


def test_a_skip_can_be_revisited(desk, ann):
    (question,) = desk.ask(ann, 1)
    desk.skip(ann, question)
    assert question["id"] not in [q["id"] for q in desk.ask(ann, 3)]
    again = desk.asking.revisit(ann, key=new_key(), question=question["id"])
    assert again["question"]["id"] == question["id"]
    assert desk.answer(ann, question, "DIFFERENT")["new"]
    with pytest.raises(NotFoundError, match="not skipped"):
        desk.asking.revisit(ann, key=new_key(), question=question["id"])


# ---------------------------------------------------------------------- laws


@fewer(4)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["right", "wrong", "UNSURE", "skip", "undo", "again"])),
        max_size=15,
    )
)
def test_counts_always_equal_those_of_the_store(open_studio, steps):
    desk = open_studio(8, overlap=2)
    people = [desk.person(name) for name in ("Ann", "Bob", "Cem")]
    before = {}
    for who, step in steps:
        person = people[who]
        if step == "undo":
            try:
                desk.undo(person)
            except NotFoundError:
                assert not desk.hub.log.get_not_undone("answer", "skip", person=person.id)
            continue
        if step == "again":
            if who in before:
                assert desk.answer(person, *before[who])["new"] is False
            continue
        questions = desk.ask(person, 1)
        if not questions:
            continue
        if step == "skip":
            desk.skip(person, questions[0])
            continue
        true = desk.true_word(questions[0])
        word = {"right": true, "wrong": "SAME" if true == "DIFFERENT" else "DIFFERENT"}.get(step, step)
        key = new_key()
        desk.answer(person, questions[0], word, key=key)
        before[who] = (questions[0], word, key)
    events = desk.events()
    undone = {event.body["of"] for event in events if event.kind == "undo"}
    counted = {
        (event.person, frozenset(event.body["items"]))
        for event in events
        if event.kind == "answer" and event.seq not in undone
    }
    for person in people:
        assert desk.asking.show_progress(person)["mine"] == sum(who == person.id for who, _ in counted)
    asked = Counter(items for _, items in counted)
    assert all(n <= 2 for n in asked.values())
    desk.settle()
    assert desk.asking.show_progress(people[0])["behind"] == 0
