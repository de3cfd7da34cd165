"""The analysis of a project: examples by hand, properties of events, several people, and an interview."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from likewise._reasons import Reason
from likewise.active import Interview, Pool
from likewise.studio.jobs import analysis as analysis_module
from likewise.studio.jobs._ledger import Ledger
from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.records import Settings, StoredEvent
from likewise.studio.service._views import write_reason
from profiles import fewer
from studio.jobs.events import Log, ids, rows_of

SIDE = np.repeat([0, 1], 12)
X = np.r_[np.linspace(0, 1, 12), np.linspace(3, 4, 12)][:, None]


def analysis(log=(), rows=X, **more):
    made = ProjectAnalysis(rows, ids(len(rows)), Settings("toy", **({"n_clusters": 2} | more)))
    made.tell(log.events if isinstance(log, Log) else list(log))
    return made


def blobs(n=60, k=3, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return 4.0 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)), y


def list_asked(made, n=5, pending=()):
    return [
        (question.kind, tuple(sorted(rows_of(question))))
        for question in made.choose_questions(n, pending).questions
    ]


def same_groups(one, other):
    pairs = {*zip(one.tolist(), other.tolist(), strict=True)}
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def word(rows, y):
    if len(rows) == 2:
        return "SAME" if y[rows[0]] == y[rows[1]] else "DIFFERENT"
    a, b, c = (y[row] for row in rows)
    odd = {(True, False, False): "AB", (False, True, False): "AC", (False, False, True): "BC"}
    return odd.get((a == b, a == c, b == c), "NEITHER")


# ---------------------------------------------------------------------- by hand


def test_an_answer_moves_the_rows_around_it():
    log = Log()
    log.answer((0, 11), "SAME")
    log.answer((0, 12), "DIFFERENT")
    picture = analysis(log).make_picture()
    assert picture.seq == 2
    assert same_groups(picture.labels, SIDE)
    assert picture.labels.dtype == np.int32
    assert picture.doubt.dtype == np.float32
    assert picture.doubt.shape == (24,)
    assert picture.doubt[0] == pytest.approx(0.0, abs=1e-3)  # an answer is evidence: almost certain
    assert picture.links.tolist() == [[0, 11, 1], [0, 12, 0]]
    assert [group.size for group in picture.groups] == [12, 12]
    assert all(len(group.typical) == 12 for group in picture.groups)
    assert all(set(SIDE[list(group.typical)]) == {SIDE[group.typical[0]]} for group in picture.groups)
    assert picture.conflicts == ()


def test_a_triplet_is_three_links():
    log = Log()
    log.answer((5, 3, 20), "AB")
    assert sorted(analysis(log).make_picture().links.tolist()) == [[3, 5, 1], [3, 20, 0], [5, 20, 0]]


def test_a_contradiction_comes_with_its_chain_and_events():
    log = Log()
    log.answer((0, 1), "SAME")
    log.answer((5, 6), "SAME")
    log.answer((1, 2), "SAME")
    log.answer((0, 2), "DIFFERENT")
    (conflict,) = analysis(log).make_picture().conflicts
    assert conflict.rows == (0, 2)
    assert conflict.chain in ((0, 1, 2), (2, 1, 0))
    assert conflict.events == (1, 3, 4)
    log.undo(4)
    assert analysis(log).make_picture().conflicts == ()


def test_the_last_answer_of_a_person_counts():
    log = Log()
    log.answer((0, 1), "DIFFERENT")
    log.answer((1, 0), "SAME")
    picture = analysis(log).make_picture()
    assert picture.links.tolist() == [[0, 1, 1]]
    assert picture.conflicts == ()
    log.undo(2)
    assert analysis(log).make_picture().links.tolist() == [[0, 1, 0]]
    log.undo(3)  # undone, after all
    assert analysis(log).make_picture().links.tolist() == [[0, 1, 1]]


def test_practice_does_not_count():
    log = Log()
    log.answer((0, 1), "DIFFERENT", source="practice")
    counted, plain = analysis(log), analysis()
    assert list_asked(counted) == list_asked(plain)
    assert counted.compute_progress().n_answers == 0
    assert counted.compute_agreement().people == ()
    assert counted.make_picture().links.shape == (0, 3)


def test_answers_of_a_study_count_but_do_not_influence_questions():
    rows, y = blobs()
    log = Log()
    for i in range(0, 40, 2):
        log.answer((i, i + 1), word((i, i + 1), y), source="study")
    counted = analysis(log, rows, n_clusters=3)
    assert list_asked(counted) == list_asked(analysis((), rows, n_clusters=3))
    assert len(counted.make_picture().links) == 20
    log.answer((0, 5), word((0, 5), y))
    only = Log()
    only.answer((0, 5), word((0, 5), y))
    counted.tell(log.events)
    assert list_asked(counted) == list_asked(analysis(only, rows, n_clusters=3))


@pytest.mark.parametrize("ask", ["pairs", "groups"])
def test_items_whose_file_is_gone_are_not_asked_about(ask):
    settings = Settings("toy", n_clusters=None if ask == "groups" else 2, ask=ask)
    made = ProjectAnalysis(X, ids(24), settings, gone=[0, 5, 13])
    found = made.choose_questions(30).questions
    assert found
    gone = {ids(24)[row] for row in (0, 5, 13)}
    assert not [question for question in found if gone & set(question.judged)]


def test_pending_and_skipped_questions_are_not_chosen():
    made = analysis()
    first = made.choose_questions(1).questions[0]
    assert list_asked(made, 5, [first])[0] != list_asked(made, 1)[0]
    log = Log()
    log.skip(rows_of(first))
    assert tuple(sorted(rows_of(first))) not in [rows for _, rows in list_asked(analysis(log), 30)]
    log.undo(1)
    assert list_asked(analysis(log), 1)[0][1] == tuple(sorted(rows_of(first)))


def test_a_question_keeps_its_id_until_it_is_answered():
    made = analysis()
    before = {question.items: question.id for question in made.choose_questions(4).questions}
    again = {question.items: question.id for question in made.choose_questions(8).questions}
    assert before.items() <= again.items()
    log = Log()
    first = made.choose_questions(1).questions[0]
    log.answer(rows_of(first), "UNSURE")
    log.undo(1)
    made.tell(log.events[:1])
    made.choose_questions(1)
    made.tell(log.events[1:])
    anew = made.choose_questions(1).questions[0]
    assert set(anew.items) == set(first.items)
    assert anew.id != first.id


def test_reasons_refer_to_items():
    log = Log()
    made = analysis()
    log.answer(rows_of(made.choose_questions(1).questions[0]), "DIFFERENT")
    made.tell(log.events)
    question = made.choose_questions(1).questions[0]
    text = write_reason(question.reason)
    assert "ow " not in text
    assert any(item in text for item in question.items)


def test_answers_to_a_question_share_it_without_what_its_page_showed():
    ledger = Ledger({"a": 0, "b": 1, "c": 2})
    body = {"kind": "pair", "items": ["a", "b"], "answer": "SAME"}
    bodies = [
        body | {"why": "Item c has {no} cluster."},
        body | {"reason": {"template": "{Row} has no cluster.", "rows": ["gone"]}, "score": 0.5},
    ]
    ledger.tell(StoredEvent(n, f"k{n}", "answer", n, "", one) for n, one in enumerate(bodies, 1))
    first, second = (voice.reply.question for voice in ledger.get_counted_replies().voices)
    assert first is second
    assert (first.reason, first.score) == (Reason(""), None)
    assert not ledger.ignored


def test_an_item_on_the_shelf_joins_no_groups():
    log, made = Log(), analysis()
    a, b = (group.typical[0] for group in made.make_picture().groups[:2])
    middle = next(row for row in range(len(made.X)) if row not in (a, b))
    for row in (a, b):
        log.answer((row, middle), "SAME", source="groups")
    made.tell(log.events)
    assert made.make_picture().labels[a] == made.make_picture().labels[b]
    shelved = log.add("repair", {"act": "shelve", "items": [f"i{middle}"]})
    made.tell(log.events)
    picture = made.make_picture()
    assert picture.labels[a] != picture.labels[b]
    assert not any(middle in (*group.typical, *group.doubtful) for group in picture.groups)
    assert not len(picture.links)
    log.undo(shelved.seq)
    made.tell(log.events)
    picture = made.make_picture()
    assert picture.labels[a] == picture.labels[b]


def test_an_item_on_the_shelf_takes_no_group_from_the_others():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [60.0]])
    log, made = Log(), ProjectAnalysis(X, ids(7), Settings("toy", n_clusters=2))
    assert made.make_picture().labels.tolist() == [0, 0, 0, 0, 0, 0, 1]
    log.add("repair", {"act": "shelve", "items": ["i6"]})
    made.tell(log.events)
    picture = made.make_picture()
    assert len(set(picture.labels[:3])) == len(set(picture.labels[3:6])) == 1
    assert picture.labels[0] != picture.labels[3]
    assert [group.size for group in picture.groups] == [3, 3]
    again = ProjectAnalysis(X, ids(7), made.settings)  # after a restart
    again.tell(log.events)
    assert again.make_picture().shown_labels.tolist() in ([0, 0, 0, 1, 1, 1, -1], [1, 1, 1, 0, 0, 0, -1])


def test_many_items_on_the_shelf_do_not_change_the_other_groups():
    rng = np.random.default_rng(4)
    y = np.arange(180) % 3
    rows = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.5]])[y] + rng.normal(size=(180, 2))
    outliers = [12.0, 0.0] + 3 * rng.normal(size=(100, 2))  # all nearest to a few rows of one group
    log, made = Log(), analysis(rows=np.r_[rows, outliers], n_clusters=3)
    log.add("repair", {"act": "shelve", "items": ids(280)[180:]})
    made.tell(log.events)
    picture = made.make_picture()
    alone = analysis(rows=rows, n_clusters=3).make_picture().labels
    assert adjusted_rand_score(alone, picture.labels[:180]) > 0.8
    assert set(picture.shown_labels[180:].tolist()) == {-1}
    assert sum(group.size for group in picture.groups) == 180


def test_the_budget_ends_it():
    log = Log()
    made = analysis(log, budget=2)
    assert len(made.choose_questions(5).questions) == 2
    log.answer((0, 1), "SAME")
    log.answer((0, 20), "DIFFERENT")
    made.tell(log.events)
    ready = made.choose_questions(5)
    assert ready.questions == ()
    assert ready.finished == "The budget is used up."
    assert not made.compute_progress().worth_asking


@pytest.mark.parametrize(("answer", "links"), [("NEW", [0, 0]), ({"groups": ["i2"]}, [0, 1])])
def test_a_placement_links_its_item_to_every_group_shown(answer, links):
    body = {"kind": "placement", "items": ids(3), "answer": answer, "source": "question"}
    made = analysis([StoredEvent(1, "k1", "answer", 1, "2026-03-09T12:00:00+00:00", body)])
    assert not made.ignored
    assert made.make_picture().links.tolist() == [[0, 1, links[0]], [0, 2, links[1]]]


def test_unreadable_events_are_ignored_with_a_reason():
    log = Log()
    log.answer((0, 99), "SAME")
    log.answer((0, 1), "AB")
    log.answer((0, 0), "SAME")
    log.answer((0, 1), "SAME")
    made = analysis(log)
    assert made.make_picture().links.tolist() == [[0, 1, 1]]
    assert sorted(made.ignored) == [1, 2, 3]
    assert "i99" in made.ignored[1]


# ---------------------------------------------------------------------- at the edges


def test_one_item():
    made = analysis(rows=np.zeros((1, 3)))
    ready = made.choose_questions(3)
    assert ready.questions == ()
    assert "only one item" in ready.finished
    assert made.make_picture().labels.tolist() == [0]
    assert made.compute_progress().n_answers == 0


@pytest.mark.parametrize("k", [None, 1, 2, 9])
def test_two_items(k):
    made = analysis(rows=np.array([[0.0], [1.0]]), n_clusters=k)
    assert list_asked(made) == [("placement" if k is None else "pair", (0, 1))]
    log = Log()
    log.answer((0, 1), "SAME")
    made.tell(log.events)
    assert made.choose_questions(1).finished == "There is nothing left to ask."
    assert len(made.make_picture().groups) == 1
    assert made.compute_progress().n_answers == 1


def test_more_clusters_than_rows():
    rows = np.arange(5.0)[:, None]
    picture = analysis(rows=rows, n_clusters=50).make_picture()
    assert len(picture.groups) == 5
    assert [group.size for group in picture.groups] == [1] * 5


@pytest.mark.parametrize("ask", ["pairs", "triplets", "both"])
def test_only_unsure_answers(ask):
    log = Log()
    made = analysis(ask=ask)
    for _ in range(12):
        log.answer(rows_of(made.choose_questions(1).questions[0]), "UNSURE")
        made.tell(log.events)
    assert len({frozenset(event.body["items"]) for event in log.events}) == 12
    progress = made.compute_progress()
    assert progress.n_answers == 12
    assert not progress.worth_asking
    assert made.make_picture().links.shape == (0, 3)


def test_all_rows_identical():
    made = analysis(rows=np.ones((8, 2)), n_clusters=3)
    assert made.make_picture().labels.shape == (8,)
    assert len(made.choose_questions(3).questions) == 3


def test_groups_are_added_as_answers_require():
    rows, y = blobs(k=4, seed=3)
    log = Log()
    made = analysis(log, rows, n_clusters=None)
    for _ in range(60):
        ready = made.choose_questions(1)
        if ready.finished:
            break
        here = rows_of(ready.questions[0])
        log.answer(here, word(here, y))
        made.tell(log.events[-1:])
    assert len(made.make_picture().groups) >= 4


def test_the_order_of_a_triplet_does_not_reveal_the_answer():
    rows, _ = blobs(n=200, k=5)
    made = analysis((), rows, n_clusters=5, ask="triplets")
    questions = made.choose_questions(20).questions
    assert {question.kind for question in questions} == {"triplet"}
    ranks = {tuple(np.argsort(rows_of(question)).tolist()) for question in questions}
    assert len(ranks) > 3
    assert list_asked(analysis((), rows, n_clusters=5, ask="triplets"), 20) == list_asked(made, 20)


# ---------------------------------------------------------------------- laws


@fewer(8)
@given(seed=st.integers(0, 10**6), ask=st.sampled_from(["pairs", "triplets", "both"]))
def test_events_sent_in_pieces_or_any_order_give_the_same_state(seed, ask):
    rng = np.random.default_rng(seed)
    rows, _ = blobs(n=30, seed=seed)
    log = draw_events(rng, 30, 15)
    whole = analysis(log, rows, n_clusters=3, ask=ask)
    pieces = analysis((), rows, n_clusters=3, ask=ask)
    cuts = np.sort(rng.integers(0, len(log.events), size=3))
    for part in np.split(np.arange(len(log.events)), cuts):
        pieces.tell([log.events[at] for at in part])
        pieces.choose_questions(2)
        pieces.make_picture()
        pieces.compute_progress()
    turned = analysis(log.events[::-1], rows, n_clusters=3, ask=ask)
    one = whole.make_picture()
    for other in (pieces, turned):
        other.tell(log.events)  # once more
        assert list_asked(whole) == list_asked(other)
        two = other.make_picture()
        assert same_groups(one.labels, two.labels)
        assert (one.conflicts, one.links.tolist()) == (two.conflicts, two.links.tolist())
        assert np.array_equal(one.doubt, two.doubt)
        assert whole.compute_agreement() == other.compute_agreement()
        assert whole.compute_progress() == other.compute_progress()


@fewer(8)
@given(seed=st.integers(0, 10**6))
def test_an_undone_answer_equals_no_answer(seed):
    rng = np.random.default_rng(seed)
    rows, _ = blobs(n=30, seed=seed)
    log = draw_events(rng, 30, 14, undo=False)
    gone = set(rng.choice(np.arange(1, 15), size=5, replace=False).tolist())
    kept = [event for event in log.events if event.seq not in gone]
    made = analysis(log, rows, n_clusters=3)
    made.make_picture()
    for seq in gone:
        log.undo(seq)
    made.tell(log.events)
    never = analysis(kept, rows, n_clusters=3)
    assert list_asked(made) == list_asked(never)
    assert same_groups(made.make_picture().labels, never.make_picture().labels)
    assert made.make_picture().conflicts == never.make_picture().conflicts
    assert made.compute_agreement() == never.compute_agreement()
    assert made.compute_progress().advice == never.compute_progress().advice


def draw_events(rng, n, m, undo=True):
    """Draw random answers of three people, skips and undos."""
    log = Log()
    for _ in range(m):
        rows = tuple(rng.choice(n // 3, size=rng.choice([2, 3]), replace=False).tolist())
        words = ["SAME", "DIFFERENT", "UNSURE"] if len(rows) == 2 else ["AB", "AC", "BC", "NEITHER", "UNSURE"]
        kind = rng.choice(["answer"] * 6 + ["skip", "undo"])
        person = int(rng.integers(1, 4))
        if kind == "skip":
            log.skip(rows, person)
        elif kind == "undo" and undo and log.events:
            log.undo(int(rng.integers(1, len(log.events) + 1)), person)
        else:
            log.answer(rows, str(rng.choice(words)), person)
    return log


@pytest.mark.parametrize("discover", [False, True])
def test_one_person_gives_the_same_as_an_interview(discover):
    rows, y = blobs(n=80, k=4, seed=5)
    twin = Interview(rows, n_clusters=4, random_state=7, discover=discover)
    made = analysis((), rows, n_clusters=4, seed=7, discover=discover)
    log = Log()
    for _ in range(30):
        ready = made.choose_questions(3)
        theirs = twin.ask(3)
        assert [tuple(sorted(rows_of(one))) for one in ready.questions] == [one.rows for one in theirs]
        for one in ready.questions[:2]:
            log.answer(rows_of(one), word(rows_of(one), y))
            twin.tell(theirs[ready.questions.index(one)], log.events[-1].body["answer"])
        made.tell(log.events[-2:])
    assert same_groups(made.make_picture().labels, twin.labels_)
    outlook, progress = twin.progress(), made.compute_progress()
    assert (progress.changed, progress.accuracy, progress.advice) == (
        outlook.changed,
        outlook.accuracy,
        outlook.advice,
    )


# ---------------------------------------------------------------------- what stays


def test_groups_keep_their_numbers():
    rows, y = blobs(n=90, k=3, seed=1)
    made, log = analysis((), rows, n_clusters=3), Log()
    before = made.make_picture()
    for _ in range(15):
        here = rows_of(made.choose_questions(1).questions[0])
        log.answer(here, word(here, y))
        made.tell(log.events[-1:])
        picture = made.make_picture()
        assert (picture.labels == before.labels).mean() > 0.6
        before = picture


def test_the_curve_grows_with_every_five_answers():
    rows, y = blobs(n=90, k=3, seed=1)
    made, log = analysis((), rows, n_clusters=3), Log()
    for _ in range(23):
        here = rows_of(made.choose_questions(1).questions[0])
        log.answer(here, word(here, y))
        made.tell(log.events[-1:])
    while made.lags:
        made.compute_progress()
    points = made.compute_progress().curve
    assert [n for n, _ in points] == [5, 10, 15, 20]
    assert all(0.0 <= share <= 1.0 for _, share in points)
    log.undo(12)
    made.tell(log.events[-1:])
    assert made.lags
    assert [n for n, _ in made.compute_progress().curve] == [5, 10, 15, 20]
    assert made.compute_progress().curve[:2] == points[:2]


# ---------------------------------------------------------------------- many rows


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(analysis_module, "_LARGE", 300)
    monkeypatch.setattr(analysis_module, "_FIRST_POOL", Pool(size=60, sample=60))


@pytest.mark.usefixtures("few_are_many")
def test_with_many_rows_the_first_questions_use_a_sample():
    rows, y = blobs(n=600, k=3, seed=2)
    log = Log()
    log.answer((0, 3), "SAME")
    log.answer((0, 4), "DIFFERENT")
    made = analysis(log, rows, n_clusters=3)
    assert made.rough
    ready = made.choose_questions(5)
    assert len(ready.questions) >= 5
    assert "ow " not in write_reason(ready.questions[0].reason)
    first = made.make_picture()
    assert made.rough
    assert first.labels.shape == (600,)
    for question in ready.questions[:12]:
        log.answer(rows_of(question), word(rows_of(question), y))
    log.answer((590, 591), word((590, 591), y))  # a correction about a row that was not drawn
    made.tell(log.events)
    made.choose_questions(5)
    assert {tuple(link[:2]) for link in made.make_picture().links.tolist()} >= {(0, 3), (590, 591)}
    assert not made.rough
    whole = Interview(rows, n_clusters=3)
    for event in log.events:
        whole.tell(read_question(event), event.body["answer"])
    assert same_groups(made.make_picture().labels, whole.labels_)
    assert [set(rows_of(one)) for one in made.choose_questions(3).questions] == [
        set(one.rows) for one in whole.ask(3)
    ]
    progress = made.compute_progress()
    assert progress.n_answers == 15
    assert progress.accuracy is None
    assert progress.curve[-1][0] == 15


@pytest.mark.usefixtures("few_are_many")
def test_with_very_many_rows_a_sample_represents_all(monkeypatch):
    monkeypatch.setattr(analysis_module, "_POOL", Pool(size=100, sample=600, every=10))
    rows, y = blobs(n=600, k=3, seed=2)
    made, log = analysis((), rows, n_clusters=3), Log()
    for _ in range(12):
        for question in made.choose_questions(2).questions[:2]:
            log.answer(rows_of(question), word(rows_of(question), y))
        made.tell(log.events)
        picture = made.make_picture()
    log.answer((0, 1), "SAME")
    log.answer((0, 1), "DIFFERENT", person=2)
    log.answer((597, 598), word((597, 598), y))
    made.tell(log.events)
    assert not made.rough
    assert made.make_picture().labels.shape == (600,)
    assert picture.labels[0] == picture.labels[3]
    assert (0, 1) in [conflict.rows for conflict in made.make_picture().conflicts]
    assert made.compute_progress().advice


def read_question(event):
    from likewise.active import Question

    return Question(event.body["kind"], tuple(int(item[1:]) for item in event.body["items"]))


def test_a_range_of_groups_bounds_the_groups():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 8)) + 10 * rng.normal(size=(6, 8))[np.arange(60) % 6]
    made = analysis((), rows, n_clusters=(3, 5))
    assert 3 <= len(made.make_picture().groups) <= 5
    assert made._get_interview().cluster_range == (3, 5)
    assert {question.kind for question in made.choose_questions(3).questions} <= {
        "placement",
        "members",
        "groups",
    }
    assert analysis((), rows, n_clusters=(30, 900))._get_interview().cluster_range == (30, 60)


@pytest.mark.parametrize(("n", "expected"), [(-2, (2, 5)), (-1, (2, 5)), (0, (3, 5)), (2, (3, 7))])
def test_splits_and_merges_widen_a_range(n, expected):
    made = analysis((), np.arange(20.0)[:, None], n_clusters=(3, 5))
    assert made._find_n_clusters(n) == expected
