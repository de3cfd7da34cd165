"""How each member of the family turns links into expected classes and class weights."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array

from likewise.mixture._em import closed_weights
from likewise.mixture._links import Units
from likewise.mixture._network import Network, lse, lse_of_others


class NormalisedRelations:
    """Factors with priors that are normalised: Yu, Elhabian & Whitaker's model.

    The log-likelihood of the linked rows is the log normaliser of the factors with densities less that of
    the factors without, ``log(1 - sum a^2)`` for a cannot-link.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.rows = network, network.rows

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return each row's mass in each class, the counts of class variables, and the log-likelihood."""
        mass, total = self.network.infer(self.network.members @ log_density + log_weights)
        _, prior = self.network.prior(log_weights)
        return self.network.members.T @ mass, mass.sum(axis=0), total - prior

    def weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Minimise ``- sum c_m eta_m + n log sum exp eta + log Z(eta)``, convex in eta = log a.

        In `a` itself it is not convex (the paper says so below eq. 19): log(1 - |a|^2) is concave.
        """
        net = self.network
        n_single = n_free + net.n_free
        if not len(net.pairs) and not net.groups:
            return closed_weights(counts)
        if len(counts) == 2 and not net.groups:
            # 1 - a^2 - (1 - a)^2 = 2 a (1 - a): a cannot-link of two classes says nothing about a.
            left = np.maximum(counts - net.pair_weights.sum(), 0.0)
            return closed_weights(left) if left.any() else log_weights

        def energy(eta: np.ndarray) -> tuple[float, np.ndarray]:
            expected, log_z = net.prior(eta)
            norm = lse(eta)
            value = -counts @ eta + n_single * norm + log_z
            return float(value) / scale, (n_single * np.exp(eta - norm) + expected - counts) / scale

        scale = float(counts.sum())
        found = minimize(
            energy, log_weights, jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "maxiter": 100}
        )
        # Where all rows are in cannot-links the optimum may lie at a vertex, eta at minus infinity.
        return closed_weights(np.exp(found.x - found.x.max()))


class EquivalenceRelations:
    """Chunklets and a Markov network of cannot-links, unnormalised: Shental et al. 2004.

    The class weights are updated in closed form, which leaves aside that the normaliser of the network
    depends on them. Groups too large to enumerate are treated by belief propagation, exact on trees.
    """

    def __init__(self, network: Network, large: np.ndarray) -> None:
        self.network, self.rows = network, network.rows
        self.large = LoopyGroups(large) if len(large) else None

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return each row's mass in each class, the counts of class variables, and the bound."""
        log_unary = self.network.members @ log_density + log_weights
        mass, total = self.network.infer(log_unary)
        if self.large is not None:
            beliefs, log_z = self.large.infer(log_unary[self.large.units])
            mass[self.large.units] += beliefs
            total += log_z
        return self.network.members.T @ mass, mass.sum(axis=0), total

    def weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return closed_weights(counts)


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
            new = lse_of_others(self._cavities(log_unary, messages))
            new -= lse(new)[:, None]
            new = np.logaddexp(np.log1p(-self._DAMPING) + new, np.log(self._DAMPING) + messages)
            moved = np.abs(np.exp(new) - np.exp(messages)).max()
            messages = new
            if moved < self._TOL:
                break
        self._messages = messages
        belief = log_unary + self.incoming @ messages
        log_z = lse(belief)
        # Bethe: nodes, plus edges, less what joins a node to an edge (twice for each edge).
        cavities = self._cavities(log_unary, messages)
        half = len(cavities) // 2
        edge = lse(cavities[:half] + lse_of_others(cavities[half:]))
        joint = lse(cavities[self.reverse] + messages)
        return np.exp(belief - log_z[:, None]), float(log_z.sum() + edge.sum() - joint.sum())

    def _cavities(self, log_unary: np.ndarray, messages: np.ndarray) -> np.ndarray:
        """Return what each source believes without the message that comes back along the edge."""
        belief = log_unary + self.incoming @ messages
        cavity = belief[self.source] - messages[self.reverse]
        return cavity - lse(cavity)[:, None]


class ProjectedRelations:
    """Posteriors projected onto what the links say of their means: Graça, Ganchev & Taskar 2007.

    Minimises the Kullback-Leibler divergence from the rows' own posteriors to q subject to q_i = q_j for
    must-links and ``q_i(m) + q_j(m) <= 1`` for cannot-links and every class m. The first makes q of a
    must-link component the geometric mean of its rows' posteriors. Of the second, at most one class of a
    cannot-link can be too full, and its multiplier has a closed form: with q' the posteriors less this link,
    ``lambda = (logit q'_A + logit q'_B) / (1/|A| + 1/|B|)`` if positive. Links are visited in turn, those
    that share no unit at once, until nothing moves: coordinate ascent on a concave dual.
    """

    _SWEEPS, _TOL = 50, 1e-8

    def __init__(self, units: Units, caps: np.ndarray) -> None:
        self.units, self.rows = units, units.rows
        self.share = 1.0 / units.sizes
        self.caps = caps  # the largest multiplier of each link
        self.colours = _edge_colours(units.edges)
        self._multiplier = np.zeros(len(units.edges))
        self._class = np.zeros(len(units.edges), dtype=np.int64)

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return q for each row, its sum, and ``log p(x) - KL(q || p)`` of the linked rows."""
        logits = log_density + log_weights
        norm = lse(logits)
        logits = logits - norm[:, None]
        q = self.project(self.share[:, None] * (self.units.members @ logits))
        rows_q = self.units.members.T @ q
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(rows_q > 0, rows_q * (np.log(rows_q) - logits), 0.0)
        return rows_q, rows_q.sum(axis=0), float(norm.sum() - divergence.sum())

    def project(self, logits: np.ndarray) -> np.ndarray:
        """Return the projected posteriors of the units, given the mean logits of their rows."""
        n_classes = logits.shape[1]
        edges, multiplier, klass = self.units.edges, self._multiplier, self._class
        klass = np.minimum(klass, n_classes - 1)
        tilted = logits.copy()
        for place in (0, 1):
            np.subtract.at(tilted, (edges[:, place], klass), multiplier * self.share[edges[:, place]])
        for _ in range(self._SWEEPS):
            moved = 0.0
            for colour in self.colours:
                first, second = edges[colour].T
                tilted[first, klass[colour]] += multiplier[colour] * self.share[first]
                tilted[second, klass[colour]] += multiplier[colour] * self.share[second]
                odds = _log_odds(tilted[first]), _log_odds(tilted[second])
                # q_A + q_B > 1 for a class if and only if its log odds add up to more than 0.
                excess = odds[0] + odds[1]
                at = excess.argmax(axis=1)
                room = excess[np.arange(len(at)), at] / (self.share[first] + self.share[second])
                new = np.clip(room, 0.0, self.caps[colour])
                changed = (at != klass[colour]) & ((new > 0) | (multiplier[colour] > 0))
                step = np.where(
                    changed, np.maximum(new, multiplier[colour]), np.abs(new - multiplier[colour])
                )
                moved = max(moved, float(step.max(initial=0.0)))
                multiplier[colour], klass[colour] = new, at
                tilted[first, at] -= new * self.share[first]
                tilted[second, at] -= new * self.share[second]
            if moved <= self._TOL:
                break
        self._multiplier, self._class = multiplier, klass
        q: np.ndarray = np.exp(tilted - lse(tilted)[:, None])
        return q

    def weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return closed_weights(counts)


def _log_odds(logits: np.ndarray) -> np.ndarray:
    return logits - lse_of_others(logits)


def _edge_colours(edges: np.ndarray) -> list[np.ndarray]:
    """Part the edges into sets in which no two share an end, greedily in the order given."""
    used: dict[int, int] = {}  # the colours at each end, as bits
    colour = np.empty(len(edges), dtype=np.int64)
    for e, (a, b) in enumerate(edges.tolist()):
        taken = used.get(a, 0) | used.get(b, 0)
        lowest = ~taken & (taken + 1)
        colour[e] = lowest.bit_length() - 1
        used[a] = used.get(a, 0) | lowest
        used[b] = used.get(b, 0) | lowest
    return [np.flatnonzero(colour == c) for c in range(int(colour.max(initial=-1)) + 1)]
