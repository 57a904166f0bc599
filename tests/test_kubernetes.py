"""deploy/kubernetes runs what docker-compose.yml runs, with settings that exist, secrets in files, and nobody's rights.

The tests look at what `kubectl kustomize` makes of the files, which needs no cluster.
"""

import base64
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import kubernetes_validate  # type: ignore[import-untyped]  # it has no types
import pytest
import yaml
from django.conf import settings

from apps.streaming.server import ROOT as STREAMING
from feedcache.topology import Sizes, configured, problems, warnings
from feedsite.monitoring import health
from runner import programs, site
from runner.services.binaries import on_path
from tests.test_compose import example, megabytes, services
from tools.docs.settings import settings as known_settings

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "deploy" / "kubernetes"
KUBECTL = on_path("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")

SIZES = ("large", "small")
VERSIONS = ("1.30", "1.37")  # the oldest that has every field, and the newest
COMPOSE_STOP_SECONDS = 10  # Compose's own, for services that give none
PUBLIC_URLS = {"SITE_URL", "STREAMING_URL", "MEMCACHED_URLS", "MEMCACHED_BACKUP_URLS", "MEMCACHED_L1_URLS"}  # fmt: skip
SECRET = re.compile(r"KEY|TOKEN|PASSWORD|_URLS?$")
SECRETS = "/run/secrets/feedsite/"


@cache
def manifests(size):
    """The objects that `kubectl apply -k` sends to the cluster, with the example of the secrets."""
    with TemporaryDirectory() as copy:
        shutil.copytree(FOLDER, copy, dirs_exist_ok=True)
        secrets = Path(copy, "large", "secrets.example.env")
        shutil.copy(secrets, secrets.with_name("secrets.env"))
        made = subprocess.run(
            [str(KUBECTL), "kustomize", f"{copy}/{size}"],
            capture_output=True,
            text=True,
            check=True,
        )
    return list(yaml.safe_load_all(made.stdout))


def objects(size, kind):
    return {one["metadata"]["name"]: one for one in manifests(size) if one["kind"] == kind}


def workloads(size):
    """Name -> what has a pod; Compose calls it a service."""
    kinds = ("Deployment", "StatefulSet", "Job", "CronJob")
    return {name: one for kind in kinds for name, one in objects(size, kind).items()}


def template(workload):
    spec = workload["spec"]
    return (spec["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else spec)["template"]


def pods(size):
    """Name -> spec and labels of the pods of the site itself."""
    found = {name: template(one) for name, one in workloads(size).items()}
    return {name: one for name, one in found.items() if one["metadata"]["labels"]["part"] == "site"}


def container(pod):
    (only,) = pod["spec"]["containers"]
    return only


def given(size):
    """The ConfigMap: what every process of the site has as variables."""
    (only,) = objects(size, "ConfigMap").values()
    return only["data"]


def secrets(size):
    (only,) = objects(size, "Secret").values()
    return {name: base64.b64decode(value).decode() for name, value in only["data"].items()}


def compose(size):
    """Name -> service, of the services that run the site's image."""
    found = services(size, "backup")
    return {name: one for name, one in found.items() if one.get("image") == "feedsite"}


def only_match(pattern, text):
    (only,) = re.findall(pattern, text)
    return only


def mebibytes(quantity):
    return int(quantity[:-2]) * {"Mi": 1, "Gi": 1024}[quantity[-2:]]


@pytest.fixture(params=SIZES)
def size(request):
    return request.param


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_valid(size, version):
    for one in manifests(size):
        kubernetes_validate.validate(one, version, strict=True)


# --- processes ---------------------------------------------------------------------------------------


def test_the_processes_are_those_of_compose(size):
    assert set(pods(size)) == set(compose(size))
    for name, service in compose(size).items():
        one = container(pods(size)[name])
        assert one["image"].partition(":")[0].rpartition("/")[2] == service["image"], name
        assert one.get("args") == service.get("command"), name
        assert "command" not in one, name
        assert mebibytes(one["resources"]["limits"]["memory"]) == megabytes(service["mem_limit"])
        assert one["resources"]["requests"]["cpu"], name


def test_every_queue_has_a_worker(size):
    commands = [container(one)["args"] for name, one in pods(size).items() if "worker" in name]
    served = {queue for args in commands for queue in args[args.index("-Q") + 1].split(",")}
    assert served == set(programs.QUEUES.split(","))


def test_there_is_exactly_one_beat(size):
    beat = workloads(size)["beat"]["spec"]
    assert beat["replicas"] == 1
    assert beat["strategy"] == {"type": "Recreate"}
    assert "beat" not in objects(size, "HorizontalPodAutoscaler")


def test_probes_ask_what_the_health_checks_of_compose_ask(size):
    for name, service in compose(size).items():
        probe = container(pods(size)[name]).get("readinessProbe", {})
        match service.get("healthcheck", {}).get("test"):
            case ["CMD", "python", "healthcheck.py", "http", port, path]:
                assert probe["httpGet"] == {"path": path, "port": int(port)}, name
            case ["CMD", *command]:
                assert probe["exec"]["command"] == command, name
            case None:
                assert name in {"migrate", "backup"}


def test_probes_use_the_addresses_of_the_code(size):
    web, streaming = (container(pods(size)[name]) for name in ("web", "streaming"))
    assert web["readinessProbe"]["httpGet"]["path"] == health.READY
    assert {web[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe")} == {health.LIVE}  # fmt: skip
    assert streaming["readinessProbe"]["httpGet"]["path"] == f"{STREAMING}/health"


def test_only_a_process_that_hangs_is_restarted(size):
    """What other servers have to do with must not restart it: all pods would be restarted at the same time."""
    alive = {name for name, one in pods(size).items() if "livenessProbe" in container(one)}
    assert alive == {"web"}


def test_pods_have_the_time_to_end_that_their_processes_need(size):
    def seconds(name):
        pod = pods(size)[name]
        before = container(pod).get("lifecycle", {}).get("preStop", {}).get("sleep", {})
        return pod["spec"]["terminationGracePeriodSeconds"] - before.get("seconds", 0)

    assert seconds("web") == site.WEB_STOP_SECONDS
    assert seconds("streaming") == site.STREAMING_STOP_SECONDS
    for name, service in compose(size).items():
        if "healthcheck" in service:
            waits = service.get("stop_grace_period", f"{COMPOSE_STOP_SECONDS}s")
            assert f"{seconds(name)}s" == waits, name
        if name.startswith("worker"):
            assert seconds(name) > settings.CELERY_TASK_TIME_LIMIT, name


def test_a_pod_that_ends_first_waits_until_no_proxy_knows_it(size):
    for name in objects(size, "Service"):
        if name in pods(size):
            assert container(pods(size)[name])["lifecycle"]["preStop"]["sleep"]["seconds"] > 0, name


# --- rights ------------------------------------------------------------------------------------------


def test_pods_have_no_rights(size):
    assert objects(size, "Namespace")["feedsite"]["metadata"]["labels"] == {
        "pod-security.kubernetes.io/enforce": "restricted"
    }
    for name, workload in workloads(size).items():
        spec = template(workload)["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for one in spec["containers"]:
            assert one["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            }, name


def test_the_pods_of_the_site_run_as_the_user_of_the_image_and_write_only_to_its_folders(size):
    image = (ROOT / "Dockerfile").read_text()
    user = int(only_match(r"useradd --system --uid (\d+)", image))
    folders = set(only_match(r"install -d -o feedsite (.+)", image).split())
    for name, pod in pods(size).items():
        assert pod["spec"]["securityContext"]["runAsUser"] == user, name
        assert pod["spec"]["securityContext"]["fsGroup"] == user, name
        mounts = {one["mountPath"] for one in container(pod)["volumeMounts"]}
        extra = {"beat": {"/data/beat"}, "backup": {"/backups"}}.get(name, set())
        assert mounts == {SECRETS.rstrip("/"), "/tmp", "/data/media", "/data/private"} | extra, name
        assert {one for one in mounts if one.startswith("/data/")} <= folders, name


def test_every_volume_that_is_claimed_is_there(size):
    claimed = {
        volume["persistentVolumeClaim"]["claimName"]
        for pod in pods(size).values()
        for volume in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    }
    claims = objects(size, "PersistentVolumeClaim")
    assert claimed == set(claims)
    modes = {name: one["spec"]["accessModes"] for name, one in claims.items()}
    assert size == "small" or modes["media"] == modes["private"] == ["ReadWriteMany"]


# --- settings ----------------------------------------------------------------------------------------


def test_every_variable_is_a_setting(size):
    known = {one.name for one in known_settings()}
    names = {name if name in known else name.removesuffix("_FILE") for name in given(size)}
    assert names - known == set()
    for name, pod in pods(size).items():
        (source,) = container(pod)["envFrom"]
        assert source["configMapRef"]["name"] in objects(size, "ConfigMap"), name
        assert "env" not in container(pod), name


def test_secrets_are_read_from_files_and_are_not_in_the_config_map(size):
    files = {name: value for name, value in given(size).items() if name.endswith("_FILE")}
    assert files == {f"{name}_FILE": f"{SECRETS}{name}" for name in secrets(size)}
    plain = {name: value for name, value in given(size).items() if name not in files}
    assert [name for name in plain if SECRET.search(name) and name not in PUBLIC_URLS] == []
    assert [name for name, value in plain.items() if re.search(r"://[^/]*@", value)] == []


def test_the_secrets_of_the_example_are_all_there():
    """Those of .env.example that are not empty there, and so are needed."""
    needed = {
        name
        for name, value in example().items()
        if value and SECRET.search(name) and name not in PUBLIC_URLS | {"POSTGRES_PASSWORD"}
    }
    assert len(needed) > 10
    assert needed <= set(secrets("large"))


def test_the_secrets_are_not_in_the_repository():
    checked = subprocess.run(
        ["git", "check-ignore", "-q", "deploy/kubernetes/large/secrets.env"], cwd=ROOT, check=False
    )
    assert checked.returncode == 0


def test_settings_are_those_of_the_example(size):
    """Of addresses, only those of Memcached differ: here they are pods."""
    same = {
        name: value
        for name, value in given(size).items()
        if name in example(size) and not name.startswith("MEMCACHED_")
    }
    assert len(same) > 7
    assert same == {name: example(size)[name] for name in same}


def test_the_nodes_of_memcached_are_pods_with_the_memory_that_is_told(size):
    told = given(size)
    groups = [group.split(",") for group in told["MEMCACHED_L1_URLS"].split(";") if group]
    topology = configured(
        told["MEMCACHED_URLS"].split(","),
        [node for node in told["MEMCACHED_BACKUP_URLS"].split(",") if node],
        groups,
        sizes=Sizes(
            main=int(told["MEMCACHED_MAIN_MEGABYTES"]),
            backup=int(told["MEMCACHED_BACKUP_MEGABYTES"]),
            l1=int(told["MEMCACHED_L1_MEGABYTES"]),
        ),
    )
    assert problems(topology) == []
    assert size == "small" or warnings(topology) == []
    running = {}
    for name, one in objects(size, "StatefulSet").items():
        spec = template(one)["spec"]["containers"][0]
        service = objects(size, "Service")[one["spec"]["serviceName"]]["spec"]
        assert service["clusterIP"] == "None", name
        assert service["selector"].items() <= template(one)["metadata"]["labels"].items(), name
        memory = int(spec["args"][spec["args"].index("-m") + 1])
        for number in range(one["spec"]["replicas"]):
            running[f"{name}-{number}.{one['spec']['serviceName']}:11211"] = memory
            node = services(size)[f"{name}-{number}"]
            assert spec["args"] == node["command"], name
            assert spec["image"] == node["image"], name
            assert mebibytes(spec["resources"]["limits"]["memory"]) == megabytes(node["mem_limit"])
    assert running == {node.url: node.megabytes for _place, node in topology.places()}


# --- network -----------------------------------------------------------------------------------------


def test_the_ingress_leads_to_the_ports_of_compose(size):
    published = {
        name: int(service["ports"][0].rpartition(":")[2])
        for name, service in compose(size).items()
        if "ports" in service
    }
    spec = objects(size, "Ingress")["site"]["spec"]
    (rule,) = spec["rules"]
    assert spec["tls"][0]["hosts"] == [rule["host"]]
    assert rule["host"] in given(size)["ALLOWED_HOSTS"].split(",")
    backends = {one["path"]: one["backend"]["service"] for one in rule["http"]["paths"]}
    assert {path: one["name"] for path, one in backends.items()} == {STREAMING: "streaming", "/": "web"}  # fmt: skip
    assert {one["name"]: one["port"]["number"] for one in backends.values()} == published
    for name, port in published.items():
        service = objects(size, "Service")[name]["spec"]
        assert [one["port"] for one in service["ports"]] == [port]
        assert service["selector"].items() <= pods(size)[name]["metadata"]["labels"].items()
        assert container(pods(size)[name])["ports"] == [{"containerPort": port}]


def test_the_proxy_has_the_limits_of_nginx(size):
    """The annotations say what deploy/nginx.conf says."""
    conf = (ROOT / "deploy" / "nginx.conf").read_text()
    said = objects(size, "Ingress")["site"]["metadata"]["annotations"]
    assert f"client_max_body_size {said['nginx.org/client-max-body-size']};" in conf
    assert f"rate={said['nginx.org/limit-req-rate']};" in conf
    assert f"burst={said['nginx.org/limit-req-burst']} nodelay;" in conf
    assert f"limit_req_status {said['nginx.org/limit-req-reject-code']};" in conf
    assert f"proxy_read_timeout {said['nginx.org/proxy-read-timeout']};" in conf
    assert said["nginx.org/websocket-services"] == "streaming"


def test_nothing_may_connect_but_what_is_named(size):
    policies = objects(size, "NetworkPolicy")
    assert policies["nothing-else"]["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
    }
    proxy = policies["from-the-proxy"]["spec"]
    (chosen,) = proxy["podSelector"]["matchExpressions"]
    assert set(chosen["values"]) == {name for name in objects(size, "Service") if name in pods(size)}  # fmt: skip
    allowed = {port["port"] for port in proxy["ingress"][0]["ports"]}
    containers = [container(pods(size)[name]) for name in chosen["values"]]
    assert allowed == {one["ports"][0]["containerPort"] for one in containers}


def test_the_site_reaches_its_servers(size):
    policy = objects(size, "NetworkPolicy")["to-the-servers"]["spec"]
    allowed = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    addresses = [value for name, value in secrets(size).items() if "://" in value and name != "EMAIL_URL"]  # fmt: skip
    used = {int(only_match(r":(\d+)/", value)) for value in addresses}
    assert used | {5672, 11211, 53} == allowed
    mail = int(secrets(size)["EMAIL_URL"].rpartition(":")[2])
    outside = objects(size, "NetworkPolicy")["to-the-internet"]["spec"]
    assert mail in {port["port"] for rule in outside["egress"] for port in rule["ports"]}
    workers = {name for name, one in pods(size).items() if "internet" in one["metadata"]["labels"]}
    assert workers == {name for name in pods(size) if name.startswith("worker")}


# --- upgrades and disruptions ------------------------------------------------------------------------


def test_an_upgrade_migrates_first_then_replaces_workers_then_web_servers(size):
    """In the order of docs/deployment.md, by the label `step`; everything else comes with the migrations."""
    steps = {
        one["metadata"]["name"]: one["metadata"].get("labels", {}).get("step")
        for one in manifests(size)
        if one["kind"] in {"Deployment", "StatefulSet", "Job", "CronJob"}
    }
    assert {name for name, step in steps.items() if step == "web"} == {"web", "streaming"}
    assert {name for name, step in steps.items() if step == "workers"} == {
        name for name in pods(size) if name.startswith("worker") or name == "beat"
    }
    page = (ROOT / "docs" / "deployment.md").read_text()
    commands = re.findall(r"kubectl apply -k \S+ -l '?([^'&\n]+?)'?(?: &&|\n)", page)
    assert commands == ["step notin (workers, web)", "step=workers", "step=web"]


def test_what_a_budget_or_an_autoscaler_names_is_there(size):
    for name, one in objects(size, "PodDisruptionBudget").items():
        wanted = one["spec"]["selector"]["matchLabels"].items()
        labels = [template(pod)["metadata"]["labels"].items() for pod in workloads(size).values()]
        assert any(wanted <= one for one in labels), name
    for one in objects(size, "HorizontalPodAutoscaler").values():
        target = objects(size, "Deployment")[one["spec"]["scaleTargetRef"]["name"]]
        assert (
            "replicas" not in target["spec"]
        )  # applying the file would undo what the autoscaler has set


def test_the_largest_site_has_enough_connections_to_postgresql():
    most = objects("large", "HorizontalPodAutoscaler")["web"]["spec"]["maxReplicas"]
    command = (ROOT / "Dockerfile").read_text().rpartition("CMD ")[2]
    processes = int(only_match(r'"--workers", "(\d+)"', command))
    allowed = only_match(r"max_connections=(\d+)", str(services()["postgres"]["command"]))
    assert most * processes * int(example()["DATABASE_POOL_MAX"]) < int(allowed)
