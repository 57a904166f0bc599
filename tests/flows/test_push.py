"""A device whose pages are closed: it tells what happened, and shows what it has kept without a network.

No vendor's push service is there: the browser's own subscription is replaced, a push service of the tests' own takes
what the site sends, and the DevTools protocol hands the decrypted text to the worker. The protocol cannot press a
notification: the event of a press is dispatched inside the worker, whose call for a window is written down.
"""

import json
from contextlib import contextmanager

import pytest
from django.conf import settings
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from apps.push import sending
from apps.push.models import Subscription
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import deliver, publish
from tests.support.factories import log_in as log_in_quietly
from tests.support.push_service import Device, push_service, trust
from tests.support.waiting import wait_until
from tools.scale.certificates import make_certificates

pytestmark = [*needs_browser, pytest.mark.flows]
SETTINGS = "/settings/notifications"
# What a browser does that reaches its push service; it remembers what it has subscribed.
PUSH_MANAGER = """(device) => {
  const kept = () => JSON.parse(localStorage.getItem("subscription"));
  const asSubscription = (given) => given && {
    endpoint: given.endpoint,
    toJSON: () => given,
    unsubscribe: async () => localStorage.removeItem("subscription"),
  };
  PushManager.prototype.getSubscription = async () => asSubscription(kept());
  PushManager.prototype.subscribe = async (options) => {
    if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw new TypeError();
    localStorage.setItem("subscription", JSON.stringify(device));
    return asSubscription(device);
  };
}"""
SHOWN = """async () => (await registration.getNotifications()).map(
  ({ title, body, tag, lang, data }) => ({ title, body, tag, lang, url: data.url }))"""
PRESS = """async () => {
  const opened = [];
  clients.openWindow = async (address) => void opened.push(address);
  const [notification] = await registration.getNotifications();
  const event = new NotificationEvent("notificationclick", { notification });
  const done = [];
  event.waitUntil = (promise) => done.push(promise);
  dispatchEvent(event);
  await Promise.all(done);
  return { opened, left: (await registration.getNotifications()).length };
}"""
KEPT = "async () => (await (await caches.open('pages')).keys()).map(({ url }) => new URL(url).pathname)"


def worker_of(page):
    """The worker once it is there and has kept its pages."""
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    [worker] = page.context.service_workers
    wait_until(lambda: "/offline" in worker.evaluate(KEPT), "the worker keeps its page")
    return worker


def at_home(page):
    """On the home page, with a worker that has kept it."""
    worker = worker_of(page)
    wait_until(lambda: "/" in worker.evaluate(KEPT), "the worker keeps the home page")
    return worker


@contextmanager
def push_messages(page):
    """By a page of nobody: `push(text)` hands a decrypted message to the worker."""
    blank = page.context.new_page()
    tools = page.context.new_cdp_session(blank)
    registrations = []
    tools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(event["registrations"]),
    )
    tools.send("ServiceWorker.enable")
    wait_until(lambda: blank.wait_for_timeout(20) or registrations, "the browser names its workers")
    here = registrations[-1]

    def push(text):
        tools.send(
            "ServiceWorker.deliverPushMessage",
            {
                "origin": here["scopeURL"].rstrip("/"),
                "registrationId": here["registrationId"],
                "data": json.dumps(text),
            },
        )

    yield push
    blank.close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("push"))


def test_a_closed_page_tells_of_a_mention_and_a_press_leads_to_it(
    author, reader, visit, certificates, monkeypatch
):
    device = Device()
    with push_service(certificates) as service, visit() as page:
        trust(monkeypatch, certificates)
        given = {"endpoint": "https://push.example/reader", "keys": device.keys}
        page.add_init_script(f"({PUSH_MANAGER})({json.dumps(given)})")
        log_in(page, "reader")
        page.context.grant_permissions(["notifications"], origin=page.url.rstrip("/"))
        page.goto(SETTINGS)
        expect(page.locator("[data-push] [role=status]")).to_have_text(
            "This device does not notify you."
        )
        page.get_by_role("button", name="Notify me on this device").click()
        expect(page.locator("[data-push] [role=status]")).to_have_text("This device notifies you.")
        expect(page.locator("#devices li")).to_contain_text("this device")
        assert Subscription.objects.get().user == reader
        Subscription.objects.update(endpoint=f"{service.address}/reader")
        worker, context = worker_of(page), page.context
        with push_messages(page) as push:
            page.close()
            post = publish(author, "@reader look at this")
            deliver()
            sending.run_due(limit=10)
            [message] = service.received
            push(device.read(message))
            shown = wait_until(lambda: worker.evaluate(SHOWN), "a notification is shown")
            assert [(one["title"], one["body"]) for one in shown] == [
                ("The Author mentioned you", "@reader look at this")
            ]
            pressed = worker.evaluate(PRESS)
            assert pressed["left"] == 0
            [address] = pressed["opened"]
        again = context.new_page()
        again.goto(address)  # what the press would have opened
        assert address.endswith(f"/@author/{post.pk}")
        expect(again.locator(f"#p{post.pk}")).to_contain_text("look at this")


def test_what_is_read_is_no_longer_shown_nor_counted(author, reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.context.grant_permissions(["notifications"], origin=page.url.rstrip("/"))
        worker = worker_of(page)
        worker.evaluate(
            "() => { self.badges = []; navigator.setAppBadge = async (n) => void badges.push(n); }"
        )
        with push_messages(page) as push:
            push(
                {
                    "title": "Somebody likes your post",
                    "url": "/notifications",
                    "tag": "favourite-1",
                    "unread": 2,
                }
            )
            push(
                {
                    "title": "Two like your post",
                    "url": "/notifications",
                    "tag": "favourite-1",
                    "unread": 3,
                }
            )
            wait_until(lambda: worker.evaluate("badges") == [2, 3], "the icon has a number")
            assert [one["title"] for one in worker.evaluate(SHOWN)] == ["Two like your post"]
        page.goto("/notifications")
        wait_until(
            lambda: page.wait_for_timeout(20) or not worker.evaluate(SHOWN), "it is taken away"
        )


def test_a_browser_says_when_it_is_blocked_or_cannot(reader, visit):
    with visit() as page:
        page.add_init_script(
            "Object.defineProperty(Notification, 'permission', { get: () => window.blocked ?? 'denied' })"
        )
        log_in(page, "reader")
        page.goto(SETTINGS)
        status = page.locator("[data-push] [role=status]")
        expect(status).to_contain_text("are blocked in the browser's settings")
        expect(page.get_by_role("button", name="Notify me on this device")).to_have_count(0)
        page.add_init_script("delete window.PushManager")
        page.reload()
        expect(status).to_contain_text("This browser does not support notifications.")


def test_without_a_network_home_is_readable_and_other_pages_say_so(author, reader, visit):
    follow_user(reader, author)
    publish(author, "Worth keeping.")
    deliver()
    with visit(tolerated="ERR_INTERNET_DISCONNECTED") as page:
        log_in(page, "reader")
        at_home(page)
        page.context.set_offline(True)
        page.goto("/")
        expect(page.locator("#feed")).to_contain_text("Worth keeping.")
        expect(page.locator("[data-kept]")).to_have_text(
            "You're offline. This is your home page as you last saw it."
        )
        assert page.evaluate("getComputedStyle(document.querySelector('.shell')).display") == "grid"
        assert page.locator(".post .avatar").first.is_visible()
        expect(page.get_by_text("You're offline.")).to_have_count(1)
        page.goto("/public")
        expect(page.get_by_role("heading", name="You're offline")).to_be_visible()
        page.get_by_role("link", name="Read your home page as you last saw it").click()
        expect(page.locator("#feed")).to_contain_text("Worth keeping.")
        page.context.set_offline(False)
        expect(page.locator("[data-kept]")).to_have_count(0)


def test_nothing_of_a_member_is_kept_after_logging_out(reader, visit):
    with visit(tolerated="ERR_INTERNET_DISCONNECTED") as page:
        log_in(page, "reader")
        at_home(page)
        page.goto("/settings/account")
        page.get_by_role("button", name="Log out").last.click()
        page.wait_for_url("**/")
        page.context.set_offline(True)
        page.goto("/")
        assert "reader" not in page.content()


def test_the_home_page_of_another_account_is_not_kept(author, reader, client, visit):
    """As by a switch between accounts that the worker has not seen."""
    with visit() as page:
        log_in(page, "reader")
        worker = at_home(page)
        log_in_quietly(client, author)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": page.url}]
        )
        page.goto("/settings/appearance")
        wait_until(
            lambda: page.wait_for_timeout(20) or "/" not in worker.evaluate(KEPT),
            "what was kept of the other account goes",
        )


def test_the_place_is_kept_over_a_closed_tab(author, reader, visit):
    """A tab that was put away or closed comes back with its session storage, as Chromium restores it."""
    follow_user(reader, author)
    for number in range(30):
        publish(author, f"Number {number}.")
    deliver()
    with visit() as page:
        log_in(page, "reader")
        third = page.locator("#feed > .post").nth(12)
        third.evaluate("(post) => scrollTo(0, post.offsetTop - 30)")
        place = third.get_attribute("id")
        top = third.bounding_box()["y"]
        storage = page.evaluate(
            "() => (dispatchEvent(new Event('pagehide')), { ...sessionStorage })"
        )
        page.close()
        again = page.context.new_page()
        again.add_init_script(f"""
          for (const [name, value] of Object.entries({json.dumps(storage)})) sessionStorage.setItem(name, value);
          Object.defineProperty(document, "wasDiscarded", {{ get: () => true }});
        """)
        again.goto("/")
        found = again.locator(f"#{place}")
        expect(found).to_be_in_viewport()
        wait_until(
            lambda: again.wait_for_timeout(20) or abs(found.bounding_box()["y"] - top) <= 1,
            "the post is where it was",
        )
