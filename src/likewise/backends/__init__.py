"""Block-wise access to data in memory, on disk or on Dask.

:func:`as_rows` returns any of them as :class:`Rows`. An estimator needs three operations: sum a function over
blocks of rows (:meth:`Rows.sum`), take a small number of rows (:meth:`Rows.take`), and compute a label or
other output for every row (:meth:`Rows.map_rows`). Values that a fit stores for each row are a
:class:`Column`.
"""

from likewise.backends._files import MappedRows as MappedRows
from likewise.backends._files import MemmapRows as MemmapRows
from likewise.backends._files import ParquetRows as ParquetRows
from likewise.backends._rows import ArrayRows as ArrayRows
from likewise.backends._rows import Block as Block
from likewise.backends._rows import Column as Column
from likewise.backends._rows import Recipe as Recipe
from likewise.backends._rows import Rows as Rows
from likewise.backends._rows import add_in_pairs as add_in_pairs
from likewise.backends._rows import as_dense as as_dense
from likewise.backends._rows import as_rows as as_rows
from likewise.backends._rows import draw_rows as draw_rows
from likewise.backends._rows import get_block_rows as get_block_rows
from likewise.backends._rows import get_n_threads as get_n_threads
from likewise.backends._rows import get_ones as get_ones
from likewise.backends._rows import get_scratch as get_scratch
from likewise.backends._rows import is_distributed as is_distributed
from likewise.backends._rows import open_thread_map as open_thread_map
from likewise.backends._rows import pass_through as pass_through
from likewise.backends._rows import scale_to_unit_length as scale_to_unit_length
from likewise.backends._rows import split_rows as split_rows
from likewise.backends._sparse_rows import make_dense_blocks as make_dense_blocks
from likewise.backends._sparse_rows import standardize_csr as standardize_csr
