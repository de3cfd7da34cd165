"""Groups of rows."""

from likewise import Supervision


def test_pairs_are_written_out_with_their_weights():
    hints = Supervision.from_links(6, cannot_groups=[[0, 2, 5], [1, 4]], cannot_group_weights=[2.0, 3.0])
    pairs, weights = hints.cannot_groups.list_pairs()
    found = {tuple(pair): weight for pair, weight in zip(pairs.tolist(), weights.tolist(), strict=True)}
    assert found == {(0, 2): 2.0, (0, 5): 2.0, (2, 5): 2.0, (1, 4): 3.0}
    assert len(pairs) == hints.cannot_groups.n_pairs
    none, no_weights = hints.must_groups.list_pairs()
    assert none.shape == (0, 2)
    assert no_weights.shape == (0,)
