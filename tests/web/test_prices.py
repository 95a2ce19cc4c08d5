"""Price pages and the price part of the admin panel."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from estimates.models import Accelerator, Estimate, Price
from tests.estimates import factories

HEADER = b"kind,item,provider,mode,amount,currency,valid_from,reason\n"
ROW = b"accelerator,h100,lambda,on_demand,1.5,USD,2026-06-01,\n"


@pytest.fixture
def book(stage):
    factories.accelerator()
    stage.price = factories.price(amount="2")
    stage.keeper.is_staff = True
    stage.keeper.save()
    return stage


def upload(client, content: bytes):
    return client.post(reverse("price-import"), {"file": SimpleUploadedFile("prices.csv", content)})


def test_the_list_shows_what_is_in_force_with_source_and_mark(book, client):
    factories.price(amount="9", valid_from="2099-01-01")
    client.force_login(book.alice)

    page = client.get(reverse("price-list")).content.decode()

    assert "H100 SXM 80 GB" in page
    assert "2.00 USD" in page
    assert "9.00 USD" not in page
    assert "verified at its source" in page
    assert "example.com" in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=h100 nebius", True),
        ("q=nvidia", True),
        ("q=tpu", False),
        ("mode=spot", False),
        ("kind=accelerator&verification=verified", True),
        ("on=2025-12-31", False),
        ("on=nonsense", True),
    ],
)
def test_prices_are_searched_by_what_people_know(book, client, query, found):
    client.force_login(book.alice)

    page = client.get(f"{reverse('price-list')}?{query}").content.decode()

    assert ("2.00 USD" in page) is found


def test_the_list_has_a_counted_number_of_queries(book, client, django_assert_max_num_queries):
    for number in range(5):
        factories.price(provider=f"provider-{number}")
    client.force_login(book.alice)
    client.get(reverse("price-list"))

    with django_assert_max_num_queries(15):
        client.get(reverse("price-list"))


def test_the_history_says_who_and_why(book, client):
    factories.price(book.keeper, amount="3", reason="the invoice says 3")
    factories.estimate(book.alice, book.project)
    client.force_login(book.alice)

    page = client.get(reverse("price", args=[book.price.pk])).content.decode()

    assert "the invoice says 3" in page
    assert "Keeper" in page
    assert "Base 7B" in page


def test_charlie_sees_prices_but_not_the_drafts_of_others(book, client):
    factories.estimate(book.alice, book.project)
    client.force_login(book.charlie)

    page = client.get(reverse("price", args=[book.price.pk])).content.decode()

    assert "Base 7B" not in page
    assert "No draft that you may see" in page


def test_a_file_is_previewed_and_then_added_and_drafts_wait(book, client):
    draft = factories.estimate(book.alice, book.project)
    client.force_login(book.keeper)

    preview = upload(client, HEADER + ROW)

    assert "What would change" in preview.content.decode()
    assert "Base 7B" in preview.content.decode()
    assert Price.objects.count() == 1

    confirmed = client.post(reverse("price-import"), {"token": preview.context["token"]}, follow=True)

    assert "1 price added." in confirmed.content.decode()
    assert Price.objects.get(provider="lambda").by == book.keeper
    assert list(Estimate.objects.stale()) == [draft]


def test_a_bad_file_names_every_place_and_changes_nothing(book, client):
    client.force_login(book.keeper)

    answer = upload(client, HEADER + ROW.replace(b"1.5", b"cheap") + ROW.replace(b"USD", b"coins"))

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "line 2, amount" in page
    assert "line 3, currency" in page
    assert "Add these prices" not in page
    assert Price.objects.count() == 1


def test_a_file_that_is_gone_must_be_uploaded_again(book, client):
    client.force_login(book.keeper)

    answer = client.post(reverse("price-import"), {"token": "nonsense"}, follow=True)

    assert "Upload it again" in answer.content.decode()


def test_only_price_keepers_import(book, client):
    client.force_login(book.alice)

    assert client.get(reverse("price-import")).status_code == 403
    assert upload(client, HEADER + ROW).status_code == 403


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_the_list_is_exported(book, client, kind):
    client.force_login(book.alice)

    answer = client.get(reverse("price-export", args=[kind]))

    assert answer.status_code == 200
    assert f'.{kind}"' in answer["Content-Disposition"]
    assert client.get(reverse("price-export", args=["exe"])).status_code == 404


def test_nobody_sees_prices_without_signing_in(book, client):
    for name in ("price-list", "price-import"):
        assert client.get(reverse(name)).status_code == 302


# ---- the admin panel

NEW = {
    "kind": "accelerator",
    "item": "h100",
    "provider": "Lambda",
    "mode": "on_demand",
    "amount": "1.5",
    "currency": "USD",
    "valid_from": "2026-06-01",
    "verification": "verified",
    "source": "https://example.com",
}


def test_a_price_is_added_in_the_panel_through_the_service(book, client):
    client.force_login(book.keeper)

    answer = client.post(reverse("admin:estimates_price_add"), NEW)

    row = Price.objects.get(provider="lambda")
    assert answer.status_code == 302
    assert (row.item, row.amount, row.by, row.unit) == (
        "h100-sxm-80gb",
        Decimal("1.5"),
        book.keeper,
        "accelerator-hour",
    )


def test_the_panel_asks_for_the_reason_of_a_correction(book, client):
    client.force_login(book.keeper)
    correction = {**NEW, "provider": "nebius", "valid_from": "2026-01-01"}

    refused = client.post(reverse("admin:estimates_price_add"), correction)

    assert refused.status_code == 200
    assert list(refused.context["adminform"].form.errors) == ["reason"]
    assert Price.objects.count() == 1
    assert client.post(reverse("admin:estimates_price_add"), {**correction, "reason": "typo"}).status_code == 302


def test_the_panel_neither_changes_nor_deletes_price_rows(book, client):
    client.force_login(book.keeper)
    change = reverse("admin:estimates_price_change", args=[book.price.pk])
    delete = reverse("admin:estimates_price_delete", args=[book.price.pk])

    assert client.get(change).status_code == 200
    assert client.post(change, {**NEW, "amount": "1"}).status_code == 403
    assert client.post(delete, {"post": "yes"}).status_code == 403


def test_who_is_no_price_keeper_only_looks(book, client):
    book.alice.is_staff = True
    book.alice.save()
    client.force_login(book.alice)

    assert client.get(reverse("admin:estimates_price_changelist")).status_code == 200
    assert client.get(reverse("admin:estimates_price_add")).status_code == 403


def test_a_corrected_accelerator_makes_its_drafts_wait(book, client):
    draft = factories.estimate(book.alice, book.project)
    client.force_login(book.keeper)
    accelerator = Accelerator.objects.get()
    columns = {
        field.name: getattr(accelerator, field.name)
        for field in Accelerator._meta.fields
        if getattr(accelerator, field.name) is not None
    }

    answer = client.post(
        reverse("admin:estimates_accelerator_change", args=[accelerator.pk]),
        {**columns, "aliases": '["h100"]', "bf16_tflops": "900"},
    )

    assert answer.status_code == 302
    assert list(Estimate.objects.stale()) == [draft]
