"""Starter packs for new members, in both languages."""

from apps.demo.seeding.world import World
from apps.search.models import StarterPack

PACKS = (
    ("Slow mornings, good letters", "en", (
        "juno", "lucia_b", "samir", "noor_amari", "hana_k", "ewan", "aoife", "marguerite", "wells", "patch_the_cat",
    )),
    ("How things are built", "en", ("mara", "theo", "priya", "leila", "kofi", "tomasz_w")),
    ("山水与日常", "zh", (
        "xiaoman", "susu", "ajie_noodles", "yiqing", "zhiqiu", "yinuo", "laozhou_garden", "gunan", "maosansan",
    )),
    ("写代码的人", "zh", ("chenmo", "yuan", "songhe", "xiaozhou")),
)  # fmt: skip


def make_starter_packs(world: World) -> None:
    """Make the starter packs if this run makes the cast, whose accounts are in them."""
    if not world.makes_cast:
        return
    for place, (title, language, handles) in enumerate(PACKS):
        pack = StarterPack.objects.create(title=title, language=language, place=place)
        pack.members.set([world.cast[handle].pk for handle in handles])
