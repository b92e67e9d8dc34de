from datetime import date
from pathlib import Path

from csv_import import monthly_totals, read_readings

DATA = Path(__file__).parents[1] / "data" / "seattle-weather.csv"


def test_the_first_reading_is_new_years_day_2012():
    first = read_readings(DATA)[0]
    assert (first.day, first.precipitation, first.weather) == (date(2012, 1, 1), 0.0, "drizzle")


def test_four_years_of_days_are_imported():
    readings = read_readings(DATA)
    assert readings[-1].day == date(2015, 12, 31)
    assert len(readings) == 4 * 365 + 1


def test_monthly_totals_cover_every_month():
    totals = monthly_totals(read_readings(DATA))
    assert len(totals) == 48
    assert totals["2012-01"] == 173.3
