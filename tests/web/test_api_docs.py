"""The API as a page."""

from __future__ import annotations

import pytest

from web import api_docs

DOCUMENT = {
    "paths": {
        "/api/v1/proposals/{id}/": {
            "get": {
                "operationId": "proposals_get",
                "summary": "One proposal",
                "parameters": [
                    {"name": "id", "required": True, "schema": {"type": "integer"}, "description": "its id"}
                ],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Proposal"}}}}
                },
            }
        },
        "/api/v1/imports/": {
            "post": {
                "operationId": "imports_post",
                "description": "Deliver a file.\nThe same bytes again write nothing.",
                "requestBody": {
                    "content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/Delivery"}}}
                },
                "responses": {"202": {"description": "waiting"}},
            }
        },
    },
    "components": {
        "schemas": {
            "Proposal": {
                "type": "object",
                "required": ["title"],
                "properties": {
                    "title": {"type": "string", "description": "what it is called"},
                    "steps": {"type": "array", "items": {"$ref": "#/components/schemas/Step"}},
                },
            },
            "Step": {
                "type": "object",
                "properties": {
                    "role": {"enum": ["manager", "director"], "type": "string"},
                    "after": {"$ref": "#/components/schemas/Step"},
                },
            },
            "Delivery": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary"}},
            },
        }
    },
}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(api_docs, "document", lambda: DOCUMENT)


def test_operations_stand_under_the_first_word_of_their_address(small):
    assert [(section.name, len(section.operations)) for section in api_docs.sections()] == [
        ("proposals", 1),
        ("imports", 1),
    ]


def test_references_are_followed_and_objects_inside_spelled_out_three_deep(small):
    status, _text, rows = api_docs.sections()[0].operations[0].answers[0]

    assert status == "200"
    assert [(row.name, row.kind, row.depth) for row in rows] == [
        ("title", "string", 0),
        ("steps", "list of object", 0),
        ("role", '"manager" | "director"', 1),
        ("after", "object", 1),
        ("role", '"manager" | "director"', 2),
        ("after", "object", 2),
    ]
    assert rows[0].required and rows[0].text == "what it is called"


def test_an_upload_has_an_example_with_its_file(small):
    operation = api_docs.sections()[1].operations[0]

    assert operation.summary == "Deliver a file"
    assert "-X POST" in operation.example and "-F file=…" in operation.example


def test_the_page_shows_what_this_installation_offers(client, stage):
    api_docs.document.cache_clear()
    client.force_login(stage.alice)

    page = client.get("/api/").content.decode()

    assert "/api/v1/token/" in page and "POST" in page


def test_the_page_is_for_people_who_are_signed_in(client, db):
    assert client.get("/api/")["Location"].startswith("/login/")
