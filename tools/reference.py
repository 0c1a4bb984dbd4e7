"""The reference of the site: MkDocs calls this to make a page for each folder with public names.

The code is parsed, not imported, so that pages need neither the binary nor torchvision.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PACKAGES = ("orbbec", "orbbec.transforms", "orbbec.data", "orbbec.backends.torchvision")


def on_config(config: MkDocsConfig) -> None:
    """Put the pages into the section Reference of the navigation."""
    (reference,) = (section["Reference"] for section in config.nav if "Reference" in section)
    reference.append({"API": [_file_of(folder) for folder in folders()]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Write the pages."""
    for folder, modules in folders().items():
        files.append(File.generated(config, _file_of(folder), content=_page(folder, modules)))


class ExampleSections(griffe.Extension):
    """Reads the section `Example:` of our docstrings as griffe's `Examples:`."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")


class InheritedRaises(griffe.Extension):
    """Gives a transform without the section `Raises:` that of the class it derives from."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        _inherit_raises(pkg)


def _inherit_raises(folder: griffe.Object) -> None:
    for member in folder.members.values():
        if isinstance(member, griffe.Module):
            _inherit_raises(member)
        elif isinstance(member, griffe.Class) and member.docstring and not _raises(member):
            inherited = next(filter(None, map(_raises, member.mro())), "")
            member.docstring.value = _NEXT_SECTION.sub(inherited, member.docstring.value, count=1)


_NEXT_SECTION = re.compile(r"(?=\n(?:Source|Examples):\n)|\Z")  # after `Raises:`


def _raises(kind: griffe.Class) -> str:
    """The section, between empty lines."""
    found = re.search(r"\nRaises:\n(    .*\n?)+", kind.docstring.value if kind.docstring else "")
    return f"{found[0].rstrip()}\n" if found else ""


def folders() -> dict[str, dict[str, dict[str, str]]]:
    """The public names, such as `orbbec.resize`, and their definitions, by folder and file."""
    table: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for defined, public in sorted(_public_names().items()):
        folder, file, _ = defined.rsplit(".", 2)
        table[folder][file][public] = defined
    return table


@cache
def _public_names() -> dict[str, str]:
    """The public name of each definition, such as `orbbec.resize.resize.resize`; the first of several."""
    names: dict[str, str] = {}
    for package in PACKAGES:
        for name in _module(package).exports or ():
            defined = _definition(f"{package}.{name}")
            if defined not in PACKAGES:
                names.setdefault(defined, f"{package}.{name}")
    return names


@cache
def _modules() -> griffe.ModulesCollection:
    return griffe.load("orbbec", search_paths=[ROOT]).modules_collection


def _module(path: str) -> griffe.Module:
    return _modules()[path]


def _definition(path: str) -> str:
    """Follow imports; griffe's aliases confuse a function with the folder and the file of the same name."""
    while True:
        module, name = path.rsplit(".", 1)
        imported = _module(module).imports.get(name, path)
        if imported == path:
            return path
        path = imported


def _page(folder: str, modules: dict[str, dict[str, str]]) -> str:
    lines = [f"# {folder}", "", _docstring(folder), ""]
    for file, names in modules.items():
        if len(modules) > 1:
            lines += [f"## {_docstring(f'{folder}.{file}').splitlines()[0].rstrip('.')}", ""]
        for public, defined in names.items():
            name = public.rpartition(".")[2]
            lines += [
                f"[](){{#{public}}}",
                "",
                f"::: {defined}",
                "    options:",
                f"      heading: {name}",
                "",
            ]
    return "\n".join(lines)


def _docstring(path: str) -> str:
    docstring = _module(path).docstring
    return docstring.value if docstring else ""


def _file_of(folder: str) -> str:
    return f"reference/{folder}.md"
