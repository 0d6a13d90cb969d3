"""Names of files: as people write them, and as the disk spells them."""

from __future__ import annotations

import errno
import re
import unicodedata
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Listing = Callable[[Path], dict[str, str]]

# fmt: off
SOUND_SUFFIXES = frozenset({
    ".aac", ".aif", ".aifc", ".aiff", ".amr", ".au", ".caf", ".flac", ".m4a", ".mka", ".mp3", ".mp4",
    ".oga", ".ogg", ".opus", ".rf64", ".snd", ".sph", ".w64", ".wav", ".wave", ".webm", ".wma",
})
# fmt: on
_SYSTEM_FILES = frozenset({"thumbs.db", "desktop.ini"})


def exists(path: Path) -> bool:
    """Say whether something is there; a name that no file can have is not."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def is_too_long(path: Path) -> bool:
    """Say whether a path, or a name in it, is longer than the disk takes."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    except ValueError:
        return False
    return False


def leads_nowhere(path: Path) -> bool:
    """Say whether a link is there whose end is not."""
    try:
        return path.is_symlink() and not exists(path)
    except OSError:
        return False


def listing_of(folder: Path) -> dict[str, str]:
    """Return the names in a folder, by their composed form; none where it cannot be read."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return {}
    return {unicodedata.normalize("NFC", name): name for name in names}


def locate(path: Path, listing: Listing) -> Path:
    """Return the path as the disk spells it: of what does not exist, the part in another Unicode form."""
    if exists(path) or path == path.parent:
        return path
    parent = locate(path.parent, listing)
    return parent / listing(parent).get(unicodedata.normalize("NFC", path.name), path.name)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a did-you-mean for a file name, whatever its case, or "" where nothing but itself is near."""
    by_fold = {fold(known): known for known in names if known != name}
    near = get_close_matches(fold(name), by_fold, n=1)
    return f"did you mean {by_fold[near[0]]!r}?" if near else ""


def fold(label: str) -> str:
    """Return what is left of a label when case, spaces around words and Unicode form do not count."""
    return " ".join(unicodedata.normalize("NFC", label).casefold().split())


def is_utf8(text: str) -> bool:
    """Say whether text can be written as UTF-8; names of another encoding come as lone surrogates."""
    return not re.search("[\ud800-\udfff]", text)


def is_system_file(name: str) -> bool:
    """Say whether a program put the file there for itself."""
    return name.startswith(".") or name.lower() in _SYSTEM_FILES


def shown(text: str, encoding: str | None) -> str:
    """Return text that a stream of an encoding can hold, in which no name can steer a terminal or break a line."""
    plain = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return plain.encode(encoding or "ascii", "backslashreplace").decode(encoding or "ascii")
