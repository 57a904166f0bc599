# One image for web, workers and beat; docker-compose.yml gives each its command.
FROM python:3.13-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app

# For video and sound (apps/media/video.py): Debian mends this one, while the wheel's is as old as its pin.
RUN apt-get update && apt-get install --yes --no-install-recommends ffmpeg && rm -rf /var/lib/apt/lists/*

COPY requirements.txt .
RUN pip install --no-cache-dir --only-binary=:all: --require-hashes -r requirements.txt \
    && pip uninstall --yes imageio-ffmpeg

COPY manage.py serve.py healthcheck.py ./
COPY feedsite feedsite
COPY feedcache feedcache
COPY apps apps
COPY templates templates
COPY static static
COPY ops/rules.yml ops/rules.yml
COPY locale locale

# Any address will do here: collecting files opens no connection. It compiles the translations too, as every command does.
RUN SECRET_KEY=build DATABASE_URL=postgres://nobody@localhost/none REDIS_URL=redis://localhost \
    CELERY_BROKER_URL=redis://localhost STATIC_ROOT=/app/collected python manage.py collectstatic --noinput -v0 \
    && useradd --system --uid 10001 feedsite \
    && install -d -o feedsite /data/media /data/private /data/beat
ENV STATIC_ROOT=/app/collected MEDIA_ROOT=/data/media

USER feedsite
EXPOSE 8000
CMD ["python", "serve.py", "web", "--host", "0.0.0.0", "--port", "8000", "--workers", "2"]
