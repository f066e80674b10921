// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: page
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: the shared page is read-only for good, is not inherited, is not dumped, and is charged
 */
#include "../test.h"

/* The VmFlags line of the mapping at p. */
static void vm_flags(const volatile void *p, char *flags, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, to;
	bool here = false;
	char line[512];

	flags[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from == (unsigned long)p;
		if (here && !strncmp(line, "VmFlags:", 8))
			snprintf(flags, size, "%s", line + 8);
	}
	if (f)
		fclose(f);
}

#define GROUP	"/sys/fs/cgroup/lab-page"

/* Bytes of the kernel's that are charged to the group; 0: no such group. */
static unsigned long charged(void)
{
	char text[8192], *at;

	if (get_file(GROUP "/memory.stat", text, sizeof(text)))
		return 0;
	at = strstr(text, "\nkernel ");
	return at ? strtoul(at + 8, NULL, 10) : 0;
}

/* Pages of sessions that are over, and that are still mapped. */
static void kept(void)
{
	enum { PAGES = 64 };
	unsigned long before;
	struct iso iso;

	put_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	if (put_file(GROUP "/cgroup.procs", "0"))
		bail_out("no group: cgroup v2 and CONFIG_MEMCG");
	before = charged();
	for (int i = 0; i < PAGES; i++) {
		if (iso_start(&iso, 0, 0))
			bail_out("start");
		iso_stop(&iso);
		close(iso.fd);
	}
	/* The group's figures come together every two seconds. */
	ok(comes(charged() >= before + PAGES * 4096, 10000),
	   "%d pages are charged to their cgroup: %lu bytes, %lu before", PAGES, charged(), before);
	put_file("/sys/fs/cgroup/cgroup.procs", "0");
	rmdir(GROUP);
}

int main(void)
{
	char flags[512];
	struct iso iso;
	void *p;
	int status;
	pid_t pid;

	iso_require(2);
	iso_pin(1);
	if (iso_start(&iso, 0, 0))
		bail_out("start");
	ok(mprotect((void *)iso.page, 4096, PROT_READ | PROT_WRITE) && errno == EACCES,
	   "mprotect to writable: %s", strerror(errno));
	ok(mprotect((void *)iso.page, 4096, PROT_READ | PROT_EXEC) && errno == EACCES,
	   "mprotect to executable: %s", strerror(errno));
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, iso.fd, 0);
	ok(p == MAP_FAILED && (errno == EPERM || errno == EACCES),
	   "writable mapping: %s", strerror(errno));
	p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, iso.fd, 0);
	ok(p == MAP_FAILED && errno == EINVAL, "two pages: %s", strerror(errno));
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, iso.fd, 4096);
	ok(p == MAP_FAILED && errno == EINVAL, "an offset: %s", strerror(errno));
	p = mremap((void *)iso.page, 4096, 8192, MREMAP_MAYMOVE);
	ok(p == MAP_FAILED, "grown by mremap: %s", strerror(errno));
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, iso.fd, 0);
	ok(p == MAP_FAILED || (mprotect(p, 4096, PROT_READ | PROT_WRITE) && errno == EACCES),
	   "a private mapping cannot be made writable either");
	vm_flags(iso.page, flags, sizeof(flags));
	ok(strstr(flags, " dd"), "left out of core dumps:%s", strtok(flags, "\n"));
	ok(strstr(flags, " dc"), "left out of fork");
	ok(madvise((void *)iso.page, 4096, MADV_DOFORK) && errno == EINVAL,
	   "and that cannot be undone: %s", strerror(errno));
	pid = fork();
	if (!pid)
		_exit(iso.page->magic ? 0 : 1);
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
	   "a child of fork that reads it gets SIGSEGV (status %#x)", status);
	iso_stop(&iso);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, iso.fd, 0);
	ok(p == MAP_FAILED && errno == ESRCH, "after stop it cannot be mapped: %s",
	   strerror(errno));
	close(iso.fd);
	ok(iso.page->state == ISOLATOR_STATE_ENDED, "a mapping outlives stop and close");
	kept();
	return done_testing();
}
