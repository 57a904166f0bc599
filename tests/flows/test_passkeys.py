"""Passkeys in a real browser with a virtual authenticator, and the second factor without JavaScript."""

import re
import time

import pytest
from django.core.management import call_command
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp_webauthn.models import WebAuthnCredential
from playwright.sync_api import expect

from apps.accounts.authentication import second_factor
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import PASSWORD
from tests.support.processes import start_web, stop

pytestmark = [*needs_browser, pytest.mark.flows]
AUTHENTICATOR = {
    "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
    "isUserVerified": True, "automaticPresenceSimulation": True,
}  # fmt: skip


@pytest.fixture
def address(transactional_db, tmp_path):
    """A site at 127.0.0.1, whose passkeys are for http://localhost."""
    call_command("collectstatic", interactive=False, verbosity=0)
    process, at = start_web(tmp_path)
    yield at.replace("127.0.0.1", "localhost")
    stop(process)


def authenticator(page, **more):
    """A device that holds passkeys, as the browser sees it; `asks(False)` makes its owner say no."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": {**AUTHENTICATOR, **more}})

    def asks(*, verified):
        session.send("WebAuthn.setUserVerified",
                     {"authenticatorId": made["authenticatorId"], "isUserVerified": verified})  # fmt: skip

    return asks


def test_a_passkey_from_the_first_to_the_last(reader, visit, address):
    with visit(address=address, tolerated="/oauth/") as page:
        asks = authenticator(page)
        log_in(page, "reader")
        page.goto("/settings/security")
        page.get_by_role("link", name="Add a passkey").click()
        page.get_by_label("Name").fill("My phone")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Add passkey").click()
        expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
        expect(page.locator(".codes li")).to_have_count(10)
        page.get_by_role("link", name="I have saved them").click()
        expect(page.get_by_text("My phone").first).to_be_visible()

        # as both factors at once
        page.context.clear_cookies()
        page.goto("/login?next=/bookmarks")
        page.get_by_role("button", name="Use a passkey").click()
        expect(page).to_have_url(re.compile(r"^[^?]*/bookmarks$"))
        page.goto("/settings/security")
        expect(page.get_by_text("last used")).to_be_visible()

        # as the second one
        page.context.clear_cookies()
        log_in_up_to_the_code(page)
        page.goto("/settings/account")
        expect(page).to_have_url(re.compile(r"/login\?next="))
        page.goto("/login/code")
        page.get_by_role("button", name="Use a passkey").click()
        page.wait_for_url("**/")
        page.goto("/settings/account")
        expect(page.get_by_text("· this device")).to_be_visible()

        # who does not show who they are is not let in
        page.context.clear_cookies()
        page.goto("/login")
        asks(verified=False)
        page.get_by_role("button", name="Use a passkey").click()
        expect(page.get_by_text("The passkey could not be used. Try again.")).to_be_visible()
        page.goto("/settings/account")
        expect(page).to_have_url(re.compile(r"/login\?next="))
        asks(verified=True)

        # and one that is removed opens nothing
        WebAuthnCredential.objects.all().delete()
        page.goto("/login")
        page.get_by_role("button", name="Use a passkey").click()
        expect(page.get_by_text("This passkey was not accepted.")).to_be_visible()


def test_a_passkey_of_another_account_is_no_second_factor(author, reader, visit, address):
    second_factor.begin_app(author)
    TOTPDevice.objects.update(confirmed=True)
    with visit(address=address, tolerated="/oauth/") as page:
        authenticator(page)
        log_in(page, "reader")
        page.goto("/settings/security/passkeys")
        page.get_by_label("Name").fill("Mine")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Add passkey").click()
        expect(page.locator(".codes li")).to_have_count(10)
        WebAuthnCredential.objects.create(
            user=author, name="hers", credential_id=b"x", public_key=b"y", aaguid="z"
        )
        page.context.clear_cookies()
        log_in_up_to_the_code(page, "author")
        answer = page.evaluate(  # what a browser would send that was asked without saying for whom
            """async () => {
                const form = document.querySelector("form[data-passkey]");
                const options = await (await fetch(form.dataset.options, {method: "POST", body: new
                FormData(form)})).json(); options.allowCredentials = [];
                const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
                const credential = await navigator.credentials.get({publicKey});
                form.elements.answer.value = JSON.stringify(credential.toJSON());
                form.submit();
                return true;
            }"""
        )
        assert answer
        expect(page.get_by_text("This passkey was not accepted.")).to_be_visible()
        page.goto("/settings/account")
        expect(page).to_have_url(re.compile(r"/login\?next="))


def log_in_up_to_the_code(page, handle="reader"):
    page.goto("/login")
    page.get_by_label("Handle or e-mail").fill(handle)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.locator("form.form").get_by_role("button", name="Log in").click()
    page.wait_for_url("**/login/code")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_app_without_javascript_too(reader, visit, address, scripts):
    with visit(address=address, scripts=scripts) as page:
        log_in(page, "reader")
        page.goto("/settings/security")
        page.get_by_role("link", name="Set up an authenticator app").click()
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("img", name="QR code with the key")).to_be_visible()
        assert page.locator("img.qr").evaluate("image => image.naturalWidth") > 100
        device = TOTPDevice.objects.get()
        page.get_by_label("Code").fill(shown(device))
        page.get_by_role("button", name="Turn it on").click()
        recovery = page.locator(".codes li").first.inner_text()
        page.context.clear_cookies()
        log_in_up_to_the_code(page)
        page.get_by_label("Code").fill(recovery)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        page.goto("/settings/security")
        expect(page.get_by_text("9 codes are left")).to_be_visible()


def shown(device):
    made = TOTP(device.bin_key)
    made.time = time.time()
    return f"{made.token():06d}"
