// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: observer-high
 * cpus: 2
 * kernel: any
 * arch: arm64
 * timeout: 20
 * alone: yes
 * about: code above 2^47, where other machines have their kernel, is counted as the program's
 * observe: 1 syscalls 0
 * observe: 1 page_faults 0
 * observe: 1 unknown 0
 * observe: 2 syscalls 0
 * observe: 2 page_faults 0
 * observe: 2 unknown 0
 * observe: 3 syscalls 100
 * observe: 3 page_faults 0
 * observe: 3 unknown 0
 * equal: 1 2 user_instructions 0.01
 */
#include "../machine.h"
#include "../marker.h"
#include "../test.h"

MARK_WINDOW_TABLE();

enum { SIZE = 4096, ROUNDS = 1000000, CALLS = 100 };
#define HIGH	(((uintptr_t)1 << 48) - ((uintptr_t)1 << 40))

/* Code that runs at any address: ROUNDS of a loop, or system calls. */
extern const char loop_begin[], loop_end[], calls_begin[], calls_end[];

__asm__(".pushsection .text\n"
	".globl loop_begin, loop_end, calls_begin, calls_end\n"
	"loop_begin: subs x0, x0, #1\n\tb.ne loop_begin\n\tret\nloop_end:\n"
	"calls_begin: mov x2, x0\n\tmov x8, #173\n"
	"1: svc #0\n\tsubs x2, x2, #1\n\tb.ne 1b\n\tret\ncalls_end:\n"
	".popsection");

typedef void code(uint64_t rounds);

static code *copy_to(uintptr_t address, const char *begin, const char *end)
{
	char *p = mmap((void *)address, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (char *)address)
		bail_out("that address cannot be had");
	memcpy(p, begin, (size_t)(end - begin));
	__builtin___clear_cache(p, p + SIZE);
	if (mprotect(p, SIZE, PROT_READ | PROT_EXEC))
		bail_out("mprotect");
	return (code *)address;
}

int main(void)
{
	struct sched_param fifo = { .sched_priority = 1 };
	code *low, *high, *calls;

	put_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	if (iso_pin(1))
		bail_out("no second CPU");
	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		bail_out("sched_setscheduler");
	low = copy_to(0x10000000, loop_begin, loop_end);
	high = copy_to(HIGH, loop_begin, loop_end);
	calls = copy_to(HIGH + SIZE, calls_begin, calls_end);
	mlockall(MCL_CURRENT);
	low(1);
	high(1);
	calls(1);

	mark_target();
	mark_probe();
	enter_kernel();
	mark_window_begin(1);
	low(ROUNDS);
	mark_window_end(1);
	mark_window_begin(2);
	high(ROUNDS);
	mark_window_end(2);
	mark_window_begin(3);
	calls(CALLS);
	mark_window_end(3);
	mark_probe();
	enter_kernel();
	ok((uintptr_t)high > (uintptr_t)1 << 47, "code ran at %p", (void *)high);
	return done_testing();
}
