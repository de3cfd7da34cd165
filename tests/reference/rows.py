"""Rows that behave like an unreliable cluster: work is pickled, and columns get lost."""

import cloudpickle
import numpy as np

from likewise.backends import ArrayRows, Column

MOST_BYTES = 20_000  # maximum size of the pickled work of a pass, in tests of a few hundred rows


class PickledRows(ArrayRows):
    """Rows that give each block a pickled copy of the work, and lose parts of columns at random."""

    def __init__(self, X, blocks=None, seed=0):
        super().__init__(X, blocks)
        self.rng = np.random.default_rng(seed)
        self.most_sent = 0

    def transform(self, function, n_features=None):
        sent = cloudpickle.loads(cloudpickle.dumps(function))
        rows = PickledRows(super().transform(sent, n_features)._X, self.blocks)
        rows.rng = self.rng
        return rows.with_weights(self._weight)

    def make_column(self, dtype, recipe, width=None):
        column = super().make_column(dtype, recipe, width)
        column.recipe = self.sent(recipe)
        return column

    def sent(self, function):
        told = cloudpickle.dumps(function)
        self.most_sent = max(self.most_sent, len(told))
        assert len(told) < MOST_BYTES, f"{function} takes {len(told)} bytes to tell"
        return cloudpickle.loads(told)

    def map(self, work, column: Column | None = None, *, new_recipe=None, **how):
        if column is not None:
            column.made = [made and self.rng.uniform() < 0.7 for made in column.made]
        new_recipe = None if new_recipe is None else self.sent(new_recipe)
        return super().map(self.sent(work), column, new_recipe=new_recipe, **how)
