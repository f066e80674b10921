// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Observer: counts, from outside the guest, how often one vCPU enters the
 * kernel and how many instructions it executes there.  A QEMU TCG plugin.
 *
 *	-plugin observer.so,out=FILE,syscall=ADDR[:ADDR...][,kick=ADDR[,deliver=ADDR]][,log=N]
 *		[,heavy=on]
 *	arm64 besides: ,vectors=ADDR[:ADDR...][,cause=...][,interrupt=...][,source=...]
 *		[,handler=...]
 *
 * The guest marks what is to be counted by NOPs that carry a payload
 * (lab/guest/marker.h).  For each window, and each pause, one JSON line is written to FILE.
 *
 * Kernel and user mode are told apart by the address of a translation block: the
 * kernel's have the top bit.  An interrupt that comes together with the
 * return to user mode, before one user instruction ran, has no user block before
 * it and would go unseen.  On x86-64 the plugin therefore follows swapgs, which tells whether
 * an iret goes to user mode, and counts such an entry too.  On arm64 an entry from user mode
 * begins in a vector's slot of its own, which is enough; what entered is told later there, by the
 * functions that are reached (cause.h).
 *
 * Instructions are counted per translation block begun; a fault in the middle of
 * one counts its rest too.
 *
 * A program that cannot mark itself is watched by marks that another vCPU makes: the
 * observed one takes them with its next block.  In the same way it is asked to stand still.
 *
 * Isolator interrupts an isolated CPU, when it has to, by the vector that others use too: kick=.
 * So it is watched as it sends: deliver= is the function.  What comes next by that vector is its
 * doing, in user mode or in the kernel; what comes without is another's.  To which CPU it sends
 * is not looked at: no other than the observed one may be isolated.
 *
 * All state of a window belongs to the thread of the observed vCPU: no locks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cause.h"
#include "machine.h"
#include "plugin.h"
#include "window.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 1;

/* QEMU 9.0 dropped API 1 and brought scoreboards. */
__attribute__((constructor)) static void pick_version(void)
{
	if (dlsym(RTLD_DEFAULT, "qemu_plugin_scoreboard_new"))
		qemu_plugin_version = 2;
}

/* How many blocks pass between two looks at the clock. */
#define CLOCK_EVERY	256

/*
 * What a block's callback needs to know, packed into its user data.  The kernel is no bit of the
 * address that is left: user space of arm64 has all 48.
 */
#define TB_INSNS_BITS	10
#define TB_SWAPGS	(1ULL << 10)
#define TB_RETURNS	(1ULL << 11)
#define TB_KERNEL	(1ULL << 12)
#define TB_SLOT		(1ULL << 13)	/* of a vector, if one of its bases is known to be there */
#define TB_CAUSE	(1ULL << 14)
#define TB_ADDR_SHIFT	16
#define ADDR_BITS	48

struct conf conf = { .log_cap = 256 };
static const struct machine *machine;
struct cpu cpu;
atomic_int target = -1;
/* A mark from another vCPU, 0 when it was taken; those that came too soon after it. */
static _Atomic uint32_t asked;
static atomic_uint asked_in_vain;
/* When the last one was made, and what of the time before the observed vCPU did not run. */
static _Atomic uint64_t asked_ns, asked_spent_ns;
/* How long the observed vCPU is to stand still, in tenths of a millisecond; 0: not asked. */
static _Atomic uint32_t pause_asked;
/* Isolator has sent its interrupt, and none has come since. */
static atomic_bool delivered;

static bool is_syscall(uint64_t pc)
{
	unsigned int i;

	for (i = 0; i < conf.nr_syscalls; i++)
		if (conf.syscall[i] == pc)
			return true;
	return false;
}

/* What entered is known, or never will be. */
static void count_entry(void)
{
	static struct entry unlogged;
	struct entry *e = &unlogged;
	bool call = is_syscall(cpu.arriving.pc);

	cpu.unsettled = false;
	/* What comes between the mark and its call is an interruption like others. */
	if (cpu.probe && call) {
		cpu.probe = false;
		cpu.probes_seen++;
		win.probe_entries++;
		cpu.entry = NULL;
		return;
	}
	cpu.arriving.tick = cpu.in_tick && call;
	win.zero_insn_entries += cpu.zero;
	if (cpu.arriving.tick)
		win.tick_entries++;
	else
		win.entries++;
	if (win.nr_log < conf.log_cap)
		e = &entry_log[win.nr_log++];
	else
		win.log_dropped++;
	*e = cpu.arriving;
	cpu.entry = e;
}

/* The CPU came from user mode to @pc, its first kernel instruction. */
static void enter_kernel(uint64_t pc, bool zero)
{
	cpu.arriving = (struct entry){ .pc = pc, .at = win.user };
	cpu.entry = &cpu.arriving;
	cpu.zero = zero;
	cpu.cause = CAUSE_NONE;
	cpu.unsettled = true;
	if (!machine->slots)
		count_entry();
}

/* The function at @pc begins: is it what entered?  The last that there is to know is counted. */
static bool reached(uint64_t pc)
{
	enum cause cause = cause_at(pc);

	if (!cpu.unsettled || !cause_follows(cpu.cause, cause))
		return false;
	cpu.cause = cause;
	cpu.arriving.pc = pc;
	if (cause_is_last(cause))
		count_entry();
	return true;
}

static void leave_kernel(void)
{
	if (cpu.unsettled)
		count_entry();
	if (cpu.entry && !cpu.entry->tick)
		add_to_vector(cpu.entry, 1);
	cpu.entry = NULL;
}

/* A block of the kernel begins where a vector's slot may be: was that entered from user mode? */
static bool enters_by_slot(uint64_t pc)
{
	enum slot slot = slot_at(pc, !cpu.in_kernel);

	/* Interrupted itself: what follows is that one's. */
	if (slot == SLOT_KERNEL && cpu.unsettled)
		count_entry();
	return slot == SLOT_USER;
}

static void take_mark(uint32_t payload);

/* As an SMI would: nothing of the guest runs on this CPU, and no count shows it. */
static void stand_still(uint32_t tenths)
{
	struct timespec length = {
		.tv_sec = tenths / 10000, .tv_nsec = tenths % 10000 * 100000l,
	};
	uint64_t begin = now_ns(), asked_ns = (uint64_t)tenths * 100000, end;

	while (nanosleep(&length, &length))
		;
	end = now_ns();
	cpu.held_ns += asked_ns;	/* the rest is the host's doing */
	fprintf(conf.out, "{\"schema\": \"isolator.observer.pause\", \"version\": 1"
		", \"vcpu\": %d, \"window\": %" PRId64 ", \"asked_ns\": %" PRIu64
		", \"ns\": %" PRIu64 "}\n", atomic_load(&target),
		win_open ? (int64_t)win.id : -1, asked_ns, end - begin);
	fflush(conf.out);
}

static void on_block(unsigned int vcpu, void *userdata)
{
	uint64_t tb = (uint64_t)(uintptr_t)userdata;
	uint64_t n = tb & ((1u << TB_INSNS_BITS) - 1);
	uint64_t pc = tb >> TB_ADDR_SHIFT;
	bool kicked, ours, entered;

	if ((int)vcpu != atomic_load_explicit(&target, memory_order_relaxed))
		return;
	if (atomic_load_explicit(&asked, memory_order_relaxed) && !cpu.unsettled)
		take_mark(atomic_exchange(&asked, 0));
	if (!(tb & TB_KERNEL)) {
		if (cpu.in_kernel) {
			leave_kernel();
			cpu.in_kernel = false;
		}
		cpu.returning = false;
		if (atomic_load_explicit(&pause_asked, memory_order_relaxed))
			stand_still(atomic_exchange(&pause_asked, 0));
		win.user += n;
		second.user += n;
		if (!cpu.until_clock--) {
			cpu.until_clock = CLOCK_EVERY;
			look_at_clock();
		}
		return;
	}
	pc |= ~0ULL << ADDR_BITS;
	kicked = pc == conf.kick;
	ours = kicked && atomic_exchange(&delivered, false);
	entered = (tb & TB_SLOT) && enters_by_slot(pc);
	if (!cpu.in_kernel && machine->slots && !entered) {
		cpu.misplaced++;
		win.misplaced++;
	}
	entered |= !cpu.in_kernel || cpu.returning;
	if (entered) {
		leave_kernel();
		enter_kernel(pc, cpu.in_kernel);
		cpu.in_kernel = true;
		cpu.user_gs = true;
	}
	if (tb & TB_CAUSE)
		entered |= reached(pc);
	if (ours && entered)
		note_delivery();
	win.kicks_of_others += kicked && !ours && entered;
	if (tb & TB_SWAPGS)
		cpu.user_gs = !cpu.user_gs;
	cpu.returning = (tb & TB_RETURNS) && cpu.user_gs;
	if (cpu.entry)
		cpu.entry->insns += n;
	if (cpu.in_tick) {
		cpu.tick_insns += n;
		win.tick_kernel += n;
	} else {
		win.kernel += n;
	}
}

static void on_heavy(unsigned int vcpu, void *userdata)
{
	if ((int)vcpu == atomic_load_explicit(&target, memory_order_relaxed))
		win.heavy[(uintptr_t)userdata]++;
}

static void on_deliver(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	atomic_store(&delivered, true);
}

/* In the thread of the observed vCPU; an entry that is not over yet counts whole. */
static void take_mark(uint32_t payload)
{
	if (mark_op(payload) == MARK_ASK_BEGIN) {
		begin_asked_window(mark_id(payload), atomic_load(&asked_ns),
				   atomic_load(&asked_spent_ns));
	} else {
		leave_kernel();
		end_window();
	}
}

/* The observed vCPU has to take one before the next comes: it runs, who marks waits. */
static void ask_mark(uint32_t what, _Atomic uint32_t *of)
{
	uint32_t none = 0;

	if (of == &asked && !atomic_load(of)) {
		atomic_store(&asked_spent_ns, spent_ns());
		atomic_store(&asked_ns, now_ns());
	}
	if (atomic_load(&target) < 0 ||
	    !atomic_compare_exchange_strong(of, &none, what))
		atomic_fetch_add(&asked_in_vain, 1);
}

static void on_mark(unsigned int vcpu, void *userdata)
{
	uint32_t payload = (uint32_t)(uintptr_t)userdata;
	uint32_t op = mark_op(payload);
	uint32_t id = mark_id(payload);

	if (op == MARK_ASK_BEGIN || op == MARK_ASK_END) {
		ask_mark(payload, &asked);
		return;
	}
	if (op == MARK_ASK_PAUSE) {
		ask_mark(id, &pause_asked);
		return;
	}
	if (op == MARK_TARGET) {
		atomic_store(&target, (int)vcpu);
		atomic_store(&delivered, false);	/* to a CPU that was not looked at */
		cpu.in_kernel = false;
		cpu.returning = false;
		cpu.in_tick = false;
		cpu.unsettled = false;
		cpu.entry = NULL;
		second_restart();
		return;
	}
	if ((int)vcpu != atomic_load(&target))
		return;
	switch (op) {
	case MARK_WINDOW_BEGIN:
		begin_window(id);
		break;
	case MARK_WINDOW_END:
		end_window();
		break;
	case MARK_TICK_BEGIN:
		cpu.in_tick = true;
		cpu.tick_insns = 0;
		win.ticks++;
		break;
	case MARK_TICK_END:
		cpu.in_tick = false;
		if (cpu.tick_insns > win.tick_kernel_max)
			win.tick_kernel_max = cpu.tick_insns;
		break;
	case MARK_PROBE:
		cpu.probe = true;
		cpu.probes++;
		break;
	}
}

static void on_idle(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	if ((int)vcpu == atomic_load(&target))
		cpu.idle_since_ns = now_ns();
}

static void on_resume(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	if ((int)vcpu != atomic_load(&target) || !cpu.idle_since_ns)
		return;
	cpu.idle_ns += now_ns() - cpu.idle_since_ns;
	cpu.idle_since_ns = 0;
}

static void count_heavy(struct qemu_plugin_insn *insn, int kind)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_heavy, QEMU_PLUGIN_CB_NO_REGS,
					       (void *)(uintptr_t)kind);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i, size = 0;
	uint64_t pc = qemu_plugin_tb_vaddr(tb), at = pc, data = pc << TB_ADDR_SHIFT;
	uint8_t b[MAX_BYTES] = { 0 }, before[MAX_BYTES];
	bool kernel = pc >> 63;

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t payload;
		int kind;

		if (kernel && at == conf.deliver)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_deliver,
				QEMU_PLUGIN_CB_NO_REGS, NULL);
		at += qemu_plugin_insn_size(insn);
		memcpy(before, b, sizeof(b));
		size = plugin_insn_bytes(insn, b, conf.copies);
		if (kernel && machine->swaps && machine->swaps(b, size))
			data ^= TB_SWAPGS;
		if (!kernel && machine->mark(b, size, &payload)) {
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
				QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)payload);
		}
		if (!conf.heavy)
			continue;
		kind = machine->heavy_kind(b, size);
		if (kind >= 0)
			count_heavy(insn, kind);
		/* Of two blocks it would not be seen: a test that counts them expects some. */
		if (kernel && machine->syncs && machine->syncs(before, b))
			count_heavy(insn, HEAVY_SYNC);
	}
	if (kernel) {
		data |= TB_KERNEL;
		if (machine->returns && machine->returns(b, size))
			data |= TB_RETURNS;
		if (machine->slots && may_be_slot(pc))
			data |= TB_SLOT;
		if (cause_at(pc) != CAUSE_NONE)
			data |= TB_CAUSE;
	}
	data |= n;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)(uintptr_t)data);
}

/* A last line says that the observer lived to the end, and what it last saw. */
static void on_exit_qemu(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	fprintf(conf.out, "{\"schema\": \"isolator.observer.end\", \"version\": 1"
		", \"vcpu\": %d, \"open_window\": %" PRId64 ", \"probes\": %" PRIu64
		", \"probes_seen\": %" PRIu64 ", \"misplaced\": %" PRIu64
		", \"asked_in_vain\": %u}\n",
		atomic_load(&target), win_open ? (int64_t)win.id : -1, cpu.probes,
		cpu.probes_seen, cpu.misplaced,
		atomic_load(&asked_in_vain) + !!atomic_load(&asked) +
		!!atomic_load(&pause_asked));
	fflush(conf.out);
}

static int add_syscall(uint64_t address)
{
	if (conf.nr_syscalls == MAX_SYSCALLS)
		return -1;
	conf.syscall[conf.nr_syscalls++] = address;
	return 0;
}

static int set_option(char *arg)
{
	char *value = strchr(arg, '=');

	if (!value)
		return -1;
	*value++ = 0;
	if (!strcmp(arg, "out")) {
		conf.out = fopen(value, "we");
		return conf.out ? 0 : -1;
	}
	if (!strcmp(arg, "syscall"))
		return each_address(value, add_syscall);
	if (!strcmp(arg, "kick") || !strcmp(arg, "deliver")) {
		*(*arg == 'k' ? &conf.kick : &conf.deliver) = strtoull(value, NULL, 0);
		return 0;
	}
	if (!strcmp(arg, "log")) {
		conf.log_cap = (unsigned int)strtoul(value, NULL, 0);
		return conf.log_cap <= MAX_LOG ? 0 : -1;
	}
	if (!strcmp(arg, "heavy")) {
		conf.heavy = !strcmp(value, "on");
		return 0;
	}
	return cause_option(arg, value);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
					   const qemu_info_t *info, int argc,
					   char **argv)
{
	machine = machine_wanted("observer", info);
	if (!machine)
		return -1;
	if (plugin_options("observer", set_option, argc, argv))
		return -1;
	if (!conf.out || !conf.nr_syscalls || (machine->slots && !slots_known())) {
		fprintf(stderr, "observer: out=FILE and syscall=ADDR%s (from System.map) are needed\n",
			machine->slots ? ", vectors=ADDR" : "");
		return -1;
	}
	conf.copies = info->version.cur >= 3;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_idle_cb(id, on_idle);
	qemu_plugin_register_vcpu_resume_cb(id, on_resume);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
	return 0;
}
