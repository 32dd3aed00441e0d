"""Times that a question names: days, months, years, and days counted from now."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

__all__ = ["MONTHS", "Named", "dates_in", "named_times"]

MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBER: Final[Mapping[str, int]] = {
    name: number
    for number, month in enumerate(MONTHS, start=1)
    for name in (month, month[:3], "sept" if month == "september" else month)
}
_MONTH: Final = "|".join(sorted(_NUMBER, key=len, reverse=True))
_DAY: Final = "(?:[12][0-9]|3[01]|0?[1-9])"
_DATE: Final = re.compile(
    rf"\b(?:(?P<before>{_DAY})(?:st|nd|rd|th)?(?: of)?,? )?(?P<month>{_MONTH})\b\.?"
    rf"(?: (?P<behind>{_DAY})(?:st|nd|rd|th)?\b)?(?:,? (?P<year>[12][0-9]{{3}})\b)?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(
    r"\b(?P<year>[12][0-9]{3})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-2][0-9]|3[01]))?\b"
)
_YEAR: Final = re.compile(r"\b(?:19|20)[0-9]{2}\b")
_AGO: Final = re.compile(
    r"\b(?P<day>today|yesterday)\b|\b(?P<which>this|last|past) (?P<unit>week|month)\b"
    r"|\b(?P<count>[0-9]{1,3}) (?P<units>day|week|month)s? ago\b",
    re.IGNORECASE,
)
_DAYS: Final[Mapping[str, int]] = {"day": 1, "week": 7, "month": 31}

_WHOLE, _PART, _YEAR_ALONE = 1.0, 0.5, 0.15  # how much of what was named fits (measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A time as far as it was named; or, with ``first`` and ``last``, a span of days."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    first: date = date.max
    last: date = date.min

    def fit(self, moment: datetime) -> float:
        """Return from 0 to 1 how much of what was named a time fits."""
        if self.first <= moment.date() <= self.last:
            return _WHOLE
        if self.year not in (None, moment.year):
            return 0.0
        if self.month is None:
            return _YEAR_ALONE if self.year else 0.0
        if self.month != moment.month:
            return 0.0
        return _WHOLE if self.day == moment.day else _PART


def named_times(question: str, *, now: datetime) -> tuple[Named, ...]:
    """Return the times that a question names."""
    question = " ".join(question.split())
    return (*_dates(question), *_years(question), *_counted(question, now.astimezone(UTC).date()))


def dates_in(question: str) -> str:
    """Return the words of a question that name days, months and years; those counted from now stay."""
    question = " ".join(question.split())
    iso = (found[0] for found in _ISO.finditer(question))
    return " ".join((*(found[0] for found in _months(question)), *iso, *_YEAR.findall(question)))


def _months(question: str) -> Iterator[re.Match[str]]:
    """Give the months with their days and years.

    A verb and a name look like months: "may" and "mar" are only with a day, a year or a capital
    letter.
    """
    for found in _DATE.finditer(question):
        if found["before"] or found["behind"] or found["year"] or found["month"][0].isupper():
            yield found


def _dates(question: str) -> Iterator[Named]:
    for found in _months(question):
        day, year = found["before"] or found["behind"], found["year"]
        yield Named(
            year=int(year) if year else None,
            month=_NUMBER[found["month"].lower()],
            day=int(day) if day else None,
        )
    for found in _ISO.finditer(question):
        day = found["day"]
        yield Named(
            year=int(found["year"]), month=int(found["month"]), day=int(day) if day else None
        )


def _years(question: str) -> Iterator[Named]:
    for year in _YEAR.findall(question):
        yield Named(year=int(year))


def _counted(question: str, today: date) -> Iterator[Named]:
    """Give the spans of days that lie so far back from today, which is in UTC."""
    for found in _AGO.finditer(question):
        if found["day"]:
            back = today - timedelta(days=found["day"].lower() == "yesterday")
            yield Named(first=back, last=back)
        elif found["unit"]:
            days = _DAYS[found["unit"].lower()]
            ago = 0 if found["which"].lower() == "this" else days
            yield Named(first=today - timedelta(days=ago + days - 1), last=today)
        else:
            days = _DAYS[found["units"].lower()]
            middle = today - timedelta(days=int(found["count"]) * days)
            around = timedelta(days=days // 2)
            yield Named(first=middle - around, last=middle + around)
