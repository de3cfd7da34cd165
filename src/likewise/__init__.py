"""likewise: clustering and classification from partial supervision.

>>> import likewise
>>> hints = likewise.Supervision.from_links(4, must=[(0, 1)], cannot=[(1, 2)])
>>> hints.relation(0, 2).kind
'cannot'

Names are imported when they are first used, so ``import likewise`` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from likewise._parts import register_part

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from likewise.active import Interview
    from likewise.bayesian import BayesianClustering
    from likewise.discriminative import DiscriminativeClustering, MiniBatchDiscriminativeClustering
    from likewise.evaluation import HintSearchCV
    from likewise.hierarchy import LabelHierarchy
    from likewise.kmeans import (
        ConstrainedKMeans,
        COPKMeans,
        MiniBatchMPCKMeans,
        MiniBatchPCKMeans,
        MKMeans,
        MPCKMeans,
        PCKMeans,
        SeededKMeans,
    )
    from likewise.mixture import (
        EquivalenceGaussianMixture,
        MiniBatchPairwiseGaussianMixture,
        PairwiseGaussianMixture,
        PosteriorConstrainedGaussianMixture,
    )
    from likewise.multilabel import LatentHierarchyClassifier
    from likewise.spectral import (
        BagSpectralClustering,
        ConstrainedKernelKMeans,
        FlexibleSpectralClustering,
        PropagationClustering,
        RegularizedSpectralClustering,
        SpectralLearning,
    )
    from likewise.supervision import Supervision

_MODULE_OF = {
    "BagSpectralClustering": "spectral",
    "BayesianClustering": "bayesian",
    "COPKMeans": "kmeans",
    "ConstrainedKMeans": "kmeans",
    "ConstrainedKernelKMeans": "spectral",
    "DiscriminativeClustering": "discriminative",
    "EquivalenceGaussianMixture": "mixture",
    "FlexibleSpectralClustering": "spectral",
    "HintSearchCV": "evaluation",
    "Interview": "active",
    "LabelHierarchy": "hierarchy",
    "LatentHierarchyClassifier": "multilabel",
    "MKMeans": "kmeans",
    "MPCKMeans": "kmeans",
    "MiniBatchDiscriminativeClustering": "discriminative",
    "MiniBatchMPCKMeans": "kmeans",
    "MiniBatchPCKMeans": "kmeans",
    "MiniBatchPairwiseGaussianMixture": "mixture",
    "PCKMeans": "kmeans",
    "PairwiseGaussianMixture": "mixture",
    "PosteriorConstrainedGaussianMixture": "mixture",
    "PropagationClustering": "spectral",
    "RegularizedSpectralClustering": "spectral",
    "SeededKMeans": "kmeans",
    "SpectralLearning": "spectral",
    "Supervision": "supervision",
}
_SUBPACKAGES = (
    "active",
    "bayesian",
    "datasets",
    "discriminative",
    "distributed",
    "evaluation",
    "exceptions",
    "features",
    "hierarchy",
    "kmeans",
    "metric",
    "mixture",
    "multilabel",
    "oracles",
    "plotting",
    "spectral",
    "supervision",
    "testing",
)

__all__ = [
    "BagSpectralClustering",
    "BayesianClustering",
    "COPKMeans",
    "ConstrainedKMeans",
    "ConstrainedKernelKMeans",
    "DiscriminativeClustering",
    "EquivalenceGaussianMixture",
    "FlexibleSpectralClustering",
    "HintSearchCV",
    "Interview",
    "LabelHierarchy",
    "LatentHierarchyClassifier",
    "MKMeans",
    "MPCKMeans",
    "MiniBatchDiscriminativeClustering",
    "MiniBatchMPCKMeans",
    "MiniBatchPCKMeans",
    "MiniBatchPairwiseGaussianMixture",
    "PCKMeans",
    "PairwiseGaussianMixture",
    "PosteriorConstrainedGaussianMixture",
    "PropagationClustering",
    "RegularizedSpectralClustering",
    "SeededKMeans",
    "SpectralLearning",
    "Supervision",
]

register_part("default model", "likewise.spectral", "PropagationClustering")
register_part("model with draws", "likewise.bayesian", "BayesianClustering")
register_part("oracle by classes", "likewise.oracles", "LabelOracle")
register_part("plot of curves", "likewise.plotting", "CurveDisplay")


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"likewise.{_MODULE_OF[name]}"), name)
    if name in _SUBPACKAGES:
        return importlib.import_module(f"likewise.{name}")
    raise AttributeError(f"module 'likewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_SUBPACKAGES])
