#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bash completes subcommands, options and arguments.   with-fixtures completion.sh ISOLATOR
set -eu

isolator=$1
n=0
failed=0
"$isolator" completion bash >script
bash -n script
# shellcheck disable=SC1091 # written above
. ./script

# check WANTED WORD...: what the last word can become
check() {
	local wanted=$1 have
	shift
	COMP_WORDS=(isolator "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_isolator
	have=$(printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | sort | tr '\n' ' ')
	n=$((n + 1))
	if [ "$have" = "$wanted" ]; then
		echo "ok $n - isolator $*"
	else
		echo "not ok $n - isolator $*: \"$have\", not \"$wanted\""
		failed=1
	fi
}

check '--help --version attach audit completion configure detach export help interfere measure prove restore run shield status watch why ' ''
check 'status ' st
check '--version ' --v
check '--json ' status --j
check '--no-stack ' why --no
check '--count --cpu ' status --json --c
check ' ' status --interval 1
check 'bash ' completion b
check 'shield status ' help s
check 'latency ' measure l
check 'timerfd timerlat ' measure latency --method t
check '--late ' measure latency --la
check ' ' measure rtc --la
check '--help --json ' shield show --
check '--plain --proc ' prove --p
check ' ' prove -c 1
check 'busy busy-later ' status --proc bu
check ' ' why --proc nowhere
check '--severity ' audit --s
check 'error info warning ' audit --severity ''
check 'busy busy-later ' audit --root bu
check '--max-rate ' watch --m
check ' ' audit -c 1
check ' ' status -c 1
check ' ' why -c 1
check '--force --help --json --runs ' restore --
check 'other ' run -c 3 --policy o
check 'root ' run --user roo
check '--no-isolation --no-settings ' run --no
check 'keep ' attach 4711 --policy k
check '--help --json ' detach --
check 'set show ' shield s
check '--all ' shield set --a
check '--output ' export --o
check 'busy busy-later ' export --proc bu
check 'cache ' interfere c
check ' ' bogus --
echo "1..$n"
exit $failed
