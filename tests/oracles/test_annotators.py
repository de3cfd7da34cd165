"""Several annotators: their reliability and agreement."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from likewise import PCKMeans
from likewise.active import Answer, Interview, OddOne, Question, RandomPairs, Reply
from likewise.exceptions import InconsistentSupervisionWarning, SupervisionError
from likewise.oracles import Annotators, NoisyOracle
from likewise.oracles._dawid_skene import (
    AnnotatorVotes,
    compute_krippendorff_alpha,
    compute_observed_agreement,
    judge,
    make_prior_table,
)
from reference.dawid_skene import enumerate_posterior, log_density

EASY = {"accuracy": 0.8, "strength": 4.0, "max_iter": 2000, "tol": 1e-9}
WORD = {"S": "SAME", "D": "DIFFERENT", "U": "UNSURE"}


def make_replies(**letters):
    """Replies to the pairs (0, 1), (0, 2) and so on, a letter each; a dot is no reply."""
    return [
        Reply(Question.pair(0, at), WORD[letter], annotator=name)
        for name, row in letters.items()
        for at, letter in enumerate(row, start=1)
        if letter != "."
    ]


def draw_case(rng, tables, shares, n_questions, present=1.0):
    """Votes of annotators with these tables, and the right answers."""
    right = rng.choice(len(shares), size=n_questions, p=shares)
    chances = np.cumsum(tables[:, right, :], axis=-1)  # annotator, question, answer
    code = (rng.random(chances.shape[:2])[..., None] > chances).sum(axis=-1)
    annotator, question = np.nonzero(rng.random(code.shape) < present)
    return AnnotatorVotes(
        question, annotator, code[annotator, question], n_questions, len(tables), len(shares)
    ), right


# ---------------------------------------------------------------------- by hand


def test_agreement_by_hand():
    # Four questions to two people, one dispute: 3 of 4 pairs agree. Values: 5 and 3 of 8.
    # alpha = 1 - (8 - 1) * 2 / (64 - 25 - 9) = 1 - 14 / 30; kappa = (3/4 - 1/2) / (1 - 1/2).
    found = Annotators(make_replies(Ann="SSDS", Bob="SSDD")).agreement()
    assert (found.n_questions, found.observed) == (4, 0.75)
    assert found.alpha == pytest.approx(1 - 14 / 30)
    assert found.kappas == {("Ann", "Bob"): pytest.approx(0.5)}


def test_alpha_of_the_worked_example_with_gaps():
    # Krippendorff (2011), "Computing Krippendorff's alpha-reliability", C: nominal, four observers, 0.743.
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    counts = np.zeros((12, 5), dtype=np.int64)
    for row in rows:
        for question, value in enumerate(row):
            if value is not None:
                counts[question, value - 1] += 1
    assert compute_krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)


def test_agreement_that_cannot_be_stated():
    alone = np.array([[1, 0], [0, 1]])
    assert compute_krippendorff_alpha(alone) is None
    assert compute_observed_agreement(alone) is None
    found = Annotators(make_replies(Ann="SSS", Bob="SSS")).agreement()
    assert (found.observed, found.alpha, found.kappas) == (1.0, None, {("Ann", "Bob"): None})


def test_one_iteration_by_hand():
    # Two people, two questions: they agree on SAME, then dispute. The start is votes: (1, 0) and (1/2, 1/2).
    votes = AnnotatorVotes(*np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]).T, 2, 2, 2)
    found = judge(votes, accuracy=0.75, strength=4, max_iter=1, tol=np.inf)
    # Two rounds: the start, and one more. The first tables, counts 3, 1 / 1, 3 and the votes:
    first = np.array([[[4.5, 1], [1.5, 3]], [[4, 1.5], [1, 3.5]]])
    first /= first.sum(axis=2, keepdims=True)
    shares = np.array([2.5, 1.5]) / 4
    same = shares[0] * first[0, 0, 0] * np.array([first[1, 0, 0], first[1, 0, 1]])
    apart = shares[1] * first[0, 1, 0] * np.array([first[1, 1, 0], first[1, 1, 1]])
    p = same / (same + apart)
    ann = np.array([[3 + p.sum(), 1], [1 + (1 - p).sum(), 3]])
    np.testing.assert_allclose(found.tables[0], ann / ann.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(found.shares, np.array([1 + p.sum(), 3 - p.sum()]) / 4, rtol=1e-12)


# ---------------------------------------------------------------------- twins and laws


@given(
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1),
    st.sampled_from([2, 4]),
    st.integers(0, 2**32 - 1),
)
def test_the_posterior_is_that_of_enumeration_and_em_never_falls(cells, n_answers, seed):
    rng = np.random.default_rng(seed)
    question, annotator = np.array(sorted(cells)).T
    votes = AnnotatorVotes(question, annotator, rng.integers(n_answers, size=len(cells)), 4, 3, n_answers)
    found = judge(votes, **{**EASY, "tol": 1e-6})
    np.testing.assert_allclose(
        found.posterior, enumerate_posterior(votes, found.shares, found.tables), atol=1e-10
    )
    assert np.diff(found.objective).min(initial=0.0) >= -1e-9
    np.testing.assert_allclose(found.tables.sum(axis=2), 1)
    assert found.tables.min() > 0


def test_what_em_finds_is_a_maximum_of_the_density():
    votes = AnnotatorVotes(
        *np.array([[q, a, (q * a + (q == 2)) % 2] for q in range(5) for a in range(3)]).T, 5, 3, 2
    )
    found = judge(votes, **EASY)
    prior_counts = 4 * make_prior_table(2, 0.8)
    assert found.objective[-1] == pytest.approx(log_density(votes, found.shares, found.tables, prior_counts))
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2):
        for _ in range(20):
            tables = found.tables * np.exp(size * rng.standard_normal(found.tables.shape))
            shares = found.shares * np.exp(size * rng.standard_normal(2))
            tables, shares = tables / tables.sum(axis=2, keepdims=True), shares / shares.sum()
            assert log_density(votes, shares, tables, prior_counts) <= found.objective[-1] + 1e-9


def test_known_tables_are_found_again():
    tables = np.array(
        [
            [[0.95, 0.05], [0.1, 0.9]],
            [[0.8, 0.2], [0.3, 0.7]],
            [[0.15, 0.85], [0.9, 0.1]],  # mostly wrong
            [[0.97, 0.03], [0.97, 0.03]],  # always the same
            [[0.7, 0.3], [0.2, 0.8]],
        ]
    )
    votes, right = draw_case(np.random.default_rng(1), tables, [0.35, 0.65], 3000, present=0.8)
    found = judge(votes, **{**EASY, "tol": 1e-6})
    assert found.converged
    np.testing.assert_allclose(found.tables, tables, atol=0.05)
    np.testing.assert_allclose(found.shares, [0.35, 0.65], atol=0.03)
    better = (found.posterior.argmax(axis=1) == right).mean()
    assert better > (votes.counts.argmax(axis=1) == right).mean() + 0.05  # than a count of votes


def test_known_tables_of_triplets_are_found_again():
    tables = np.stack([make_prior_table(4, accuracy) for accuracy in (0.9, 0.75, 0.6)])
    votes, _ = draw_case(np.random.default_rng(2), tables, [0.3, 0.3, 0.2, 0.2], 3000)
    found = judge(votes, **{**EASY, "tol": 1e-6})
    np.testing.assert_allclose(found.tables, tables, atol=0.06)


def test_neither_the_order_of_replies_nor_of_rows_matters():
    replies = make_replies(Ann="SSDDSD", Bob="SSDDDD", Cem="SDDDSS")
    found = Annotators(replies)
    other = Annotators(replies[::-1])
    assert [(v.question, v.answer) for v in other.verdicts] == [
        (v.question, v.answer) for v in found.verdicts
    ]
    chances = [[v.probability for v in people.verdicts] for people in (found, other)]
    np.testing.assert_allclose(*chances, rtol=1e-9)


# ---------------------------------------------------------------------- annotators


def test_an_adversary_is_believed_in_reverse():
    truth = "SDSSDDSDSSDDSDSDSSDD"
    lies = truth.translate(str.maketrans("SD", "DS"))
    people = Annotators(make_replies(Ann=truth, Bob=truth[:-1] + "S", Cem=lies))
    ann, bob, cem = people.annotators
    assert ann.reliability > bob.reliability > 0.7
    assert cem.reliability < -0.5
    assert cem.accuracy < 0.25
    assert [v.answer[0] for v in people.verdicts] == list(truth)
    # A contrary answer of Cem makes a pair more certain.
    sure = {v.question: v.probability for v in people.verdicts}
    plain = Annotators(make_replies(Ann=truth, Bob=truth[:-1] + "S"))
    assert all(v.probability < sure[v.question] for v in plain.verdicts)


def test_who_always_says_the_same_counts_for_nothing():
    truth = "SDSSDDSDSSDDSDSDSSDD" * 5
    people = Annotators(make_replies(Ann=truth, Bob=truth, Cem="S" * 100))
    assert abs(people.annotators[2].reliability) < 0.1
    weights = [v.weight for v in people.verdicts]
    assert min(weights) > 0.9
    assert [v.answer[0] for v in people.verdicts] == list(truth)


def test_one_annotator_is_taken_at_the_prior_with_a_warning():
    with pytest.warns(UserWarning, match=r"^Ann answered no question that others answered too.*0\.8"):
        people = Annotators(make_replies(Ann="SSSSSDU"))
    (ann,) = people.annotators
    assert (ann.n_answers, ann.n_shared, ann.n_unsure) == (6, 0, 1)
    np.testing.assert_allclose(ann.tables["pair"], [[0.8, 0.2], [0.2, 0.8]])
    assert [round(v.probability, 12) for v in people.verdicts] == [0.8] * 6
    hints = people.supervision(8)
    np.testing.assert_allclose(hints.must_weights, 0.6)
    np.testing.assert_allclose(hints.cannot_weights, 0.6)
    assert "unknown: assumed" in people.describe()


def test_without_overlap_all_are_taken_at_the_prior():
    with pytest.warns(UserWarning, match="Ann and Bob answered no question"):
        people = Annotators(make_replies(Ann="SD..", Bob="..SD"))
    assert [one.accuracy for one in people.annotators] == pytest.approx([0.8, 0.8])
    assert people.agreement().observed is None


def test_a_question_answered_once_does_not_confirm_itself():
    both = make_replies(Ann="SDSDSD", Bob="SDSDSS")
    alone = [Reply(Question.pair(1, at), "SAME", annotator="Ann") for at in range(2, 60)]
    before, after = (Annotators(replies).annotators[0] for replies in (both, both + alone))
    np.testing.assert_allclose(after.tables["pair"], before.tables["pair"])


def test_two_who_never_agree_leave_it_open():
    people = Annotators(make_replies(Ann="SDSDS", Bob="DSDSD"))
    assert [v.probability for v in people.verdicts] == pytest.approx([0.5] * 5, abs=0.05)
    assert all(v.weight < 0.1 for v in people.verdicts)


def test_nobody():
    people = Annotators([])
    assert (people.annotators, people.verdicts) == ((), ())
    assert people.agreement().observed is None
    assert not people.supervision(5)
    assert people.describe().splitlines()[0].startswith("annotator")


def test_who_was_only_ever_unsure():
    people = Annotators(make_replies(Ann="UU", Bob="SD", Cem="SD"))
    ann = people.annotators[0]
    assert (ann.n_answers, ann.n_unsure, ann.accuracy, ann.reliability, dict(ann.tables)) == (
        0,
        2,
        None,
        None,
        {},
    )
    assert len(people.verdicts) == 2


def test_replies_without_a_name_are_one_annotators():
    with pytest.warns(UserWarning, match=r"\(no name\) answered no question"):
        people = Annotators([Reply(Question.pair(0, 1), "SAME"), Reply(Question.pair(0, 2), "SAME")])
    assert people.names == (None,)


def test_the_last_answer_of_an_annotator_counts():
    replies = [*make_replies(Ann="SD", Bob="SD"), Reply(Question.pair(1, 0), "DIFFERENT", annotator="Ann")]
    assert Annotators(replies).agreement().observed == 0.5


# ---------------------------------------------------------------------- questions


def test_triplets_are_judged_in_any_order_of_rows():
    replies = []
    for name in ("Ann", "Bob", "Cem"):
        for third in range(2, 8):
            replies.append(Reply(Question.triplet(third, 0, 1), "BC", annotator=name))  # 0 and 1 together
    people = Annotators(replies)
    assert {v.answer for v in people.verdicts} == {Answer.AB}
    chances = people.posterior(Question.triplet(1, 5, 0))
    assert max(chances, key=chances.get) is Answer.AC
    assert sum(chances.values()) == pytest.approx(1)
    hints = people.supervision(8)
    assert (len(hints.triplets), set(hints.answer_words)) == (6, {"AB"})
    best = people.verdicts[0]
    assert hints.triplet_weights[0] == pytest.approx((4 * best.probability - 1) / 3)


def test_trays_and_odd_ones_count_as_their_pairs():
    people = Annotators(
        [
            Reply(Question.piles([0, 1, 2, 3]), [[0, 1], [2]], annotator="Ann"),  # 3 is set aside
            Reply(Question.odd([0, 1, 2]), OddOne(2), annotator="Bob"),
            Reply(Question.odd([0, 1, 2, 3]), "NEITHER", annotator="Bob"),
            Reply(Question.odd([4, 5, 6]), "NEITHER", annotator="Bob"),
            Reply(Question.triplet(4, 5, 6), "NEITHER", annotator="Ann"),
        ]
    )
    assert [(v.question.rows, str(v.answer)) for v in people.verdicts] == [
        ((0, 1), "SAME"),
        ((0, 2), "DIFFERENT"),
        ((1, 2), "DIFFERENT"),
        ((4, 5, 6), "NEITHER"),
    ]
    assert people.annotators[1].n_unsure == 1  # NEITHER about four rows is not informative
    assert people.agreement().observed == people.agreement("triplet").observed == 1.0


def test_posteriors_of_questions_that_nobody_answered():
    people = Annotators(make_replies(Ann="S", Bob="S"))
    for question in (Question.pair(5, 6), Question.piles([0, 1])):
        with pytest.raises(SupervisionError, match="there is no answer"):
            people.posterior(question)


def test_weights_help_a_model_that_weighs_links():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 2)) + np.eye(3)[y][:, :2] * 1.5
    pairs = [Question.pair(*rng.choice(60, 2, replace=False).tolist()) for _ in range(250)]
    rates = {"Ann": 0.05, "Bob": 0.1, "Cem": 0.85}
    replies = [
        Reply(question, NoisyOracle(y, rate=rate, random_state=seed).answer(question), annotator=name)
        for seed, (name, rate) in enumerate(rates.items())
        for question in pairs
    ]
    people = Annotators(replies)
    hints = people.supervision(60)
    truth = {(i, j): y[i] == y[j] for i, j in (v.question.rows for v in people.verdicts)}
    right = [truth[v.question.rows] == (v.answer is Answer.SAME) for v in people.verdicts]
    assert np.mean(right) > 0.95
    assert (hints.must_weights > 0).all()
    assert (hints.must_weights <= 1).all()
    with pytest.warns(InconsistentSupervisionWarning, match="weighed against one another"):
        found = PCKMeans(n_clusters=3, random_state=0).fit(X, supervision=hints).labels_
    plain = PCKMeans(n_clusters=3, random_state=0).fit(X).labels_

    def score(labels):
        from sklearn.metrics import adjusted_rand_score

        return adjusted_rand_score(y, labels)

    assert score(found) > score(plain) + 0.2


def test_replies_of_interviews_are_taken():
    interview = Interview(np.eye(4), n_clusters=2, strategy=RandomPairs())
    for name in ("Ann", "Bob"):
        interview.tell(Question.pair(0, 1), "SAME", annotator=name)
    assert Annotators(interview.replies).agreement().observed == 1.0


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"accuracy": 1.0}, "accuracy must be a number between 0 and 1"),
        ({"accuracy": 0}, "accuracy must be"),
        ({"accuracy": "high"}, "accuracy must be"),
        ({"strength": 0}, "strength must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
    ],
)
def test_parameters_that_cannot_be(more, message):
    with pytest.raises(ValueError, match=message):
        Annotators([], **more)


def test_what_is_no_reply_or_kind():
    with pytest.raises(SupervisionError, match="must contain Reply objects"):
        Annotators([Question.pair(0, 1)])
    with pytest.raises(ValueError, match="kind must be one of"):
        Annotators([]).agreement("piles")


def test_em_that_is_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="still changed after 1 iterations"):
        Annotators(make_replies(Ann="SSDDSD", Bob="SSDDDD", Cem="SDDDSS"), max_iter=1, tol=0)


@pytest.mark.parametrize(
    ("question", "first", "second", "n_must", "n_cannot"),
    [
        (Question.pair(0, 1), "SAME", "UNSURE", 0, 0),
        (Question.piles([0, 1, 2]), [[0, 1], [2]], [[0, 2]], 1, 0),
        (Question.odd([0, 1, 2]), 2, "NEITHER", 0, 0),
    ],
)
def test_of_a_question_answered_twice_nothing_of_the_first_answer_stays(
    question, first, second, n_must, n_cannot
):
    replies = [Reply(question, answer, "Ann") for answer in (first, second)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hints = Annotators(replies).supervision(3)
    assert (len(hints.must), len(hints.cannot)) == (n_must, n_cannot)
