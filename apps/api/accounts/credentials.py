"""The account of the token, with what its owner can edit."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.actions import set_locked, update_profile
from apps.accounts.models import User
from apps.api.authentication import viewer_of
from apps.api.entities.account import CredentialAccountJson, credential_json
from apps.api.inputs.account import ProfileInput
from apps.api.openapi import Entity, problems
from apps.api.params import validated
from apps.graph.relationships import requests_count
from apps.scopes import scopes


@scopes(GET=("read:accounts", "profile"))
@extend_schema(
    operation_id="verify_credentials",
    tags=["accounts"],
    summary="The account of the token",
    responses={200: Entity(CredentialAccountJson), **problems(401)},
)
@api_view(["GET"])
def verify_credentials(request: Request) -> Response:
    """The account that the token stands for."""
    return _credentials(viewer_of(request))


@scopes(PATCH="write:accounts")
@extend_schema(
    operation_id="update_credentials",
    tags=["accounts"],
    summary="Change your profile and how you post",
    description="As a form with files, or as JSON. What is not sent stays; unknown fields are ignored.",
    request=ProfileInput,
    responses={200: Entity(CredentialAccountJson), **problems(400, 401, 422)},
)
@api_view(["PATCH"])
def update_credentials(request: Request) -> Response:
    """Change what others see of the viewer, and the defaults of new posts."""
    fields = validated(ProfileInput(data=request.data))
    viewer = viewer_of(request)
    locked = fields.pop("is_locked", None)
    update_profile(viewer, **fields)
    if locked is not None:
        set_locked(viewer, locked=locked)
    return _credentials(viewer)


def _credentials(viewer: User) -> Response:
    return Response(credential_json(viewer, requests=requests_count(viewer)))
