# Targets for people. CI runs the same: make test is .ci/run.

export CGO_ENABLED = 0

.PHONY: build demo test rolling fmt clean

# The static binary, dist/graced.
build:
	go build -trimpath -ldflags '-s -w' -o dist/graced ./cmd/graced

# What graced does, shown: a server that dies at once on SIGTERM is stopped as
# it is, and then wrapped.
demo: build
	@go build -trimpath -ldflags '-s -w' -o dist/legacy ./examples/legacy
	@go run ./examples/legacy/demo dist

# Everything that CI checks. What this machine cannot do is skipped, and said.
test:
	@bash .ci/run

# A rolling replace behind load balancers, measured beside other inits: half an
# hour, as root. It goes on where it was interrupted, and writes docs/rolling.md.
rolling:
	go run ./tests/rolling -doc docs/rolling.md

fmt:
	gofmt -w .

clean:
	rm -rf dist
