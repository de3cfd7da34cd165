"""scikit-learn's own checks on the variants that the walk through the package does not meet."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise.metric import MMC, RCA, RelativeSVM, SparseLP


@parametrize_with_checks([MMC(diagonal=True), RCA(2), RelativeSVM(kernel="rbf"), SparseLP(diagonal=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
