"""Every estimator of the package, found by walking it, goes through scikit-learn's checks and ours."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise.testing import all_hinted_estimators, check_hinted_estimator, hinted_estimator_checks

ESTIMATORS = all_hinted_estimators()


def test_the_walk_finds_the_family():
    assert [cls.__name__ for cls in ESTIMATORS] == [
        "COPKMeans",
        "ConstrainedKMeans",
        "MKMeans",
        "MPCKMeans",
        "PCKMeans",
        "SeededKMeans",
    ]


# Expected failures, with the reason. scikit-learn expects the same of its own KMeans.
DRAWS = "the k-means++ draws depend on how many rows there are, not only on their weights"
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": DRAWS}


@parametrize_with_checks(
    [cls(n_clusters=3, n_init=2) for cls in ESTIMATORS], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("check", list(hinted_estimator_checks()), ids=lambda check: check.__name__)
def test_our_checks(cls, check):
    check(cls())


def test_a_check_that_fails_is_noticed():
    class Deaf(ESTIMATORS[0]):
        def _check_supervision(self, supervision, n_samples):
            return super()._check_supervision(None, n_samples)

    with pytest.raises(AssertionError, match="accepted what it should refuse"):
        check_hinted_estimator(Deaf())
