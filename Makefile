# SPDX-License-Identifier: GPL-2.0-or-later
# Every target installs what it needs from packages (apt, PyPI) first.

HOURS ?= 24

.DEFAULT_GOAL := help
ROW ?=
MINUTES ?= 20
KERNEL ?= rt
PORT ?= 8350
SECONDS ?=
T ?=
.PHONY: help run check matrix hunt scope scope-report bench deb deb-kernel campaign lint units test clean

help: ## this list
	@echo 'Isolator: a CPU core that nothing interrupts, proven from outside.'
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'
	@echo
	@echo 'Caches: $${ISOLATOR_CACHE:-~/.cache/isolator}; builds: build/; results: out/'

run: ## stock, tuned and isolator side by side: make run ARCH=arm64 PREEMPTION=nort
	@tools/isolab run $(if $(ARCH),--arch $(ARCH)) $(if $(PREEMPTION),--preemption $(PREEMPTION))

check: ## linters, unit tests, the model, guest tests; closes with "N passed, N failed"
	@tools/check

matrix: ## every trigger of the catalogue, every configuration; one row: make matrix ROW=28
	$(if $(PREEMPTION),$(error make matrix runs both preemption models: leave PREEMPTION out))
	@tools/isolab matrix $(ROW) $(if $(ARCH),--arch $(ARCH))

hunt: ## soak an isolated core and name what reaches it: make hunt MINUTES=5 PREEMPTION=nort
	@tools/isolab hunt --minutes $(MINUTES) $(if $(ARCH),--arch $(ARCH)) \
		$(if $(PREEMPTION),--preemption $(PREEMPTION))

scope: ## a live picture of a guest's answers, Ctrl-C ends it: make scope KERNEL=nort PORT=8351
	@tools/isolab scope-live --kernel $(KERNEL) --port $(PORT) $(if $(SECONDS),--seconds $(SECONDS))

scope-report: ## every mechanism, idle and loaded, stock and isolated: make scope-report SECONDS=5
	@tools/isolab scope-report $(if $(SECONDS),--seconds $(SECONDS))

bench: ## what it costs: the kernel in instructions, channel, allocator and tick in ns; measuring
	@tools/bench

deb: ## Debian packages, the kernel's too: make deb CONFIG=/boot/config-... RT=1
	$(if $(ARCH),$(error make deb is for this machine; for another: make deb-kernel ARCH=$(ARCH), tools/cross-build))
	@tools/deb $(if $(CONFIG),--config $(CONFIG)) $(if $(RT),--rt)

campaign: ## what takes hours, resumable: make campaign HOURS=2
	@tools/campaign --hours $(HOURS)

deb-kernel: ## the kernel's packages alone, in out/deb/kernel: make deb-kernel RT=1 ARCH=arm64 FLAVOUR=generic
	@tools/deb-kernel $(if $(ARCH),--arch $(ARCH)) $(if $(CONFIG),--config $(CONFIG)) \
		$(if $(FLAVOUR),--flavour $(FLAVOUR)) $(if $(RT),--rt)

lint: ## the linters only
	@tools/check --group prepare --group lint

units: ## unit tests and the model only
	@tools/check --group prepare --group unit

test: ## tests of a part, of a folder of it, or one: make test T=cli/shield, T=lib/start, T=guest/mmap-lock
	@tools/test $(if $(T),$(T),--help) --kernel $(KERNEL)

clean: ## remove build/ and out/; the cache stays
	rm -rf build out
