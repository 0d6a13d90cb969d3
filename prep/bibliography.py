"""Bibliography: the papers, standards and programs that a run rests on, as BibTeX.

A stage or cue names its own in REFERENCES; those that several of them name, and those of the statistics, are here.
A field that is not certain is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CITATION = re.compile(r"\[@([a-z0-9_]+(?:; @[a-z0-9_]+)*)\]")


class Reference(NamedTuple):
    """One entry: its key (lower case letters, digits and `_`), its BibTeX type, and its fields in TeX's spelling."""

    key: str
    kind: str
    fields: Mapping[str, str]


def cite(*references: Reference) -> str:
    """Return a citation by key, as Pandoc reads it: `[@one; @other]`."""
    return "[" + "; ".join(f"@{reference.key}" for reference in references) + "]"


def cited(text: str) -> list[str]:
    """Return every key that a text cites, once, in alphabetical order."""
    return sorted({key.lstrip("@") for found in CITATION.findall(text) for key in found.split("; ")})


def bibtex(references: Iterable[Reference]) -> str:
    """Return entries as BibTeX in ASCII, in the order of their keys."""
    return "\n".join(_entry(reference) for reference in sorted(references, key=lambda reference: reference.key))


def _entry(reference: Reference) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in reference.fields.items()]
    return "\n".join([f"@{reference.kind}{{{reference.key},", *lines, "}", ""])


PREP = Reference(
    "listening_prep",
    "misc",
    {
        "title": "{listening-prep}: prepares audio for listening studies of speech, and proves on held-out clips what "
        "it did",
        "howpublished": "Computer software",
    },
)
ITU_BS1770 = Reference(
    "itu2023bs1770",
    "techreport",
    {
        "author": "{International Telecommunication Union}",
        "title": "Algorithms to measure audio programme loudness and true-peak audio level",
        "type": "Recommendation",
        "number": "ITU-R BS.1770-5",
        "institution": "International Telecommunication Union",
        "year": "2023",
    },
)
ITU_P56 = Reference(
    "itu2011p56",
    "techreport",
    {
        "author": "{International Telecommunication Union}",
        "title": "Objective measurement of active speech level",
        "type": "Recommendation",
        "number": "ITU-T P.56",
        "institution": "International Telecommunication Union",
        "year": "2011",
    },
)
PYLOUDNORM = Reference(
    "steinmetz2021pyloudnorm",
    "inproceedings",
    {
        "author": "Steinmetz, Christian J. and Reiss, Joshua D.",
        "title": "pyloudnorm: A simple yet flexible loudness meter in {Python}",
        "booktitle": "150th Convention of the Audio Engineering Society",
        "year": "2021",
    },
)
DEEPFILTERNET = Reference(
    "schroeter2023deepfilternet",
    "inproceedings",
    {
        "author": 'Schr{\\"o}ter, Hendrik and Rosenkranz, Tobias and Escalante-B., Alberto N. and Maier, Andreas',
        "title": "{DeepFilterNet}: Perceptually Motivated Real-Time Speech Enhancement",
        "booktitle": "Interspeech 2023",
        "year": "2023",
        "eprint": "2305.08227",
        "archiveprefix": "arXiv",
    },
)
WHISPER = Reference(
    "radford2023whisper",
    "inproceedings",
    {
        "author": "Radford, Alec and Kim, Jong Wook and Xu, Tao and Brockman, Greg and McLeavey, Christine and "
        "Sutskever, Ilya",
        "title": "Robust Speech Recognition via Large-Scale Weak Supervision",
        "booktitle": "International Conference on Machine Learning",
        "pages": "28492--28518",
        "year": "2023",
        "eprint": "2212.04356",
        "archiveprefix": "arXiv",
    },
)
HODGES_LEHMANN = Reference(
    "hodges1963estimates",
    "article",
    {
        "author": "Hodges, Jr., Joseph L. and Lehmann, Erich L.",
        "title": "Estimates of Location Based on Rank Tests",
        "journal": "The Annals of Mathematical Statistics",
        "volume": "34",
        "number": "2",
        "pages": "598--611",
        "year": "1963",
        "doi": "10.1214/aoms/1177704172",
    },
)
WESTFALL_YOUNG = Reference(
    "westfall1993resampling",
    "book",
    {
        "author": "Westfall, Peter H. and Young, S. Stanley",
        "title": "Resampling-Based Multiple Testing: Examples and Methods for p-Value Adjustment",
        "publisher": "Wiley",
        "address": "New York",
        "year": "1993",
    },
)
ROC = Reference(
    "hanley1982roc",
    "article",
    {
        "author": "Hanley, James A. and McNeil, Barbara J.",
        "title": "The Meaning and Use of the Area under a Receiver Operating Characteristic ({ROC}) Curve",
        "journal": "Radiology",
        "volume": "143",
        "number": "1",
        "pages": "29--36",
        "year": "1982",
        "doi": "10.1148/radiology.143.1.7063747",
    },
)
NUMPY = Reference(
    "harris2020numpy",
    "article",
    {
        "author": "Harris, Charles R. and Millman, K. Jarrod and {van der Walt}, St{\\'e}fan J. and Gommers, Ralf and "
        "Virtanen, Pauli and others",
        "title": "Array programming with {NumPy}",
        "journal": "Nature",
        "volume": "585",
        "number": "7825",
        "pages": "357--362",
        "year": "2020",
        "doi": "10.1038/s41586-020-2649-2",
    },
)
SCIPY = Reference(
    "virtanen2020scipy",
    "article",
    {
        "author": "Virtanen, Pauli and Gommers, Ralf and Oliphant, Travis E. and Haberland, Matt and Reddy, Tyler and "
        "others",
        "title": "{SciPy} 1.0: Fundamental Algorithms for Scientific Computing in {Python}",
        "journal": "Nature Methods",
        "volume": "17",
        "number": "3",
        "pages": "261--272",
        "year": "2020",
        "doi": "10.1038/s41592-019-0686-2",
    },
)
SCIKIT_LEARN = Reference(
    "pedregosa2011scikit",
    "article",
    {
        "author": 'Pedregosa, Fabian and Varoquaux, Ga{\\"e}l and Gramfort, Alexandre and Michel, Vincent and Thirion, '
        "Bertrand and others",
        "title": "Scikit-learn: Machine Learning in {Python}",
        "journal": "Journal of Machine Learning Research",
        "volume": "12",
        "pages": "2825--2830",
        "year": "2011",
    },
)
# By the name of the distribution in the record's versions: those that have a paper to be cited.
OF_LIBRARIES = {"numpy": NUMPY, "scipy": SCIPY, "scikit-learn": SCIKIT_LEARN, "pyloudnorm": PYLOUDNORM}
SHARED = (
    PREP,
    ITU_BS1770,
    ITU_P56,
    DEEPFILTERNET,
    WHISPER,
    HODGES_LEHMANN,
    WESTFALL_YOUNG,
    ROC,
    *OF_LIBRARIES.values(),
)
