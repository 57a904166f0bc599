"""Routes of the accounts app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.accounts import api
from apps.accounts.views import confirming, entering, preferences, second_factor

pages: list[URLPattern] = [
    path("join", entering.join, name="join"),
    path("login", entering.log_in, name="login"),
    path("login/code", second_factor.code, name="login_code"),
    path("login/passkey", second_factor.passkey_login, name="passkey_login"),
    path("login/passkey/options", second_factor.passkey_options, name="passkey_options"),
    path("logout", entering.log_out, name="logout"),
    path("password/change", entering.password_change, name="password_change"),
    path("password/reset", entering.password_reset, name="password_reset"),
    path(
        "password/reset/<str:uidb64>/<str:token>",
        entering.password_reset_confirm,
        name="password_reset_confirm",
    ),
    path("settings/email", confirming.pending, name="email_pending"),
    path("email/confirm/<str:token>", confirming.confirm, name="email_confirm"),
    path("settings/profile", preferences.profile, name="settings_profile"),
    path("settings/account", preferences.account, name="settings_account"),
    path("settings/security", second_factor.security, name="settings_security"),
    path("settings/security/app", second_factor.app_add, name="app_add"),
    path("settings/security/app/code", second_factor.app_code, name="app_code"),
    path("settings/security/app/remove", second_factor.app_remove, name="app_remove"),
    path("settings/security/codes", second_factor.codes_new, name="codes_new"),
    path("settings/security/passkeys", second_factor.passkey_add, name="passkey_add"),
    path(
        "settings/security/passkeys/options",
        second_factor.passkey_add_options,
        name="passkey_add_options",
    ),
    path(
        "settings/security/passkeys/<int:passkey_id>/remove",
        second_factor.passkey_remove,
        name="passkey_remove",
    ),
    path("settings/sessions/<int:login_id>/end", preferences.session_end, name="session_end"),
    path("settings/tokens", preferences.token_new, name="token_new"),
    path("settings/tokens/<int:token_id>/revoke", preferences.token_revoke, name="token_revoke"),
    path("settings/appearance", preferences.appearance, name="settings_appearance"),
    path("settings/writing", preferences.writing, name="settings_writing"),
    path("settings/reading", preferences.reading, name="settings_reading"),
    path("appearance", preferences.quick_appearance, name="appearance"),
]

endpoints: list[URLPattern] = [
    path("preferences", api.preferences),
    path("emails/confirmations", api.resend_confirmation),
    path("emails/check_confirmation", api.check_confirmation),
    path("accounts/lookup", api.lookup),
    path("accounts/<int:account_id>", api.show),
]
