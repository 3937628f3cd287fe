# The project's commands, once. README and .ci/run call these.

MINORS := $(notdir $(wildcard testkit/go/*))

.PHONY: sweep demo test tools lint deny control-planes record generate bench bench-offline fuzz playground playground-check bench-features

# The main job on sample files. Needs only Rust.
demo:
	cargo run --quiet --bin kubectl-nominate -- explain hi -n s3 --from examples/preemption

# Every test on a fresh machine: style, plain tests, and real control planes where they can run.
test: tools lint control-planes
	cargo test --locked --workspace
	$(MAKE) --no-print-directory playground-check

# What a new machine lacks; Debian packages where we may install them.
tools:
	@command -v cargo >/dev/null || { echo "error: cargo is missing; install Rust 1.95 with rustup"; exit 1; }
	@missing=""; \
	command -v cc >/dev/null || missing="$$missing gcc libc6-dev"; \
	command -v unshare >/dev/null && command -v setpriv >/dev/null || missing="$$missing util-linux"; \
	command -v script >/dev/null || missing="$$missing bsdutils"; \
	command -v git >/dev/null || missing="$$missing git"; \
	command -v xmllint >/dev/null || missing="$$missing libxml2-utils"; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -y -q $$missing; \
	  else echo "error: install these first:$$missing"; exit 1; fi; \
	fi
	@$(MAKE) --no-print-directory --quiet $(PROMETHEUS)
	@command -v go >/dev/null || echo "note: Go is missing, so the tests on real control planes will be ignored; install Go 1.26"

# A real Prometheus for tests/live/guard_prometheus.rs: Debian's package, unpacked and not installed, so that no service of it starts.
CACHE := $(or $(KUBE_PLACEMENT_TESTKIT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kube-placement/testkit)
PROMETHEUS := $(or $(wildcard /usr/bin/prometheus),$(CACHE)/prometheus/usr/bin/prometheus)
$(PROMETHEUS):
	@if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then \
	  mkdir -p "$(CACHE)/prometheus" && cd "$(CACHE)/prometheus" && rm -f prometheus_*.deb && \
	  { apt-get download -q prometheus || { apt-get update -q && apt-get download -q prometheus; }; } && \
	  dpkg-deb -x prometheus_*.deb . && rm -f prometheus_*.deb; \
	else echo "note: there is no prometheus; a test on real control planes needs one at /usr/bin/prometheus"; fi

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

# Not part of `test`: needs cargo-deny.
deny:
	cargo deny --locked check bans licenses sources

# Builds etcd, the control plane, kubelet and kubectl of each minor into a cache outside of this folder.
control-planes:
	@if command -v go >/dev/null && [ "$$(id -u)" = 0 ] && [ "$$(uname)" = Linux ]; then \
	  cargo run --locked --quiet -p testkit --bin testkit-build -- $(MINORS); \
	else echo "note: real control planes need Linux, root and Go; their tests will be ignored"; fi

# What preflight says of settings against what components do, on STARTS settings a component and minor.
STARTS ?= 500
sweep: control-planes
	KUBE_PLACEMENT_STARTS=$(STARTS) cargo test --locked --test live -- components_start

# Measures explain against kubectl on a real API server; writes docs/benchmarks.md and README's figures.
bench: control-planes
	cargo bench --locked --bench explain

# Measures what is read without a cluster, on an audit log of KUBE_PLACEMENT_AUDIT_MIB (256) and a must-gather of
# KUBE_PLACEMENT_GATHER_MIB (2048); writes their sections of docs/benchmarks.md.
bench-offline:
	cargo bench --locked --bench offline

# Measures `features skew` on KUBE_PLACEMENT_NODES (5000) nodes behind a real API server; writes its section of docs/benchmarks.md.
bench-features: control-planes
	cargo bench --locked --bench features

# Each fuzz target for FUZZ_SECONDS. Needs cargo-fuzz and a C++ compiler; the stable compiler is told to take its options.
FUZZ_SECONDS ?= 30
fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "error: cargo-fuzz is missing; install it with: cargo install cargo-fuzz"; exit 1; }
	@command -v c++ >/dev/null || { echo "error: a C++ compiler is missing; install g++"; exit 1; }
	@for target in $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))); do \
	  RUSTC_BOOTSTRAP=1 cargo fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -max_len=65536 || exit 1; \
	done

# A real cluster to try the plugin on, until Ctrl-C. MINOR=1.36 takes another minor.
playground: control-planes
	cargo build --locked --quiet --bin kubectl-nominate
	cargo run --locked --quiet --example playground

# Runs each command that the playground announces; fails unless each shows its verdict.
playground-check: control-planes
	@if command -v go >/dev/null && [ "$$(id -u)" = 0 ] && [ "$$(uname)" = Linux ]; then \
	  cargo build --locked --quiet --bin kubectl-nominate && cargo run --locked --quiet --example playground -- --once; \
	else echo "note: the playground needs Linux, root and Go; it is not checked"; fi

# Plays every scenario on every minor and writes what the servers answered to tests/recorded/.
record: control-planes
	KUBE_PLACEMENT_RECORD=1 cargo test --locked --test live -- scenario
	KUBE_PLACEMENT_RECORD=1 cargo test --locked --test live -- gates
	KUBE_PLACEMENT_RECORD=1 cargo test --locked --test live -- features
	KUBE_PLACEMENT_RECORD=1 cargo test --locked --test live -- skew_says
	KUBE_PLACEMENT_RECORD=1 cargo test --locked --test live -- logs_tell_of_hints
	KUBE_PLACEMENT_RECORD=1 cargo test --locked --test live -- declared_says
	KUBE_PLACEMENT_RECORD=1 cargo test --locked --test live -- 1.37::rbac_prints

# Writes data/gates/<minor>.jsonl, readers.jsonl and data/apis/<minor>.jsonl from the Kubernetes modules of each minor. ENHANCEMENTS=FOLDER, a checkout of
# kubernetes/enhancements, writes components.jsonl, too.
generate:
	cargo run --locked --quiet -p testkit --bin testkit-catalogue -- $(if $(ENHANCEMENTS),--enhancements $(ENHANCEMENTS)) $(MINORS)
