// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: memory-failure
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: memory that fails is taken from an isolated task as well: of a file, the swap cache, a huge page
 */
#include "../test.h"

#define OFFLINE	"/sys/devices/system/memory/hard_offline_page"
#define DISK	"/tmp/memory-failure"

enum { PAGE = 4096, HUGE = 2 << 20 };

/* /proc/PID/pagemap and /proc/kpageflags */
#define PRESENT		(1ULL << 63)
#define FRAME(entry)	((entry) & ((1ULL << 55) - 1))
#define FLAG_SWAPCACHE	(1ULL << 13)
#define FLAG_THP	(1ULL << 22)

enum state { NEW, RUNS, UNFIT };

/* A process with a page that is going to fail; it looks at it when it is asked to. */
struct victim {
	char *(*prepare)(void);		/* the page, or NULL where it cannot be had */
	bool isolated;
	char *at;
	pid_t pid;
	_Atomic int state, stop, end;
	_Atomic uint64_t asked, answered;
	size_t offset;
	char value;
};

static uint64_t read_entry(const char *path, uint64_t index)
{
	uint64_t entry = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (off_t)(index * sizeof(entry))) !=
	    sizeof(entry))
		bail_out(path);
	close(fd);
	return entry;
}

static uint64_t entry_of(pid_t pid, const char *at)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	return read_entry(path, (uintptr_t)at / PAGE);
}

static bool page_is(const char *at, uint64_t flag)
{
	uint64_t entry = entry_of(getpid(), at);

	return (entry & PRESENT) && (read_entry("/proc/kpageflags", FRAME(entry)) & flag);
}

/* 0 or -errno. */
static int fail(uint64_t entry)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx", (unsigned long long)FRAME(entry) * PAGE);
	return put_file(OFFLINE, text);
}

static void run(const char *what, const char *command)
{
	if (system(command))
		bail_out(what);
}

static _Noreturn void victim_runs(struct victim *v)
{
	struct iso iso = { .fd = -1 };

	v->at = v->prepare();
	if (!v->at || (v->isolated && (iso_pin(1) || iso_start(&iso, 60 * SEC, SEC)))) {
		v->state = UNFIT;
		_exit(1);
	}
	v->state = RUNS;
	while (!v->stop) {
		if (v->answered != v->asked) {
			v->value = *(volatile char *)(v->at + v->offset);
			v->answered++;
		}
		if (!v->isolated) {
			sleep_ms(1);	/* sleep: between two looks */
			continue;
		}
		v->end = (int)iso.page->end;
		if (iso.page->due)
			iso_tick(&iso, NULL);
	}
	_exit(0);
}

static struct victim *victim_new(char *(*prepare)(void), bool isolated)
{
	struct victim *v = shared_memory(sizeof(*v));
	pid_t pid;

	if (v == MAP_FAILED)
		bail_out("no memory");
	v->prepare = prepare;
	v->isolated = isolated;
	pid = fork();
	if (pid < 0)
		bail_out("fork");
	if (!pid)
		victim_runs(v);
	v->pid = pid;
	until(v->state != NEW || waitpid(v->pid, NULL, WNOHANG));
	return v;
}

/* What it sees there, or -1 if that killed it. */
static int look(struct victim *v, size_t offset)
{
	v->offset = offset;
	v->asked++;
	while (v->answered != v->asked) {
		if (waitpid(v->pid, NULL, WNOHANG)) {
			v->pid = 0;
			return -1;
		}
		sleep_ms(1);	/* sleep: between two looks */
	}
	return v->value;
}

static void victim_end(struct victim *v)
{
	v->stop = 1;
	if (v->pid)
		waitpid(v->pid, NULL, 0);
	munmap(v, sizeof(*v));
}

static char *file_page(void)
{
	int fd = open(DISK "/page", O_RDONLY | O_CLOEXEC);
	char *at = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	return at == MAP_FAILED || *(volatile char *)at != 'F' ? NULL : at;
}

static char *swap_page(void)
{
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int tries = 0;

	if (at == MAP_FAILED)
		return NULL;
	*at = 'S';
	/* Until it was written and is clean; a page that is busy is passed over. */
	while (!page_is(at, FLAG_SWAPCACHE)) {
		if (tries++ == 5000 || madvise(at, PAGE, MADV_PAGEOUT))
			return NULL;
		if (entry_of(getpid(), at) & PRESENT)
			sleep_ms(1);	/* sleep: between two looks */
		if (*(volatile char *)at != 'S')
			return NULL;
	}
	return at;
}

static char *huge_page(void)
{
	char *at = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)at + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	if (madvise(at, HUGE, MADV_HUGEPAGE))
		return NULL;
	memset(at, 'H', HUGE);
	return page_is(at, FLAG_THP) ? at : NULL;
}

static bool lost(const struct victim *v, uint64_t entry)
{
	uint64_t now = entry_of(v->pid, v->at);

	return !(now & PRESENT) || FRAME(now) != FRAME(entry);
}

static void by_file(void)
{
	struct victim *one, *other;
	uint64_t entry;
	int error;

	run("no ext2 on a loop device", "mkdir -p " DISK " && dd if=/dev/zero of=" DISK
	    ".img bs=64k count=16 2>/dev/null && mke2fs -F " DISK ".img >/dev/null 2>&1 &&"
	    " losetup /dev/loop6 " DISK ".img && mount -t ext2 /dev/loop6 " DISK " &&"
	    " dd if=/dev/zero bs=4k count=1 2>/dev/null | tr '\\000' F >" DISK "/page && sync");
	one = victim_new(file_page, true);
	other = victim_new(file_page, false);
	if (one->state != RUNS || other->state != RUNS)
		bail_out("no file is mapped");
	entry = entry_of(one->pid, one->at);
	ok((entry & PRESENT) && !lost(other, entry), "file: two processes have its page");
	error = fail(entry);
	ok(!error, "file: it fails and is handled: %s", strerror(-error));
	ok(lost(one, entry), "file: the isolated task has lost it");
	ok(lost(other, entry), "file: so has who comes after it");
	ok(look(one, 0) == 'F' && look(other, 0) == 'F', "file: both read it again");
	ok(lost(one, entry) && lost(other, entry), "file: from another page");
	ok(!one->end, "file: still isolated");
	victim_end(one);
	victim_end(other);
	run("umount", "umount " DISK " && losetup -d /dev/loop6 && rm -r " DISK " " DISK ".img");
}

static void by_swap_cache(void)
{
	struct victim *v;
	uint64_t entry;
	int error;

	run("no swap on a loop device",
	    "dd if=/dev/zero of=" DISK ".swap bs=64k count=64 2>/dev/null"
	    " && losetup /dev/loop7 " DISK ".swap && mkswap /dev/loop7 >/dev/null &&"
	    " swapon /dev/loop7");
	v = victim_new(swap_page, true);
	if (v->state != RUNS)
		bail_out("no page stays in the swap cache");
	entry = entry_of(v->pid, v->at);
	error = fail(entry);
	ok(!error, "swap cache: it fails and is handled: %s", strerror(-error));
	ok(lost(v, entry), "swap cache: the isolated task has lost it");
	ok(look(v, 0) == 'S' && lost(v, entry), "swap cache: it is read again from the device");
	ok(!v->end, "swap cache: still isolated");
	victim_end(v);
	run("swapoff", "swapoff /dev/loop7 && losetup -d /dev/loop7 && rm " DISK ".swap");
}

static void by_huge_page(void)
{
	struct victim *v;
	uint64_t entry;
	int error;

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) {
		diag("huge page: left out, this kernel has none that are transparent");
		return;
	}
	v = victim_new(huge_page, true);
	if (v->state != RUNS)
		bail_out("no huge page");
	v->at += 5 * PAGE;
	entry = entry_of(v->pid, v->at);
	error = fail(entry);
	ok(!error, "huge page: a part fails and is handled: %s", strerror(-error));
	ok(lost(v, entry), "huge page: the isolated task has lost that part");
	ok(look(v, PAGE) == 'H' && !v->end, "huge page: the rest it still has, isolated");
	ok(look(v, 0) == -1, "huge page: it is killed when it looks at what is lost");
	victim_end(v);
}

int main(void)
{
	iso_require(2);
	if (access(OFFLINE, W_OK) || access("/proc/kpageflags", R_OK))
		bail_out("no " OFFLINE " or /proc/kpageflags");
	by_file();
	by_swap_cache();
	by_huge_page();
	return done_testing();
}
