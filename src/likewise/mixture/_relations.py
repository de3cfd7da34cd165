"""How each member of the family turns links into expected classes and class weights."""

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
    """Return how many groups of units were not treated exactly, of relations that are a network."""
    network = getattr(relations, "network", None)
    return 0 if network is None else int(network.n_approximate)


RelationsKind = Literal["auto", "components", "pairs"]


def make_pairwise_relations(
    hints: Supervision, n_clusters: int, kind: RelationsKind, name: str
) -> Callable[[], Relations]:
    """Return what makes relations of the links: must-link components, or every link by itself.

    "auto" selects components for unweighted links for which a consistent labelling is found. Links of one
    kind only were selected by their answer, and get class weights of their own.
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
    """Return which relations were fitted, None where there are none."""
    if relations is None:
        return None
    return "pairs" if isinstance(relations, NormalisedRelations) else "components"


class NormalisedRelations:
    """Factors with priors that are normalised: Yu, Elhabian & Whitaker's model.

    The log-likelihood of the linked rows is the log normaliser of the factors with densities less that of
    the factors without, ``log(1 - sum a^2)`` for a cannot-link.
    """

    def __init__(self, network: FactorNetwork) -> None:
        self.network, self.rows = network, network.rows

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return each row's mass in each class, the counts of class variables, and the log-likelihood."""
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
        """Return the likeliest class of each row, on average over its links."""
        mass, _, _ = self.expect(log_weights, log_density)
        return np.asarray(mass.argmax(axis=1))


def compute_pair_weights(counts: np.ndarray, log_weights: np.ndarray, pair_weight: float) -> np.ndarray:
    """Return class weights from counts of which two are of each cannot-link, these of so much weight."""
    if not pair_weight:
        return compute_closed_weights(counts)
    if len(counts) == 2:
        # 1 - a^2 - (1 - a)^2 = 2 a (1 - a): a cannot-link of two classes says nothing about a.
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
    """Minimise ``- sum c_m eta_m + n log sum exp eta + log Z(eta)``, convex in eta = log a.

    In `a` itself it is not convex (the paper says so below eq. 19): log(1 - |a|^2) is concave. `prior`
    returns the gradient of log Z and its value.
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
    # Where all rows are in cannot-links the optimum may lie at a vertex, eta at minus infinity.
    return compute_closed_weights(np.exp(found.x - found.x.max()))


class ComponentRelations:
    """Rows drawn independently, and links of both kinds that restrict the possible labellings.

    The likelihood is ``sum_z prod_i a[z_i] p(x_i | z_i)`` over the labellings z that keep every link. Every
    row counts once towards the class weights, in links or not, so these have a closed form. Must-link
    components are units. Groups of them too large to enumerate are treated by belief propagation, exact
    on trees.
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
        """Return the probability of each class of each unit, and the log of the sum over labellings."""
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
        """Return each row's mass in each class, its sum over rows, and the bound."""
        mass, total = self._infer(log_weights, log_density)
        of_rows = self.network.members.T @ mass
        return of_rows, of_rows.sum(axis=0), total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return compute_closed_weights(counts)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return each row's class in the most probable labelling of its group."""
        log_unary = self._log_unary(log_weights, log_density)
        units = find_most_probable_labels(self.network, self.edges, log_unary)
        return units[self.network.members.T.tocsr().indices]  # every row is in one unit


class SelectedRelations(ComponentRelations):
    """Links of one kind, which were selected by their answer: linked and free rows differ in class weights.

    Pairs that were drawn because their rows are in one class come from large classes too often, and rows in
    no such pair from small ones. So units in links have class weights b, a factor for each unit, and free
    rows have weights f. The objective is ``log sum_z prod_u b[z_u] prod_i p(x_i | z_u)`` over the labellings
    that keep every link, plus ``sum log sum_m f_m p_m(x)`` over free rows, plus ``sum_m log b_m f_m``, which
    keeps a class possible where few units are seen. The class weights of the mixture are the mean of the
    expected classes of all rows.
    """

    def __init__(self, network: FactorNetwork, large: np.ndarray) -> None:
        super().__init__(network, large)
        self._sizes = np.ones_like(self._sizes)
        self._log_linked: np.ndarray | None = None
        self.log_free: np.ndarray | None = None  # log f; those of the mixture before the first M-step

    def _log_unary(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        linked = log_weights if self._log_linked is None else self._log_linked
        return super()._log_unary(linked, log_density)

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return each row's mass in each class, its sum over rows, and the bound with its penalty."""
        mass, total = self._infer(log_weights, log_density)
        of_rows = self.network.members.T @ mass
        self._unit_counts, self._row_counts = mass.sum(axis=0), of_rows.sum(axis=0)
        for own in (self._log_linked, self.log_free):
            total += float((log_weights if own is None else own).sum())
        return of_rows, self._row_counts, total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Update the weights of linked units and of free rows; return those of all rows."""
        self._log_linked = compute_closed_weights(self._unit_counts + 1.0)
        self.log_free = compute_closed_weights(np.maximum(counts - self._row_counts, 0.0) + 1.0)
        return compute_closed_weights(counts)


class EquivalenceRelations(ComponentRelations):
    """Chunklets drawn as wholes, and a Markov network of cannot-links: Shental et al. 2004.

    A chunklet has one prior factor whatever its size. The normaliser of the network is the sum over
    labellings without densities; without it the class weights have a closed form.
    """

    # The M-step need not be solved to the end where every value of the normaliser costs sweeps of messages.
    _STEPS = 3

    def __init__(self, network: FactorNetwork, large: np.ndarray, *, normalize: bool) -> None:
        super().__init__(network, large)
        self._sizes = np.ones_like(self._sizes)
        self.normalize = normalize
        self._large_prior = LoopyGroups(large) if len(large) and normalize else None

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return each row's mass in each class, the counts of class variables, and the bound."""
        mass, total = self._infer(log_weights, log_density)
        if self.normalize:
            total -= self.compute_prior(log_weights)[1]
        return self.network.members.T @ mass, mass.sum(axis=0), total

    def compute_prior(self, log_weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected counts and the log normaliser of the network without densities."""
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
    """Belief propagation over cannot-links: a message says "not what I am", log sum of the other classes.

    Messages are kept between calls, so that later ones start where earlier ones ended.
    """

    # A message is a mean of the new and the old one; without damping even cycles swing.
    _DAMPING, _SWEEPS, _TOL = 0.3, 50, 1e-6

    def __init__(self, edges: np.ndarray) -> None:
        self.units, ends = np.unique(edges, return_inverse=True)
        ends = ends.reshape(-1, 2)
        # Each edge twice: message e goes from source to target, and its reverse is e ± E.
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
        # Bethe: nodes, plus edges, less what joins a node to an edge (twice for each edge).
        cavities = self._compute_cavities(log_unary, messages)
        half = len(cavities) // 2
        edge = log_sum_exp(cavities[:half] + log_sum_exp_of_others(cavities[half:]))
        joint = log_sum_exp(cavities[self.reverse] + messages)
        return np.exp(belief - log_z[:, None]), float(log_z.sum() + edge.sum() - joint.sum())

    def _compute_cavities(self, log_unary: np.ndarray, messages: np.ndarray) -> np.ndarray:
        """Return what each source believes without the message that comes back along the edge."""
        belief = log_unary + self.incoming @ messages
        cavity = belief[self.source] - messages[self.reverse]
        return cavity - log_sum_exp(cavity)[:, None]


class ProjectedRelations:
    """Posteriors projected onto what the links say of their means: Graça, Ganchev & Taskar 2007.

    Minimises the Kullback-Leibler divergence from the rows' own posteriors to q subject to q_i = q_j for
    must-links and ``q_i(m) + q_j(m) <= 1`` for cannot-links and every class m. The first makes q of a
    must-link component the geometric mean of its rows' posteriors. Of the second, at most one class of a
    cannot-link can be too full, and its multiplier has a closed form: with q' the posteriors less this link,
    ``lambda = (logit q'_A + logit q'_B) / (1/|A| + 1/|B|)`` if positive. Links are visited in turn until
    nothing moves: coordinate ascent on a concave dual. Multipliers are kept between calls, so that what many
    links leave undone in one call is done in the next ones.
    """

    _TOL = 1e-8
    _SWEEPS, _VISITS = 200, 1_000_000  # the most sweeps, and the most visits to links in all of them

    def __init__(self, units: Units, caps: np.ndarray) -> None:
        self.units, self.rows = units, units.rows
        self.share = 1.0 / units.sizes
        self.caps = caps  # the largest multiplier of each link
        self._multiplier = np.zeros(len(units.edges))
        self._class = np.zeros(len(units.edges), dtype=np.int64)

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return q of the linked rows, its sum, and their ``log p(x) - KL(q || p)`` less penalties."""
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
        """Return what the penalty asks for links that do not hold; 0 where they have to."""
        soft = np.isfinite(self.caps)
        first, second = self.units.edges[soft].T
        broken = (q[first] + q[second] - 1.0).max(axis=1, initial=0.0)
        return float(self.caps[soft] @ broken)

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return compute_closed_weights(counts)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the likeliest class of each projected posterior."""
        mass, _, _ = self.expect(log_weights, log_density)
        return np.asarray(mass.argmax(axis=1))
