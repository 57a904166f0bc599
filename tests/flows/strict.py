"""Reads answers as a client does whose types are fixed: a field that is missing, null or of another type is an error.

The fields and types are those that Tusky, a client for Android, declares; all others are ignored.
"""

from datetime import datetime
from typing import Any

# `name:type`; `?`: null or absent is allowed; `=`: absent is allowed, null is not; `[]`: a list; `enum.X`: of ENUMS.
ENTITIES = {
    "Account": "id:str username:str acct:str display_name:str? created_at:date note:str url:str avatar:str header:str"
    " locked:bool= followers_count:int= following_count:int= statuses_count:int= source:Source? bot:bool="
    " emojis:Emoji[]= fields:Field[]= moved:Account? roles:Role[]=",
    "Source": "privacy:enum.visibility= sensitive:bool? note:str? fields:StringField[]= language:str?",
    "Field": "name:str value:str verified_at:date?",
    "StringField": "name:str value:str",
    "Role": "name:str color:str",
    "TimelineAccount": "id:str username:str acct:str display_name:str? url:str avatar:str note:str"
    " bot:bool= emojis:Emoji[]=",
    "Emoji": "shortcode:str url:str static_url:str visible_in_picker:bool= category:str?",
    "Status": "id:str url:str? account:TimelineAccount in_reply_to_id:str? in_reply_to_account_id:str? reblog:Status?"
    " content:str created_at:date edited_at:date? emojis:Emoji[] reblogs_count:int favourites_count:int"
    " replies_count:int reblogged:bool= favourited:bool= bookmarked:bool= sensitive:bool spoiler_text:str"
    " visibility:enum.visibility media_attachments:Attachment[] mentions:Mention[] tags:HashTag[]="
    " application:Application? pinned:bool= muted:bool= poll:Poll? card:Card? language:str? filtered:FilterResult[]?",
    "Mention": "id:str url:str acct:str username:str",
    "Application": "name:str website:str?",
    "Attachment": "id:str url:str preview_url:str? remote_url:str? type:enum.media description:str? blurhash:str?",
    "HashTag": "name:str url:str following:bool?",
    "Poll": "id:str expires_at:date? expired:bool multiple:bool votes_count:int voters_count:int? options:PollOption[]"
    " voted:bool= own_votes:int[]=",
    "PollOption": "title:str votes_count:int?",
    "Card": "url:str title:str description:str= author_name:str? provider_name:str? published_at:date? image:str?"
    " type:str width:int= height:int= blurhash:str? embed_url:str?",
    "FilterResult": "filter:Filter",
    "Filter": "id:str= title:str= context:enum.context[] expires_at:date? filter_action:enum.action"
    " keywords:Keyword[]=",
    "Keyword": "id:str keyword:str whole_word:bool",
    "Context": "ancestors:Status[] descendants:Status[]",
    "Source of a status": "id:str text:str spoiler_text:str",
    "Edit": "content:str spoiler_text:str sensitive:bool created_at:date account:TimelineAccount poll:Poll?"
    " media_attachments:Attachment[] emojis:Emoji[]",
    "Deleted": "text:str? in_reply_to_id:str? spoiler_text:str visibility:enum.visibility sensitive:bool"
    " media_attachments:Attachment[] poll:Poll? created_at:date language:str?",
    "Scheduled": "id:str scheduled_at:str params:Params media_attachments:Attachment[]",
    "Params": "text:str sensitive:bool? visibility:enum.visibility spoiler_text:str? in_reply_to_id:str?",
    "Notification": "type:str id:str account:TimelineAccount status:Status? filtered:bool=",
    "Policy": "for_not_following:enum.treatment for_not_followers:enum.treatment for_new_accounts:enum.treatment"
    " for_private_mentions:enum.treatment for_limited_accounts:enum.treatment summary:Summary",
    "Summary": "pending_requests_count:int pending_notifications_count:int",
    "Relationship": "id:str following:bool followed_by:bool blocking:bool muting:bool muting_notifications:bool"
    " requested:bool showing_reblogs:bool subscribing:bool? domain_blocking:bool note:str? notifying:bool?",
    "Conversation": "id:str accounts:TimelineAccount[] last_status:Status? unread:bool",
    "List": "id:str title:str exclusive:bool? replies_policy:str?",
    "Announcement": "id:str content:str starts_at:date? ends_at:date? all_day:bool published_at:date updated_at:date"
    " read:bool= mentions:Mention[] tags:HashTag[] emojis:Emoji[] reactions:Reaction[]",
    "Reaction": "name:str count:int me:bool= url:str? static_url:str?",
    "Search": "accounts:TimelineAccount[] statuses:Status[] hashtags:HashTag[]",
    "Trend": "name:str history:Day[]",
    "Day": "day:str accounts:str uses:str",
    "Instance": "domain:str version:str configuration:Configuration? rules:Rule[]= api_versions:Versions?",
    "Configuration": "urls:Urls? accounts:AccountLimits? statuses:StatusLimits? polls:PollLimits? vapid:Vapid?",
    "Urls": "streaming:str?",
    "AccountLimits": "max_featured_tags:int?",
    "StatusLimits": "max_characters:int? max_media_attachments:int? characters_reserved_per_url:int?",
    "PollLimits": "max_options:int? max_characters_per_option:int? min_expiration:int? max_expiration:int?",
    "Vapid": "public_key:str",
    "Rule": "id:str text:str",
    "Versions": "mastodon:int?",
    "Marker": "last_read_id:str version:int updated_at:date",
    "App": "client_id:str client_secret:str",
    "Token": "access_token:str",
    "Upload": "id:str",
}  # fmt: skip
ENUMS = {
    "visibility": {"public", "unlisted", "private", "direct"},
    "media": {"image", "gifv", "video", "audio", "unknown"},
    "context": {"home", "notifications", "public", "thread", "account"},
    "action": {"none", "blur", "warn", "hide"},
    "treatment": {"accept", "filter", "drop"},
}
_TYPES = {"str": str, "int": int, "bool": bool}


class Unreadable(Exception):
    """The client could not read this."""


def read(kind: str, value: Any, path: str = "") -> None:
    """Raise Unreadable, with the path of the field, for a value that the client could not read."""
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise Unreadable(f"{path} is no list: {value!r}")
        for number, item in enumerate(value):
            read(kind[:-2], item, f"{path}.{number}")
    elif kind in ENTITIES:
        _read_fields(kind, value, path or kind)
    elif not _is(kind, value):
        raise Unreadable(f"{path} is no {kind}: {value!r}")


def _read_fields(kind: str, value: Any, path: str) -> None:
    if not isinstance(value, dict):
        raise Unreadable(f"{path} is no object: {value!r}")
    for field in ENTITIES[kind].split():
        name, _colon, declared = field.partition(":")
        may_be_null, may_be_absent = declared.endswith("?"), declared.endswith(("?", "="))
        if name not in value and not may_be_absent:
            raise Unreadable(f"{path}.{name} is missing")
        if name in value and not (may_be_null and value[name] is None):
            read(declared.rstrip("?="), value[name], f"{path}.{name}")


def _is(kind: str, value: Any) -> bool:
    if kind == "date":
        try:
            return datetime.fromisoformat(value).tzinfo is not None
        except (TypeError, ValueError):
            return False
    if kind.startswith("enum."):
        return value in ENUMS[kind.removeprefix("enum.")]
    return isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "bool")
