"""The site: limits, size, version, rules, NodeInfo, the auditor's report, announcements."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework.decorators import authentication_classes
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.audit import AuditJson, audit_json
from apps.api.entities.instance import (
    AnnouncementJson,
    CustomEmojiJson,
    DomainBlockJson,
    InstanceJson,
    InstanceV1Json,
    LanguageJson,
    NodeinfoJson,
    NodeinfoLinksJson,
    TextJson,
    announcement_json,
    extended_description_json,
    instance_json,
    instance_v1_json,
    languages_json,
    nodeinfo_json,
    nodeinfo_links_json,
    privacy_policy_json,
)
from apps.api.openapi import EMPTY_OBJECT
from apps.api.params import is_true
from apps.audit.report import audit_report
from apps.moderation.house_rules import RuleJson, rules_json
from apps.notifications import announcements as actions
from apps.notifications.announcements import current_announcement, current_announcements
from apps.posts.queries import site_size
from apps.scopes import ANY_TOKEN


@operation("The site with its limits and features", InstanceJson, errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def instance(_request: Request) -> Response:
    """Mastodon's instance entity, version 2."""
    return Response(instance_json(site_size()["users"]))


@operation("The site with its limits and features, for older clients", InstanceV1Json, errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def instance_v1(_request: Request) -> Response:
    """Mastodon's instance entity, version 1."""
    size = site_size()
    return Response(instance_v1_json(size["users"], size["posts"]))


@operation("The auditor's comparisons and findings", AuditJson, errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def audit(_request: Request) -> Response:
    """The same figures as on the page `/audit`, at most 20 s old."""
    return Response(audit_json(audit_report()))


@operation("The rules of the site", list[RuleJson], errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def instance_rules(_request: Request) -> Response:
    """The rules of the site, with the ids that reports use."""
    return Response(rules_json())


@operation("Other sites: always empty", list[str], errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def peers(_request: Request) -> Response:
    """Always empty: the site does not federate."""
    return Response([])


@operation("Blocked sites: always empty", list[DomainBlockJson], errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def blocked_sites(_request: Request) -> Response:
    """Always empty: the site does not federate."""
    return Response([])


@operation("The long description of the site", TextJson, errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def extended_description(_request: Request) -> Response:
    """The first part of the page `/about`."""
    return Response(extended_description_json())


@operation("The privacy policy of the site", TextJson, errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def privacy_policy(_request: Request) -> Response:
    """The text of the page `/privacy`."""
    return Response(privacy_policy_json())


@operation("The languages that pages offer for a post", list[LanguageJson], errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def instance_languages(_request: Request) -> Response:
    """The languages that pages offer; posts may be in other languages too."""
    return Response(languages_json())


@operation("Custom emoji: always empty", list[CustomEmojiJson], errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def custom_emojis(_request: Request) -> Response:
    """Always empty: the site uses only Unicode emoji."""
    return Response([])


@operation("The address of the NodeInfo document", NodeinfoLinksJson, errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def nodeinfo_links(_request: Request) -> Response:
    """The address of the NodeInfo document."""
    return Response(nodeinfo_links_json())


@operation("The software of the site, and its size", NodeinfoJson, errors=[])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def nodeinfo(_request: Request) -> Response:
    """The NodeInfo document, which site directories read. It lists no protocol, because the site does not federate."""
    size = site_size()
    return Response(nodeinfo_json(size["users"], size["posts"]))


@operation(
    "Announcements from staff",
    list[AnnouncementJson],
    errors=[401],
    parameters=[
        OpenApiParameter("with_dismissed", bool, description="Include those that you have read.")
    ],
)
@endpoint(GET="read:accounts")
def announcements(request: Request) -> Response:
    """The newest 20 of the current announcements, oldest first."""
    with_read = is_true(request.query_params.get("with_dismissed"))
    visible = current_announcements(viewer_of(request), with_read=with_read)
    return Response([announcement_json(announcement) for announcement in visible])


@operation("Mark an announcement as read", EMPTY_OBJECT)
@endpoint(POST="write:accounts")
def dismiss_announcement(request: Request, announcement_id: int) -> Response:
    """Dismiss an announcement: from then on it is listed only with `with_dismissed`."""
    actions.dismiss_announcement(viewer_of(request), current_announcement(announcement_id))
    return Response({})


@operation(
    "React to an announcement with an emoji",
    EMPTY_OBJECT,
    method="PUT",
    name="react_to_announcement",
    errors=[401, 404, 422],
)
@operation("Take back a reaction", EMPTY_OBJECT, method="DELETE", name="take_back_reaction")
@endpoint(PUT="write:favourites", DELETE="write:favourites")
def reaction(request: Request, announcement_id: int, emoji: str) -> Response:
    """Add or remove a reaction. An announcement can have at most eight different emoji."""
    viewer, announcement = viewer_of(request), current_announcement(announcement_id)
    if request.method == "PUT":
        actions.add_reaction(viewer, announcement, emoji)
    else:
        actions.remove_reaction(viewer, announcement, emoji)
    return Response({})
