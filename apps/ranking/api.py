"""The ranked timeline in the API."""

from typing import Annotated, TypedDict
from urllib.parse import urlencode

from django.urls import URLPattern, path
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.addresses import absolute
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import Input
from apps.api.entities.status import StatusJson, status_json
from apps.api.params import PROMOTED_PARAMETERS, note_shown, validated, wants_promoted
from apps.ranking.algorithms import Algorithm, Scored, available
from apps.ranking.models import NAME_MAX_CHARACTERS
from apps.ranking.ordering import RankCursor, algorithm_of, choose_algorithm, ranked_page
from feedcache.stats import stage


class FactorJson(TypedDict):
    """A factor of a score."""

    name: str
    value: float
    weight: float
    adds: Annotated[float, "Value times weight."]


class ReasonJson(TypedDict):
    """The reason for a status's place."""

    code: Annotated[str, "The name of the factor that adds most; `time` when none adds anything."]
    text: Annotated[str, "The reason as a sentence in the reader's language."]
    score: float
    factors: list[FactorJson]
    same_author_above: Annotated[
        int, "Posts of the same author above; each makes the score a fifth smaller."
    ]


def reason_json(scored: Scored, handle: str) -> ReasonJson:
    """The reason as JSON; `handle` is the author's handle."""
    main = scored.main_part
    return {
        "code": main.factor.name if main else "time",
        "text": scored.reason(handle),
        "score": round(scored.score, 3),
        "factors": [
            {
                "name": part.factor.name,
                "value": round(part.value, 3),
                "weight": part.weight,
                "adds": round(part.adds, 3),
            }
            for part in scored.parts
        ],
        "same_author_above": scored.above,
    }


class RankedStatusJson(StatusJson):
    """A status with the reason for its place."""

    x_reason: ReasonJson


class AlgorithmJson(TypedDict):
    """An algorithm that readers can choose."""

    name: str
    label: Annotated[str, "Its label, in the reader's language."]
    description: Annotated[str, "What it does, in the reader's language."]


class RankingJson(TypedDict):
    """The algorithm in use, and those to choose from."""

    algorithm: Annotated[str, "The name of the chosen algorithm."]
    algorithms: list[AlgorithmJson]


def ranking_json(chosen: Algorithm) -> RankingJson:
    return {
        "algorithm": chosen.name,
        "algorithms": [
            {"name": one.name, "label": str(one.label), "description": str(one.description)}
            for one in available().values()
        ],
    }


class RankingInput(Input):
    """The algorithm to use."""

    algorithm = serializers.CharField(max_length=NAME_MAX_CHARACTERS)


@operation(
    "The newest posts of your home timeline in the order of an algorithm, each with its reason",
    list[RankedStatusJson],
    errors=[400, 401, 404],
    description="The first page makes an order, which is stored for a day. Follow the `Link` header: "
    "no status appears twice.",
    parameters=[
        OpenApiParameter("session", str, description="The order, from the `Link` header."),
        OpenApiParameter("after", str, description="The last status of the previous page."),
        OpenApiParameter("limit", int, description="At most this many; clamped."),
        *PROMOTED_PARAMETERS,
    ],
)
@endpoint(GET="read:statuses")
def ranked_timeline(request: Request) -> Response:
    """A page of a stored order, or the first page of a new one."""
    viewer, cursor = viewer_of(request), RankCursor.from_query(request.query_params)
    promoted = wants_promoted(request)
    page = ranked_page(
        viewer,
        session_id=cursor.session,
        after=cursor.after,
        limit=cursor.limit,
        promoted=promoted,
    )
    with stage("present"):
        note_shown(request, viewer.pk, page.items)
        body: list[RankedStatusJson] = [
            {
                **status_json(entry.item),
                "x_reason": reason_json(entry.scored, entry.item.shown.author.handle),
            }
            for entry in page.entries
        ]
    headers = None
    if page.after is not None:
        params = {"session": page.session, "after": page.after, "limit": cursor.limit}
        query = urlencode(params | ({"promoted": "true"} if promoted else {}))
        headers = {"Link": f'<{absolute(request.path)}?{query}>; rel="next"'}
    return Response(body, headers=headers)


@operation("The algorithm of your ranked timeline", RankingJson, method="GET", errors=[401])
@operation(
    "Choose the algorithm of your ranked timeline",
    RankingJson,
    method="PUT",
    name="choose_ranking_algorithm",
    request=RankingInput,
    errors=[401, 422],
)
@endpoint(GET="read:accounts", PUT="write:accounts")
def ranking_algorithm(request: Request) -> Response:
    """Read or choose the viewer's algorithm."""
    viewer = viewer_of(request)
    if request.method == "PUT":
        fields = validated(RankingInput(data=request.data))
        return Response(ranking_json(choose_algorithm(viewer, fields["algorithm"])))
    return Response(ranking_json(algorithm_of(viewer)))


urlpatterns: list[URLPattern] = [
    path("ranked", ranked_timeline),
    path("ranking/algorithm", ranking_algorithm),
]
