"""Imports daily weather readings from CSV files."""

from .importer import Reading, monthly_totals, read_readings

__all__ = ["Reading", "monthly_totals", "read_readings"]
