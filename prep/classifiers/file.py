"""file: what a clip's file is, beside its sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind

if TYPE_CHECKING:
    from prep.clip import Clip
    from prep.facts import AudioFacts

# Uncompressed ones first; one of another name counts as 0.
CONTAINERS = ("WAV", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC", "MP3", "OGG", "M4A", "MP4", "AAC", "WEBM")


class File(Cue):
    """Bitrate, container, rate, depth, channels and tags of the file."""

    NAME: ClassVar[str] = "file"
    KIND: ClassVar[Kind] = "file"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("file_kbps", "kb/s", "size of the file over its length; 0 without a file", 1.0),
        Feature("file_rate_hz", "Hz", "sampling rate of the file; 0 without a file", 1.0),
        Feature("file_bit_depth", "no unit", "bits of a stored sample; 0 for lossy codecs", 1.0),
        Feature("file_container", "no unit", f"place in {', '.join(CONTAINERS)}, from 1; else 0", 1.0),
        Feature("file_channel_count", "count", "channels of the file; 0 without a file", 1.0),
        Feature("file_tag_count", "count", "tags, pictures and chunks beside the sound", 1.0),
    )
    MEANING: ClassVar[str] = "history: a browser shows size, format and tags, and sources of one kind share them"
    SOURCE: ClassVar[str] = "by definition: what the file says of itself, and its size"

    def measure(self, clip: Clip) -> dict[str, float]:  # noqa: ARG002
        """Return zeros: a clip without a file has none of these."""
        return dict.fromkeys((feature.name for feature in self.FEATURES), 0.0)

    def from_file(self, facts: AudioFacts, size_bytes: int) -> dict[str, float]:
        """Return the facts of the file as numbers."""
        seconds = facts.frames / facts.rate
        container = CONTAINERS.index(facts.container) + 1 if facts.container in CONTAINERS else 0
        values = (
            8 * size_bytes / seconds / 1000 if seconds else 0.0,
            facts.rate,
            facts.bit_depth or 0,
            container,
            facts.channels,
            len(facts.tags),
        )
        return {feature.name: float(value) for feature, value in zip(self.FEATURES, values, strict=True)}
