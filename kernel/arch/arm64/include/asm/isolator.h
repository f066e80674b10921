/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_ISOLATOR_H
#define _ASM_ARM64_ISOLATOR_H

#include <linux/bits.h>

#include <asm/arch_gicv3.h>
#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/ptrace.h>
#include <asm/sysreg.h>
#include <asm/tlbflush.h>

/**
 * arch_isolator_sync_text - text that another CPU has changed is executed in its new form
 *
 * From here on.  The exception that led into the kernel was such a synchronisation, but it
 * came before the state said kernel.  In between a sender may have changed text, seen user
 * mode and left this CPU out, while this CPU had fetched the old text already.
 *
 * The DSB first: it completes the change of the state, or the read of the work bits, before
 * the ISB drops what was fetched.  Neither a DMB nor acquire and release semantics hold back
 * an ISB: without the DSB the new state may still be in the store buffer when old text is
 * fetched behind the ISB.  It has to reach the inner shareable domain, where the sender is.
 * kernel/model/litmus: excluded and taken, and their weakened kin, for example
 * excluded-isb-only, excluded-dmb-isb and excluded-dsb-nsh.
 *
 * Pairs with the barriers behind the cache maintenance of whoever changed the text.
 */
static __always_inline void arch_isolator_sync_text(void)
{
	dsb(ishst);
	isb();
}

/*
 * Calls of kick_all_cpus_sync() leave this CPU out, and ftrace and BPF trampolines change
 * text without any call, as grace periods are enough for them: no sender sets a work bit.
 */
#define ARCH_ISOLATOR_SYNC_ENTRY	1

/*
 * The GIC delivers asynchronously: an interrupt that the CPU sends to itself may come
 * any time later, and is waited for by its effect.
 */
#define ARCH_ISOLATOR_LATE_SELF		1

/**
 * arch_isolator_take_irqs - interrupts were just enabled: what is pending is taken here
 *
 * A pending interrupt is taken before the first instruction behind a context
 * synchronisation, and at no certain time without.
 */
static __always_inline void arch_isolator_take_irqs(void)
{
	isb();
}

/* An IRQ, or an FIQ, as which some interrupt controllers bring timers and calls of CPUs. */
#define ISOLATOR_ISR_EL1_IF	(BIT(7) | BIT(6))

static __always_inline bool __arch_isolator_signalled(void)
{
	return read_sysreg(isr_el1) & ISOLATOR_ISR_EL1_IF;
}

/**
 * arch_isolator_irq_pending - is an interrupt pending at this CPU, though masked?
 *
 * What the GIC has signalled by now, by whatever device; one on its way is not seen.
 *
 * On the way to user mode DAIF masks, and ISR_EL1 tells, once the GIC has the priority mask
 * that lets all through: nobody has waited for that since.  Before a quiet section the GIC's
 * priority mask may do it instead, where pseudo-NMIs are in use.  Then the GIC signals
 * nothing but these, and ISR_EL1 says 0 whatever waits.  So ordinary ones are let through to
 * DAIF for the look: nothing is taken meanwhile, a pseudo-NMI just after.
 *
 * Context: noinstr, interrupts off.
 */
static __always_inline bool arch_isolator_irq_pending(void)
{
	unsigned long daif, pmr;
	bool pending;

	if (!system_uses_irq_prio_masking())
		return __arch_isolator_signalled();
	pmr = read_sysreg_s(SYS_ICC_PMR_EL1);
	if (pmr != GIC_PRIO_IRQOFF) {
		pmr_sync();
		isb();
		return __arch_isolator_signalled();
	}
	daif = read_sysreg(daif);
	asm volatile("msr daifset, #3" : : : "memory");
	write_sysreg_s(GIC_PRIO_IRQON | GIC_PRIO_PSR_I_SET, SYS_ICC_PMR_EL1);
	/* The new mask at the GIC, and what it signals for that at the CPU, before the look. */
	pmr_sync();
	isb();
	pending = __arch_isolator_signalled();
	/* Masks again before DAIF does not: such a write of the mask needs no synchronisation. */
	write_sysreg_s(pmr, SYS_ICC_PMR_EL1);
	write_sysreg(daif, daif);
	return pending;
}

/**
 * arch_isolator_flush_tlb - all of this CPU's translations go
 *
 * As local_flush_tlb_all(), which may be instrumented.  Flushes of other CPUs are broadcast
 * by the hardware and ask nobody for this: only a start with a quarantine does.
 */
static __always_inline void arch_isolator_flush_tlb(void)
{
	dsb(nshst);
	__tlbi(vmalle1);
	dsb(nsh);
	isb();
}

/** arch_isolator_sync_clock - nothing: the counter is the same on all CPUs by architecture */
static inline void arch_isolator_sync_clock(void) { }

/** arch_isolator_nmi - is a backtrace asked for by an NMI, which a CPU always takes? */
static inline bool arch_isolator_nmi(void)
{
	return system_uses_irq_prio_masking();
}

#endif /* _ASM_ARM64_ISOLATOR_H */
