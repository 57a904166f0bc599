# Short names for ./run; see ./run --help.
.PHONY: run stop reset test lint check fix messages proto dump lock

run:
	./run

stop:
	./run stop

reset:
	./run reset

test:
	./run test

check:
	./run check

lint:
	./run lint

fix:
	./run lint --quick --fix

# The texts of the code in the catalogues of translations; says which of them have none yet.
messages:
	./run lint --fix translations

# The code of the .proto files, which is committed beside them.
proto:
	.venv/bin/python -m runner.protobuf

# What the version in feedsite/__init__.py leaves in a database, for the tests of later ones; part of making a release.
dump:
	.venv/bin/python -m tests.support.releases

# Needs uv. The result holds for every supported Python and platform, with the hashes of all wheels.
LOCK = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock:
	$(LOCK) requirements.in -o requirements.txt
	$(LOCK) requirements-otel.in -o requirements-otel.txt
	$(LOCK) requirements-dev.in -o requirements-dev.txt
