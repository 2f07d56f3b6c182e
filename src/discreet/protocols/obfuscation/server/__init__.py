"""What came in adds up by bucket; averages for a release; statistics that anybody may see."""

from discreet.protocols.obfuscation.server._averages import DENIABLE, LEAST_PEOPLE, averages
from discreet.protocols.obfuscation.server._statistics import Statistics, report
from discreet.protocols.obfuscation.server._totals import Placed, Totals

__all__ = ["DENIABLE", "LEAST_PEOPLE", "Placed", "Statistics", "Totals", "averages", "report"]
