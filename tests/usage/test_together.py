"""Several files that are the parts of one delivery, by the command, on the page and over the API: one import."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from core.errors import DomainError
from tests.api.test_usage import bearer
from tests.usage import factories
from tests.usage.factories import focus
from usage import services
from usage.models import Import, Record, Source

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]


def part(number: int, cost: str) -> tuple[str, bytes]:
    """A part as Parquet."""
    content = focus({"ResourceId": f"node-{number}", "BilledCost": cost})
    table = pyarrow.csv.read_csv(io.BytesIO(content))
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return f"export-{number:04}.parquet", out.getvalue()


PARTS = [part(1, "10"), part(2, "2.5"), part(3, "0.25")]


def written(folder: Path) -> list[str]:
    for name, content in PARTS:
        (folder / name).write_bytes(content)
    return [str(folder / name) for name, _content in PARTS]


def told(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_command_takes_parts_together_in_any_order(tmp_path, capsys):
    files = written(tmp_path)

    call_command("import_usage", *files, source="bill", create=True, together=True, json=True, no_judge=True)
    random.shuffle(files)
    call_command("import_usage", *files, source="bill", together=True, json=True, no_judge=True)

    first, again = told(capsys)
    assert (first["status"], first["rows_accepted"], first["totals"]["USD"]["billed"]) == ("live", 3, "12.75")
    assert (again["status"], again["rows_written"]) == ("unchanged", 0)
    assert Import.objects.first().name == "export-0001.parquet and 2 more"


def test_without_it_each_file_is_a_delivery_and_the_command_says_which_took_the_place_of_which(tmp_path, capsys):
    files = written(tmp_path)

    with pytest.raises(SystemExit):
        call_command("import_usage", *files, source="bill", create=True, json=True, no_judge=True)

    out, err = capsys.readouterr()
    assert [json.loads(line)["status"] for line in out.splitlines()] == ["live", "waiting", "waiting"]
    assert "takes the place of" in err and "--together" in err


def test_parts_of_one_name_are_refused(stage):
    with pytest.raises(DomainError, match="one name"):
        services.receive_files(
            source=factories.source(), by=None, parts=[("a/x.csv", io.BytesIO(b"1")), ("b/x.csv", io.BytesIO(b"2"))]
        )

    assert Import.objects.count() == 0


def test_the_page_takes_several_files_as_one_delivery(stage, client, no_worker):
    factories.source("cloud")
    client.force_login(stage.operator)

    files = [SimpleUploadedFile(name, content) for name, content in PARTS]
    client.post(reverse("import-new"), {"source": "cloud", "file": files})

    assert services.run_import(Import.objects.get().pk)["totals"]["USD"]["billed"] == "12.75"
    assert "multiple" in client.get(reverse("import-new")).content.decode()


def test_the_page_needs_a_file(stage, client, no_worker):
    factories.source("cloud")
    client.force_login(stage.operator)

    assert client.post(reverse("import-new"), {"source": "cloud"}).status_code == 422
    assert Import.objects.count() == 0


def test_the_api_takes_several_files_as_one_delivery(stage, client, no_worker):
    factories.source("cloud")

    files = [SimpleUploadedFile(name, content) for name, content in PARTS]
    sent = client.post("/api/v1/imports/", {"source": "cloud", "file": files}, headers=bearer(stage.operator, "usage"))
    none = client.post("/api/v1/imports/", {"source": "cloud"}, headers=bearer(stage.operator, "usage"))

    assert (sent.status_code, none.status_code) == (202, 400)
    assert services.run_import(sent.json()["id"])["rows_accepted"] == 3
    assert Record.objects.filter(scope__source=Source.objects.get()).count() == 3
