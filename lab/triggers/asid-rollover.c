// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: asid-rollover
 * row: 24
 * class: quiesce
 * kind: program
 * arch: arm64
 * needs: numbers of address spaces that all CPUs share, and that run out
 * notick: no
 * timeout: 900
 * about: a storm of forks uses up the numbers of address spaces, and every CPU gets new ones
 */
#include <sys/rseq.h>
#include "trigger.h"

/*
 * There are 2^16, and half as many where user mode has page tables of its own.  When more processes
 * have run, some had numbers that others had before.
 */
enum { NUMBERS = 1 << 16 };
#define HALVED	"kpti=on"

/* As glibc registers it. */
enum { RSEQ_SIZE = 32 };

static int numbers(void)
{
	FILE *line = fopen("/proc/cmdline", "r");
	char words[4096];

	need(line && fgets(words, sizeof(words), line));
	fclose(line);
	return strstr(words, HALVED) ? NUMBERS / 2 : NUMBERS;
}

/* A child needs its code and nothing else: of all the rest a fork would copy the page tables. */
static void leave_out(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, end;
	char line[256], rights[8];

	need(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && !strchr(rights, 'x'))
			madvise((void *)begin, end - begin, MADV_DONTFORK);
	fclose(maps);
}

/* A process that ends at once, without a stack; this one goes on when it has. */
static pid_t spawn(void)
{
	register long number asm("x8") = SYS_clone;
	register long flags asm("x0") = CLONE_VFORK | CLONE_FILES | CLONE_FS | SIGCHLD;
	register long stack asm("x1") = 0, parent asm("x2") = 0, tls asm("x3") = 0;
	register long child asm("x4") = 0;

	asm volatile("svc #0\n\t"
		     "cbnz x0, 1f\n\t"
		     "mov x8, %[exit]\n\t"
		     "svc #0\n"
		     "1:"
		     : "+r" (flags), "+r" (number)
		     : "r" (stack), "r" (parent), "r" (tls), "r" (child), [exit] "i" (SYS_exit)
		     : "memory", "cc");
	return (pid_t)flags;
}

int main(void)
{
	int ran = 0, status, there_are = numbers(), processes = there_are + there_are / 32;

	/* The kernel would write to it in each child. */
	need(!syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, RSEQ_SIZE,
		      RSEQ_FLAG_UNREGISTER, RSEQ_SIG));
	leave_out();
	for (int i = 0; i < processes; i++) {
		pid_t pid = spawn();

		need(pid > 0);
		need(waitpid(pid, &status, 0) == pid);
		ran += !status;
	}
	answer(ran == processes, "done",
	       "%d of %d processes had an address space of their own, for %d numbers", ran,
	       processes, there_are);
}
