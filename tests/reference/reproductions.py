"""The scripts of the reproductions, loaded as when they are run."""

import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path

REPRODUCTIONS = Path(__file__).parents[2] / "reproductions"


@contextmanager
def load_run(name):
    """Import ``run.py`` of a reproduction; what it imported from beside itself is forgotten at the end."""
    path, before = sys.path.copy(), set(sys.modules)
    folder = REPRODUCTIONS / name
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location(f"reproduce_{name}", folder / "run.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path[:] = path
        for other in set(sys.modules) - before:
            file = getattr(sys.modules[other], "__file__", None) or ""
            if Path(file).is_relative_to(folder):
                del sys.modules[other]
