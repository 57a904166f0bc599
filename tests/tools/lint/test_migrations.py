"""Changes of models without a migration."""

import pytest
from django.apps import apps
from django.db import models

from apps.tags.models import Tag
from tools.lint import migrations


@pytest.mark.slow
def test_the_site_has_every_migration():
    assert list(migrations.missing()) == []


@pytest.mark.slow
def test_a_changed_field_is_told(monkeypatch):
    monkeypatch.setattr(Tag._meta.get_field("name"), "max_length", 7)
    assert list(migrations.missing()) == ["tags: Alter field name on tag"]


@pytest.mark.slow
def test_a_new_model_is_told():
    try:

        class Stray(models.Model):
            class Meta:
                app_label = "tags"

        assert list(migrations.missing()) == ["tags: Create model Stray"]
    finally:
        del apps.all_models["tags"]["stray"]
        apps.clear_cache()
