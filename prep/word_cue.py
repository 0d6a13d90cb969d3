"""Cues of words: what all that listen to words share, their language and who hears them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from prep.bibliography import WHISPER, Reference
from prep.cue import Cue
from prep.models import ModelFolder  # noqa: TC001 - pydantic reads it
from prep.recogniser import LANGUAGES, MODEL, Recogniser

if TYPE_CHECKING:
    from collections.abc import Sequence


class WordCue(Cue):
    """A cue that a recogniser hears."""

    REFERENCES: ClassVar[tuple[Reference, ...]] = (WHISPER,)
    MODELS: ClassVar[tuple[str, ...]] = (MODEL,)

    language: str = Field(
        default=LANGUAGES[0],
        description="language of the clips, ISO 639-1; what the recogniser does not know is not checked; no unit",
    )
    recogniser: ModelFolder = Field(
        default="",
        description="folder of a CTranslate2 Whisper model in place of the pinned one, relative to the config; no unit",
    )

    def models(self) -> Sequence[str]:
        """Return the recogniser's."""
        return (self.hearer().model,)

    def hearer(self) -> Recogniser:
        """Return who hears the words."""
        return Recogniser(self.language, self.recogniser)
