/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: which slot of a vector is entered, and what entered.
 *
 * A system call, a fault and a breakpoint of user mode begin in the same slot, and so do all
 * interrupts.  So what entered is the function that is reached: of an exception its own, of an
 * interrupt first that of all interrupts, then those that come closer to who handles it.  What
 * is reached once the kernel itself was interrupted is not looked at.
 */
#ifndef LAB_OBSERVER_CAUSE_H
#define LAB_OBSERVER_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

enum cause {
	CAUSE_NONE,
	CAUSE_EXCEPTION,	/* cause=      el0_svc, el0_da: the last */
	CAUSE_INTERRUPT,	/* interrupt=  el0_interrupt */
	CAUSE_SOURCE,		/* source=     ipi_handler, handle_fasteoi_irq: interrupts' kinds */
	CAUSE_HANDLER,		/* handler=    arch_timer_handler_virt: the last */
};

enum slot { SLOT_NONE, SLOT_KERNEL, SLOT_USER };

/* Each block of the guest comes here: not by way of the table of what other objects may replace. */
#pragma GCC visibility push(hidden)

/* Of an option, and of "vectors": 0, -1 for one that is bad. */
int cause_option(const char *name, char *value);
/* Gives each address of a list A:B:... to @add until that gives another than 0, its own answer. */
int each_address(char *list, int (*add)(uint64_t address));
enum cause cause_at(uint64_t pc);

bool slots_known(void);
/*
 * The slot that begins at @pc.  @from_user: the CPU came from user mode, which a vector alone can
 * lead from.  Then a base that no option named is learnt: where user mode has page tables of its
 * own, its vectors are at an address of which no symbol tells.
 */
enum slot slot_at(uint64_t pc, bool from_user);

static inline bool cause_follows(enum cause now, enum cause next)
{
	if (next == CAUSE_EXCEPTION || next == CAUSE_INTERRUPT)
		return now == CAUSE_NONE;
	return (now == CAUSE_INTERRUPT || now == CAUSE_SOURCE) && next > now;
}

static inline bool cause_is_last(enum cause cause)
{
	return cause == CAUSE_EXCEPTION || cause == CAUSE_HANDLER;
}

/* A vector table is 16 slots of 0x80 bytes: four are of exceptions of the kernel on its own
 * stack, eight of those of user mode, in 64 and 32 bits.
 */
#define SLOT_ALIGN	0x80u
#define VECTORS_SIZE	0x800u
#define SLOT_FIRST_KERNEL	0x200u
#define SLOT_FIRST_USER	0x400u

static inline bool may_be_slot(uint64_t pc)
{
	return !(pc & (SLOT_ALIGN - 1)) && (pc & (VECTORS_SIZE - 1)) >= SLOT_FIRST_KERNEL;
}

#pragma GCC visibility pop

#endif
