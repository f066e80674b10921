// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: refusals
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: start refuses who and what it must, each with its own errno
 */
#include <grp.h>
#include <linux/capability.h>
#include "../test.h"

static int device;

static int stop(void)
{
	struct isolator_stop_args args = { .size = sizeof(args) };

	return ioctl(device, ISOLATOR_IOC_STOP, &args) ? errno : 0;
}

static int start(const struct isolator_start_args *wanted)
{
	struct isolator_start_args args = *wanted;

	if (ioctl(device, ISOLATOR_IOC_START, &args))
		return errno;
	stop();
	return 0;
}

static const struct isolator_start_args good = {
	.size = sizeof(good), .mask = ISOLATOR_MASK_ALL,
};

static int drop_caps(unsigned long keep)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	data[0].effective = data[0].permitted = (unsigned int)keep;
	return (int)syscall(SYS_capset, &head, data);
}

/* Runs a case in a child of its own; its exit status is the errno of start. */
static int in_child(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(body());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int unpinned(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CPU_SET(1, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? 254 : start(&good);
}

static int unprivileged(void)
{
	return iso_pin(1) || drop_caps(0) ? 254 : start(&good);
}

static int nobody_opens(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return 254;
	return open("/dev/isolator", O_RDWR) < 0 ? errno : 0;
}

static int user_namespace(void)
{
	return iso_pin(1) || unshare(CLONE_NEWUSER) ? 254 : start(&good);
}

/* As a container has it: root, with every capability, in namespaces of its own. */
static int container(void)
{
	pid_t pid;
	int status;

	if (iso_pin(1) || unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET) ||
	    put_file("/proc/self/setgroups", "deny") || put_file("/proc/self/uid_map", "0 0 1") ||
	    put_file("/proc/self/gid_map", "0 0 1"))
		return 254;
	pid = fork();
	if (!pid) {
		if (getuid() || start(&good) != EPERM)
			_exit(1);
		if (put_file("/proc/isolator/start", "7") != -EPERM)
			_exit(2);
		if (put_file("/proc/isolator/cpus", "1") != -EPERM ||
		    put_file("/proc/isolator/limits", "perf queue") != -EPERM)
			_exit(3);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int nice_only(void)
{
	return iso_pin(1) || drop_caps(1UL << CAP_SYS_NICE) ? 254 : start(&good);
}

static int strict_nice_only(void)
{
	struct isolator_start_args args = good;

	args.deadline_ns = ISOLATOR_DEADLINE_NEVER;
	return iso_pin(1) || drop_caps(1UL << CAP_SYS_NICE) ? 254 : start(&args);
}

static int writes_cpus(void)
{
	return drop_caps(1UL << CAP_SYS_NICE) ? 254 :
		-put_file("/proc/isolator/cpus", "1");
}

static int pinned(void)
{
	return iso_pin(1) ? 254 : start(&good);
}

static int on_cpu0(void)
{
	return iso_pin(0) ? 254 : start(&good);
}

static int other_pins(void)
{
	return -iso_pin(1);
}

/* With the other CPUs isolated by somebody else, CPU 0 is the last. */
static void last_cpu(void)
{
	struct worker *w[64];
	int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	char list[16];

	snprintf(list, sizeof(list), "0-%d", n - 1);
	put_file("/proc/isolator/cpus", list);
	for (int cpu = 1; cpu < n; cpu++) {
		w[cpu] = worker_new(cpu);
		w[cpu]->tick_ms = 10;
		need_worker(worker_process(w[cpu]));
	}
	ok(in_child(on_cpu0) == EBUSY, "the last housekeeping CPU: EBUSY");
	ok(in_child(other_pins) == EBUSY,
	   "another task cannot pin itself to an isolated CPU: EBUSY");
	for (int cpu = 1; cpu < n; cpu++)
		worker_end(w[cpu]);
}

static void bad_arguments(void)
{
	static const struct {
		const char *what;
		int error;
		struct isolator_start_args args;
	} cases[] = {
		{ "size 0", EINVAL, { .mask = 7 } },
		{ "a size too small", EINVAL, { .size = 8, .mask = 7 } },
		{ "a size too large", EINVAL, { .size = 4096, .mask = 7 } },
		{ "an empty mask", EINVAL, { .size = sizeof(good) } },
		{ "an unknown mask bit", EINVAL, { .size = sizeof(good), .mask = 15 } },
		{ "an unknown flag", EINVAL,
		  { .size = sizeof(good), .mask = 7, .flags = ISOLATOR_START_FLAGS + 1 } },
		{ "a reserved field", EINVAL, { .size = sizeof(good), .mask = 7, .reserved = 1 } },
		{ "a deadline of 1 ns", ERANGE,
		  { .size = sizeof(good), .mask = 7, .deadline_ns = 1 } },
		{ "a D_spin over 1 s", ERANGE,
		  { .size = sizeof(good), .mask = 7, .spin_ns = 2 * SEC } },
		{ "a yield over 1 s", ERANGE,
		  { .size = sizeof(good), .mask = 7, .yield_ns = 2 * SEC } },
	};

	iso_pin(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int error = start(&cases[i].args);

		ok(error == cases[i].error, "%s: %s", cases[i].what, strerror(error));
	}
	ok(ioctl(device, _IO(0xB9, 0x77)) && errno == ENOTTY, "an unknown ioctl: ENOTTY");
	ok(ioctl(device, ISOLATOR_IOC_START, 8) && errno == EFAULT, "a bad pointer: EFAULT");
	iso_pin(0);
}

/* What a caller has who knows a field more than the kernel, or one less. */
struct other_start {
	struct isolator_start_args known;
	uint64_t later;
};

static int start_of_size(size_t size, struct other_start *other)
{
	return ioctl(device, _IOC(_IOC_READ | _IOC_WRITE, 0xB9, _IOC_NR(ISOLATOR_IOC_START), size),
		     other) ? errno : 0;
}

static void other_sizes(void)
{
	static const struct {
		const char *what;
		int error;
		size_t size;	/* of the request */
		uint32_t said;	/* in the structure */
		uint64_t later;
	} cases[] = {
		{ "a structure shorter than the first", EINVAL, sizeof(good) - 8,
		  sizeof(good) - 8, 0 },
		{ "none at all", EINVAL, 0, sizeof(good), 0 },
		{ "a longer one that asks nothing unknown", 0, sizeof(struct other_start),
		  sizeof(struct other_start), 0 },
		{ "a longer one that asks more", E2BIG, sizeof(struct other_start),
		  sizeof(struct other_start), 1 },
		{ "a longer one of a shorter request", EINVAL, sizeof(good),
		  sizeof(struct other_start), 0 },
		{ "a shorter one of a longer request", EINVAL, sizeof(struct other_start),
		  sizeof(good), 0 },
		{ "one that is not all mapped", EFAULT, 16000, 16000, 0 },
	};
	char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct other_start *other = (void *)(edge + 4096 - sizeof(*other));

	if (edge == MAP_FAILED || munmap(edge + 4096, 4096))
		bail_out("no memory");
	iso_pin(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int error;

		*other = (struct other_start){ { .size = cases[i].said, .mask = 7 },
					       cases[i].later };
		error = start_of_size(cases[i].size, other);
		ok(error == cases[i].error,
		   "%s: %s", cases[i].what, error ? strerror(error) : "taken");
		if (error)
			continue;
		ok(other->known.size == cases[i].said && other->known.depth == 1 &&
		   other->known.deadline_ns && !other->later, "it is answered in its own size");
		ok(!stop(), "and stopped");
	}
	iso_pin(0);
	munmap(edge, 4096);
}

int main(void)
{
	iso_require(2);
	device = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	if (device < 0)
		bail_out("no /dev/isolator");
	ok(!in_child(pinned), "pinned and privileged: accepted");
	ok(!in_child(nice_only), "CAP_SYS_NICE is enough");
	ok(in_child(unpinned) == ENOTUNIQ, "unpinned: ENOTUNIQ");
	ok(in_child(unprivileged) == EPERM, "no capability: EPERM");
	ok(in_child(nobody_opens) == EACCES, "nobody opens the device: EACCES");
	ok(in_child(user_namespace) == EPERM, "all capabilities of a user namespace: EPERM");
	ok(!in_child(container), "root of a container: EPERM by ioctl and by /proc");
	ok(in_child(strict_nice_only) == EPERM, "strict mode without CAP_SYS_ADMIN: EPERM");
	ok(in_child(writes_cpus) == EPERM || in_child(writes_cpus) == EACCES,
	   "the mask of CPUs without CAP_SYS_ADMIN: refused");
	bad_arguments();
	other_sizes();
	put_file("/proc/isolator/cpus", "\n");
	ok(in_child(pinned) == EACCES, "a CPU outside the administrator's mask: EACCES");
	last_cpu();
	ok(file_has("/proc/isolator/status", "isolated \n", NULL), "nothing is left isolated");
	return done_testing();
}
