"""Every estimator of the package, found by walking it, goes through scikit-learn's checks and ours."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from every_estimator import find_hinted_estimators
from likewise.testing import check_hinted_estimator, hinted_estimator_checks

# There are few hints; whether they suffice for a metric is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.ThinSupervisionWarning")
ESTIMATORS = find_hinted_estimators()


def test_all_estimators_are_found():
    assert [cls.__name__ for cls in ESTIMATORS] == [
        "BagSpectralClustering",
        "BayesianClustering",
        "COPKMeans",
        "ConstrainedKMeans",
        "ConstrainedKernelKMeans",
        "DiscriminativeClustering",
        "EquivalenceGaussianMixture",
        "FlexibleSpectralClustering",
        "ITML",
        "LSML",
        "MKMeans",
        "MMC",
        "MPCKMeans",
        "MiniBatchDiscriminativeClustering",
        "MiniBatchMPCKMeans",
        "MiniBatchPCKMeans",
        "MiniBatchPairwiseGaussianMixture",
        "PCKMeans",
        "PairwiseGaussianMixture",
        "PosteriorConstrainedGaussianMixture",
        "PropagationClustering",
        "RCA",
        "RegularizedSpectralClustering",
        "RelativeSVM",
        "SSSVaD",
        "SeededKMeans",
        "SparseLP",
        "SpectralLearning",
    ]


# Expected failures, with the reason. scikit-learn expects the same of its own KMeans.
DRAWS = "the k-means++ draws depend on how many rows there are, not only on their weights"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": DRAWS for kind in ("dense", "sparse")}


def small(cls):
    """Return an estimator with three clusters, two starts and few particles, if it has these parameters."""
    known, wanted = cls().get_params(deep=False), {"n_clusters": 3, "n_init": 2, "n_particles": 8}
    return cls(**{name: value for name, value in wanted.items() if name in known})


def takes_weights(estimator):
    return has_fit_parameter(estimator, "sample_weight")


# One estimator of each family passes all checks. The others share its base class, which validates rows and
# parameters; only these checks can give another result.
FIRST = {
    "BayesianClustering",
    "DiscriminativeClustering",
    "FlexibleSpectralClustering",
    "ITML",
    "PCKMeans",
    "PairwiseGaussianMixture",
    "PropagationClustering",
    "SSSVaD",
}
OF_OTHERS = {
    "check_estimators_partial_fit_n_features",
    "check_estimators_pickle",
    # the constructor
    "check_estimators_overwrite_params",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    # a fit
    "check_clustering",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_fit_idempotent",
    "check_n_features_in",
    "check_non_transformer_estimators_n_iter",
    "check_readonly_memmap_input",
    "check_transformer_n_iter",
    # bad input
    "check_all_zero_sample_weights_error",
    "check_complex_data",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_nan_inf",
    "check_fit1d",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_sample_weights_shape",
}


# The checks of sparse rows assume that only classifiers have `predict_proba`.
OF_SPARSE_PROBABILITIES = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), "a clusterer with predict_proba"
)


def find_expected_failures(estimator):
    if takes_weights(estimator):
        return EXPECTED
    return OF_SPARSE_PROBABILITIES if type(estimator).__name__ == "PropagationClustering" else {}


def with_checks(classes, names=None):
    """Return a decorator that runs scikit-learn's checks, or only those of these names."""
    decorator = parametrize_with_checks(
        [small(cls) for cls in classes],
        expected_failed_checks=find_expected_failures,
    )
    if names is None:
        return decorator
    arguments, cases = decorator.mark.args
    cases = [case for case in cases if getattr(case, "values", case)[1].func.__name__ in names]
    return pytest.mark.parametrize(arguments, cases, **decorator.mark.kwargs)


@with_checks([cls for cls in ESTIMATORS if cls.__name__ in FIRST])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@with_checks([cls for cls in ESTIMATORS if cls.__name__ not in FIRST], OF_OTHERS)
def test_scikit_learn_checks_of_other_members(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("check", list(hinted_estimator_checks()), ids=lambda check: check.__name__)
def test_our_checks(cls, check):
    check(small(cls))


def test_a_check_that_fails_is_noticed():
    class Deaf(ESTIMATORS[0]):
        def _check_supervision(self, supervision, n_samples, y=None, *, given):
            return super()._check_supervision(None, n_samples, given=given)

    with pytest.raises(AssertionError, match="accepted what it should refuse"):
        check_hinted_estimator(Deaf())
