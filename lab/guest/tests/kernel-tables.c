// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-tables
 * cpus: 2
 * kernel: isolator
 * timeout: 120
 * once: yes
 * about: nobody without privilege has page tables of the kernel freed, which an isolated CPU must flush
 */
#include <linux/bpf.h>
#include "../test.h"

/*
 * A table of descriptors beyond 4 MiB is never of contiguous pages: vmalloc, with large
 * ones.  What a BPF map of this size gives back is made free at once, it is so much.
 */
enum { ROUNDS = 20, FILES = 1 << 20, SMALL_MIB = 96 };

/* Addresses that are mapped by small pages, and free again. */
static bool small_pages(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 1 << 20,
		.max_entries = SMALL_MIB,
	};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return false;
	close(fd);
	/* It is freed by work, after a grace period; the addresses by other work. */
	sleep_ms(200);	/* sleep: nobody tells when */
	return true;
}

/* The same by large ones, for anybody. */
static bool large_pages(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(setuid(1000) || dup2(0, FILES - 1) < 0);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(void)
{
	const struct rlimit files = { FILES, FILES };
	struct worker *w = worker_new(1);
	int done = 0;

	iso_require(2);
	if (put_file("/proc/sys/fs/nr_open", "1048576") || setrlimit(RLIMIT_NOFILE, &files))
		bail_out("no more than a few open files");
	w->deadline_ns = 600 * SEC;
	w->spin_ns = SEC;
	w->life_s = 600;
	need_worker(worker_process(w));
	for (int i = 0; i < ROUNDS; i++)
		done += small_pages() && large_pages();
	ok(done == ROUNDS, "%d of %d: small pages, then large ones", done, ROUNDS);
	worker_tells(w);
	ok(w->state == WORKER_RUNS, "the task was isolated all the time");
	if (!ok(!w->missed, "its CPU is not needed for it: %lu deadline misses",
		(uint64_t)w->missed))
		show_deliveries();
	worker_end(w);
	return done_testing();
}
