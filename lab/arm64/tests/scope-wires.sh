#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: scope-wires
# cpus: 2
# kernel: arm64
# wires: bare
# timeout: 90
# about: isolator_scope on GPIO lines: each mechanism answers each trigger on its own wire
# shellcheck source=lab/arm64/wires.sh
. "${LAB:-/lab}/lib/wires.sh"

lines=1,2,4,5,6,7
wires="gpio=$chip:0,$lines"
every="irq irq-thread softirq tasklet bh-work work work-unbound work-high kthread user"

# What is no configuration.
for words in garbage "$chip:" "$chip:0" ":0,1" "$chip:0,x" "$chip:0,,1" "$chip:0,70000" \
	"$chip:0,65535" "$chip:0,-1"; do
	refused "gpio=$words: CHIP:TRIGGER,LINE\[,LINE...\] is wanted" insmod "$module" "gpio=$words"
done
refused "gpio=nochip:0,1: cannot get it" insmod "$module" gpio=nochip:0,1
refused "out of range" insmod "$module" "gpio=$chip:0,8"
refused "cannot get a line" insmod "$module" "gpio=$chip:0,0"
refused "cannot get a line" insmod "$module" "gpio=$chip:0,1,1"
! [ -e /sys/module/isolator_scope ] && ! [ -e /sys/bus/platform/devices/isolator-scope-gpio ]
check $? "nothing is left of them"

insmod "$module" "$wires"
check $? "with lines that there are it loads"
[ "$(cat $knobs/nr_lines)" = 6 ]
check $? "it says how many"
[ "$(cat $knobs/lines/irq $knobs/lines/work $knobs/lines/work-unbound | tr '\n' ' ')" = "0 5 -1 " ]
check $? "the first mechanisms have them, the others none"
order each 200 $((0xf6))
all 200 "each of these answers each trigger"
[ "$(cat $knobs/answered/softirq)" = 200 ]
check $? "and counts so"

# Mapped as it runs.
refused "lines/kthread: 6 is none of its lines, nor -1 .* 6 lines, from 0" on kthread 6
refused "lines/kthread: 0 is another one's" on kthread 0
refused "lines/poll: 5 cannot be" on poll 5
for mechanism in $every; do
	on "$mechanism" -1
done
"$bin/scope-task" >/tmp/answers &
task=$!
# A trigger before it has opened the device is none of its.
opened() {
	tries=300
	until [ $((tries -= 1)) -eq 0 ]; do
		case $(ls -l "/proc/$task/fd") in
		*isolator_scope*) break ;;
		esac
		sleep 0.1	# sleep: between two looks
	done
}
opened
line=0
for mechanism in work-unbound work-high kthread user irq-thread; do
	on $mechanism $line
	line=$((line + 1))
done
refused "lines/poll: 5 cannot be" on poll 5
order each 200 $((0x76))
all 200 "the others on the same wires"
on irq-thread -1
order each 50 $((0x36))
all 50 "without one of them its wire is silent"

# No edge but of an answer.
"$bin/scope-task" --poll >/tmp/poll 2>&1
grep -q 'no lines to map' /tmp/poll
check $? "there is nothing to map"
kill $task
wait $task
[ "$(cat /tmp/answers)" = "250 answers" ]
check $? "the user task answered all: $(cat /tmp/answers)"
order each 1 $((0x16))
rmmod isolator_scope
insmod "$module" "$wires"
order look 100
says "strays 0 " "to unload and to load is no edge, also with a wire that is high"

# flooded US TEXT: as fast as it goes, with a delay in the handler: an edge for each answer
flooded() {
	echo "$1" >$knobs/delays/irq
	before=$(cat $knobs/answered/irq)
	order flood 500 0
	came=$(($(cat $knobs/answered/irq) - before))
	echo 0 >$knobs/delays/irq
	[ $came -gt 0 ] && [ "$(edges 1)" = $came ] && [ "$(edges 7)" = $came ]
	check $? "$2: an edge for each of $came interrupts"
}

flooded 0 "500 triggers as fast as they go"
flooded 20000 "500, most of them while another is being answered"
[ $came -lt 400 ]
check $? "merged interrupts are answered once"
order each 50 $((0xf6))
all 50 "then each trigger is answered again"

# Unloaded and unbound at any time.
order begin 500
for i in 1 2 3 4 5 6 7 8; do
	sleep 0.1	# sleep: triggers come meanwhile
	rmmod isolator_scope || break
	insmod "$module" "$wires" || break
done
[ "$i" = 8 ] && [ -e $knobs ]
check $? "unloaded and loaded 8 times as triggers come"
order end
"$bin/scope-task" >/tmp/answers 2>&1 &
task=$!
order begin 500
opened
! rmmod isolator_scope
check $? "not unloaded while a task waits in it"
echo isolator-scope-gpio >/sys/bus/platform/drivers/isolator-scope-gpio/unbind
wait $task
[ $? = 1 ] && grep -q 'No such device' /tmp/answers
check $? "but taken from it: $(head -n 1 /tmp/answers)"
order end
rmmod isolator_scope
check $? "then it can be unloaded"
done_testing
