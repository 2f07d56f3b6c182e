"""The guarantee: units, events, accountants, calibration, ledger, mechanisms."""
