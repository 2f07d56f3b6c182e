"""Who may import whom, which files stand beside which, and that these checks can fail."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "discreet"
PAPERS = ROOT / "papers"

_SHARED_BY_CLUSTERS = ("protocols.common", "protocols.clusters_common.messages")

# Most specific first. `*` is one protocol; in the rules of a protocol it means that very protocol.
# Everybody may import domain and their own room.
MAY_IMPORT: Mapping[str, tuple[str, ...]] = {
    "domain": (),
    "ratings": (),
    "privacy": (),
    "measure": ("ratings", "privacy"),
    # Has never seen a rating: released numbers in, parameters out.
    "estimate": ("release", "privacy"),
    "methods": ("ratings", "privacy", "measure", "estimate", "release"),
    "release": ("privacy",),
    "predict": ("release", "privacy.mechanisms"),
    "protocols.common": ("privacy",),
    # What open and closed clusters share; no protocol, so it goes by its own rows.
    "protocols.clusters_common.messages": ("protocols.common", "privacy"),
    "protocols.clusters_common.client": (*_SHARED_BY_CLUSTERS, "privacy", "predict"),
    "protocols.clusters_common.server": (*_SHARED_BY_CLUSTERS, "privacy", "release"),
    "protocols.*.messages": ("protocols.common", "protocols.clusters_common.messages", "privacy"),
    "protocols.*.client": (
        *("protocols.*.messages", "protocols.clients", "privacy", "predict"),
        *(*_SHARED_BY_CLUSTERS, "protocols.clusters_common.client"),
    ),
    "protocols.*.server": (
        *("protocols.*.messages", "protocols.servers", "privacy", "estimate", "release"),
        *(*_SHARED_BY_CLUSTERS, "protocols.clusters_common.server"),
    ),
    # A third party, whom a service's operator must not be.
    "protocols.*.authority": ("protocols.*.messages", "protocols.common"),
    # The registries: each loads one side alone.
    "protocols.clients": ("protocols.*.client", "protocols.common"),
    "protocols.servers": ("protocols.*.server", "release"),
    # Packages above client and server run before both, so they may load neither.
    "protocols": (),
    "serve": (
        "release",
        "predict",
        "protocols.common",
        "protocols.*.messages",
        "protocols.*.server",
        "protocols.servers",
        "privacy.ledger",
    ),
    "audit": (
        *("ratings", "privacy", "measure", "estimate", "methods", "release"),
        *("predict", "protocols", "serve", "series"),
    ),
    "evaluate": (
        *("ratings", "privacy", "measure", "estimate", "methods", "release"),
        *("predict", "protocols", "serve"),
    ),
    "series": ("ratings", "privacy", "measure", "methods", "release"),
    "spark": ("ratings", "measure", "methods", "release"),
    # Other people's systems; nothing here imports them.
    "adapters": ("ratings", "privacy", "methods", "release", "predict"),
    "report": ("release", "privacy"),
    "cli": ("",),
    "__main__": ("",),
}
MAY_NOT_IMPORT: Mapping[str, tuple[str, ...]] = {"release": ("privacy.mechanisms",)}


@dataclass(frozen=True)
class Import:
    """`target` is a dotted path below `discreet`; a name taken from a module is its last part."""

    module: str
    line: int
    target: str


def modules(root: Path) -> dict[str, Path]:
    """Every module by its dotted path below the package; "" is the package itself."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def names_in(node: ast.AST) -> Iterator[str]:
    """The absolute dotted names that a statement or call imports; a ? marks what is refused."""
    match node:
        case ast.Import(names=names):
            for alias in names:
                whole = alias.name.startswith("discreet") and alias.asname is None
                yield "?import discreet... binds the whole package" if whole else alias.name
        case ast.ImportFrom(level=level) if level > 0:
            yield "?a relative import"
        case ast.ImportFrom(module=str(source), names=names):
            yield from (f"{source}.{alias.name}" for alias in names)
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[first, *_]):
            if called in {"import_module", "__import__"}:
                match first:
                    case ast.Constant(value=str(literal)):
                        yield literal
                    case _:
                        yield "?a computed import"


@cache
def named_in(source: str) -> tuple[tuple[str, int], ...]:
    """What a module's text imports anywhere in it, as `names_in` says it, and on which line."""
    return tuple(
        (target, node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
        for target in names_in(node)
    )


def imports(name: str, path: Path) -> Iterator[Import | str]:
    """What a module imports of ours, anywhere in it; a text for an import that is refused."""
    for target, line in named_in(path.read_text()):
        if target.startswith("?"):
            # The lazy top level, a helper that refuses our own modules, and rooms that may import
            # everything anyway.
            row = rule_of(name)
            free = row is not None and MAY_IMPORT[row[0]] == ("",)
            if name not in {"", "domain.lazy"} and not (free and "computed" in target):
                yield f"{name}, line {line}: {target[1:]}"
        elif target == "discreet" or target.startswith("discreet."):
            yield Import(name, line, target.removeprefix("discreet").lstrip("."))


def is_within(inner: str, outer: str) -> bool:
    return outer == "" or inner == outer or inner.startswith(f"{outer}.")


def rule_of(module: str) -> tuple[str, str] | None:
    """The table's row for a module, and the protocol that its * stands for."""
    for row in MAY_IMPORT:
        found = re.match(re.escape(row).replace(r"\*", r"(\w+)") + r"(\.|$)", module)
        if found:
            return row, found.group(1) if "*" in row else r"\w+"
    return None


def matches(target: str, pattern: str, protocol: str) -> bool:
    if pattern == "":
        return True
    expression = re.escape(pattern).replace(r"\*", protocol)
    return re.match(rf"{expression}(\.|$)", target) is not None


def problem_of(found: Import, known: Mapping[str, Path]) -> str | None:
    """Why an import is not allowed, or None."""
    where = f"{found.module}, line {found.line}: imports {found.target or 'discreet'}"
    hidden = re.match(r"(?:(.*?)\.)?_(?!_)\w*", found.target)
    if hidden and not is_within(found.module, hidden.group(1) or ""):
        return f"{where}, which is private to {hidden.group(1)}"
    rule = rule_of(found.module)
    if found.module == "":
        return None
    if rule is None:
        return f"{found.module} is in no room of the import table"
    row, protocol = rule
    if found.target in {"", "__version__"} or found.target.endswith("*"):
        return None if found.target == "__version__" else f"{where} as a whole"
    if found.target.split(".")[0] not in {module.split(".")[0] for module in known}:
        return f"{where} through the lazy top level"
    own = () if row == "protocols" else (row,)
    allowed = ("domain", *own, *MAY_IMPORT[row])
    banned = any(matches(found.target, no, protocol) for no in MAY_NOT_IMPORT.get(row, ()))
    if banned or not any(matches(found.target, yes, protocol) for yes in allowed):
        return f"{where}, which {row} may not"
    return None


def problems(root: Path) -> list[str]:
    """Every import that breaks a rule, and every module outside the table."""
    known = modules(root)
    said = [f"{m} is in no room of the import table" for m in known if m and not rule_of(m)]
    for name, path in known.items():
        for found in imports(name, path):
            problem = found if isinstance(found, str) else problem_of(found, known)
            if problem is not None:
                said.append(problem)
    return said


def of_papers(root: Path) -> list[str]:
    """Imports of `papers` in the package: research uses the product, never the reverse."""
    return [
        f"{name}, line {line}: imports {target}"
        for name, path in modules(root).items()
        for target, line in named_in(path.read_text())
        if is_within(target, "papers")
    ]


def private_to_rooms(papers: Path) -> list[str]:
    """Imports of private names of the package, and of its command line, in `papers`."""
    said = []
    for name, path in modules(papers).items():
        for found in imports(f"papers.{name}", path):
            if isinstance(found, str):
                said.append(found)
            elif re.search(r"(^|\.)_(?!_)", found.target) or is_within(found.target, "cli"):
                said.append(f"{found.module}, line {found.line}: imports {found.target}")
    return said


def claims_without_proof(root: Path) -> list[str]:
    """Folders that claim a bound and have no PROOF.md with a Statement and a Proof."""
    folders = [root / "privacy" / "accounting", root / "privacy" / "ledger"]
    for home in (root / "privacy" / "mechanisms", root / "measure"):
        folders += [p.parent for p in home.glob("*/__init__.py") if p.parent.name != "engines"]
    return [
        str(folder.relative_to(root))
        for folder in sorted(folders)
        if folder.is_dir() and not has_proof(folder / "PROOF.md")
    ]


def has_proof(path: Path) -> bool:
    text = path.read_text() if path.is_file() else ""
    return all(re.search(rf"^#+ {heading}\s*\S", text, re.M) for heading in ("Statement", "Proof"))


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """A small package of our shape: every room there is, and these files."""
    rooms = ["", *(room for room in MAY_IMPORT if "*" not in room and room != "__main__")]
    for room in rooms:
        folder = root.joinpath(*room.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_rooms_import_only_what_the_table_allows() -> None:
    assert len(modules(SOURCE)) > 20
    assert problems(SOURCE) == []


def test_the_product_does_not_need_the_papers() -> None:
    assert of_papers(SOURCE) == []
    assert len(modules(PAPERS)) > 10
    assert private_to_rooms(PAPERS) == []


@pytest.mark.parametrize(
    "code",
    [
        "from papers.trusted_curator.preset import fit_paper",
        "def f():\n    import papers",
        "import_module('papers.catalogue')",
    ],
)
def test_a_product_that_needs_the_papers_is_found(tmp_path: Path, code: str) -> None:
    assert of_papers(plant(tmp_path, {"measure/a.py": "from discreet.privacy import Unit"})) == []
    assert len(of_papers(plant(tmp_path, {"measure/a.py": code}))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "from discreet.measure._fit import fit",
        "from discreet.privacy import _events",
        "from discreet.cli import main",
        "import discreet.measure",
    ],
)
def test_papers_that_look_behind_a_room_are_found(tmp_path: Path, code: str) -> None:
    (tmp_path / "a.py").write_text("from discreet.measure import fit\nimport numpy\n")
    assert private_to_rooms(tmp_path) == []
    (tmp_path / "b.py").write_text(code)
    assert len(private_to_rooms(tmp_path)) == 1


def test_every_claim_has_its_proof_beside_it() -> None:
    assert claims_without_proof(SOURCE) == []


def test_the_top_level_and_domain_load_no_private_room() -> None:
    loaded = run(
        "import sys, discreet, discreet.domain, discreet.domain.files\n"
        "print(*(m for m in sys.modules if m.startswith('discreet.')))"
    )
    assert {name.split(".")[1] for name in loaded.split()} == {"domain"}


PUBLIC_ROOMS = [
    room
    for room in ("domain", "privacy", "release", "predict", "protocols", "report", "serve")
    if (SOURCE / room).is_dir()
]


def test_public_rooms_work_where_private_ones_were_deleted() -> None:
    """In one process: a module that is None there cannot be imported, whoever comes first."""
    names = [f"discreet.{name}" for name in modules(SOURCE) if name.split(".")[0] in PUBLIC_ROOMS]
    assert {name.split(".")[1] for name in names} == set(PUBLIC_ROOMS) > {"predict"}
    run(
        "import importlib, sys\n"
        "for room in ('ratings', 'measure', 'methods'): sys.modules[f'discreet.{room}'] = None\n"
        f"for name in {names}: importlib.import_module(name)"
    )


@pytest.mark.parametrize(
    ("path", "code", "complaint"),
    [
        ("domain/_a.py", "from discreet.privacy import Unit", "which domain may not"),
        ("privacy/a.py", "import discreet.ratings as r", "which privacy may not"),
        ("ratings/a.py", "def f():\n    from discreet.privacy import x", "line 2"),
        ("ratings/a.py", "if TYPE_CHECKING:\n    from discreet.measure import x", "line 2"),
        ("ratings/a.py", "from discreet import measure", "which ratings may not"),
        ("ratings/a.py", "from discreet import Ratings", "through the lazy top level"),
        ("ratings/a.py", "import discreet.domain", "binds the whole package"),
        ("ratings/a.py", "import discreet as d", "as a whole"),
        ("ratings/a.py", "from discreet.domain import *", "as a whole"),
        ("ratings/a.py", "from . import b", "a relative import"),
        ("ratings/a.py", "from ..measure import b", "a relative import"),
        ("ratings/a.py", "import_module('discreet.measure')", "which ratings may not"),
        ("ratings/a.py", "importlib.import_module(name)", "a computed import"),
        ("cli/a.py", "from . import b", "a relative import"),
        ("ratings/a.py", "__import__('discreet.cli')", "which ratings may not"),
        ("release/a.py", "from discreet.privacy.mechanisms import x", "which release may not"),
        ("release/a.py", "from discreet.privacy import mechanisms", "which release may not"),
        ("predict/a.py", "from discreet.privacy import ledger", "which predict may not"),
        ("serve/a.py", "from discreet.protocols.x.client import y", "which serve may not"),
        ("serve/a.py", "from discreet.measure import fit", "which serve may not"),
        ("serve/a.py", "from discreet.protocols import clients", "which serve may not"),
        ("serve/a.py", "from discreet.protocols.x.authority import y", "which serve may not"),
        ("protocols/servers.py", "from discreet.protocols.x.client import y", "may not"),
        ("protocols/clients.py", "import_module('discreet.protocols.x.server')", "may not"),
        ("protocols/x/client.py", "from discreet.protocols.servers import Protocol", "may not"),
        ("measure/a.py", "from discreet.audit import x", "which measure may not"),
        ("audit/a.py", "from discreet.evaluate import x", "which audit may not"),
        ("audit/a.py", "from discreet.cli import x", "which audit may not"),
        ("cli/a.py", "from discreet.privacy._events import x", "private to privacy"),
        ("cli/a.py", "from discreet.privacy.noise import _secret", "private to privacy.noise"),
        (
            "privacy/a.py",
            "from discreet.privacy.noise._choices import x",
            "private to privacy.noise",
        ),
        ("protocols/x/client.py", "from discreet.protocols.x.server import a", "may not"),
        ("protocols/x/client.py", "from discreet.protocols.y.messages import a", "may not"),
        ("protocols/x/server/a.py", "from discreet.predict import a", "may not"),
        ("protocols/x/__init__.py", "from discreet.protocols.x import server", "may not"),
        ("kitchen/a.py", "", "in no room"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, path: str, code: str, complaint: str) -> None:
    assert problems(plant(tmp_path, {})) == []
    found = problems(plant(tmp_path, {path: code}))
    assert found
    assert all(complaint in problem for problem in found)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("ratings/a.py", "import numpy, os.path\nfrom discreet.domain import Scale"),
        ("ratings/readers/a.py", "from discreet.ratings._ratings import x"),
        (
            "release/a.py",
            "from discreet.privacy import Guarantee\nfrom discreet import __version__",
        ),
        ("predict/a.py", "from discreet.privacy.mechanisms import x\nimport discreet.release as r"),
        ("protocols/x/client.py", "from discreet.protocols.x import messages"),
        ("protocols/x/server/_a.py", "from discreet.protocols.x.server._b import c"),
        ("serve/a.py", "from discreet.protocols.x.server import a"),
        ("protocols/servers.py", "import_module('discreet.protocols.x.server')"),
        ("cli/a.py", "from discreet.audit import x\nfrom discreet.measure import y"),
        ("cli/a.py", "importlib.import_module(name)"),
        ("__init__.py", "import importlib\nimportlib.import_module(home)"),
        ("__main__.py", "from discreet.cli import main"),
    ],
)
def test_what_the_table_allows_is_not_complained_about(
    tmp_path: Path, path: str, code: str
) -> None:
    assert problems(plant(tmp_path, {path: code})) == []


@pytest.mark.parametrize(
    ("text", "is_missing"),
    [
        (None, True),
        ("# Title\n\n## Statement\n\nIt holds.\n", True),
        ("## Statement\n\nIt holds.\n\n## Proof\n", True),
        ("## Statement\n\nIt holds.\n\n## Proof\n\nBecause.\n", False),
    ],
)
@pytest.mark.parametrize("home", ["privacy/mechanisms/coin", "measure/sums"])
def test_a_missing_proof_is_found(
    tmp_path: Path, home: str, text: str | None, is_missing: bool
) -> None:
    files = {f"{home}/__init__.py": "", "measure/engines/__init__.py": ""}
    if text is not None:
        files[f"{home}/PROOF.md"] = text
    assert claims_without_proof(plant(tmp_path, files)) == ([home] if is_missing else [])
