"""The staff page for the weights of factors; changed weights apply to each new order."""

from typing import Any

from django import forms
from django.contrib import admin

from apps.ranking.algorithms import available
from apps.ranking.models import FactorWeight


class WeightForm(forms.ModelForm):
    class Meta:
        model = FactorWeight
        fields = ("name", "weight")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        choices = [
            (
                f"{algorithm.name}.{factor.name}",
                f"{algorithm.label}: {factor.label} ({factor.weight:g})",
            )
            for algorithm in available().values()
            for factor in algorithm.factors
        ]
        self.fields["name"] = forms.ChoiceField(label=self.fields["name"].label, choices=choices)


@admin.register(FactorWeight)
class FactorWeightAdmin(admin.ModelAdmin):
    form = WeightForm
    list_display = ("name", "weight")
    ordering = ("name",)
