"""The page of a conversation, with its messages and the form for a new one, and the page to start a conversation."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render

from apps.accounts.models import User
from apps.accounts.queries import user_ids_named, users_by_id
from apps.errors import DomainError
from apps.graph.queries import following_page
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    require_get_or_post,
)
from apps.notifications.conversations import actions
from apps.notifications.conversations.queries import (
    ConversationItem,
    conversation_with,
    get_conversation,
    messages_page,
    seen_by,
)
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.models import Post
from apps.search.queries import search_people
from apps.web.forms.accounts import add_errors
from apps.web.forms.messages import FIELD_NAMES, MessageForm
from apps.web.forms.pictures import DisplayedPicture, PictureFields, PictureForm, save_pictures
from apps.web.forms.posts import picture_context
from apps.web.posts.compose import without_removed

MAX_FOUND = 8  # people in search results


@require_get_or_post
@login_required
def conversation(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """The messages, newest last, and the form for a new one. Opening the newest page marks the conversation as read."""
    talk = get_conversation(request.user, number)
    form, pictures = MessageForm(), PictureFields()
    status = 200
    if request.method == "POST":

        def send(draft: Draft, content_digest: Sequence[str]) -> Post:
            return actions.answer(
                request.user,
                number,
                draft,
                seen_id=form.cleaned_data["seen"] or talk.item.id,
                idempotency_key=form.cleaned_data["idempotency_key"],
                content_digest=content_digest,
            )

        form = MessageForm(request.POST)
        post, pictures, status = _sent(request, form, send)
        if post is not None and not request.htmx:
            return SeeOther(f"{request.path}#m{post.pk}")
        if post is not None:
            talk, form, pictures = (
                get_conversation(request.user, number),
                MessageForm(),
                PictureFields(),
            )
            form.fields["body"].widget.attrs["autofocus"] = True
    return _talk(request, talk, form, pictures, status)


def _talk(
    request: AuthenticatedRequest,
    talk: ConversationItem,
    form: MessageForm,
    pictures: PictureFields,
    status: int,
) -> HttpResponse:
    cursor = Cursor.from_query(request.GET)
    # a HEAD request shows nothing, so it marks nothing as read
    if request.method == "GET" and cursor.max_id is None and talk.is_unread:
        actions.mark_read(request.user, talk.id)
    page = messages_page(request.user, talk, cursor)
    last = page.items[-1].item if page.items else None
    is_sent = last is not None and last.flags.own and cursor.max_id is None
    context = {
        "is_sent": is_sent,
        "seen_by": seen_by(request.user, talk, last.id) if last and is_sent else [],
        "conversation": talk,
        "page": page,
        "is_newest": cursor.max_id is None,
        "seen": last.id if last else talk.item.id,
        "here": "messages",
        **_box(form, pictures),
    }
    template = "conversation.html"
    if request.htmx:
        template = "_talk.html" if request.method == "POST" else "_messages.html"
    return render(request, f"notifications/conversations/{template}", context, status=status)


@require_get_or_post
@login_required
def new(request: AuthenticatedRequest) -> HttpResponseBase:
    """Choose people and write to them, in the existing conversation of exactly these people if there is one."""
    data = request.POST if request.method == "POST" else request.GET
    people = _named(request.user, data.getlist("to"))
    form, pictures = MessageForm(), PictureFields()
    status = 200
    if request.method == "POST":

        def send(draft: Draft, content_digest: Sequence[str]) -> Post:
            key = form.cleaned_data["idempotency_key"]
            return actions.begin(
                request.user, people, draft, idempotency_key=key, content_digest=content_digest
            )

        form = MessageForm(request.POST)
        post, pictures, status = _sent(request, form, send)
        if post is not None:
            return _to_conversation(request, people)
    elif (
        len(people) == 1 and "q" not in data and (known := conversation_with(request.user, people))
    ):
        return SeeOther(f"/conversations/{known.id}")
    context = {
        **_found(request.user, data.get("q", ""), people),
        "people": people,
        "maximum": actions.MAX_PEOPLE - 1,
        "here": "messages",
        **_box(form, pictures),
    }
    name = "_found" if request.htmx else "new"
    return render(request, f"notifications/conversations/{name}.html", context, status=status)


def _to_conversation(request: AuthenticatedRequest, people: Sequence[User]) -> HttpResponseBase:
    """Redirect to the conversation, or to the list if it lacks some of these people, such as after a block."""
    known = conversation_with(request.user, people)
    return SeeOther(f"/conversations/{known.id}" if known else "/conversations")


def _sent(
    request: AuthenticatedRequest,
    form: MessageForm,
    send: Callable[[Draft, Sequence[str]], Post],
) -> tuple[Post | None, PictureFields, int]:
    """Store the form's pictures and send the message; if the button to remove a picture was pressed, send nothing.

    Returns the message (None if it was not sent), the pictures in the form, and the status of the response.
    """
    picture_form = PictureForm.of(request)
    if "take_out" in request.POST:
        remaining = without_removed(request, picture_form)
        return None, save_pictures(request.user, remaining), 200
    pictures = save_pictures(request.user, picture_form)
    if not form.is_valid():
        return None, pictures, 422
    try:
        pictures.raise_error()
        draft = form.draft().with_pictures(pictures.ids)
        return send(draft, picture_form.identity), pictures, 200
    except DomainError as error:
        add_errors(form, error, FIELD_NAMES)
        return None, pictures, 422 if request.htmx else error.status


def _box(form: MessageForm, pictures: PictureFields) -> dict[str, Any]:
    return {
        "form": form,
        "idempotency_key": str(uuid4()),
        **picture_context([DisplayedPicture.of(row) for row in pictures.rows]),
    }


def _named(viewer: User, handles: Sequence[str]) -> list[User]:
    """The people with these handles, in order, at most as many as a conversation may have, and without the viewer.

    Raises NotFound for an unknown handle.
    """
    names = list(dict.fromkeys(handle.lower() for handle in handles))[: actions.MAX_PEOPLE]
    by_handle = {user.handle: user for user in users_by_id(user_ids_named(names)).values()}
    return [by_handle[name] for name in names if name in by_handle and name != viewer.handle]


def _found(viewer: User, text: str, people: Sequence[User]) -> dict[str, Any]:
    """The people that a search finds, or some of the viewer's followees, except those already chosen."""
    if text:
        found = search_people(viewer, text, limit=MAX_FOUND)
    else:
        found = following_page(viewer, viewer.pk, Cursor(limit=MAX_FOUND)).items
    chosen = {viewer.pk, *(person.pk for person in people)}
    return {"q": text, "found": [person for person in found if person.pk not in chosen]}
