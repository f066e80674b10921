/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_ISOLATOR_H
#define _ASM_X86_ISOLATOR_H

#include <asm/processor-flags.h>
#include <asm/sync_core.h>
#include <asm/tsc.h>

/**
 * arch_isolator_sync_text - what do_sync_core() would have done
 *
 * Text that another CPU has changed is executed in its new form from here on.
 */
static __always_inline void arch_isolator_sync_text(void)
{
	sync_core();
}

/**
 * arch_isolator_flush_tlb - what do_flush_tlb_all() would have done
 *
 * Any change of CR4.PGE drops all translations of all PCIDs, global ones too.
 * In raw assembler, because the helpers may be instrumented; cpu_tlbstate's
 * shadow of CR4 stays right, as the old value is written back.
 */
static __always_inline void arch_isolator_flush_tlb(void)
{
	unsigned long cr4;

	asm volatile("mov %%cr4, %0" : "=r" (cr4));
	asm volatile("mov %0, %%cr4" : : "r" (cr4 ^ X86_CR4_PGE) : "memory");
	asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
}

/*
 * Whoever changes text calls each CPU: nothing to do at a kernel entry that no work bit
 * asks for.
 */
#define ARCH_ISOLATOR_SYNC_ENTRY	0

/* An interrupt that the CPU sends to itself is taken as soon as interrupts are on. */
#define ARCH_ISOLATOR_LATE_SELF		0

/** arch_isolator_take_irqs - interrupts were just enabled: what is pending is taken here */
static __always_inline void arch_isolator_take_irqs(void)
{
	cpu_relax();	/* sti takes effect after the next instruction */
}

/** arch_isolator_irq_pending - is an interrupt pending?  There is no cheap way to ask */
static __always_inline bool arch_isolator_irq_pending(void)
{
	return false;
}

/**
 * arch_isolator_sync_clock - this CPU's part in the upkeep of the TSC
 *
 * What firmware may have done to TSC_ADJUST is found and undone, as at idle.
 * Context: preemption off.
 */
static inline void arch_isolator_sync_clock(void)
{
	tsc_verify_tsc_adjust(false);
}

/** arch_isolator_nmi - is a backtrace asked for by an NMI, which a CPU always takes? */
static inline bool arch_isolator_nmi(void)
{
	return true;
}

#endif /* _ASM_X86_ISOLATOR_H */
