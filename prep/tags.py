"""Tags, pictures and text in sound files: their names, and the file without them, its coded sound untouched."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from prep.errors import AudioError
from prep.facts import not_sound
from prep.mpeg import after_id3, mp3_stream
from prep.riff import only_aiff_sound, only_wav_sound

if TYPE_CHECKING:
    from collections.abc import Callable

_STREAMINFO, _SEEKTABLE = 0, 3  # kinds of FLAC metadata that belong to the sound (RFC 9639, 8.1)


def tag_names(data: bytes) -> tuple[str, ...]:
    """Return the names of the tags and pictures that mutagen finds in a file."""
    import mutagen

    try:
        found = mutagen.File(io.BytesIO(data))
    except Exception:  # noqa: BLE001 - mutagen stumbles in many ways over tags; the sound is decoded already
        return ("unreadable tags",)
    if found is None:
        return ()
    pictures = ["picture"] * bool(getattr(found, "pictures", None))
    names = found.tags.keys() if found.tags else ()
    return (*sorted(set(map(str, names))), *pictures)


def without_tags(data: bytes, container: str, name: str) -> bytes:
    """Return a file without tags, pictures and text. Idempotent.

    Args:
        data: the whole file.
        container: as `AudioFacts` names it.
        name: for messages.

    Raises:
        AudioError: the container cannot be stripped without coding the sound anew, or is damaged.
    """
    strip = _STRIPPERS.get(container)
    if strip is None:
        raise AudioError(f"{name}: tags cannot be taken out of a {container} file; deliver it as WAV or FLAC instead")
    return strip(data, name)


def _only_aiff_sound(data: bytes, name: str) -> bytes:  # noqa: ARG001
    return only_aiff_sound(data)


def _only_mp3_frames(data: bytes, name: str) -> bytes:
    stream = mp3_stream(data)
    if stream is None:
        raise not_sound(data, name)
    return data[stream.start : stream.end]


def _only_flac_sound(data: bytes, name: str) -> bytes:
    """Return a FLAC file with its stream information, its seek table and its frames."""
    at = after_id3(data) + 4
    kept = []
    last = False
    while not last:
        if at + 4 > len(data):
            raise AudioError(f"{name}: a FLAC file that ends inside its header")
        last, kind = bool(data[at] & 0x80), data[at] & 0x7F
        end = at + 4 + int.from_bytes(data[at + 1 : at + 4], "big")
        if kind in (_STREAMINFO, _SEEKTABLE):
            kept.append((kind, data[at + 1 : end]))
        at = end
    blocks = [bytes([kind | (0x80 if i == len(kept) - 1 else 0)]) + body for i, (kind, body) in enumerate(kept)]
    return b"fLaC" + b"".join(blocks) + data[at:]


def _untagged_by_mutagen(data: bytes, name: str) -> bytes:
    import mutagen

    file = io.BytesIO(data)
    try:
        found = mutagen.File(file)
        if found is not None:
            file.seek(0)
            found.delete(file)
    except mutagen.MutagenError as error:
        raise AudioError(f"{name}: its tags cannot be read: {error}") from None
    return file.getvalue()


def _after_tag(data: bytes, name: str) -> bytes:  # noqa: ARG001
    return data[after_id3(data) :]


_STRIPPERS: dict[str, Callable[[bytes, str], bytes]] = {
    "WAV": only_wav_sound,
    "RF64": only_wav_sound,
    "AIFF": _only_aiff_sound,
    "MP3": _only_mp3_frames,
    "FLAC": _only_flac_sound,
    "OGG": _untagged_by_mutagen,
    "M4A": _untagged_by_mutagen,
    "MP4": _untagged_by_mutagen,
    "AAC": _after_tag,
}
