"""What is recognised to be refused, and tables that a mapping explains."""

from __future__ import annotations

import pytest

from usage.reading.faults import FileRefused

from .records import read

SREPORT = """--------------------------------------------------------------------------------
Cluster/Account/User Utilization 2025-03-01T00:00:00 - 2025-03-01T23:59:59 (86400 secs)
Usage reported in {unit}
--------------------------------------------------------------------------------
  Cluster         Account     Login     Proper Name     Used   Energy
--------- --------------- --------- --------------- -------- --------
    alpha          vision                                180        0
    alpha          vision       ann             ,,,       60        0
    alpha          vision       bea             ,,,      120        0
"""
LEDGER = "Day;Amount;Team;Card hours;Note\n01.03.2025;1.234,50 €;vision;8;=1+1\n02.03.2025;-10,00 €;speech;0;\n"
MAPPING = "start=Day,cost=Amount,tag:team=Team,accelerator_hours=Card hours"


def test_an_sreport_is_refused_with_its_total_counted_once():
    with pytest.raises(FileRefused, match=r"180 CPU Minutes \(3 hours\)"):
        read(SREPORT.format(unit="CPU Minutes"))


def test_an_sreport_in_percent_is_refused_as_such():
    with pytest.raises(FileRefused, match="percent"):
        read(SREPORT.format(unit="Percentage of Total"))


def test_a_dump_of_prometheus_is_sent_to_where_it_belongs():
    with pytest.raises(FileRefused, match="import_metrics"):
        read('# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu="0"} 93\n')


def mapped(**more: str):
    settings = {"columns": MAPPING, "currency": "EUR", "date_order": "dmy", "money_text": "eu"} | more
    return read(LEDGER, **settings)


def test_a_mapped_table_is_recognised_and_read():
    found = mapped()

    assert found.format == "generic-csv"
    (first, keys), (second, _) = found.rows
    assert (first.billed, first.effective, first.currency, first.accelerator_hours) == ("1234.5", "1234.5", "EUR", "8")
    assert (first.usage_start, first.usage_end) == ("2025-03-01T00:00:00+00:00", "2025-03-02T00:00:00+00:00")
    assert (second.billed, keys.tags) == ("-10", {"team": "vision"})
    assert first.extra == '{"Note": "=1+1"}'


def test_a_mapping_to_a_field_that_does_not_exist_is_refused_by_name():
    with pytest.raises(FileRefused) as refused:
        read(LEDGER, "generic-csv", columns=f"{MAPPING},colour=Note", currency="EUR")

    assert [fault.value for fault in refused.value.faults] == ["colour"]


def test_a_mapping_to_a_column_that_is_not_there_is_refused_by_name():
    with pytest.raises(FileRefused) as refused:
        read(LEDGER, "generic-csv", columns="start=Day,cost=Sum", currency="EUR")

    assert [fault.path for fault in refused.value.faults] == ["Sum"]


def test_a_mapping_needs_a_start_and_something_to_count():
    with pytest.raises(FileRefused, match="start and one of"):
        read(LEDGER, "generic-csv", columns="start=Day", currency="EUR")


def test_a_charge_or_category_that_does_not_exist_refuses_the_row():
    found = read(
        "d,c,k\n2025-03-01,5,Gift\n2025-03-01,6,tax\n", columns="start=d,cost=c,charge_category=k", currency="EUR"
    )

    assert [keys.charge_category for _row, keys in found.rows] == ["Tax"]
    assert [column for _line, column, *_more in found.faults] == ["k"]


def test_a_row_without_a_cost_is_refused_and_zero_is_a_value():
    found = read("d,c\n2025-03-01,\n2025-03-01,0\n", columns="start=d,cost=c", currency="EUR")

    assert [row.billed for row, _keys in found.rows] == ["0"]
    assert [column for _line, column, *_more in found.faults] == ["c"]


def test_quantities_alone_carry_no_currency():
    ((row, _keys),) = read("d,h\n2025-03-01,7.5\n", columns="start=d,accelerator_hours=h").rows

    assert (row.billed, row.currency, row.accelerator_hours) == (None, "", "7.5")


def test_a_mapped_table_is_a_log_where_it_has_a_key():
    ((row, _keys),) = read("d,h,i\n2025-03-01,7.5,j-1\n", columns="start=d,accelerator_hours=h,key=i").rows

    assert row.row_key == "j-1"
