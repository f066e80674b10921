#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isolate-vcpu finds the right thread of a process that is laid out as QEMU's:
#   vcpu.sh ISOLATE-VCPU
set -eu

script=$(realpath "$1")
if [ "$(nproc --all)" = 1 ]; then
	echo "skipped: it needs two CPUs"
	exit 77
fi
place=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || :; rm -rf "$place"' EXIT
pid=

# Stands for the command, which needs a kernel with Isolator.
mkdir "$place/bin"
printf '#!/bin/sh\necho "called: isolator $*"\n' >"$place/bin/isolator"
chmod +x "$place/bin/isolator"
PATH=$place/bin:$PATH

cat >"$place/guest.py" <<'END'
import sys
import threading


def be(name: str, named: threading.Event) -> None:
    number = threading.get_native_id()
    with open(f"/proc/self/task/{number}/comm", "w") as comm:
        comm.write(name)
    if name == "CPU 1/KVM":
        print(number, flush=True)
    named.set()
    threading.Event().wait()


for name in sys.argv[1:]:
    is_named = threading.Event()
    threading.Thread(target=be, args=(name, is_named), daemon=True).start()
    is_named.wait()
threading.Event().wait()
END
python3 "$place/guest.py" "CPU 0/KVM" "CPU 11/KVM" "IO iothread1" "CPU 1/KVM" >"$place/tid" &
pid=$!
tries=0
while [ ! -s "$place/tid" ]; do
	tries=$((tries + 1))
	if [ $tries = 2400 ]; then
		echo "the threads did not begin"
		exit 1
	fi
	sleep 0.1	# sleep: between two looks
done
tid=$(cat "$place/tid")

last=$(($(nproc --all) - 1))
"$script" "$pid" 1 "$last" >"$place/said"
cat "$place/said"
grep -qx "called: isolator attach $tid -c $last" "$place/said"
# The others are off that CPU; the thread itself is the command's to move.
for task in "/proc/$pid/task"/*; do
	allowed=$(taskset -pc "${task##*/}" | sed 's/.*: //')
	case ",$allowed" in
	*[,-]"$last")
		[ "${task##*/}" = "$tid" ] || {
			echo "thread ${task##*/} may still run on CPU $allowed"
			exit 1
		}
		;;
	esac
done

fails_with() {
	wanted=$1
	shift
	if "$script" "$@" >"$place/said" 2>&1; then
		echo "isolate-vcpu $*: no error"
		exit 1
	fi
	grep -q "$wanted" "$place/said" || {
		cat "$place/said"
		exit 1
	}
}
fails_with "has no thread 'CPU 7/KVM'" "$pid" 7 "$last"
fails_with "there is no process 999999999" 999999999 0 "$last"
fails_with "usage" 1
