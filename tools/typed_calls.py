"""Calls that a type checker must accept, and calls that it must reject. `make lint` runs mypy on this file.

Each of the latter has a ``type: ignore`` comment; mypy reports the comment as unused if the call is accepted.
"""

from __future__ import annotations

import numpy as np

from likewise import PCKMeans, Supervision
from likewise.mixture import PairwiseGaussianMixture

X = np.zeros((4, 2))
hints = Supervision.from_links(4, must=[(0, 1)])

fitted: PCKMeans = PCKMeans(2, random_state=np.random.default_rng(0)).fit(X, supervision=hints)
labels: np.ndarray = PairwiseGaussianMixture(2, random_state=0).fit_predict(X, supervision=hints)

PCKMeans(2).fit(X, supervison=hints)  # type: ignore[call-arg]
PCKMeans(2).fit_predict(X, supervison=hints)  # type: ignore[call-arg]
PCKMeans(2).fit(X, supervision=[(0, 1)])  # type: ignore[arg-type]
PCKMeans(2, random_state="zero")  # type: ignore[arg-type]
print(fitted.lables_)  # type: ignore[attr-defined]
