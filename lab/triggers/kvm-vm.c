// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kvm-vm
 * row: 84
 * class: yield
 * kind: program
 * arch: x86_64
 * needs: KVM: the emulated boards have no second level (EL2)
 * absent: x86_64-rt
 * notick: no
 * timeout: 40
 * about: a virtual machine runs for a moment: every CPU is prepared for that, and again after
 */
#include <linux/kvm.h>
#include "modules.h"
#include "trigger.h"

enum { CODE_AT = 0x1000, PORT = 0x10, VALUE = 42 };

static const unsigned char code[] = {
	0xb0, VALUE,	/* mov $VALUE, %al */
	0xe6, PORT,	/* out %al, $PORT */
	0xf4,		/* hlt */
};

/* Runs the code in a machine of its own; how many of its 2 exits were right. */
static int run_vm(int kvm)
{
	struct kvm_userspace_memory_region memory = {
		.guest_phys_addr = CODE_AT, .memory_size = 4096,
	};
	struct kvm_regs regs = { .rip = CODE_AT, .rflags = 2 };
	struct kvm_sregs sregs;
	struct kvm_run *run;
	int vm, vcpu, size, right = 0;
	void *page;

	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	need(vm >= 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	memory.userspace_addr = (unsigned long)page;
	need(!ioctl(vm, KVM_SET_USER_MEMORY_REGION, &memory));
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	need(vcpu >= 0);
	size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	need(run != MAP_FAILED);
	need(!ioctl(vcpu, KVM_GET_SREGS, &sregs));
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	need(!ioctl(vcpu, KVM_SET_SREGS, &sregs) && !ioctl(vcpu, KVM_SET_REGS, &regs));
	need(!ioctl(vcpu, KVM_RUN, 0));
	right += run->exit_reason == KVM_EXIT_IO && run->io.port == PORT &&
		((unsigned char *)run)[run->io.data_offset] == VALUE;
	need(!ioctl(vcpu, KVM_RUN, 0));
	right += run->exit_reason == KVM_EXIT_HLT;
	munmap(run, (size_t)size);
	close(vcpu);
	close(vm);
	munmap(page, 4096);
	return right;
}

int main(void)
{
	int kvm, right;

	if (!module_load("kvm_amd")) {
		/* PREEMPT_RT wants a constant TSC for it, which is not emulated. */
		puts("{\"worked\":false,\"outcome\":\"done\","
		     "\"detail\":\"missing: KVM on this CPU\"}");
		return 77;
	}
	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	need(kvm >= 0);
	need(ioctl(kvm, KVM_GET_API_VERSION, 0) == KVM_API_VERSION);
	right = run_vm(kvm);
	close(kvm);
	if (!module_unload("kvm_amd"))
		answer(false, "done", "the module does not go");
	answer(right == 2, "done", "%d of 2 exits of the machine were right", right);
}
