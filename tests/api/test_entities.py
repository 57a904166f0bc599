"""The OpenAPI document says of an entity what its type says."""

import pytest
from drf_spectacular.generators import SchemaGenerator

from apps.api.entities.status import StatusJson
from apps.notifications.models import Treatment


@pytest.fixture(scope="module")
def schemas():
    return SchemaGenerator().get_schema(public=True)["components"]["schemas"]


def test_a_component_has_the_fields_of_the_type(schemas):
    status = schemas["Status"]
    assert set(status["properties"]) == set(status["required"]) == StatusJson.__required_keys__
    assert status["description"] == StatusJson.__doc__
    assert status["properties"]["content"]["description"].startswith(
        "HTML with p, br, a and span only."
    )
    assert status["properties"]["account"] == {"$ref": "#/components/schemas/Account"}


def test_null_is_a_type(schemas):
    fields = schemas["Status"]["properties"]
    assert fields["edited_at"] == {"type": ["string", "null"], "format": "date-time"}
    assert fields["reblog"] == {
        "oneOf": [{"$ref": "#/components/schemas/Status"}, {"type": "null"}]
    }


@pytest.mark.slow
def test_what_may_be_missing_is_not_required(schemas):
    notification = schemas["Notification"]
    optional = set(notification["properties"]) - set(notification["required"])
    assert optional == {"status", "moderation_warning", "collection"}
    assert notification["properties"]["status"] == {"$ref": "#/components/schemas/Status"}


def test_choices_are_those_of_the_model(schemas):
    policy = schemas["NotificationPolicy"]["properties"]
    assert policy["for_not_following"] == {"$ref": "#/components/schemas/TreatmentEnum"}
    assert schemas["TreatmentEnum"]["enum"] == Treatment.values
