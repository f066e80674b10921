/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtual machine on CPU 0, in the guest, in user mode and idle in turn, while the
 * first and last isolation of CPU 1 switch the keys: RCU goes on watching CPU 0.
 */
#ifndef LAB_KVM_KEYS_H
#define LAB_KVM_KEYS_H

#include <linux/kvm.h>
#include "../modules.h"
#include "probe.h"

enum { CODE_AT = 0x1000, LOOKS = 50 };

/* In 16-bit real mode. */
static const unsigned char kvm_code[] = {
	0x66, 0xb9, 0x00, 0x00, 0x02, 0x00,	/* again: mov $0x20000, %ecx */
	0x66, 0x49,				/* loop: dec %ecx */
	0x75, 0xfc,				/* jnz loop */
	0xf4,					/* hlt: to user mode */
	0xeb, 0xf3,				/* jmp again */
};

#define WANT(condition)							\
	do {								\
		if (!(condition))					\
			bail_out("the machine: " #condition);		\
	} while (0)

/* Runs the machine until killed; counts its halts, and sleeps after each third. */
static inline void run_machine(int kvm, _Atomic uint64_t *halts)
{
	struct kvm_userspace_memory_region memory = {
		.guest_phys_addr = CODE_AT, .memory_size = 4096,
	};
	struct kvm_regs regs = { .rip = CODE_AT, .rflags = 2 };
	int vm = ioctl(kvm, KVM_CREATE_VM, 0), vcpu, size;
	struct kvm_sregs sregs;
	struct kvm_run *run;
	void *page;

	page = shared_memory(4096);
	WANT(vm >= 0 && page != MAP_FAILED);
	memcpy(page, kvm_code, sizeof(kvm_code));
	memory.userspace_addr = (unsigned long)page;
	WANT(!ioctl(vm, KVM_SET_USER_MEMORY_REGION, &memory));
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	WANT(vcpu >= 0 && size > 0);
	run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	WANT(run != MAP_FAILED && !ioctl(vcpu, KVM_GET_SREGS, &sregs));
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	WANT(!ioctl(vcpu, KVM_SET_SREGS, &sregs) && !ioctl(vcpu, KVM_SET_REGS, &regs));
	for (;;) {
		WANT(!ioctl(vcpu, KVM_RUN, 0) && run->exit_reason == KVM_EXIT_HLT);
		if (++*halts % 3 == 0)
			sleep_ms(1);	/* sleep: so that it sleeps */
	}
}

/* Both keys on and off once, around a moment of isolation. */
static inline bool keys_round(struct iso *iso)
{
	long before;
	bool done;

	if (iso_pin(1) || iso_start(iso, 0, 0))
		return false;
	sleep_ms(2);	/* sleep: the moment of isolation */
	before = keys_switched();
	done = !iso_stop(iso) && !iso_pin(0);
	iso_close(iso);
	return done && keys_go_off(before);
}

/* System calls on this CPU whose return a probe did not see: RCU did not watch. */
static inline long unwatched(void)
{
	struct probe_counts before = probe_counts("kept"), after;

	for (int i = 0; i < LOOKS; i++)
		syscall(SYS_getppid);
	after = probe_counts("kept");
	if (after.hits + after.misses < before.hits + before.misses + LOOKS)
		return LOOKS;	/* not even counted: the probe is gone */
	return after.misses - before.misses;
}

static inline int kvm_keys(int rounds)
{
	_Atomic uint64_t *halts = shared_memory(4096);
	int kvm, done = 0, status;
	long missed = 0;
	uint64_t ran;
	pid_t pid;

	iso_require(2);
	if (!module_load("kvm_amd"))
		skip_all("no KVM on this CPU (PREEMPT_RT wants a constant TSC for it)");
	if (!probe_begin("p", KEYS_PROBE) || !probe_begin("r", "kept", "__x64_sys_getppid"))
		bail_out("no probes");
	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	WANT(kvm >= 0 && ioctl(kvm, KVM_GET_API_VERSION, 0) == KVM_API_VERSION);
	pid = fork();
	if (!pid)
		run_machine(kvm, halts);
	ok(wait_for(halts, 10, 10000), "the machine runs");
	ok(!unwatched(), "RCU watches CPU 0");
	while (done < rounds && !missed) {
		struct iso iso = { .fd = -1 };

		ran = *halts;
		if (!keys_round(&iso) || !wait_for(halts, ran + 3, 10000))
			break;
		missed = unwatched();
		done += !missed;
		if (done % 100 == 0)
			diag("%d of %d rounds", done, rounds);
	}
	ok(done == rounds, "and does after each of %d of %d rounds; not in %ld of %d system calls",
	   done, rounds, missed, LOOKS);
	ok(!waitpid(pid, &status, WNOHANG), "the machine ran all the time, %lu halts", *halts);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(kvm);
	probe_end("kept");
	probe_end("keys");
	ok(module_unload("kvm_amd"), "KVM goes");
	return done_testing();
}

#endif
