"""A page about a release that a privacy officer can file: what it guarantees, and what it does not.

Made from public things alone: the release, the ledger's totals, an audit's findings.
"""

from discreet.domain.callable_room import make_callable
from discreet.report._audits import AuditFile, AuditFinding, read_audit, read_audits, sha256_of
from discreet.report._html import is_report
from discreet.report._odds import best_guess, number_down, number_up, odds_factor
from discreet.report._page import make_report, noise_ratio
from discreet.report._registry import as_yaml, registry_entry
from discreet.report._write import describe_release, report

__all__ = [
    "AuditFile",
    "AuditFinding",
    "as_yaml",
    "best_guess",
    "describe_release",
    "is_report",
    "make_report",
    "noise_ratio",
    "number_down",
    "number_up",
    "odds_factor",
    "read_audit",
    "read_audits",
    "registry_entry",
    "report",
    "sha256_of",
]

make_callable(__name__)
