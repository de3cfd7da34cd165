"""Expected classes of linked rows and class weights, for each member of the family."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array

from likewise.exceptions import InfeasibleSupervisionError
from likewise.mixture._em import Relations, compute_closed_weights
from likewise.mixture._factors import FactorNetwork, compute_pair_prior, log_sum_exp, log_sum_exp_of_others
from likewise.mixture._most_probable import find_most_probable_labels, has_consistent_labels
from likewise.mixture._units import (
    Units,
    build_pair_network,
    component_network,
    has_weights,
    refuse_large_groups,
    refuse_weights,
)
from likewise.supervision import Supervision


def count_approximate(relations: Relations | None) -> int:
    """Return the number of groups of units that were not treated exactly."""
    network = getattr(relations, "network", None)
    return 0 if network is None else int(network.n_approximate)


RelationsKind = Literal["auto", "components", "pairs"]


def make_pairwise_relations(
    hints: Supervision, n_clusters: int, kind: RelationsKind, name: str
) -> Callable[[], Relations]:
    """Return a function that makes relations from the links, by must-link components or link by link.

    "auto" selects components for unweighted links for which a consistent labelling is found. Links of one
    kind only were selected by their answer, and get separate class weights.
    """
    if kind == "components":
        refuse_weights(hints, name, "Use relations='pairs'")
    is_certain = not has_weights(hints) and not len(hints.closure(on_conflict="drop").conflicts)
    has_must = len(hints.must) + len(hints.must_groups) > 0
    has_cannot = len(hints.cannot) + len(hints.cannot_groups) > 0
    relations = ComponentRelations if has_must and has_cannot else SelectedRelations
    if kind == "components" or (kind == "auto" and is_certain):
        try:
            refuse_large_groups(hints, n_clusters, name)
            network, large = component_network(Units.from_hints(hints), n_clusters)
        except InfeasibleSupervisionError:
            if kind == "components":
                raise
        else:
            if kind == "components" or has_consistent_labels(large, n_clusters):
                return lambda: relations(network, large)
    pairs = build_pair_network(hints)
    return lambda: NormalisedRelations(pairs)


def get_relations_kind(relations: Relations | None) -> str | None:
    """Return which relations were fitted; None without links."""
    if relations is None:
        return None
    return "pairs" if isinstance(relations, NormalisedRelations) else "components"


class NormalisedRelations:
    """Factors with normalised priors (Yu, Elhabian & Whitaker).

    The log-likelihood of the linked rows is the log normaliser of the factors with densities minus the log
    normaliser under the prior, which is ``log(1 - sum a^2)`` for a cannot-link.
    """

    def __init__(self, network: FactorNetwork) -> None:
        self.network, self.rows = network, network.rows

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, the class counts, and the log-likelihood."""
        mass, total = self.network.infer(self.network.members @ log_density + log_weights)
        _, prior = self.network.compute_prior(log_weights)
        return self.network.members.T @ mass, mass.sum(axis=0), total - prior

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return the weights that maximise the expected log-likelihood."""
        net = self.network
        if not net.groups:
            return compute_pair_weights(counts, log_weights, float(net.pair_weights.sum()))
        return compute_normalised_weights(counts, log_weights, n_free + net.n_free, net.compute_prior)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the most likely class of each row, averaged over its links."""
        mass, _, _ = self.expect(log_weights, log_density)
        return np.asarray(mass.argmax(axis=1))


def compute_pair_weights(counts: np.ndarray, log_weights: np.ndarray, pair_weight: float) -> np.ndarray:
    """Return log class weights from class counts that include two per cannot-link of total `pair_weight`."""
    if not pair_weight:
        return compute_closed_weights(counts)
    if len(counts) == 2:
        # 1 - a^2 - (1 - a)^2 = 2 a (1 - a): with two classes, a cannot-link carries no information about a.
        left = np.maximum(counts - pair_weight, 0.0)
        return compute_closed_weights(left) if left.any() else log_weights
    n_single = float(counts.sum()) - 2 * pair_weight
    return compute_normalised_weights(
        counts, log_weights, n_single, partial(compute_pair_prior, weight=pair_weight)
    )


def compute_normalised_weights(
    counts: np.ndarray,
    log_weights: np.ndarray,
    n_single: float,
    prior: Callable[[np.ndarray], tuple[np.ndarray, float]],
    max_iter: int = 100,
) -> np.ndarray:
    """Return the eta = log a that minimises ``- sum c_m eta_m + n log sum exp eta + log Z(eta)``.

    This is convex in eta. It is not convex in `a`, as the paper claims below eq. 19: log(1 - |a|^2) is
    concave. `prior` returns the gradient of log Z and its value.
    """

    def compute_energy(eta: np.ndarray) -> tuple[float, np.ndarray]:
        expected, log_z = prior(eta)
        norm = log_sum_exp(eta)
        value = -counts @ eta + n_single * norm + log_z
        return float(value) / scale, (n_single * np.exp(eta - norm) + expected - counts) / scale

    scale = float(counts.sum())
    found = minimize(
        compute_energy,
        log_weights,
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-9, "ftol": 1e-15, "maxiter": max_iter},
    )
    # If all rows are in cannot-links, the optimum may be at a vertex, where some eta is minus infinity.
    return compute_closed_weights(np.exp(found.x - found.x.max()))


class ComponentRelations:
    """Rows drawn independently, with links of both kinds that restrict the possible labellings.

    The likelihood is ``sum_z prod_i a[z_i] p(x_i | z_i)`` over the labellings z that satisfy every link. All
    rows, linked or not, count once towards the class weights, so these have a closed form. Must-link
    components are units. Groups of units that are too large to enumerate are treated by belief propagation,
    which is exact on trees.
    """

    def __init__(self, network: FactorNetwork, large: np.ndarray) -> None:
        self.network, self.rows, self.edges = network, network.rows, large
        self.large = LoopyGroups(large) if len(large) else None
        self._sizes = np.asarray(network.members.sum(axis=1)).reshape(-1, 1)

    def _log_unary(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the log prior and density of each unit in each class."""
        unary: np.ndarray = self.network.members @ log_density + self._sizes * log_weights
        return unary

    def _infer(self, log_weights: np.ndarray, log_density: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the probability of each class for each unit, and the log of the sum over labellings."""
        log_unary = self._log_unary(log_weights, log_density)
        mass, total = self.network.infer(log_unary)
        if self.large is not None:
            beliefs, log_z = self.large.infer(log_unary[self.large.units])
            mass[self.large.units] += beliefs
            total += log_z
        return mass, total

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, its sum over rows, and the bound."""
        mass, total = self._infer(log_weights, log_density)
        of_rows = self.network.members.T @ mass
        return of_rows, of_rows.sum(axis=0), total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return compute_closed_weights(counts)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the class of each row in the most probable labelling of its group."""
        log_unary = self._log_unary(log_weights, log_density)
        units = find_most_probable_labels(self.network, self.edges, log_unary)
        return units[self.network.members.T.tocsr().indices]  # every row is in one unit


class SelectedRelations(ComponentRelations):
    """Links of one kind, selected by their answer: linked and unlinked rows have separate class weights.

    Pairs that were selected because both rows are in one class come from large classes too often, and rows
    in no such pair from small classes. So linked units have class weights b, one factor per unit, and
    unlinked rows have class weights f. The objective is ``log sum_z prod_u b[z_u] prod_i p(x_i | z_u)`` over
    the labellings that satisfy every link, plus ``sum log sum_m f_m p_m(x)`` over unlinked rows, plus
    ``sum_m log b_m f_m``, which keeps every class possible if there are few units. The class weights of the
    mixture are the mean class probabilities over all rows.
    """

    def __init__(self, network: FactorNetwork, large: np.ndarray) -> None:
        super().__init__(network, large)
        self._sizes = np.ones_like(self._sizes)
        self._log_linked: np.ndarray | None = None
        self.log_free: np.ndarray | None = None  # log f; None before the first M-step

    def _log_unary(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        linked = log_weights if self._log_linked is None else self._log_linked
        return super()._log_unary(linked, log_density)

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, its sum over rows, and the bound with its penalty."""
        mass, total = self._infer(log_weights, log_density)
        of_rows = self.network.members.T @ mass
        self._unit_counts, self._row_counts = mass.sum(axis=0), of_rows.sum(axis=0)
        for own in (self._log_linked, self.log_free):
            total += float((log_weights if own is None else own).sum())
        return of_rows, self._row_counts, total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Update the weights of linked units and of unlinked rows; return the weights of all rows."""
        self._log_linked = compute_closed_weights(self._unit_counts + 1.0)
        self.log_free = compute_closed_weights(np.maximum(counts - self._row_counts, 0.0) + 1.0)
        return compute_closed_weights(counts)


class EquivalenceRelations(ComponentRelations):
    """Chunklets drawn as a whole, and a Markov network of cannot-links (Shental et al. 2004).

    A chunklet of any size has one prior factor. The normaliser of the network is the sum over labellings
    without densities; if it is omitted, the class weights have a closed form.
    """

    # Iterations of an M-step with large groups. A partial M-step suffices, and each evaluation of the
    # normaliser costs several sweeps of messages.
    _STEPS = 3

    def __init__(self, network: FactorNetwork, large: np.ndarray, *, normalize: bool) -> None:
        super().__init__(network, large)
        self._sizes = np.ones_like(self._sizes)
        self.normalize = normalize
        self._large_prior = LoopyGroups(large) if len(large) and normalize else None

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, the class counts, and the bound."""
        mass, total = self._infer(log_weights, log_density)
        if self.normalize:
            total -= self.compute_prior(log_weights)[1]
        return self.network.members.T @ mass, mass.sum(axis=0), total

    def compute_prior(self, log_weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected class counts and the log normaliser of the network under the prior."""
        counts, total = self.network.compute_prior(log_weights)
        if self._large_prior is not None:
            shape = (len(self._large_prior.units), len(log_weights))
            beliefs, log_z = self._large_prior.infer(np.broadcast_to(log_weights, shape))
            counts, total = counts + beliefs.sum(axis=0), total + log_z
        return counts, total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return the weights that maximise the expected log-likelihood, with or without the normaliser."""
        if not self.normalize:
            return compute_closed_weights(counts)
        if self._large_prior is not None:
            n_single = n_free + self.network.n_free
            return compute_normalised_weights(counts, log_weights, n_single, self.compute_prior, self._STEPS)
        return NormalisedRelations(self.network).update_weights(counts, log_weights, n_free)


class LoopyGroups:
    """Belief propagation over cannot-links. A message to a class is the log sum over the other classes.

    Messages are kept between calls as a warm start.
    """

    # Messages are averaged with their previous values; without damping they oscillate on cycles.
    _DAMPING, _SWEEPS, _TOL = 0.3, 50, 1e-6

    def __init__(self, edges: np.ndarray) -> None:
        self.units, ends = np.unique(edges, return_inverse=True)
        ends = ends.reshape(-1, 2)
        # Each edge occurs twice: message e goes from source to target, and its reverse is e ± E.
        self.source = np.concatenate([ends[:, 0], ends[:, 1]])
        self.target = np.concatenate([ends[:, 1], ends[:, 0]])
        n_edges = len(self.source)
        self.reverse = (np.arange(n_edges) + n_edges // 2) % n_edges
        ones = np.ones(n_edges)
        self.incoming = csr_array(
            coo_array((ones, (self.target, np.arange(n_edges))), shape=(len(self.units), n_edges))
        )
        self._messages: np.ndarray | None = None

    def infer(self, log_unary: np.ndarray) -> tuple[np.ndarray, float]:
        """Return beliefs (n_units, K) and Bethe's approximation of the log normaliser."""
        n_classes = log_unary.shape[1]
        if self._messages is None or self._messages.shape[1] != n_classes:
            self._messages = np.full((len(self.source), n_classes), -np.log(n_classes))
        messages = self._messages
        for _ in range(self._SWEEPS):
            new = log_sum_exp_of_others(self._compute_cavities(log_unary, messages))
            new -= log_sum_exp(new)[:, None]
            new = np.logaddexp(np.log1p(-self._DAMPING) + new, np.log(self._DAMPING) + messages)
            moved = np.abs(np.exp(new) - np.exp(messages)).max()
            messages = new
            if moved < self._TOL:
                break
        self._messages = messages
        belief = log_unary + self.incoming @ messages
        log_z = log_sum_exp(belief)
        # Bethe free energy: nodes plus edges, minus the node-edge terms (two per edge).
        cavities = self._compute_cavities(log_unary, messages)
        half = len(cavities) // 2
        edge = log_sum_exp(cavities[:half] + log_sum_exp_of_others(cavities[half:]))
        joint = log_sum_exp(cavities[self.reverse] + messages)
        return np.exp(belief - log_z[:, None]), float(log_z.sum() + edge.sum() - joint.sum())

    def _compute_cavities(self, log_unary: np.ndarray, messages: np.ndarray) -> np.ndarray:
        """Return the belief of each source without the message that comes back along the edge."""
        belief = log_unary + self.incoming @ messages
        cavity = belief[self.source] - messages[self.reverse]
        return cavity - log_sum_exp(cavity)[:, None]


class ProjectedRelations:
    """Posteriors projected onto the constraints (Graça, Ganchev & Taskar 2007).

    Minimises KL(q || p), where p are the posteriors without links, subject to q_i = q_j for must-links and
    ``q_i(m) + q_j(m) <= 1`` for cannot-links and every class m. Must-links make q of a component the
    geometric mean of the posteriors of its rows. At most one class of a cannot-link can violate its
    constraint, and its multiplier has a closed form: with q' the posteriors without this link,
    ``lambda = (logit q'_A + logit q'_B) / (1/|A| + 1/|B|)`` if positive. Links are visited in turn until no
    multiplier changes: coordinate ascent on a concave dual. Multipliers are kept between calls, so a
    projection that stops early is continued in the next call.
    """

    _TOL = 1e-8
    _SWEEPS, _VISITS = 200, 1_000_000  # maximum number of sweeps, and of link updates in all sweeps

    def __init__(self, units: Units, caps: np.ndarray) -> None:
        self.units, self.rows = units, units.rows
        self.share = 1.0 / units.sizes
        self.caps = caps  # the largest multiplier of each link
        self._multiplier = np.zeros(len(units.edges))
        self._class = np.zeros(len(units.edges), dtype=np.int64)

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return q of the linked rows, its sum, and the sum of ``log p(x) - KL(q || p)`` minus penalties."""
        logits = log_density + log_weights
        norm = log_sum_exp(logits)
        logits = logits - norm[:, None]
        q = self.project(self.share[:, None] * (self.units.members @ logits))
        rows_q = self.units.members.T @ q
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(rows_q > 0, rows_q * (np.log(rows_q) - logits), 0.0)
        return rows_q, rows_q.sum(axis=0), float(norm.sum() - divergence.sum()) - self._compute_cost(q)

    def project(self, logits: np.ndarray) -> np.ndarray:
        """Return the projected posteriors of the units, given the mean logits of their rows."""
        from likewise.kernels.projection import hold_apart

        edges = self.units.edges
        tilted = np.ascontiguousarray(logits)
        for place in (0, 1):
            ends = edges[:, place]
            np.subtract.at(tilted, (ends, self._class), self._multiplier * self.share[ends])
        if len(edges):
            sweeps = max(min(self._SWEEPS, self._VISITS // len(edges)), 10)
            state = self._multiplier, self._class, tilted
            hold_apart(edges, self.share, self.caps, sweeps, self._TOL, *state)
        q: np.ndarray = np.exp(tilted - log_sum_exp(tilted)[:, None])
        return q

    def _compute_cost(self, q: np.ndarray) -> float:
        """Return the penalty of violated links; 0 if the constraints are hard."""
        soft = np.isfinite(self.caps)
        first, second = self.units.edges[soft].T
        broken = (q[first] + q[second] - 1.0).max(axis=1, initial=0.0)
        return float(self.caps[soft] @ broken)

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return compute_closed_weights(counts)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the most likely class of each projected posterior."""
        mass, _, _ = self.expect(log_weights, log_density)
        return np.asarray(mass.argmax(axis=1))
