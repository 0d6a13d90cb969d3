"""The store: small results and sounds kept by the hash of what made them.

An entry is believed only if its bytes still have the hash they were written with, and it appears
whole or not at all, so that a killed run leaves nothing that a later one could mistake for done.
Several processes and runs may share one store without locks.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DIGEST_BYTES = 32


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def key_of(*parts: Any) -> str:
    """Return one key for JSON-able parts. The order of mapping keys does not matter."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return digest(text.encode())


def write_whole(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file that appears whole or not at all, and survives a crash of the machine.

    Args:
        path: the file; its folder is made.
        data: its bytes.
        mode: permission bits, set before the file gets its name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of entries named by key. Damaged entries read as missing."""

    folder: Path

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def get(self, key: str) -> bytes | None:
        """Return an entry's bytes, or None where there is none that can be believed."""
        try:
            held = self._path(key).read_bytes()
        except OSError:
            return None
        seal, data = held[:_DIGEST_BYTES], held[_DIGEST_BYTES:]
        return data if hashlib.sha256(data).digest() == seal else None

    def put(self, key: str, data: bytes) -> None:
        """Keep an entry."""
        write_whole(self._path(key), hashlib.sha256(data).digest() + data)

    def get_json(self, key: str) -> Any:
        """Return an entry that `put_json` kept, or None."""
        data = self.get(key)
        return None if data is None else json.loads(data)

    def put_json(self, key: str, value: Any) -> None:
        """Keep a JSON-able value."""
        self.put(key, json.dumps(value, allow_nan=False).encode())
