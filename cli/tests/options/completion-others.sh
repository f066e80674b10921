#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# zsh and fish complete the same words as bash.   with-fixtures completion-others.sh ISOLATOR
set -eu

PATH=$(dirname "$1"):$PATH
n=0
failed=0
# Neither shell shall write to, or take anything from, the home of who runs the tests.
mkdir home
export PATH HOME="$PWD/home" XDG_CONFIG_HOME="$PWD/home" XDG_DATA_HOME="$PWD/home"

result() {
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1: \"$3\", not \"$2\""
		failed=1
	fi
}

# What zsh's own functions would be asked to offer, without a terminal.
zsh_offers() {
	zsh -f -c '
		compdef() { }
		_describe() { local name=${@[-1]}; print -l -- ${${(P)name}%%:*} }
		compadd() { shift; print -l -- $@ }
		_files() { print -l -- FILES $@ }
		_users() { print USERS }
		_message() { print -r -- "<$1>" }
		source ./zsh.script
		words=(isolator "$@")
		CURRENT=$#words
		_isolator' zsh "$@"
}

# check WANTED WORD...: what of those that fit the last word can become it
check() {
	wanted=$1
	shift
	for word; do :; done
	for shell in $shells; do
		if [ "$shell" = zsh ]; then
			have=$(zsh_offers "$@" | grep -e "^$word" | sort -u | tr '\n' ' ') || :
		else
			have=$(fish -c "source fish.script; complete -C 'isolator $*'" | cut -f1 |
				sort -u | tr '\n' ' ')
		fi
		result "$shell: isolator $*" "$wanted" "$have"
	done
}

shells=
for shell in zsh fish; do
	if ! command -v $shell >/dev/null; then
		n=$((n + 1))
		echo "ok $n - $shell # SKIP it is not installed"
		continue
	fi
	shells="$shells $shell"
	"$1" completion $shell >$shell.script
	code=0
	$shell -n $shell.script || code=$?
	result "$shell takes the script" 0 $code
done

check 'status ' st
check '--version ' --v
check '--json ' status --j
check '--count --cpu ' status --json --c
check 'bash ' completion b
check 'fish ' completion f
check 'shield status ' help s
check 'timerfd timerlat ' measure latency --method t
check '--late ' measure latency --la
check '' measure rtc --la
check '--help --json ' shield show --
check '--plain --proc ' prove --p
check 'error info warning ' audit --severity ''
check 'set show ' shield s
check '' bogus --
for shell in $shells; do
	case $shell in
	zsh)
		have=$(zsh_offers status --proc '' | tr '\n' ' ')
		result "zsh: a directory" 'FILES -/ ' "$have"
		have=$(zsh_offers run --user '' | tr '\n' ' ')
		result "zsh: a user" 'USERS ' "$have"
		;;
	fish)
		have=$(fish -c "source fish.script; complete -C 'isolator status --proc bu'" | tr '\n' ' ')
		result "fish: a directory" 'busy/ busy-later/ ' "$(echo "$have" |
			sed 's/\tDirectory//g; s/\t[^ ]*//g')"
		have=$(fish -c "source fish.script; complete -C 'isolator run --user roo'" |
			cut -f1 | tr '\n' ' ')
		result "fish: a user" 'root ' "$have"
		;;
	esac
done
echo "1..$n"
exit $failed
