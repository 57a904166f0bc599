import pytest

from apps.caches.servers import memcached


@pytest.fixture(autouse=True)
def _empty_memcached():
    if memcached().ping():
        memcached()._client.flush_all(noreply=False)


@pytest.fixture(autouse=True)
def _media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)
