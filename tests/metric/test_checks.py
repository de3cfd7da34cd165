"""scikit-learn's checks for variants with non-default parameters; others are found by walking the package."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise.metric import MMC, RCA, RelativeSVM, SparseLP


@parametrize_with_checks([MMC(diagonal=True), RCA(2), RelativeSVM(kernel="rbf"), SparseLP(diagonal=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
