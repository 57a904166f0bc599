"""Request bodies for the ranked timeline."""

from typing import Any

from rest_framework import serializers

from apps.timeline.ranking.scoring import Preset


class PresetInput(serializers.Serializer[Any]):
    """How an order is made."""

    preset = serializers.ChoiceField(Preset.values)
