"""HTML input."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.notifications.models import NotificationKind

SENTENCES = {
    NotificationKind.FOLLOW: _("Somebody follows you"),
    NotificationKind.REQUEST: _("Somebody asks to follow you"),
    NotificationKind.MENTION: _("Somebody mentions you"),
    NotificationKind.REPLY: _("Somebody replies to you"),
    NotificationKind.QUOTE: _("Somebody quotes you"),
    NotificationKind.REPOST: _("Somebody reposts your post"),
    NotificationKind.LIKE: _("Somebody likes your post"),
    NotificationKind.POST: _("Somebody posts whose posts you asked to be told of"),
    NotificationKind.EDIT: _("A post that you reposted was edited"),
    NotificationKind.POLL: _("A poll has ended that you asked or voted in"),
}


class KindsForm(forms.Form):
    """Of what somebody wants to be told."""

    kinds = forms.MultipleChoiceField(
        label=_("Tell me when"),
        choices=[(kind.value, sentence) for kind, sentence in SENTENCES.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
