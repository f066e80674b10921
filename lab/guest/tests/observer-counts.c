// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: observer-counts
 * cpus: 2
 * kernel: any
 * timeout: 20
 * alone: yes
 * about: a known number of entries of each kind is counted exactly
 * observe: 1 entry_SYSCALL_64 1000
 * observe: 2 exc_page_fault 500
 * observe: 3 entry_SYSCALL_64 3
 * observe: 4 exc_int3 25
 * observe: 5 entry_SYSCALL_64 0
 * observe: 5 exc_page_fault 0
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../marker.h"

MARK_WINDOW_TABLE();

enum { PAGES = 500 };

static volatile unsigned long spins;

/* A system call that no library answers without the kernel. */
static long enter(void)
{
	long ret = SYS_getppid;

	__asm__ volatile("syscall" : "+a" (ret) : : "rcx", "r11", "memory");
	return ret;
}

static void on_trap(int sig)
{
}

int main(void)
{
	cpu_set_t set;
	char *pages;
	int i;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		puts("1..0 # SKIP no second CPU");
		return 77;
	}
	pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);
	signal(SIGTRAP, on_trap);
	mlockall(MCL_CURRENT);	/* no faults but those below */
	munmap(pages, PAGES * 4096);
	pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);

	mark_target();
	mark_probe();
	enter();

	mark_window_begin(1);
	for (i = 0; i < 1000; i++)
		enter();
	mark_window_end(1);

	mark_window_begin(2);
	for (i = 0; i < PAGES; i++)
		pages[i * 4096L] = 1;
	mark_window_end(2);

	mark_window_begin(3);
	for (i = 0; i < 50; i++) {
		mark_tick_begin();
		enter();
		mark_tick_end();
	}
	for (i = 0; i < 3; i++)
		enter();
	mark_window_end(3);

	mark_window_begin(4);
	for (i = 0; i < 25; i++)
		__asm__ volatile("int3");
	mark_window_end(4);

	mark_window_begin(5);
	for (spins = 0; spins < 1000000; spins++)
		;
	mark_window_end(5);

	mark_probe();
	enter();
	puts("ok 1 - all windows were walked through");
	puts("1..1");
	return 0;
}
