"""The mapping page: suggestions by header, a live preview, one clear fault each, kept and imported."""

from __future__ import annotations

import io
from decimal import Decimal
from urllib.parse import parse_qs, urlparse

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from core.errors import DomainError
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import mapping, services
from usage.bookings.posting import manual_source
from usage.models import Import, Record, Source
from usage.pipeline import files
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

BILL = '日期,费用(元),产品,账号ID,团队\n2026/3/5,"1,234.50",GPU 云主机,007,基础\n2026/3/6,0.5,对象存储,007,搜索\n'
GIVEN = {
    "columns": {"start": "日期", "cost": "费用(元)", "service": "产品", "account": "账号ID", "tag:团队": "团队"},
    "currency": "CNY",
    "date_order": "ymd",
    "money_text": "us",
    "constants": {"unit": "Hours", "provider": "Example"},
}


def kept(text: str | bytes) -> str:
    content = text.encode() if isinstance(text, str) else text
    return files.keep([content]).sha256


def test_columns_are_suggested_by_their_names_in_both_languages():
    assert mapping.suggest(["日期", "费用(元)", "产品名称", "账号ID", "币种", "备注"]) == {
        "start": "日期",
        "cost": "费用(元)",
        "service": "产品名称",
        "account": "账号ID",
        "currency": "币种",
    }
    assert mapping.suggest(["UsageDate", "Net_Amount", "Resource ID", "GPU hours"]) == {
        "start": "UsageDate",
        "cost": "Net_Amount",
        "resource": "Resource ID",
        "accelerator_hours": "GPU hours",
    }


def test_a_table_in_gbk_shows_its_columns():
    found = mapping.head(files.path_of(kept(BILL.encode("gb18030"))), "bill.csv", {})

    assert found.encoding == "gb18030"
    assert found.columns == ["日期", "费用(元)", "产品", "账号ID", "团队"]
    assert found.rows[0][1] == "1,234.50"


def test_the_first_rows_are_shown_as_they_would_be_read():
    tried = mapping.try_out(files.path_of(kept(BILL)), "bill.csv", GIVEN)

    assert (tried.read, tried.accepted, tried.wrong) == (2, 2, [])
    assert tried.sums == {"CNY": {"billed": Decimal("1235.0"), "effective": Decimal("1235.0")}}
    first = tried.rows[0]
    assert (first.line, first.row.usage_start[:10], first.keys.account) == (2, "2026-03-05", "007")
    assert (first.keys.unit, first.keys.provider, first.keys.tags) == ("Hours", "Example", {"团队": "基础"})


def test_a_fault_is_told_once_with_line_column_and_value():
    bill = "日期,费用(元)\nyesterday,1\ntomorrow,2\n2026-03-05,much\n"

    tried = mapping.try_out(
        files.path_of(kept(bill)), "bill.csv", {"columns": {"start": "日期", "cost": "费用(元)"}, "currency": "CNY"}
    )

    assert [(each.line, each.column, each.value, each.count) for each in tried.wrong] == [
        (2, "日期", "yesterday", 2),
        (4, "费用(元)", "much", 1),
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"columns": {"cost": "费用(元)"}},
        {"columns": {"start": "日期", "cost": "nowhere"}},
        {**GIVEN, "currency": "RMB"},
        {**GIVEN, "constants": {"start": "2026-03-05"}},
    ],
)
def test_a_mapping_that_cannot_be_is_refused_as_a_whole(given):
    with pytest.raises(DomainError) as refused:
        mapping.try_out(files.path_of(kept(BILL)), "bill.csv", given)

    assert refused.value.message


def test_a_mapping_is_kept_only_where_it_reads_something(stage):
    source = factories.source("own")
    wrong = {**GIVEN, "columns": {"start": "产品", "cost": "费用(元)"}}

    with pytest.raises(DomainError):
        mapping.map_source(source, wrong, sha256=kept(BILL), name="bill.csv", by=stage.operator)
    with pytest.raises(DomainError):
        mapping.map_source(source, GIVEN, sha256=kept(BILL), name="bill.csv", by=stage.alice)

    assert Source.objects.get().settings == {}


def test_a_source_of_another_format_is_not_mapped(stage):
    source = factories.source()
    deliver(source, focus({}))

    with pytest.raises(DomainError) as refused:
        mapping.map_source(source, GIVEN, sha256=kept(BILL), name="bill.csv", by=stage.operator)

    assert "focus" in refused.value.message


def fields_of(sha256: str, **more: str) -> dict[str, str]:
    return {
        "file": sha256,
        "name": "bill.csv",
        "map-start": "日期",
        "map-cost": "费用(元)",
        "map-account": "账号ID",
        "tag_columns": "团队",
        "constant-unit": "Hours",
        "currency": "CNY",
        "date_order": "ymd",
        "money_text": "us",
        "encoding": "utf-8",
        **more,
    }


def test_a_file_is_uploaded_mapped_previewed_and_imported(stage, client, no_worker):
    factories.source("own")
    client.force_login(stage.operator)
    sent = client.post(reverse("mapping-new"), {"source": "own", "file": SimpleUploadedFile("bill.csv", BILL.encode())})
    sha256 = parse_qs(urlparse(sent.url).query)["file"][0]
    page = client.get(sent.url).content.decode()
    assert '<option value="日期" selected>' in page and '<option value="费用(元)" selected>' in page

    part = client.post(reverse("mapping-preview", args=["own"]), fields_of(sha256)).content.decode()
    assert "2 of 2 rows can be read." in part and "1,235" in part and "团队=基础" in part
    wrong = client.post(reverse("mapping-preview", args=["own"]), fields_of(sha256, **{"map-start": "团队"}))
    assert "0 of 2 rows can be read." in wrong.content.decode()
    saved = client.post(reverse("mapping", args=["own"]), fields_of(sha256))

    delivery = Import.objects.get()
    assert saved.url == reverse("import", args=[delivery.pk])
    assert services.run_import(delivery.pk)["status"] == "live"
    assert usage_totals(Question())[0].totals == {"CNY": 1235}
    assert Record.objects.first().key_set.meter.unit == "Hours"
    again = services.receive_file(
        source=Source.objects.get(), by=None, name="april.csv", stream=io.BytesIO(BILL.replace("/3/", "/4/").encode())
    )
    assert services.run_import(again.pk)["rows_accepted"] == 2


def test_a_refused_file_leads_to_the_page_of_its_mapping(stage, client):
    refused = deliver(factories.source("own"), BILL.encode())
    client.force_login(stage.operator)
    address = reverse("import-map", args=[refused["import"]])
    assert address in client.get(reverse("import", args=[refused["import"]])).content.decode()

    page = client.get(address, follow=True)

    assert page.status_code == 200 and "费用(元)" in page.content.decode()


def test_the_mapping_is_not_for_members_and_not_for_files_that_are_not_there(stage, client):
    factories.source("own")
    client.force_login(stage.charlie)
    assert client.get(reverse("mapping-new")).status_code == 403
    assert client.get(reverse("mapping", args=["own"]), {"file": kept(BILL)}).status_code == 403
    client.force_login(stage.operator)

    assert client.get(reverse("mapping", args=["own"]), {"file": "0" * 64}).status_code == 404
    assert client.get(reverse("mapping", args=["own"]), {"file": "../../etc/passwd"}).status_code == 404


def test_what_is_booked_by_hand_is_no_source_of_files(stage, client):
    by_hand = manual_source()
    sha256 = kept("day,amount\n2026-03-01,5\n")
    client.force_login(stage.operator)

    page = client.get(reverse("mapping-new")).content.decode()
    mapped = client.get(reverse("mapping", args=[by_hand.slug]), {"file": sha256})

    assert by_hand.name not in page
    assert mapped.status_code == 404
