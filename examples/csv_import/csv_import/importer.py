"""From a CSV file of daily readings to ``Reading``s, and sums over them."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from .lines import read_blocks, split_lines


@dataclass(frozen=True)
class Reading:
    """One day: millimetres of rain, degrees Celsius, metres a second."""

    day: date
    precipitation: float
    temp_max: float
    temp_min: float
    wind: float
    weather: str


def parse_row(row: dict[str, str]) -> Reading:
    return Reading(
        day=datetime.strptime(row["date"], "%Y/%m/%d").date(),
        precipitation=float(row["precipitation"]),
        temp_max=float(row["temp_max"]),
        temp_min=float(row["temp_min"]),
        wind=float(row["wind"]),
        weather=row["weather"],
    )


def read_readings(path: Path | str) -> list[Reading]:
    """All readings of the file, in its order."""
    with Path(path).open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(split_lines(read_blocks(stream)))
        return [parse_row(row) for row in rows]


def monthly_totals(readings: Iterable[Reading]) -> dict[str, float]:
    """Rain by month, ``{"2012-01": 173.3, …}``, oldest month first."""
    totals: dict[str, float] = {}
    for reading in sorted(readings, key=lambda reading: reading.day):
        month = f"{reading.day:%Y-%m}"
        totals[month] = round(totals.get(month, 0.0) + reading.precipitation, 1)
    return totals
