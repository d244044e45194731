"""Many rows into SQL at once: about eight times as fast as building model instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, islice
from typing import Any
from zlib import crc32

import msgspec
from django.db import connection, transaction
from django.db.models import Model

VALUES_PER_STATEMENT = 900  # SQLite may allow no more than 999
LARGE_CACHE = -128 * 1024  # in KiB, as SQLite counts when it is negative


def insert_rows(
    model: type[Model],
    fields: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    skip_known: bool = False,
) -> int:
    """Insert `rows`, with values in the order of `fields` as the database stores them (JSON as
    text). `skip_known` leaves out rows that break a unique constraint. Returns the rows given."""
    quote = connection.ops.quote_name
    columns = {field.name: field.column for field in model._meta.concrete_fields}
    table = quote(model._meta.db_table)
    names = ", ".join(quote(columns[field] or field) for field in fields)
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            return _insert(table, names, len(fields), rows, skip_known)
        if not skip_known:
            return _copy(cursor, table, names, rows)
        return _copy_unknown(cursor, table, names, rows)


# Table and column names below are a model's own and quoted; values are never part of a statement.


def _copy_unknown(cursor: Any, table: str, names: str, rows: Iterable[Sequence[Any]]) -> int:
    """COPY knows no conflicts, so the rows come in beside the table.

    That place stays with the connection, empty: one made for each call would fill PostgreSQL's
    catalogue.
    """
    beside = f"incoming_{crc32((table + names).encode()):08x}"
    cursor.execute(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {beside} ON COMMIT DELETE ROWS "  # noqa: S608
        f"AS SELECT {names} FROM {table} WITH NO DATA"
    )
    count = _copy(cursor, beside, names, rows)
    cursor.execute(
        f"INSERT INTO {table} ({names}) "  # noqa: S608
        f"SELECT {names} FROM {beside} ON CONFLICT DO NOTHING"
    )
    cursor.execute(f"DELETE FROM {beside}")  # noqa: S608
    return count


def _insert(
    table: str, names: str, width: int, rows: Iterable[Sequence[Any]], skip_known: bool
) -> int:
    """Many rows in one statement, past Django's cursor, which would rewrite every placeholder.
    Other threads of Python run while SQLite works, and with many rows it works for longer."""
    place = f"({', '.join('?' * width)})"
    end = " ON CONFLICT DO NOTHING" if skip_known else ""

    def statement(count: int) -> str:
        return f"INSERT INTO {table} ({names}) VALUES {', '.join([place] * count)}{end}"  # noqa: S608

    most = max(1, VALUES_PER_STATEMENT // width)
    full, count, remaining = statement(most), 0, iter(rows)
    with connection.wrap_database_errors:
        execute = connection.connection.execute
        while batch := list(islice(remaining, most)):
            sql = full if len(batch) == most else statement(len(batch))
            execute(sql, list(chain.from_iterable(batch)))
            count += len(batch)
    return count


def _copy(cursor: Any, table: str, names: str, rows: Iterable[Sequence[Any]]) -> int:
    """PostgreSQL's own way in: a tenth of the processor time of a statement for each row."""
    count = 0
    with connection.wrap_database_errors, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    return count


@contextmanager
def large_cache() -> Iterator[None]:
    """For a great many rows: an index whose keys come in no order touches all its pages again and
    again, and SQLite's own 2 MB would send them to the disk each time."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        before = cursor.execute("PRAGMA cache_size").fetchone()[0]
        cursor.execute(f"PRAGMA cache_size = {LARGE_CACHE}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA cache_size = {before}")


def storable(text: str) -> str:
    """PostgreSQL stores any text but NUL, which Redis and SQLite allow in an id."""
    return text.replace("\0", "\ufffd")


def storable_time(moment: datetime) -> Any:
    """As the database stores it: SQLite wants UTC without a zone."""
    return connection.ops.adapt_datetimefield_value(moment)


def storable_json(value: Any) -> str:
    return msgspec.json.encode(value).decode().replace("\\u0000", "\ufffd")
