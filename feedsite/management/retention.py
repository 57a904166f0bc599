"""How long data is kept. Every table has a line; a test fails if a table is missing.

The times are those of settings or constants, or are given in words.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.apps import apps
from django.conf import settings
from django.utils.module_loading import import_string

ACCOUNT = "as long as the account"
POST = "as long as the post"
STAFF = "until staff delete them"
FOR_EVER_AT_ZERO = {"LEDGER_DAYS", "NOTIFICATION_DAYS"}


@dataclass(frozen=True, slots=True)
class Retention:
    """How long one kind of data is kept. `time`: a setting, the dotted name of a constant, or the time in words.

    `task` deletes the data; "" if it is deleted in another way, or never.
    """

    what: str
    tables: str
    time: str
    since: str = ""
    task: str = ""


RETENTION = (
    Retention("Accounts, their settings and follows",
              "accounts.User accounts.UserCounts accounts.FormerHandle accounts.AccessToken accounts.Login"
              " otp_totp.TOTPDevice otp_static.StaticDevice otp_static.StaticToken"
              " django_otp_webauthn.WebAuthnCredential django_otp_webauthn.WebAuthnAttestation"
              " django_otp_webauthn.WebAuthnUserHandle oauth.Application graph.Followee graph.Follower"
              " graph.FollowRequest graph.Block graph.Mute graph.AccountNote graph.Endorsement graph.UserList"
              " graph.ListMember graph.Circle graph.CircleMember tags.TagFollow tags.FeaturedTag filters.Filter"
              " filters.FilterKeyword filters.FilterPost posts.SavedDraft posts.ScheduledPost posts.ThreadMute"
              " timeline.AuthorPolicy notifications.UnwantedKind notifications.NotificationPolicy"
              " notifications.NotificationPermission search.Dismissal search.StarterPack search.PersonEntry"
              " curation.Collection curation.CollectionItem digest.DigestReader feeds.Feed ranking.RankingChoice"
              " ranking.FactorWeight push.Preferences push.Subscription promotions.OptOut promotions.UserTrait"
              " promotions.SegmentMembership promotions.VirtualFollow promotions.PromotedAccount"
              " earlier_posts.EarlierPost earlier_posts.EarlierPicture webhooks.Endpoint", ACCOUNT),
    Retention("Posts, their pictures and versions, and the marks of readers", "posts.Post posts.PostCounts"
              " posts.Mention posts.Revision posts.Poll posts.Attachment engagement.Like engagement.Bookmark"
              " engagement.Reaction engagement.Vote notifications.Conversation search.PostEntry search.TrendingPost"
              " tags.TagUse previews.Preview previews.PreviewedPost", POST),
    Retention("Read markers", "notifications.ReadMarker notifications.AnnouncementRead"
              " notifications.AnnouncementReaction", "for ever; two per account, and one per announcement"),
    Retention("Read marks of posts (in Redis only)", "", "EXISTENCE_READ_HORIZON_DAYS", "the post was published"),
    Retention("Notifications", "notifications.Notification", "NOTIFICATION_DAYS", "they were made",
              "apps.notifications.tasks.purge"),
    Retention("Handled events; failed ones are kept until staff retry or discard them", "events.Event", "EVENT_DAYS",
              "they were handled", "apps.events.tasks.purge"),
    Retention("Deliveries with their receipts: the ledger", "timeline.FanoutJob timeline.FanoutChunk", "LEDGER_DAYS",
              "the post", "apps.timeline.tasks.purge_history"),
    Retention("Readers that a delivery reached", "", "RECEIPT_DAYS", "the delivery", "apps.audit.tasks.audit"),
    Retention("Finished backfills", "timeline.Backfill timeline.BackfillChunk", "RECEIPT_DAYS", "they ended",
              "apps.timeline.tasks.purge_history"),
    Retention("Home timelines stored as rows", "timeline.TimelineEntry timeline.TimelineSpan", "TIMELINE_ENTRY_DAYS",
              "their last write", "apps.second_level.tasks.purge"),
    Retention("Replicas of posts", "timeline.PostReplica timeline.ReplicaMark", "TIMELINE_ENTRY_DAYS", "the post",
              "apps.timeline.tasks.maintain_replicas"),
    Retention("Ended follows, mutes and blocks", "graph.PastRelation tags.PastTagFollow", "HOME_HISTORY_DAYS",
              "they ended", "apps.timeline.tasks.purge_history"),
    Retention("The auditor's reports", "audit.AuditRun audit.AuditFinding audit.AuditRound", "AUDIT_KEEP_DAYS",
              "the run", "apps.audit.tasks.audit"),
    Retention("Daily figures of the public report", "audit.AuditDay", "apps.audit.report.KEEP_DAYS", "the day",
              "apps.audit.tasks.keep_days"),
    Retention("Sessions", "sessions.Session", "SESSION_COOKIE_AGE", "they began", "apps.accounts.tasks.purge_sessions"),
    Retention("E-mails that were sent; failed ones are kept for a week", "accounts.Mail",
              "apps.accounts.email.sending.SENT_RETENTION", "sending", "apps.accounts.tasks.purge_mail"),
    Retention("Weekly e-mails that were sent", "digest.Issue", "apps.digest.sending.RETENTION", "sending",
              "apps.digest.tasks.make"),
    Retention("Messages to devices", "push.Delivery", "apps.push.sending.RETENTION", "sending",
              "apps.push.tasks.purge"),
    Retention("Webhook messages, without their content", "webhooks.Delivery", "apps.webhooks.sending.RETENTION",
              "sending", "apps.webhooks.tasks.purge"),
    Retention("Idempotency keys", "posts.IdempotencyKey", "apps.posts.actions.idempotency.RETENTION", "the request",
              "apps.posts.tasks.purge_keys"),
    Retention("Uploads without a post", "posts.Transcode", "apps.posts.actions.uploads.RETENTION", "the upload",
              "apps.posts.tasks.purge_unused_uploads"),
    Retention("Codes and tokens of API clients, and clients without tokens", "oauth2_provider.Grant"
              " oauth2_provider.AccessToken oauth2_provider.RefreshToken oauth2_provider.IDToken"
              " oauth2_provider.DeviceGrant oauth.UsedCode", "apps.oauth.actions.APPLICATION_IDLE",
              "they ended", "apps.oauth.tasks.purge"),
    Retention("Archives of one's own data", "privacy.Export", "EXPORT_KEEP_DAYS", "they were made",
              "apps.privacy.tasks.purge"),
    Retention("Reports of imports", "privacy.Import privacy.ImportLine", "IMPORT_KEEP_DAYS", "they ended",
              "apps.privacy.tasks.purge"),
    Retention("Records of erasures", "privacy.Erasure", "for ever; only numbers and times"),
    Retention("Uses of tags per day", "tags.TagDay", "apps.tags.trends.KEEP_DAYS", "the day",
              "apps.tags.tasks.count_tags"),
    Retention("Orders of ranked pages", "ranking.RankSession", "apps.ranking.ordering.SESSION_TTL", "they were made",
              "apps.ranking.tasks.purge"),
    Retention("Impressions of promoted posts by reader", "promotions.ReaderImpressions",
              "apps.promotions.actions.KEEP_DAYS", "the day", "apps.promotions.tasks.purge_impressions"),
    Retention("Hosts that previews were fetched from", "previews.PreviewHost", "apps.previews.actions.HOST_KEPT",
              "the last fetch", "apps.previews.tasks.purge"),
    Retention("Sign-up blocks", "sign_ups.SignUpBlock", "until staff remove them, or until they end", "",
              "apps.sign_ups.tasks.purge"),
    Retention("Weekly numbers of posts, logins and new accounts", "site_activity.Week",
              "apps.site_activity.actions.RETENTION", "it began", "apps.site_activity.tasks.count"),
    Retention("Verdicts about spam; dry runs are kept for a week, fingerprints of posts for three days",
              "spam.Verdict spam.DryRun spam.Fingerprint", "apps.spam.actions.VERDICT_RETENTION", "the verdict",
              "apps.spam.tasks.sweep"),
    Retention("Reports to moderators", "moderation.Report moderation.ReportedPost curation.ReportedCollection", STAFF),
    Retention("The content of reported posts (longer while an appeal is pending)", "strikes.Evidence",
              "apps.strikes.actions.EVIDENCE_KEPT", "the decision", "apps.strikes.tasks.purge"),
    Retention("Strikes with their appeals, and notes by staff about accounts",
              "strikes.Strike strikes.Appeal strikes.Note", ACCOUNT),
    Retention("Announcements, traits, segments, campaigns", "notifications.Announcement promotions.Trait"
              " promotions.Segment promotions.SegmentRule promotions.PromotionSwitch promotions.Campaign spam.Policy"
              " promotions.CampaignCount promotions.SegmentSweep spam.BlockedDomain spam.SiteAccount", STAFF),
    Retention("Report cards of game days", "gameday.Run", "the newest 200; `apps.gameday.actions.MAX_RUNS`"),
    Retention("Actions of staff, and changes to caches and policies", "admin.LogEntry operations.TopologyVersion"
              " operations.CacheEpoch operations.CacheNode operations.BurstPolicy timeline.PolicyChange"
              " timeline.SitePolicy", "for ever; a few rows a day"),
    Retention("Names of tags, permissions, and the progress of jobs", "tags.Tag auth.Permission auth.Group"
              " contenttypes.ContentType graph.GraphImport search.IndexWalk demo.SeedRun"
              " site_activity.Progress", "for ever; few rows"),
)  # fmt: skip


def lines() -> Iterator[str]:
    """The table in Markdown, with the times of this site."""
    yield "| what | how long | set by | deleted by |"
    yield "|---|---|---|---|"
    for one in RETENTION:
        yield f"| {one.what} | {_time_text(one)} | {_source(one)} | {f'`{one.task}`' if one.task else ''} |"


def _time_text(one: Retention) -> str:
    days = days_of(one)
    if days is None:
        return one.time
    if not days and one.time in FOR_EVER_AT_ZERO:
        return "for ever"
    number, unit = (days, "day") if days >= 1 else (days * 24, "hour")
    return f"{number:g} {unit}{'' if number == 1 else 's'} after {one.since}"


def days_of(one: Retention) -> float | None:
    """The time in days; None if it is not a number."""
    if one.time.isupper():
        value = getattr(settings, one.time)
        return float(value) / 86_400 if one.time == "SESSION_COOKIE_AGE" else float(value)
    if one.time.startswith("apps."):
        constant = import_string(one.time)
        return constant / timedelta(days=1) if isinstance(constant, timedelta) else float(constant)
    return None


def _source(one: Retention) -> str:
    return f"`{one.time}`" if one.time.isupper() or one.time.startswith("apps.") else ""


def unnamed_tables() -> set[str]:
    """The labels of models whose tables are in no line."""
    named = {name for one in RETENTION for name in one.tables.split()}
    return {model._meta.label for model in apps.get_models()} - named
