"""Pytest plugin: what a test needs besides the servers of the run, marked by its file and by the fixtures it uses.

`./run test` leaves out what is marked, `./run test --all` runs it too. What the markers mean stands in pyproject.toml.
"""

import pytest

FILES = {
    "tests/flows/": "flows",
    "tests/feedsite/test_checks.py": "flows",
    "tests/feedsite/test_migrate.py": "flows",
    "tests/runner/test_forkserver.py": "flows",
    "tests/runner/test_packages.py": "flows",
    "tests/runner/test_preparation.py": "flows",
    "tests/runner/test_processes.py": "flows",
    "tests/runner/test_services.py": "flows",
    "tests/runner/test_site.py": "flows",
    "tests/runner/test_supervisor.py": "flows",
    "tests/security/test_streams_end.py": "flows",
    "tests/tools/bench/test_site.py": "flows",
    "tests/tools/drill/test_failovers.py": "clusters",
    "tests/tools/scale/test_scale.py": "clusters",
    "tests/tools/vitals/test_short.py": "flows",
    "tests/feedcache/memcached/test_nodes.py": "clusters",
    "tests/feedcache/memcached/test_swaps.py": "clusters",
    "tests/feedcache/test_cluster.py": "clusters",
    "tests/feedcache/test_singleflight.py": "clusters",
    "tests/feedcache/test_tls.py": "clusters",
    "tests/flows/test_pooler.py": "clusters",
    "tests/flows/test_rabbitmq.py": "clusters",
    "tests/test_replicas.py": "clusters",
    "tests/timeline/fanout/test_failover.py": "clusters",
    "tests/timeline/test_cassandra.py": "clusters",
    "tests/flows/test_proxy.py": "clusters",
    "tests/tools/vitals/test_newcomer.py": "browser",
    "tests/tools/vitals/test_pseudo.py": "browser",
    "tests/accounts/test_second_factor.py::TestNotToBeGotAround::test_half_a_login_opens": "long",
    "tests/api/test_schema.py::test_every_answer_is_as_the_document_says": "long",
    "tests/audit/comparison/test_explanations.py": "long",
    "tests/audit/test_explain_matrix.py": "long",
    "tests/audit/test_explain.py::test_what_is_hidden_is_explained": "long",
    "tests/demo/test_seed_runs.py": "long",
    "tests/engagement/test_reconcile.py::test_writers_beside": "long",
    "tests/events/test_tasks.py::test_a_task_that_runs_twice": "long",
    "tests/feedcache/structures/counters/test_memory.py": "long",
    "tests/feedcache/structures/test_existence.py::test_no_false_negative_while_a_segment_grows": "long",
    "tests/feedcache/structures/test_existence.py::test_the_promised_rate": "long",
    "tests/feedcache/structures/test_longset.py::test_who_does_not_come_any_more": "long",
    "tests/feedcache/structures/test_model.py": "long",
    "tests/feedcache/structures/test_weekbucket.py::test_whatever_happens": "long",
    "tests/feedcache/structures/test_window.py::test_whatever_happens": "long",
    "tests/flows/test_oracle.py": "long",
    "tests/flows/test_policy_flips.py": "long",
    "tests/flows/test_walks.py": "long",
    "tests/graph/test_cache.py::test_after_any_history": "long",
    "tests/graph/test_familiar_followers.py::test_after_random_follows": "long",
    "tests/media/test_video.py::test_every_form_of": "long",
    "tests/notifications/test_policy.py::test_each_condition_keeps_back": "long",
    "tests/oauth/test_warm_tokens.py::test_a_token_that_is_ended_while_redis_hangs": "long",
    "tests/posts/test_hostile_pictures.py": "long",
    "tests/promotions/test_secrecy.py::test_no_page_or_endpoint": "long",
    "tests/security/test_matrix.py::test_what_may_not_be_seen": "long",
    "tests/security/test_traces.py": "long",
    "tests/timeline/fanout/test_ledger.py::test_cutting_takes_the_same_memory": "long",
    "tests/timeline/fanout/test_what_if.py::test_the_counts_are_those_of_a_real_delivery": "long",
    "tests/timeline/test_grouped_pull.py": "long",
    "tests/timeline/test_home_histories.py": "long",
    "tests/timeline/test_inbox.py::TestReading::test_walks_are_exact": "long",
    "tests/timeline/test_older.py::test_a_walk_is_what_the_oracle_says": "long",
    "tests/timeline/test_older.py::test_every_way_to_find_a_page": "long",
    "tests/timeline/test_outbox.py::test_random_histories": "long",
    "tests/timeline/test_permissions.py::test_every_viewer_on_every_surface": "long",
    "tests/timeline/test_plans.py": "long",
    "tests/timeline/test_policies.py::test_a_hand_over_loses_and_repeats_nothing": "long",
    "tests/timeline/test_policies.py::test_an_author_crosses": "long",
    "tests/timeline/test_policies.py::test_every_policy_of": "long",
    "tests/timeline/test_policies.py::test_the_site_changes_over_without_a_loss": "long",
    "tests/timeline/test_profile.py::test_a_long_profile_is_walked": "long",
    "tests/timeline/test_surfaces.py": "long",
    "tests/timeline/test_warm.py::test_what_posts_share_and_answer": "long",
    "tests/tools/bench/test_policies.py": "long",
    "tests/tools/house/": "long",
}
FIXTURES = {
    "served": "flows",
    "streamed": "flows",
    "worker": "flows",
    "cast": "flows",
    "visit": "browser",
    "cluster_nodes": "clusters",
    "on_cluster": "clusters",
    "other_server": "clusters",
    "pair": "clusters",
}


@pytest.hookimpl(tryfirst=True)  # before -m looks at them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        names = {name for start, name in FILES.items() if item.nodeid.startswith(start)}
        names |= {name for fixture, name in FIXTURES.items() if fixture in fixtures}
        for name in sorted(names):
            item.add_marker(name)
