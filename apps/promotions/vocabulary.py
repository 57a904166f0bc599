"""The traits that people may state about themselves, and the sensitive subjects that no selection may use."""

import unicodedata

import regex
from django.utils.translation import gettext_noop

# Slugs are permanent; staff add further traits in the admin.
TRAITS = {
    "first-year-student": gettext_noop("first-year student"),
    "student": gettext_noop("student"),
    "teacher": gettext_noop("teacher"),
    "programmer": gettext_noop("programmer"),
    "designer": gettext_noop("designer"),
    "photographer": gettext_noop("photographer"),
    "musician": gettext_noop("musician"),
    "reader": gettext_noop("keen reader"),
    "gardener": gettext_noop("gardener"),
    "cook": gettext_noop("keen cook"),
    "cyclist": gettext_noop("cyclist"),
    "runner": gettext_noop("runner"),
    "traveller": gettext_noop("traveller"),
}

# The special categories of Article 9 GDPR, and debts, divorces and convictions. The list stops careless mistakes; staff
# are responsible for the rest.
_BEGINNINGS = (
    "abortion", "addict", "alcoholic", "allah", "anarchis", "asylum", "atheis", "autis", "bankrupt", "bible",
    "biometric", "bisexual", "buddhis", "cancer", "catholic", "christian", "church", "communis", "conservative",
    "convict", "criminal", "democrat", "depressi", "diabet", "disab", "disease", "divorc", "ethnic",
    "evangelical", "fascis", "feminis", "gay", "genetic", "hindu", "hiv", "homosexual", "illness", "immigrant",
    "islam", "jewish", "koran", "lesbian", "lgbt", "migrant", "mosque", "muslim", "nationalis", "nazi",
    "politic", "pregnan", "prison", "psychiatr", "protestant", "queer", "quran", "racial", "refugee", "religio",
    "republican", "sexual", "sikh", "socialis", "suicid", "synagogue", "trade union", "transgender", "tumor",
    "tumour", "undocumented",
)  # fmt: skip
_WORDS = ("aids", "debt", "debts", "dna", "jew", "jews", "party member", "pride", "race", "races")
_UNSPACED = (
    "政治", "政党", "党员", "宗教", "基督", "天主", "佛教", "伊斯兰", "穆斯林", "犹太", "道教", "民族", "种族",
    "同性恋", "双性恋", "跨性别", "性取向", "疾病", "癌", "艾滋", "抑郁", "残疾", "怀孕", "堕胎", "工会",
    "难民", "移民", "犯罪", "罪犯", "破产", "负债", "离婚", "基因",
)  # fmt: skip
_SENSITIVE = regex.compile(
    rf"(?<!\p{{L}})(?:{'|'.join(_BEGINNINGS)}|(?:{'|'.join(_WORDS)})(?!\p{{L}}))|{'|'.join(_UNSPACED)}"
)


def is_sensitive(*texts: str) -> bool:
    """Whether one of the texts names a sensitive subject, which may not be used to select people."""
    return any(
        _SENSITIVE.search(unicodedata.normalize("NFKC", text).casefold().replace("_", " "))
        for text in texts
    )
