"""What programs of staff read and do: accounts, reports, trends and blocks."""

from hashlib import sha256

from tests.api.conformance.expectations import Like, expect, has, lacks

MOD = "mod[admin:read admin:write]"
_ACCOUNT = {
    "id": "{alice}", "username": "alice", "domain": None, "created_at": Like("Z$"), "email": "alice@example.org",
    "ip": None, "ips": [], "locale": None, "invite_request": None, "confirmed": True, "approved": True,
    "disabled": False, "silenced": False, "suspended": False, "sensitized": False, "role.id": str, "role.name": str,
    "role.permissions": str, "account.id": "{alice}", "account.acct": "alice",
}  # fmt: skip
_REPORT = {
    "id": "{report}", "action_taken": False, "action_taken_at": None, "category": "spam", "comment": "Look at this.",
    "forwarded": False, "created_at": Like("Z$"), "updated_at": Like("Z$"), "account.username": "bob",
    "target_account.username": "carol", "target_account.account.acct": "carol", "assigned_account": None,
    "action_taken_by_account": None, "statuses.*.id": ["{stranger}"], "rules.*.id": ["1"],
}  # fmt: skip
_DISABLE = (f"{MOD} POST admin/accounts/{{alice}}/action", {"type": "disable", "text": "Rude."})
_SILENCE = (f"{MOD} POST admin/accounts/{{carol}}/action", {"type": "silence"})
_SUSPEND = (f"{MOD} POST admin/accounts/{{alice}}/action", {"type": "suspend"})
_BLOCKS = (
    "domain_allows",
    "domain_blocks",
    "email_domain_blocks",
    "canonical_email_blocks",
    "ip_blocks",
)
_NONE = "422, with the reason"
_RANGE = {
    "ip": "203.0.113.9/24",
    "severity": "sign_up_block",
    "comment": "A wave.",
    "expires_in": 3600,
}
_NEW_RANGE = (f"{MOD} POST admin/ip_blocks", _RANGE)
_NEW_DOMAIN = (f"{MOD} POST admin/email_domain_blocks", {"domain": "mail.example"})
_NEW_EMAIL = (f"{MOD} POST admin/canonical_email_blocks", {"email": "A.b+c@Mail.example"})
_DIGEST = sha256(b"ab@mail.example").hexdigest()

STAFF = [
    *[
        expect(f"an account for staff has `{name}`", f"{MOD} GET admin/accounts/{{alice}}", 200, {name: value})
        for name, value in _ACCOUNT.items()
    ],
    expect("of no account", f"{MOD} GET admin/accounts/{{nothing}}", 404),
    expect("members read none (staff)", "alice GET admin/accounts/{bob}", 403),
    expect("nobody reads none (staff)", "nobody GET admin/accounts", 401),
    expect("a scope of members is not enough", "mod GET admin/accounts", 403),
    expect("the narrow scope is enough", "mod[admin:read:accounts] GET admin/accounts", 200,
           {"*.username": has("alice")}),
    expect("and not for anything else", "mod[admin:read:accounts] GET admin/reports", 403),
    expect("accounts", f"{MOD} GET admin/accounts?local=true", 200, {"*.username": has("alice", "frank")}),
    expect("accounts of other sites", f"{MOD} GET admin/accounts?remote=true", 200, {"": []}),
    expect("accounts of another site", f"{MOD} GET admin/accounts?by_domain=mastodon.example", 200, {"": []}),
    expect("active ones", f"{MOD} GET admin/accounts?active=true", 200,
           {"*.username": lacks("frank"), "*.suspended": lacks(True)}),
    *[
        expect(f"{state} ones", f"{MOD} GET admin/accounts?{state}=true", 200, {"*.username": found})
        for state, found in (("pending", []), ("disabled", []), ("silenced", []), ("suspended", ["frank"]),
                             ("sensitized", []))
    ],
    expect("by name", f"{MOD} GET admin/accounts?username=ali&display_name=Alice&email=alice", 200,
           {"*.username": ["alice"]}),
    expect("staff only", f"{MOD} GET admin/accounts?staff=true", 200,
           {"*.username": has("mod"), "*.role.id": lacks("0")}),
    expect("accounts by IP address", f"{MOD} GET admin/accounts?ip=10.0.0.1", 200, {"": []},
           differs="422, because the site does not keep addresses"),
    expect("a page of accounts", f"{MOD} GET admin/accounts?limit=1", 200, {"header:Link": Like("max_id=.*next")}),
    expect("below an account", f"{MOD} GET admin/accounts?max_id={{bob}}", 200, {"*.username": lacks("bob", "carol")}),
    expect("above an account", f"{MOD} GET admin/accounts?min_id={{bob}}", 200, {"*.username": lacks("alice", "bob")}),
    expect("since an account", f"{MOD} GET admin/accounts?since_id={{bob}}", 200, {"*.username": has("carol")}),
    expect("2: accounts", f"{MOD} GET /api/v2/admin/accounts?origin=local&status=active&username=alice", 200,
           {"*.username": ["alice"]}),
    expect("2: of other sites", f"{MOD} GET /api/v2/admin/accounts?origin=remote", 200, {"": []}),
    expect("2: of another site", f"{MOD} GET /api/v2/admin/accounts?by_domain=mastodon.example", 200, {"": []}),
    expect("2: suspended ones", f"{MOD} GET /api/v2/admin/accounts?status=suspended", 200, {"*.username": ["frank"]}),
    expect("2: staff", f"{MOD} GET /api/v2/admin/accounts?permissions=staff", 200,
           {"*.username": has("mod"), "*.role.id": lacks("0")}),
    expect("2: by role", f"{MOD} GET /api/v2/admin/accounts?role_ids[]=1", 200, {"*.role.id": has("1")}),
    expect("2: by name", f"{MOD} GET /api/v2/admin/accounts?display_name=Alice&email=alice", 200,
           {"*.username": ["alice"]}),
    expect("v2: accounts by IP address", f"{MOD} GET /api/v2/admin/accounts?ip=10.0.0.1", 200, {"": []},
           differs="422, because the site does not keep addresses"),
    expect("v2: accounts by inviter", f"{MOD} GET /api/v2/admin/accounts?invited_by={{alice}}", 200, {"": []},
           differs="422, because there are no invitations"),
    expect("2: pages", f"{MOD} GET /api/v2/admin/accounts?max_id={{carol}}&since_id=1&limit=1", 200,
           {"*.username": ["bob"]}),
    expect("2: above", f"{MOD} GET /api/v2/admin/accounts?min_id={{bob}}&limit=1", 200, {"*.username": ["carol"]}),
    expect("a frozen account", f"{MOD} GET admin/accounts/{{alice}}", 200, {"disabled": True, "suspended": False},
           before=[_DISABLE]),
    expect("its owner cannot go on", "alice GET accounts/verify_credentials", 401, before=[_DISABLE]),
    expect("it is enabled again", f"{MOD} POST admin/accounts/{{alice}}/enable", 200, {"disabled": False},
           before=[_DISABLE]),
    expect("a suspended account", f"{MOD} GET admin/accounts/{{alice}}", 200, {"suspended": True}, before=[_SUSPEND]),
    expect("nobody sees it", "nobody GET accounts/{alice}", 404, before=[_SUSPEND]),
    expect("it is not suspended any more", f"{MOD} POST admin/accounts/{{alice}}/unsuspend", 200,
           {"suspended": False}, before=[_SUSPEND]),
    expect("a warning", f"{MOD} POST admin/accounts/{{carol}}/action", 200, {"": {}},
           body={"type": "none", "text": "Be kind.", "report_id": "{report}", "send_email_notification": False}),
    expect("which answers the report", f"{MOD} GET admin/reports/{{report}}", 200,
           {"action_taken": True, "action_taken_by_account.username": "mod"},
           before=[(f"{MOD} POST admin/accounts/{{carol}}/action", {"type": "none", "report_id": "{report}"})]),
    expect("a prepared warning", f"{MOD} POST admin/accounts/{{carol}}/action", 200,
           body={"type": "none", "warning_preset_id": "1"}, differs="422, because there are no prepared warnings"),
    expect("an account is marked as sensitive", f"{MOD} POST admin/accounts/{{carol}}/action", 200,
           body={"type": "sensitive"}, differs="422, because posts are marked, not accounts"),
    expect("a limited account", f"{MOD} GET admin/accounts/{{carol}}", 200,
           {"silenced": True, "account.limited": True}, before=[_SILENCE]),
    expect("limited ones by the list", f"{MOD} GET admin/accounts?silenced=true", 200, {"*.username": ["carol"]},
           before=[_SILENCE]),
    expect("it is not limited any more", f"{MOD} POST admin/accounts/{{carol}}/unsilence", 200, {"silenced": False},
           before=[_SILENCE]),
    expect("a measure that there is not", f"{MOD} POST admin/accounts/{{carol}}/action", 422, body={"type": "ban"}),
    expect("against oneself", f"{MOD} POST admin/accounts/{{mod}}/action", 403, body={"type": "suspend"}),
    expect("members take no measure", "bob POST admin/accounts/{alice}/action", 403, body={"type": "suspend"}),
    expect("an account is no longer marked as sensitive", f"{MOD} POST admin/accounts/{{alice}}/unsensitive", 200,
           differs="422, because posts are marked, not accounts"),
    *[
        expect(f"{name} an approved account", f"{MOD} POST admin/accounts/{{alice}}/{name}", 403,
               differs="422, because accounts need no approval")
        for name in ("approve", "reject")
    ],
    *[
        expect(f"a report has `{name}`", f"{MOD} GET admin/reports/{{report}}", 200, {name: value})
        for name, value in _REPORT.items()
    ],
    expect("no report", f"{MOD} GET admin/reports/1234567", 404),
    expect("members read no report", "bob GET admin/reports/{report}", 403),
    expect("open reports", f"{MOD} GET admin/reports", 200, {"*.id": ["{report}"]}),
    expect("resolved reports", f"{MOD} GET admin/reports?resolved=true", 200, {"": []}),
    expect("reports by an account", f"{MOD} GET admin/reports?account_id={{bob}}", 200, {"*.id": ["{report}"]}),
    expect("reports about an account", f"{MOD} GET admin/reports?target_account_id={{alice}}", 200, {"": []}),
    expect("reports about another site", f"{MOD} GET admin/reports?by_target_domain=mastodon.example", 200, {"": []}),
    expect("reports below", f"{MOD} GET admin/reports?max_id={{report}}&limit=1", 200, {"": []}),
    expect("reports above", f"{MOD} GET admin/reports?min_id={{report}}", 200, {"": []}),
    expect("reports since", f"{MOD} GET admin/reports?since_id=0", 200, {"*.id": ["{report}"]}),
    expect("a report gets another category", f"{MOD} PUT admin/reports/{{report}}", 200,
           {"category": "violation", "rules.*.id": ["1", "2"]}, body={"category": "violation", "rule_ids": ["1", "2"]}),
    expect("a report is taken on", f"{MOD} POST admin/reports/{{report}}/assign_to_self", 200,
           {"assigned_account.username": "mod"}),
    expect("a report is given back", f"{MOD} POST admin/reports/{{report}}/unassign", 200, {"assigned_account": None},
           before=[f"{MOD} POST admin/reports/{{report}}/assign_to_self"]),
    expect("a report is resolved", f"{MOD} POST admin/reports/{{report}}/resolve", 200,
           {"action_taken": True, "action_taken_at": Like("Z$"), "action_taken_by_account.username": "mod"}),
    expect("a report is opened again", f"{MOD} POST admin/reports/{{report}}/reopen", 200, {"action_taken": False},
           before=[f"{MOD} POST admin/reports/{{report}}/resolve"]),
    expect("trending tags (staff)", f"{MOD} GET admin/trends/tags?limit=1", 200, {"": list}),
    expect("trending posts (staff)", f"{MOD} GET admin/trends/statuses?limit=1", 200, {"": list}),
    expect("trending links (staff)", f"{MOD} GET admin/trends/links?limit=1", 200,
           {"0.id": str, "0.url": "{page}", "0.requires_review": False}),
    expect("skipping trending links (staff)", f"{MOD} GET admin/trends/links?offset=100", 200, {"": []}),
    expect("their sites", f"{MOD} GET admin/trends/links/publishers", 200, {"": []}),
    *[
        expect(f"{act} a trend ({kind})", f"{MOD} POST admin/trends/{kind}/1/{act}", 200,
               differs="422, because trends are not reviewed")
        for kind in ("tags", "statuses", "links", "links/publishers")
        for act in ("approve", "reject")
    ],
    *[expect(f"no {kind}", f"{MOD} GET admin/{kind}", 200, {"": []}) for kind in _BLOCKS],
    *[expect(f"none of {kind}", f"{MOD} GET admin/{kind}/1", 404) for kind in _BLOCKS],
    *[expect(f"none to delete of {kind}", f"{MOD} DELETE admin/{kind}/1", 404) for kind in _BLOCKS],
    *[expect(f"none to change of {kind}", f"{MOD} PUT admin/{kind}/1", 404) for kind in ("domain_blocks", "ip_blocks")],
    *[
        expect(f"adding to {kind}", f"{MOD} POST admin/{kind}", 200, body=body, differs=_NONE)
        for kind, body in (
            ("domain_allows", {"domain": "mastodon.example"}),
            ("domain_blocks", {"domain": "mastodon.example"}),
        )
    ],
    expect("a mail domain is blocked", f"{MOD} POST admin/email_domain_blocks", 200,
           {"id": str, "domain": "mail.example", "created_at": Like("Z$"), "history": list,
            "allow_with_approval": False},
           body={"domain": "Mail.Example"}),
    expect("blocked mail domains", f"{MOD} GET admin/email_domain_blocks?limit=1", 200,
           {"*.domain": ["mail.example"]}, before=[_NEW_DOMAIN]),
    expect("one mail domain", f"{MOD} GET admin/email_domain_blocks/{{1.id}}", 200, {"domain": "mail.example"},
           before=[_NEW_DOMAIN]),
    expect("a mail domain twice", f"{MOD} POST admin/email_domain_blocks", 422, body={"domain": "mail.example"},
           before=[_NEW_DOMAIN]),
    expect("what is no domain", f"{MOD} POST admin/email_domain_blocks", 422, body={"domain": "a b"}),
    expect("a mail domain with approval", f"{MOD} POST admin/email_domain_blocks", 200,
           body={"domain": "mail.example", "allow_with_approval": True},
           differs="422, because nobody approves new accounts"),
    expect("a mail domain is free again", f"{MOD} DELETE admin/email_domain_blocks/{{1.id}}", 200, {"": {}},
           before=[_NEW_DOMAIN]),
    expect("members block no mail domain", "bob POST admin/email_domain_blocks", 403, body={"domain": "mail.example"}),
    expect("an e-mail address is blocked", f"{MOD} POST admin/canonical_email_blocks", 200,
           {"id": str, "canonical_email_hash": _DIGEST}, body={"email": "A.b+c@Mail.example"}),
    expect("an e-mail address by its hash", f"{MOD} POST admin/canonical_email_blocks", 200,
           {"canonical_email_hash": _DIGEST}, body={"canonical_email_hash": _DIGEST}),
    expect("no e-mail address", f"{MOD} POST admin/canonical_email_blocks", 422, body={}),
    expect("blocked e-mail addresses", f"{MOD} GET admin/canonical_email_blocks", 200,
           {"*.canonical_email_hash": [_DIGEST]}, before=[_NEW_EMAIL]),
    expect("one e-mail address", f"{MOD} GET admin/canonical_email_blocks/{{1.id}}", 200,
           {"canonical_email_hash": _DIGEST}, before=[_NEW_EMAIL]),
    expect("an e-mail address is free again", f"{MOD} DELETE admin/canonical_email_blocks/{{1.id}}", 200, {"": {}},
           before=[_NEW_EMAIL]),
    expect("an address written otherwise is the same", f"{MOD} POST admin/canonical_email_blocks/test", 200,
           {"*.canonical_email_hash": [_DIGEST]}, body={"email": "ab@mail.example"}, before=[_NEW_EMAIL]),
    expect("a range is blocked", f"{MOD} POST admin/ip_blocks", 200,
           {"id": str, "ip": "203.0.113.0/24", "severity": "sign_up_block", "comment": "A wave.",
            "created_at": Like("Z$"), "expires_at": Like("Z$")}, body=_RANGE),
    expect("a range for ever", f"{MOD} POST admin/ip_blocks", 200, {"expires_at": None, "comment": ""},
           body={"ip": "203.0.113.9", "severity": "sign_up_block"}),
    expect("blocked ranges", f"{MOD} GET admin/ip_blocks", 200, {"*.ip": ["203.0.113.0/24"]}, before=[_NEW_RANGE]),
    expect("one range", f"{MOD} GET admin/ip_blocks/{{1.id}}", 200, {"comment": "A wave."}, before=[_NEW_RANGE]),
    expect("a range is changed", f"{MOD} PUT admin/ip_blocks/{{1.id}}", 200,
           {"ip": "203.0.113.0/24", "comment": "Still.", "severity": "sign_up_block", "expires_at": Like("Z$")},
           body={"comment": "Still."}, before=[_NEW_RANGE]),
    expect("a range becomes another", f"{MOD} PUT admin/ip_blocks/{{1.id}}", 200,
           {"ip": "198.51.100.0/24", "comment": "A wave."},
           body={"ip": "198.51.100.0/24", "severity": "sign_up_block", "expires_in": 60}, before=[_NEW_RANGE]),
    expect("a range is free again", f"{MOD} DELETE admin/ip_blocks/{{1.id}}", 200, {"": {}}, before=[_NEW_RANGE]),
    expect("what is no range", f"{MOD} POST admin/ip_blocks", 422, body={"ip": "x", "severity": "sign_up_block"}),
    expect("a range without severity", f"{MOD} POST admin/ip_blocks", 422, body={"ip": "203.0.113.0/24"}),
    *[
        expect(f"a range of severity {severity}", f"{MOD} POST admin/ip_blocks", 200,
               body={"ip": "203.0.113.0/24", "severity": severity}, differs=f"422, because {why}")
        for severity, why in (("no_access", "ranges can only be blocked from signing up"),
                              ("sign_up_requires_approval", "nobody approves new accounts"))
    ],
    expect("whether an address is blocked", f"{MOD} POST admin/canonical_email_blocks/test", 200, {"": []},
           body={"email": "a@mail.example"}),
]  # fmt: skip
