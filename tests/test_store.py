"""The store keeps results by what made them, and believes only what is whole."""

from pathlib import Path

import pytest

from prep.store import Store, digest, key_of, write_whole


def test_what_is_put_is_got(tmp_path: Path) -> None:
    """An entry reads as it was written."""
    store = Store(tmp_path)
    store.put("ab12", b"sound")

    assert store.get("ab12") == b"sound"


def test_a_missing_entry_is_none(tmp_path: Path) -> None:
    """An entry that was never written reads as None."""
    assert Store(tmp_path).get("ab12") is None


@pytest.mark.parametrize("damage", [lambda held: held[:-1], lambda held: held[:-1] + b"x", lambda _: b""])
def test_a_damaged_entry_is_never_served(tmp_path: Path, damage: object) -> None:
    """An entry that was cut or changed on the disk reads as missing."""
    store = Store(tmp_path)
    store.put("ab12", b"sound")
    path = next(path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]

    assert store.get("ab12") is None


def test_json_survives(tmp_path: Path) -> None:
    """A value comes back with every digit of its numbers."""
    store = Store(tmp_path)
    store.put_json("cd34", {"value": 0.1 + 0.2, "text": "é"})

    assert store.get_json("cd34") == {"value": 0.1 + 0.2, "text": "é"}


def test_the_key_is_that_of_the_content() -> None:
    """The order of a mapping's keys does not change the key; any value does."""
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 1.5})
    assert key_of("ab", "c") != key_of("a", "bc")


def test_a_file_is_written_whole_with_its_mode(tmp_path: Path) -> None:
    """A written file has its bytes and permissions, and nothing is left beside it."""
    write_whole(tmp_path / "x" / "key.csv", b"private", 0o600)

    assert [path.name for path in (tmp_path / "x").iterdir()] == ["key.csv"]
    assert (tmp_path / "x" / "key.csv").stat().st_mode & 0o777 == 0o600
    assert digest((tmp_path / "x" / "key.csv").read_bytes()) == digest(b"private")


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    """When a file cannot get its name, no part of it stays."""
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match=r"."):
        write_whole(tmp_path / "taken", b"data")

    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
