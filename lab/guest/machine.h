/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs from machine to machine in the programs here: time without a system call, for
 * threads that must not make one; a breakpoint; a system call (without arguments) that no library
 * answers itself.
 */
#ifndef LAB_MACHINE_H
#define LAB_MACHINE_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__

#include <x86intrin.h>

#define IS_X86	1
#define USER_PC	rip		/* of struct user_regs_struct */

static inline uint64_t cycles(void)
{
	return __rdtsc();
}

static inline void breakpoint(void)
{
	__asm__ volatile("int3");
}

/* In a handler of SIGTRAP: goes on behind the breakpoint. */
static inline void breakpoint_over(void *context)
{
	(void)context;		/* the processor has passed it */
}

static inline long kernel_call(long number)
{
	__asm__ volatile("syscall" : "+a" (number) : : "rcx", "r11", "memory");
	return number;
}

#else

#define IS_X86	0
#define USER_PC	pc

static inline uint64_t cycles(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r" (now) : : "memory");
	return now;
}

static inline void breakpoint(void)
{
	__asm__ volatile("brk #0");
}

static inline void breakpoint_over(void *context)
{
	((ucontext_t *)context)->uc_mcontext.pc += 4;
}

static inline long kernel_call(long number)
{
	register long x8 __asm__("x8") = number;
	register long ret __asm__("x0");

	__asm__ volatile("svc #0" : "=r" (ret) : "r" (x8) : "memory");
	return ret;
}

#endif

static inline long enter_kernel(void)
{
	return kernel_call(SYS_getppid);
}

/* cycles() per second, measured against the monotonic clock for 0.1 s. */
static inline uint64_t cycles_hz(void)
{
	struct timespec a, b;
	uint64_t ta, tb;

	clock_gettime(CLOCK_MONOTONIC, &a);
	ta = cycles();
	usleep(100000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	tb = cycles();
	return (uint64_t)((double)(tb - ta) /
			  ((double)(b.tv_sec - a.tv_sec) +
			   (double)(b.tv_nsec - a.tv_nsec) * 1e-9));
}

#endif
