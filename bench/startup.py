"""How long `prep --help` takes beside `python -c "import typer"`, as a ratio measured in one run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 15
COMMANDS = {"import typer": ["-c", "import typer"], "prep --help": ["-m", "prep", "--help"]}


def seconds(arguments: list[str]) -> float:
    """Return the wall time of a fresh interpreter."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begun


def main() -> None:
    """Print the medians and the median of the ratios, pair by pair."""
    for arguments in COMMANDS.values():
        seconds(arguments)  # once, so that bytecode is there
    rounds = [{name: seconds(arguments) for name, arguments in COMMANDS.items()} for _ in range(ROUNDS)]
    for name in COMMANDS:
        print(f"{name}: {statistics.median(taken[name] for taken in rounds):.3f} s")
    ratio = statistics.median(taken["prep --help"] / taken["import typer"] for taken in rounds)
    print(f"ratio: {ratio:.2f} (to hold: at most 1.5)")


if __name__ == "__main__":
    main()
