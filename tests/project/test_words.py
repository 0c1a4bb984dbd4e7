"""Banned words do not occur in comments, docstrings, messages, pages and names."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# A banned word, and its replacement.
BANNED = {
    r"chains?": "pipeline",
    r"unlike": "variable-size, different",
    r"(?<!in )turn(?:s|ed|ing)?(?! (?:on|off|out|into))": "flip, rotate, transpose, hue shift",
    r"beside": "compared with, next to",
    r"places": "indices, rows, positions",
    r"rooms?": "output buffer, folder",
    r"recyclers?": "buffer pool",
    r"blueness|redness": "Cb, Cr",
    r"partners?": "pair index, other image",
    r"(?:an?|the|its|their|this|what|which) shares?|shares? of": "weight, fraction",
    r"bent|rims?": "displaced, border",
    r"used again|again and again": "reused, repeatedly",
    r"\w*(?:colour|neighbour|behaviour|artefact)\w*": "American spelling",
    r"(?:normal|vector|initial|synchron|quant|optim|serial|recogn)is(?:e[ds]?|ing|ation)": "-ize",
    r"(?:one|once|rows?|dict|number|map|tensor|ms|bytes) an? (?:image|channel|box|batch|pixel)": "per image",
}
BANNED_IN_CPP = {r"isa|machines?": "target of a SIMD build", r"plain": "scalar"}

# The same for the parts of an identifier or a file name, which `_` and capitals separate.
BANNED_NAMES = {
    "chains?": "pipeline",
    "unlike": "variable_size",
    "places?": "index, position, offset, address",
    "rooms?": "buffer, memory",
    "recyclers?": "buffer_pool",
    "blueness|redness": "cb, cr",
    "bent|rims?": "displaced, border",
    "white": "max_value",
    "colours?|neighbours?|artefacts?|normalised?|vectorised?": "American spelling",
}
# Banned names, as a whole.
BANNED_WHOLE = {
    "partners?": "pair_indices",
    "recycler": "buffer pool",
    "enlarge_row": "upsample",
    "look_up": "apply_lut, gather",
    "PlaneBatch": "YCbCrBatch",
    "PixelsOfThree": "interleave3",
    "Four": "vec4",
    "channel_blocks": "blocked_channels",
}
PLACES = BANNED_NAMES["places?"]
# No names of the package: they say what was done, not what a thing is.
PARTICIPLES = ("given", "own", "kept", "held", "moved", "made")
BANNED_NAMES_IN_CPP = {"isa|machines?": "target", "plain": "scalar", "enlarged?": "upsample"}

# Allowed uses: files, word, reason.
ALLOWED = [
    ("tests/project/test_words.py", "*", "names the banned words"),
    ("*augmix*", "chain*", "AugMix's own word for its sequences of operations"),
    ("*/transforms/tests/record_torchvision.py", "chain*", "AugMix's own word"),
]

# Allowed names: files, name, reason.
ALLOWED_NAMES = [
    ("*", "*in_place*", "PyTorch's word"),
    ("*", "chain_depth", "torchvision's argument of AugMix"),
    ("*augmix.py", "*chain*", "AugMix's own word for its sequences of operations"),
    ("*/transforms/tests/record_torchvision.py", "augmix_chains", "AugMix's own word"),
    ("orbbec/data/readers/pack.py", "chain", "itertools.chain"),
    ("scripts/draw_transforms.py", "chain", "itertools.chain"),
    ("tools/sample_kernels.py", "chain", "itertools.chain"),
    ("tests/project/test_words.py", "places", "the banned word"),
]

KINDS = {"py": (".py",), "cpp": (".h", ".cpp", ".cu"), "md": (".md",)}
FOLDERS = ("orbbec", "tests", "benchmarks", "docs", "scripts", "tools", "3rdparty")
CODE_SPAN = re.compile(r"``[^`]*``|`[^`\n]*`")
NAME = re.compile(r"[A-Za-z_]\w*")
NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CPP_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CPP_TEXT = re.compile(r"\"(?:\\.|[^\"\\\n])*\"")


def files() -> Iterator[Path]:
    yield from sorted(path for path in ROOT.iterdir() if path.suffix in (".md", ".py"))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            hidden = any(part.startswith(".") for part in path.relative_to(ROOT).parts)
            if path.is_file() and not hidden:
                yield path


@cache
def by_folder() -> dict[str, list[Path]]:
    """Files by folder and kind, such as `orbbec/nms/*.py`; tests of a folder are part of it."""
    found: dict[str, list[Path]] = {}
    for path in files():
        parts = path.relative_to(ROOT).parts
        if parts[0] == "3rdparty" and len(parts) > 2:
            continue
        for kind, suffixes in KINDS.items():
            if path.suffix in suffixes:
                found.setdefault("/".join((*parts[:-1][:2], f"*.{kind}")), []).append(path)
    return found


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for number, line in enumerate(node.value.splitlines()):
                if not line.strip().startswith((">>>", "...")):
                    yield node.lineno + number, line


def cpp_prose(text: str) -> Iterator[tuple[int, str]]:
    for match in CPP_COMMENT.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group()


def page_prose(text: str) -> Iterator[tuple[int, str]]:
    text = FENCED.sub(lambda match: "\n" * match.group().count("\n"), text)
    yield from enumerate(text.splitlines(), 1)


def banned_words(path: Path, text: str) -> Iterator[str]:
    """The positions of banned words, with replacements."""
    name = path.as_posix()
    prose = {".py": python_prose, ".md": page_prose}.get(path.suffix, cpp_prose)
    words = BANNED if path.suffix in (".py", ".md") else BANNED | BANNED_IN_CPP
    allowed = [word for pattern, word, _ in ALLOWED if fnmatch(name, pattern)]
    for line, sentence in prose(text):
        for word, instead in words.items():
            for match in re.finditer(rf"\b(?:{word})\b", CODE_SPAN.sub("", sentence), re.IGNORECASE):
                if not any(fnmatch(match.group().lower(), pattern) for pattern in allowed):
                    yield f"{name}:{line}: {match.group()!r}; write {instead}"


def python_names(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def cpp_names(text: str) -> Iterator[tuple[int, str]]:
    for pattern in (CPP_COMMENT, CPP_TEXT):
        text = pattern.sub(lambda match: "\n" * match.group().count("\n"), text)
    for match in NAME.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group()


@cache
def replacements(found: str, is_python: bool) -> tuple[list[str], list[str]]:
    """What to write instead of the banned parts of a name, and instead of the whole name."""
    words = BANNED_NAMES if is_python else BANNED_NAMES | BANNED_NAMES_IN_CPP
    parts = [part.lower() for part in NAME_PART.findall(found)]
    of_parts = [new for word, new in words.items() if any(re.fullmatch(word, part) for part in parts)]
    return of_parts, [new for word, new in BANNED_WHOLE.items() if re.fullmatch(word, found)]


def banned_names(path: Path, text: str) -> Iterator[str]:
    """The positions of names with a banned word, with replacements; line 0 is the name of the file."""
    name, is_python = path.as_posix(), path.suffix == ".py"
    allowed = [word for pattern, word, _ in ALLOWED_NAMES if fnmatch(name, pattern)]
    for line, found in [(0, path.stem), *(python_names if is_python else cpp_names)(text)]:
        of_parts, of_whole = replacements(found, is_python)
        if of_parts and any(fnmatch(found.lower(), pattern) for pattern in allowed):
            of_parts = []
        if found in PARTICIPLES and name.startswith("orbbec/") and "/tests/" not in name:
            of_whole = [*of_whole, "a noun for what it is"]
        for instead in of_parts + of_whole:
            yield f"{name}:{line}: {found!r}; write {instead}"


@pytest.mark.parametrize("folder", sorted(by_folder()))
def test_prose_has_no_banned_word(folder):
    paths = by_folder()[folder]
    found = [word for path in paths for word in banned_words(path.relative_to(ROOT), path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", sorted(name for name in by_folder() if not name.endswith(".md")))
def test_names_have_no_banned_word(folder):
    paths = by_folder()[folder]
    found = [name for path in paths for name in banned_names(path.relative_to(ROOT), path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", "# A chain.\nsplit_chains = unchained = 1\n", ["a.py:2: 'split_chains'; write pipeline"]),
        ("a.py", "class SwitchChain: ...\n", ["a.py:1: 'SwitchChain'; write pipeline"]),
        ("a.py", "MOST_PLACES, in_place = 1, 'places'\n", [f"a.py:1: 'MOST_PLACES'; write {PLACES}"]),
        ("old_places.py", "", [f"old_places.py:0: 'old_places'; write {PLACES}"]),
        ("a.h", '// plain\nint kPlainRows = f("plain");\n', ["a.h:2: 'kPlainRows'; write scalar"]),
        ("a.py", "plain = machine = 1\n", []),
    ],
)
def test_words_are_found_in_names(name, text, expected):
    assert list(banned_names(Path(name), text)) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", "# A chain of steps.\nchain = 1\n", ["a.py:1: 'chain'; write pipeline"]),
        ("a.py", 'raise ValueError("in two\\n rooms")\n', ["a.py:2: 'rooms'; write output buffer, folder"]),
        ("a.py", '"""Calls `chain` in turn."""\n', []),
        ("a.h", "int chain;  // the scalar form\n", []),
        ("a.h", "// in colour\n", ["a.h:1: 'colour'; write American spelling"]),
        ("a.md", "Normalised floats.\n", ["a.md:1: 'Normalised'; write -ize"]),
        ("a.cpp", "/* per\n isa */", ["a.cpp:1: 'isa'; write target of a SIMD build"]),
        ("a.md", "```\nchain\n```\nBeside `chain`.\n", ["a.md:4: 'Beside'; write compared with, next to"]),
    ],
)
def test_words_are_found_in_prose_only(name, text, expected):
    assert list(banned_words(Path(name), text)) == expected
