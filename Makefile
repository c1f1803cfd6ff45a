# Everything one does with this repository. It needs Linux, Go and make; what else a target needs, it builds or fetches
# itself, once, below bin/ and dist/. The local cluster needs root besides.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# A clone that belongs to somebody else (a mounted folder, sudo) has no version that Go could stamp.
export GOFLAGS ?= -buildvcs=false

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The operator's image: what `make image` builds, and what `make deploy` puts into a cluster of your own.
IMG ?=
# What `make deploy` and `make undeploy` work with: a folder of kustomize. A copy of config/namespaced is for chosen namespaces.
CONFIG = config/default
# The Redis images that `make redis-images` builds; bin/images lists what there is.
REDIS_IMAGES ?= redis-7.0
# make run ARGS="--zap-log-level=debug"
ARGS ?=
# How many random schedules `make test-sim` tries, from the number SEED on; a failing one prints the command that replays it.
export SEEDS ?= 400
# make bench FAULT=kill-primary,switchover RUNS=3; without them all faults, mostly 20 times each
FAULT ?=
RUNS ?=
# make deflake FOCUS=TestX PKG=./internal/act COUNT=500
FOCUS ?=
PKG ?= ./...
TAGS ?=
COUNT ?= 1000
# Set by .ci/run: a layer of tests that cannot run here is then a failure.
REQUIRE_ALL ?=

TOOLS := bin/tools
CONTROLLER_GEN_VERSION := v0.23.0
GOLANGCI_LINT_VERSION := v2.15.0
CONTROLLER_GEN := $(TOOLS)/controller-gen-$(CONTROLLER_GEN_VERSION)
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)
KUBECTL ?= $(or $(shell command -v kubectl),$(CURDIR)/bin/kubectl)
export KUBECTL
# What has to be built for it: nothing, where there is one already.
BUILT_KUBECTL := $(filter $(CURDIR)/bin/kubectl,$(KUBECTL))

# What make generate and make manifests write.
GENERATED := ':(glob)**/zz_generated.*.go' config/crd/bases config/rbac/role.yaml

# own is the KUBECONFIG of the cluster that bin/cluster runs, up or down. Whoever has typed `eval $(bin/cluster env)` has set it:
# that is no other cluster (hack/demo does the same).
define find_local
	own=; if [ -x bin/cluster ]; then own=$$(bin/cluster env 2>/dev/null | sed -n 's/^export KUBECONFIG=//p') || own=; fi
endef
# The cluster that a target works on: KUBECONFIG, and local=yes if it is the one that bin/cluster runs.
define use_cluster
	$(find_local); local=; \
	if [ -n "$$own" ] && [ "$${KUBECONFIG:-$$own}" = "$$own" ] && $(answers); then local=yes; eval "$$(bin/cluster env)"; \
	elif [ "$${KUBECONFIG:-$$own}" = "$$own" ]; then \
		echo "No cluster is up. Either 'make cluster-up' starts one on this machine (Linux, root)," \
			"or set KUBECONFIG to use one of yours: KUBECONFIG=~/.kube/config make $@" >&2; exit 1; fi
endef
answers = $(KUBECTL) --kubeconfig "$$own" --request-timeout 5s get --raw /readyz >/dev/null 2>&1

# Before what takes minutes, not after.
define need_root
	if [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; then \
		echo "make $@ runs a cluster on this machine, which takes root on Linux: 'sudo -E env PATH=\$$PATH make $@'." \
		"With a cluster of yours set KUBECONFIG, and use make deploy IMG=<an image it can pull>." >&2; exit 1; fi
endef

define go_install # MODULE,VERSION: aside first, so that a killed build leaves no half of a tool
	@echo "[tools] $(notdir $@): building, a minute or two the first time ..."
	@mkdir -p $(TOOLS); new=$$(mktemp -d $(TOOLS)/.new-XXXX); trap 'rm -rf "$$new"' EXIT; \
	GOBIN=$(CURDIR)/$$new hack/patiently $(notdir $@) go install $(1)@$(2); mv "$$new/$(notdir $(1))" $@
endef

##@ Build

.PHONY: build
build: ## Build the operator: bin/manager.
	CGO_ENABLED=0 hack/patiently manager go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/manager ./cmd

.PHONY: image
image: build bin/images ## Build the operator's image without a container engine: dist/redis-operator.tar.
	bin/images operator

.PHONY: redis-images
redis-images: bin/images ## Build Redis images from Debian's packages: dist/images/*.tar (REDIS_IMAGES="redis-7.0 ...").
	hack/patiently redis-images bin/images redis $(REDIS_IMAGES)

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the deep copy functions of api/.
	$(CONTROLLER_GEN) object paths=./api/...

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CRD from api/ and the operator's role from the markers in the code.
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=redis-operator paths=./internal/... paths=./cmd/... output:rbac:dir=config/rbac

##@ Check

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint (.golangci.yml), the import rules among it; FIX=1 mends what it can.
	$(GOLANGCI_LINT) run $(if $(FIX),--fix)

.PHONY: verify
verify: generate manifests ## Regenerate everything; nothing may differ from what is committed.
	@changed=$$(git status --porcelain -- $(GENERATED)); if [ -n "$$changed" ]; then \
		git --no-pager diff -- $(GENERATED); \
		echo "verify: not what is committed (run 'make generate manifests' and commit):"; echo "$$changed"; exit 1; fi
	go mod tidy -diff
	go mod verify

# What the integration tests run besides themselves.
BUILT_FOR_INTEGRATION = parts-apiserver redis-images

.PHONY: test
test: test-unit $(BUILT_FOR_INTEGRATION) ## Run all tests; without root all but the end-to-end ones.
	@$(MAKE) --no-print-directory -j2 --output-sync=target test-sim test-integration # the latter mostly waits
	@if [ -n "$${KUBECONFIG:-}" ] || { [ "$$(uname -s)" = Linux ] && [ "$$(id -u)" = 0 ]; }; then $(MAKE) test-e2e; \
	else echo "test: left out test-e2e, since a local cluster takes root on Linux (sudo -E env PATH=\$$PATH make test; or set KUBECONFIG)"; \
		[ -z "$(REQUIRE_ALL)" ]; fi

.PHONY: test-unit
test-unit: export SEEDS = 20
test-unit: export CONTROLLER_GEN := $(CURDIR)/$(CONTROLLER_GEN)
test-unit: $(CONTROLLER_GEN) ## Run the tests that need nothing but Go.
	go test ./...

.PHONY: test-sim
test-sim: ## Run the simulation with SEEDS random schedules.
	nice go test -count=1 -timeout 60m ./test/sim/...

.PHONY: test-sim-mutants
test-sim-mutants: ## Break one rule at a time and check that the simulation notices (MUTANTS names some).
	go run ./test/sim/mutants $(MUTANTS)

.PHONY: test-integration
test-integration: export REQUIRE_REDIS := 1
test-integration: $(BUILT_FOR_INTEGRATION) ## Run the tests against a real API server and real Redis processes.
	go test -tags integration -timeout 20m $$(grep -rlE --include='*_test.go' '^//go:build.*integration|/redistest"' api cmd hack internal test | xargs dirname | sed 's,^,./,' | sort -u)

.PHONY: test-e2e
test-e2e: $(BUILT_KUBECTL) ## Run the end-to-end tests on the local cluster (started for them if it is not up), or on KUBECONFIG's.
	@$(find_local); if [ "$${KUBECONFIG:-$$own}" = "$$own" ] && ! ($(use_cluster)) 2>/dev/null; then \
		$(need_root); trap 'bin/cluster down' EXIT; $(MAKE) cluster-up; fi; \
	$(MAKE) deploy; $(use_cluster); \
	go test -tags e2e -count=1 -timeout 40m ./test/e2e/...

.PHONY: bench
bench: $(BUILT_KUBECTL) ## Measure what clients notice of faults (FAULT=kill-primary RUNS=3), as test-e2e; writes docs/benchmarks.md.
	@if [ -z "$${KUBECONFIG:-}" ] && ! ($(use_cluster)) 2>/dev/null; then \
		$(need_root); trap 'bin/cluster down' EXIT; $(MAKE) cluster-up; fi; \
	$(MAKE) deploy; $(use_cluster); go build -o bin/bench ./test/bench; \
	version=$$(git describe --tags --always); git diff --quiet HEAD -- . ':!docs' || version+=-dirty; \
	bin/bench -version "$$version" -fault "$(FAULT)" $(if $(RUNS),-runs $(RUNS))

.PHONY: deflake
deflake: ## Repeat tests in random order until one fails (FOCUS=TestX PKG=./internal/act TAGS=integration COUNT=1000).
	@if [ -z "$(FOCUS)" ]; then echo "deflake: which test? For example make deflake FOCUS=TestX PKG=./internal/act"; exit 2; fi
	@race=-race; command -v gcc >/dev/null || { race=; echo "deflake: without the race detector, which needs gcc"; }; \
	go test $$race -tags '$(TAGS)' -shuffle=on -failfast -timeout 0 -count $(COUNT) -run '$(FOCUS)' $(PKG)

##@ On a cluster: the one that KUBECONFIG names; if it names none, the local one

.PHONY: demo
demo: ## From nothing to a running three-node Redis, on a local cluster or on KUBECONFIG's. From cold about 20 minutes on 2 cores.
	@hack/demo

.PHONY: install
install: $(BUILT_KUBECTL) ## Install the CRD.
	@$(use_cluster); $(KUBECTL) apply --server-side --force-conflicts -k config/crd

.PHONY: uninstall
uninstall: $(BUILT_KUBECTL) ## Remove the CRD, and with it every RedisCluster.
	@$(use_cluster); $(KUBECTL) delete --ignore-not-found -k config/crd

.PHONY: run
run: build install ## Run the operator on this machine, outside the cluster (ARGS=flags).
	@$(use_cluster); \
	inside=$$($(KUBECTL) --request-timeout 10s -n redis-operator-system get deployment redis-operator -o 'jsonpath={.spec.replicas}' 2>/dev/null || :); \
	if [ "$${inside:-0}" != 0 ]; then \
		echo "run: WARNING: an operator runs inside this cluster too, and two act against each other. To stop that one:" \
			"kubectl -n redis-operator-system scale deployment redis-operator --replicas=0" >&2; fi; \
	bin/manager $(ARGS)

.PHONY: deploy
deploy: $(BUILT_KUBECTL) ## Install the operator; on a cluster of yours with IMG=<an image that it can pull>. For chosen namespaces CONFIG=config/namespaced.
	@$(use_cluster); mkdir -p dist/deploy; base=$$(realpath --relative-to=dist/deploy "$(CONFIG)"); image=$(or $(IMG),redis-operator:dev); id=$$image; \
	if [ -n "$$local" ] && [ -z "$(IMG)" ]; then \
		$(MAKE) image; bin/cluster load dist/redis-operator.tar; id=$$(sha256sum dist/redis-operator.tar | cut -c1-16); \
	elif [ -z "$(IMG)" ]; then \
		echo "deploy: the cluster of $$KUBECONFIG has to pull the operator's image. Build and push one (Dockerfile), then:" \
			"make deploy IMG=<registry>/redis-operator:<tag>" >&2; exit 1; fi; \
	printf '%s\n' "$$overlay" | sed -e "s|BASE|$$base|" -e "s|IMAGE_ID|$$id|" -e "s|IMAGE|$$image|" >dist/deploy/kustomization.yaml; \
	$(KUBECTL) apply --server-side --force-conflicts -k dist/deploy; \
	$(KUBECTL) -n redis-operator-system rollout status deployment/redis-operator --timeout=180s

# The annotation rolls the pods when the image has changed and its name has not.
define overlay
resources:
- BASE
patches:
- target: {kind: Deployment, name: redis-operator}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/image, value: "IMAGE"}
    - {op: add, path: /spec/template/metadata/annotations/cache.example.com~1image-id, value: "IMAGE_ID"}
endef
deploy: export overlay := $(overlay)

.PHONY: undeploy
undeploy: $(BUILT_KUBECTL) ## Remove the operator and the CRD, and with it every RedisCluster.
	@$(use_cluster); $(KUBECTL) delete --ignore-not-found -k $(CONFIG)

##@ Local cluster: a real Kubernetes of three nodes on this machine

.PHONY: cluster-up
cluster-up: ## Start it. The first time all is built from source, about 20 minutes on 2 cores; later it takes seconds.
	@$(need_root)
	@$(MAKE) parts
	@[ -e dist/redis-operator.tar ] || echo "[build] the operator, and its and Redis' images: 3 to 5 minutes the first time ..."
	@$(MAKE) bin/cluster image redis-images
	bin/cluster up

.PHONY: cluster-down
cluster-down: bin/cluster ## Stop it and remove everything of it; Debian packages that it installed stay.
	bin/cluster down

##@ Help

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Not for people:

.PHONY: parts parts-apiserver
parts:
	hack/build-parts
parts-apiserver:
	hack/build-parts etcd kube

$(CURDIR)/bin/kubectl:
	hack/build-parts kubectl

# Go knows best whether there is something to build.
.PHONY: bin/cluster bin/images
bin/cluster bin/images: bin/%:
	@CGO_ENABLED=0 hack/patiently $@ go build -trimpath -o $@ ./hack/$*

$(CONTROLLER_GEN):
	$(call go_install,sigs.k8s.io/controller-tools/cmd/controller-gen,$(CONTROLLER_GEN_VERSION))

$(GOLANGCI_LINT):
	$(call go_install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_LINT_VERSION))
