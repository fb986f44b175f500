# Every target can be run by hand; `make test` is what decides whether a change is good.
.PHONY: help run test fmt vet lint unit release snapshot nightly pictures figures bench profile replicas recall soak seeds tools install

# Git is asked here, as the linker is not told of it where the source is copied without its .git, such as into an image.
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE ?= $(shell git show -s --format=%cs HEAD 2>/dev/null)
LDFLAGS = -s -w -X parley/internal/version.commit=$(COMMIT) -X parley/internal/version.date=$(DATE)

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

run: ## start the gateway with config.yaml
	go run ./cmd/gateway

test: install fmt vet lint unit ## everything: format, vet, staticcheck, tests with the race detector

install: ## get the programs that tests run: a Redis server, PostgreSQL, Chromium, tmux, Node.js, Python, shells, promtool, systemd-analyze and buildah
	@./tools/install.sh

fmt:
	@./tools/timed.sh gofmt sh -c 'test -z "$$(gofmt -l . | tee /dev/stderr)"'

vet:
	@./tools/timed.sh vet go vet ./...

lint:
	@./tools/timed.sh staticcheck go tool -modfile=tools/go.mod staticcheck ./...
	@./tools/timed.sh words ./tools/words.sh -check

unit:
	@./tools/timed.sh tests ./tools/unit.sh

release: ## build ./gateway as it is released: optimized for what it does under load, without debug information
	CGO_ENABLED=0 go build -trimpath -pgo=bench/load.pgo -ldflags "$(LDFLAGS)" -o gateway ./cmd/gateway
	@./tools/size.sh gateway

snapshot: ## build all files of a release into dist/: archives, Debian packages, checksums, bills of materials, a Homebrew formula
	@./tools/release/snapshot.sh

nightly: install snapshot ## what takes too long for each change: all files of a release, ways to install them, the chat in Firefox, soak and seeds
	@for program in dist/gateway_*/gateway*; do ./tools/size.sh $$program || exit 1; done
	rm -rf bin/debian
	command -v mmdebstrap >/dev/null || apt-get install -y -qq mmdebstrap
	mmdebstrap --variant=apt --include=curl,man-db '' bin/debian # ways to install are tried on a Debian without anything else
	PARLEY_DIST=dist PARLEY_ROOT=$(CURDIR)/bin/debian go test ./stories/install -count=1 -v
	command -v firefox-esr >/dev/null || apt-get install -y -qq firefox-esr
	go test -tags nightly ./connectors/web -run 'TestFirefox$$' -count=1 -v
	@$(MAKE) soak
	@$(MAKE) seeds
	PARLEY_SEEDS=5000 go test ./stories -run TestChatPingSurvivesKills -count=1 -timeout 0 # on two platforms
	PARLEY_SEEDS=10000 go test ./core -run TestSteeredSeeds -count=1 -timeout 0
	go test -tags nightly ./stories -run TestReplicasRemindOnce -count=1

pictures: ## make the pictures of the chat in docs/images
	PARLEY_PICTURES=$(CURDIR)/docs/images go test -tags pictures ./connectors/web -run 'TestPictures$$' -count=1

figures: ## measure the chat with a slow processor and network, in bench/results
	PARLEY_FIGURES=$(CURDIR)/bench/results/$(shell date -u +%F)-page.txt go test -tags pictures ./connectors/web -run 'TestFigures$$' -count=1 -v

bench: ## run the benchmarks and keep what they print in bench/results
	@./bench/run.sh

profile: ## record what releases are optimized for, in bench/load.pgo
	@./bench/profile.sh

replicas: ## measure the replies per second of REPLICAS=3 gateways on one PostgreSQL and one Redis; LOAD=telegram asks there, LOAD=reach PEOPLE=0 measures how soon they reach each other
	go run ./bench/replicas -replicas $(or $(REPLICAS),3) -load $(or $(LOAD),web) $(if $(PEOPLE),-people $(PEOPLE)) -for 30s

recall: ## measure what an embedding model finds: EMBEDDING=text-embedding-3-small, with OPENAI_BASE_URL and OPENAI_API_KEY
	go run ./bench/recall -model "$(EMBEDDING)"

soak: ## kill or stop the gateway every five seconds under load, for SOAK=3m, and judge what users see; REPLICAS=3 shares PostgreSQL and Redis, which die too; RELOAD=10s changes the configuration meanwhile; BREAK=lose must fail
	go run ./sim/soak -for $(or $(SOAK),3m) $(if $(REPLICAS),-replicas $(REPLICAS) -outages) $(if $(RELOAD),-reload $(RELOAD)) $(if $(BREAK),-break $(BREAK))

seeds: ## play fresh seeds of several gateways with faults in memory: SEEDS=10000, or for SEEDS=10m
	PARLEY_SEEDS_FOR=$(or $(SEEDS),10000) go test ./sim/replicas -run 'TestSeeds$$' -v -count=1 -timeout 0
