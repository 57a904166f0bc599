"""The composer: new posts, with pictures and polls, now or later."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.html import escape
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget, trigger_client_event

from apps.errors import DomainError, NotFound, TooMany
from apps.graph.circle_queries import circles_to_post_to
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_address
from apps.paging import Cursor
from apps.posts.actions.idempotency import Request, existing_result
from apps.posts.actions.schedule import schedule_post
from apps.posts.content.text import RAW_MAX_CHARACTERS
from apps.posts.models import Post, ScheduledPost
from apps.posts.uploads import uploaded_picture, withdraw_picture
from apps.timeline import publishing
from apps.timeline.pipeline.folding import ReplyRow
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import visible_item
from apps.web.forms.accounts import show_error
from apps.web.forms.pictures import (
    DisplayedPicture,
    PictureFields,
    PictureForm,
    UploadedPicture,
    settle,
)
from apps.web.forms.posts import (
    CIRCLE_PREFIX,
    FIELD_NAMES,
    HOME_COMPOSER,
    ComposeForm,
    composer_context,
)
from apps.web.templatetags.amounts import moment

Made = Post | ScheduledPost
TEMPLATES = {"": "timeline/compose.html", HOME_COMPOSER: "timeline/_home_composer.html"}
REPLY = "timeline/_reply.html"  # below any post


@require_safe
@login_required
def compose(request: AuthenticatedRequest) -> HttpResponse:
    """A page with nothing but the composer; for htmx a composer below the post that is answered."""
    asked = {name: request.GET.get(name, "") for name in ("reply_to", "quote")}
    if request.GET.get("to"):
        asked["body"] = f"@{request.GET['to'][:100]} "
    elif shared := _shared(request):
        asked["body"] = shared
    parent = item_of(request, asked["reply_to"])
    initial = {**asked, **_answer_to(parent, request.user.pk)} if parent else asked
    return composer(request, form_of(request, initial=initial), PictureFields())


@require_POST
@login_required
def publish(request: AuthenticatedRequest) -> HttpResponseBase:
    """Publish, or keep until its time; when that is refused, all that was written and uploaded stays in the form."""
    form, said = form_of(request, request.POST), PictureForm.of(request)
    if "take_out" in request.POST:
        return composer(request, form, settle(request.user, _withdrawn(request, said)))
    pictures = None
    try:
        made = _made_before(request, form, said) if form.is_valid() else None
        if made is None:
            pictures = settle(request.user, said)
            pictures.insist()
            if not form.is_valid():
                return composer(request, form, pictures, status=422)
            if _should_ask(request, pictures):
                return composer(request, form, pictures, status=422, asks=True)
            made = _publish(request, form, said, pictures)
    except DomainError as refusal:
        show_error(form, refusal, FIELD_NAMES)
        kept = pictures or settle(request.user, said)
        status = (
            422 if request.htmx else refusal.status
        )  # the one refusal that takes a form's place
        return _with_wait(composer(request, form, kept, status=status), refusal)
    return _done(request, made)


@require_POST
@login_required
def upload(request: AuthenticatedRequest) -> HttpResponse:
    """Keep one picture for a post that is still being written; the answer is its place in the composer."""
    file = request.FILES.get("file")
    if file is None:
        raise NotFound(_("There is no such picture."))
    found = PictureFields().upload(request.user, [UploadedPicture(file)])
    if found.refusal is not None:
        response = HttpResponse(found.refusal.message, status=found.refusal.status, content_type="text/plain; charset=utf-8")  # fmt: skip
        return _with_wait(response, found.refusal)
    return render(request, "timeline/_upload.html", {"one": DisplayedPicture.of(found.rows[0])})


@require_safe
@login_required
def uploaded(request: AuthenticatedRequest, number: int) -> HttpResponse:
    """The place in the composer of a picture that waits: for a draft that is taken up again."""
    found = uploaded_picture(request.user, number)
    if found.post_id is not None or found.scheduled_id is not None:
        raise NotFound(_("There is no such picture."))
    return render(request, "timeline/_upload.html", {"one": DisplayedPicture.of(found)})


def _shared(request: AuthenticatedRequest) -> str:
    """What another program of a device hands over, each part once; the author shortens it."""
    parts = [request.GET.get(name, "").strip() for name in ("title", "text", "url")]
    parts = list(dict.fromkeys(filter(None, parts)))
    said = [part for part in parts if not any(part in one for one in parts if one != part)]
    return "\n".join(said)[:RAW_MAX_CHARACTERS]


def _key(form: ComposeForm) -> str:
    key: str = form.cleaned_data["idempotency_key"]
    return key


def _made_before(
    request: AuthenticatedRequest, form: ComposeForm, said: PictureForm
) -> Made | None:
    """What became of this form when it was sent before: asked before its files are worked on again."""
    made = existing_result(Request(request.user, _key(form), form.draft(), form.at, said.identity))
    return (made.post or made.scheduled) if made else None


def _publish(
    request: AuthenticatedRequest, form: ComposeForm, said: PictureForm, pictures: PictureFields
) -> Made:
    draft = form.draft().with_pictures(pictures.ids)
    once: dict[str, Any] = {"idempotency_key": _key(form), "content_digest": said.identity}
    if (failed := form.cleaned_data["instead_of"]) is not None:
        return publishing.publish_instead(request.user, failed, draft, at=form.at, **once)
    if form.at is not None:
        return schedule_post(request.user, draft, form.at, **once)
    return publishing.publish(request.user, draft, **once)


def _done(request: AuthenticatedRequest, made: Made) -> HttpResponseBase:
    draft = request.POST.get("draft", "")
    if isinstance(made, ScheduledPost):
        said = escape(_("It will be published on %(moment)s."))
        text = mark_safe(said % {"moment": moment(made.scheduled_at)})  # noqa: S308 -- both are escaped
        messages.success(request, text, extra_tags=draft)
        return HttpResponseClientRedirect("/scheduled") if request.htmx else SeeOther("/scheduled")
    if request.htmx:
        return _put_in(request, made, {"text": _("Posted."), "draft": draft})
    messages.success(request, _("Posted."), extra_tags=draft)
    permalink = f"{request.user.url}/{made.pk}"
    asked = next_address(request, permalink)
    return SeeOther(permalink if asked == permalink else f"{asked}#p{made.pk}")


def _put_in(request: AuthenticatedRequest, made: Post, said: dict[str, str]) -> HttpResponse:
    """The new post in the page it was written on: above all others at home, with an empty composer; else below what it answers."""
    item = visible_item(request.user.pk, made.pk)
    if _inline_id(request) == HOME_COMPOSER:
        form = form_of(request)
        form.fields["body"].widget.attrs["autofocus"] = True  # who writes goes on writing
        context = {"items": [item], "inline": HOME_COMPOSER, **composer_context(form)}
        response = reswap(render(request, "timeline/_posted.html", context), "afterbegin")
        # told before the new composer is there, which would take the draft up again
        return trigger_client_event(retarget(response, "#feed"), "posted", said, after="receive")
    context = {"rows": [ReplyRow(item, in_thread=True, joined=False, folded=0)], "place": 1}
    response = reswap(render(request, "timeline/_rows.html", context), "afterend")
    return trigger_client_event(retarget(response, "closest .post"), "posted", said, after="settle")


def _should_ask(request: AuthenticatedRequest, pictures: PictureFields) -> bool:
    """Whether to ask once for descriptions that are missing."""
    return (
        bool(pictures.undescribed)
        and request.user.asks_for_alt
        and "without_alt" not in request.POST
    )


def _withdrawn(request: AuthenticatedRequest, said: PictureForm) -> PictureForm:
    """The pictures of a form without the one that its author takes out."""
    named = {str(one.id): one.id for one in said.named}
    number = named.get(request.POST["take_out"])
    if number is None:
        return said
    if not request.POST.get("instead_of"):  # then it is the old post's until the new one is there
        withdraw_picture(request.user, number)
    return said.without(number)


def form_of(request: AuthenticatedRequest, *args: Any, **kwargs: Any) -> ComposeForm:
    """The composer's form for who asks, with the circles they may post to."""
    circles = circles_to_post_to(request.user)
    auto_id = f"{_inline_id(request)}_%s" if request.htmx else "id_%s"
    return ComposeForm(*args, author=request.user, circles=circles, auto_id=auto_id, **kwargs)


def _inline_id(request: AuthenticatedRequest) -> str:
    """Of a composer among posts: no two of a page have the same."""
    if request.htmx.target == HOME_COMPOSER:
        return HOME_COMPOSER
    asked = request.POST.get("reply_to") or request.GET.get("reply_to", "")
    return f"reply{asked}" if asked.isalnum() else "reply"


def _with_wait(response: HttpResponse, refusal: DomainError) -> HttpResponse:
    if isinstance(refusal, TooMany):
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


def composer(
    request: AuthenticatedRequest,
    form: ComposeForm,
    pictures: PictureFields,
    *,
    status: int = 200,
    asks: bool = False,
    note: str = "",
) -> HttpResponse:
    """The composer: a page, or for htmx the form alone. `asks`: for descriptions of pictures; `note` is said above it."""
    strict = status == 200
    parent = item_of(request, form["reply_to"].value(), strict=strict)
    quoted = item_of(request, form["quote"].value(), strict=strict)
    if parent is not None and parent.post.circle_id is not None:
        form.answer_in_circle(parent.post.circle_id, parent.circle_name)
    if parent:
        form.fields["body"].widget.attrs["placeholder"] = _("Your reply")
    inline = _inline_id(request) if request.htmx else ""
    context: dict[str, Any] = {
        "parent": parent,
        "quoted": quoted,
        "no_fab": True,
        "missing": _missing(pictures) if asks else "",
        "inline": inline,
        "note": note,
        **composer_context(form, [DisplayedPicture.of(row) for row in pictures.rows]),
    }
    return render(request, TEMPLATES.get(inline, REPLY), context, status=status)


def _missing(pictures: PictureFields) -> str:
    return ngettext(
        "%(count)d picture has no description.",
        "%(count)d pictures have no description.",
        pictures.undescribed,
    ) % {"count": pictures.undescribed}


def item_of(
    request: AuthenticatedRequest, text: str | None, *, strict: bool = True
) -> FeedItem | None:
    """The post of an id in a query or a form; when not strict, None for one that is gone."""
    if not text:
        return None
    try:
        post_id = Cursor.from_query({"max_id": text}).max_id or 0
        return visible_item(request.user.pk, post_id).shown
    except DomainError:
        if strict:
            raise
        return None


def _answer_to(parent: FeedItem, viewer_id: int) -> dict[str, Any]:
    """An answer names whom it answers, and starts with the reach of what it answers."""
    own = parent.author.pk == viewer_id
    circle_id = parent.post.circle_id
    return {
        "body": "" if own else f"@{parent.author.handle} ",
        "visibility": f"{CIRCLE_PREFIX}{circle_id}" if circle_id else parent.post.visibility,
    }
