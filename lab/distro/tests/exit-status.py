#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: exit-status
# cpus: 4
# kernel: distro
# timeout: 180
# about: isolator run passes the program's end on, and leaves the machine as it was
import json
import time
from pathlib import Path

import snapshot
from machine import check, done, isolator, note, same

JSON = "/run/isolab.run.json"
ENDS = {"true": 0, "exit 3": 3, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9}

snapshot.noise()
before = snapshot.take()
# Without a policy first: nobody has made a partition yet since the boot.
ended = isolator("run", "-c", "3", "--json", "-o", JSON, "--", "true")
check(ended.returncode == 0, "no policy", ended.stderr)
for setting in json.loads(Path(JSON).read_text())["settings"]:
    # Linux 6.12 loses count of its fair servers' shares, and says then that they are too large.
    busy = setting["id"] == "sched.fair-server" and "sched_rt_runtime_us" in str(setting["now"])
    check(setting["outcome"] == "set" or busy, f"no policy: {setting['path']}", setting)
same(before, "no policy")
for script, code in ENDS.items():
    began = time.monotonic()
    ended = isolator("run", "-c", "1", "--policy", "fifo", "--json", "-o", JSON, "--", "sh", "-c",
                     script)
    note(f"{time.monotonic() - began:.1f} s")
    check(ended.returncode == code, f"{script}: {ended.returncode}", ended.stderr)
    same(before, script)
ended = isolator("run", "-c", "1", "--policy", "fifo", "--json", "-o", JSON, "--", "true")
note(ended.stderr)
document = json.loads(Path(JSON).read_text())
changed = {s["path"]: s for s in document["settings"]}
for path, setting in changed.items():
    check(setting["outcome"] == "set", f"{path} = {setting['wanted']}: {setting['outcome']}",
          setting)
# An empty comparison proves nothing: these the distribution has otherwise.
for path in ("/proc/sys/vm/stat_interval", "/proc/sys/kernel/watchdog_cpumask",
             "/sys/devices/virtual/workqueue/cpumask", "/proc/sys/kernel/sched_rt_runtime_us",
             "/proc/irq/default_smp_affinity", "/proc/irq/4/smp_affinity_list"):
    check(path in changed, f"{path} was changed meanwhile")
check(not snapshot.noise() & set(changed), "no setting that was changed counts as noise",
      snapshot.noise() & set(changed))
check(document["partition"]["isolated"], "the partition was isolated", document["partition"])
check(document["threads"]["moved"] > 3, f"{document['threads']} threads of the kernel")
check(document["restored"] is True, "and it says that all is restored")
same(before, "true")
done()
