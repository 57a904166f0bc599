"""The shapes of the ranked timeline, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from apps.ranking.reasons import Factor
from apps.ranking.scoring import Preset
from apps.timeline.schema import StatusSchema


class FactorSchema(serializers.Serializer[Any]):
    """A factor of a score."""

    name = serializers.ChoiceField(Factor.values)
    value = serializers.FloatField(help_text="Between 0 and 1.")
    weight = serializers.FloatField()
    adds = serializers.FloatField(help_text="Value times weight.")


class ReasonSchema(serializers.Serializer[Any]):
    """Why a status stands where it stands."""

    code = serializers.CharField(help_text="The name of the factor that adds most.")
    text = serializers.CharField(help_text="The same as a sentence, in the reader's language.")
    score = serializers.FloatField()
    factors = FactorSchema(many=True)
    same_author_above = serializers.IntegerField(
        help_text="Posts of the same author above; each makes the score a fifth smaller."
    )


class RankedStatusSchema(StatusSchema):
    """A status with the reason for its place."""

    x_reason = ReasonSchema()


class PresetSchema(serializers.Serializer[Any]):
    """How an order is made."""

    preset = serializers.ChoiceField(Preset.values)
