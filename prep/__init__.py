"""prep prepares audio for listening studies of speech, and proves what it did."""

__version__ = "0.1.0"
