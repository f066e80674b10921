#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bash completes subcommands, options and arguments.   with-fixtures completion.sh ISOLATOR
set -eu

isolator=$1
# shellcheck source=lab/guest/tap.sh
. "${0%/*}/../../../lab/guest/tap.sh"
"$isolator" completion bash >script
bash -n script
# shellcheck disable=SC1091 # written above
. ./script

# completes WANTED WORD...: what the last word can become
completes() {
	local wanted=$1 have
	shift
	COMP_WORDS=(isolator "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_isolator
	have=$(printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | sort | tr '\n' ' ')
	[ "$have" = "$wanted" ]
	check $? "isolator $*: \"$have\", wanted \"$wanted\""
}

set +e
completes '--help --version attach audit completion configure detach export help interfere measure prove restore run shield status watch why ' ''
completes 'status ' st
completes '--version ' --v
completes '--json ' status --j
completes '--count --cpu ' status --json --c
completes ' ' status --interval 1
completes 'bash ' completion b
completes 'shield status ' help s
completes 'latency ' measure l
completes 'timerfd timerlat ' measure latency --method t
completes '--late ' measure latency --la
completes ' ' measure rtc --la
completes '--help --json ' shield show --
completes '--plain --proc ' prove --p
completes ' ' prove -c 1
completes 'busy busy-later ' status --proc bu
completes ' ' why --proc nowhere
completes 'error info warning ' audit --severity ''
completes 'busy busy-later ' audit --root bu
completes '--force --help --json --runs ' restore --
completes 'other ' run -c 3 --policy o
completes 'root ' run --user roo
completes '--no-isolation --no-settings ' run --no
completes 'keep ' attach 4711 --policy k
completes '--help --json ' detach --
completes 'set show ' shield s
completes '--all ' shield set --a
completes ' ' bogus --
done_testing
