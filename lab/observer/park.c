// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Park: holds the isolated vCPU at one instruction of its way into the kernel or out, while
 * another vCPU makes a request.  A QEMU TCG plugin.
 *
 *	-plugin park.so,out=FILE,code=FROM-TO[:FROM-TO...],quiet=FROM-TO[:...],deferred=FROM-TO,
 *		wait=ADDR,hold=ADDR[:ADDR...]
 *
 * code= is what is watched, instruction by instruction: the code of the entry, and what
 * belongs to Isolator of what follows.  quiet= is the part of it that nothing may instrument;
 * deferred= the function that does what was deferred; wait= is executed in each round by a
 * sender that waits for the isolated CPU; hold= is where a sender may be held.
 *
 * The program `instants` in the guest says what is wanted (lab/guest/park.h).  A vCPU is held in
 * the callback, in its own thread; the other goes on.  What ends that is in trial.c.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "memory.h"
#include "park.h"
#include "plugin.h"

/* QEMU 9.2 brought the reading of memory. */
QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

#define MAX_RANGES	32
#define ADDR_BITS	48
#define KERNEL		(1ULL << 63)

/* What is known of an instruction, above its address. */
#define IS_RETURN	(1ULL << 48)
#define IS_SWAPGS	(1ULL << 49)
#define IS_PROPER	(1ULL << 50)
#define IS_SYNC		(1ULL << 51)
#define IS_FLUSH	(1ULL << 52)

struct range {
	uint64_t from, to;
};

struct ranges {
	struct range of[MAX_RANGES];
	unsigned int count;
};

static struct {
	FILE *out;
	struct ranges code, quiet, deferred, hold, wait;
} conf;

static atomic_int target = -1;
/* Of the target's thread: as in observer.c. */
static struct {
	bool in_kernel, user_gs, returning;
} cpu;

static bool within(const struct ranges *ranges, uint64_t pc)
{
	unsigned int i;

	for (i = 0; i < ranges->count; i++)
		if (pc >= ranges->of[i].from && pc < ranges->of[i].to)
			return true;
	return false;
}

static bool is_target(unsigned int vcpu)
{
	return (int)vcpu == atomic_load_explicit(&target, memory_order_relaxed);
}

static bool is_armed(void)
{
	return atomic_load_explicit(&armed, memory_order_relaxed);
}

bool park_read(void *to, uint64_t from, size_t size)
{
	return memory_read(to, from, size);
}

static void came_from_user(uint64_t pc)
{
	cpu.in_kernel = true;
	cpu.user_gs = true;
	cpu.returning = false;
	park_entered(pc);
}

static void on_code(unsigned int vcpu, void *userdata)
{
	uint64_t insn = (uint64_t)(uintptr_t)userdata;
	uint64_t pc = insn | ~0ULL << ADDR_BITS;

	if (!is_target(vcpu))
		return;
	if (!cpu.in_kernel || cpu.returning)
		came_from_user(pc);
	if (is_armed())
		park_code(pc, insn & IS_PROPER);
	if (insn & IS_SYNC)
		park_event('S');
	if (insn & IS_FLUSH)
		park_event('F');
	if (insn & IS_SWAPGS)
		cpu.user_gs = !cpu.user_gs;
	cpu.returning = (insn & IS_RETURN) && cpu.user_gs;
}

static void on_proper(unsigned int vcpu, void *userdata)
{
	uint64_t pc = (uint64_t)(uintptr_t)userdata | ~0ULL << ADDR_BITS;

	if (!is_target(vcpu)) {
		if (is_armed())
			park_block();
		return;
	}
	if (!cpu.in_kernel || cpu.returning)
		came_from_user(pc);
	if (is_armed())
		park_proper();
}

static void on_user(unsigned int vcpu, void *userdata)
{
	(void)userdata;
	if (!is_target(vcpu)) {
		if (is_armed())
			park_block();
		return;
	}
	cpu.in_kernel = false;
	cpu.returning = false;
	if (is_armed())
		park_user();
}

static void on_hold(unsigned int vcpu, void *userdata)
{
	if (is_armed() && !is_target(vcpu))
		park_hold((uint64_t)(uintptr_t)userdata);
}

static void on_wait(unsigned int vcpu, void *userdata)
{
	(void)userdata;
	if (is_armed() && !is_target(vcpu))
		park_waits();
}

static void on_mark(unsigned int vcpu, void *userdata)
{
	uint32_t payload = (uint32_t)(uintptr_t)userdata;

	if (mark_op(payload) == MARK_TARGET) {
		atomic_store(&target, (int)vcpu);
		cpu.in_kernel = false;
		cpu.returning = false;
		return;
	}
	park_mark(mark_id(payload));
	if (mark_id(payload) == PARK_END)
		park_write(conf.out);
}

/* Writes to CR4, of the register with ModRM's middle bits. */
static bool is_flush(const uint8_t *b, size_t size)
{
	return size == 3 && b[0] == 0x0f && b[1] == 0x22 && ((b[2] >> 3) & 7) == 4;
}

static bool is_sync(const uint8_t *b, size_t size)
{
	return is_return(b, size) || (size == 3 && b[0] == 0x0f && b[1] == 0x01 && b[2] == 0xe8);
}

static void watch(struct qemu_plugin_insn *insn, uint64_t pc, const uint8_t *b, size_t size)
{
	uint64_t data = pc & ((1ULL << ADDR_BITS) - 1);

	if (within(&conf.hold, pc))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_hold, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)pc);
	if (within(&conf.wait, pc))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_wait, QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (!within(&conf.code, pc))
		return;
	if (is_return(b, size))
		data |= IS_RETURN;
	if (is_swapgs(b, size))
		data |= IS_SWAPGS;
	if (!within(&conf.quiet, pc))
		data |= IS_PROPER;
	if (within(&conf.deferred, pc)) {
		data |= is_sync(b, size) ? IS_SYNC : 0;
		data |= is_flush(b, size) ? IS_FLUSH : 0;
	}
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_code, QEMU_PLUGIN_CB_NO_REGS,
					       (void *)(uintptr_t)data);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t begin = qemu_plugin_tb_vaddr(tb), pc = begin;
	size_t i, n = qemu_plugin_tb_n_insns(tb), size;

	(void)id;
	if (!(begin & KERNEL))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_user, QEMU_PLUGIN_CB_NO_REGS, NULL);
	else if (!within(&conf.code, begin))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_proper, QEMU_PLUGIN_CB_NO_REGS,
			(void *)(uintptr_t)(begin & ((1ULL << ADDR_BITS) - 1)));
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t b[MAX_BYTES] = { 0 };
		uint32_t payload;

		size = qemu_plugin_insn_size(insn);
		qemu_plugin_insn_data(insn, b, size < MAX_BYTES ? size : MAX_BYTES);
		if (begin & KERNEL) {
			watch(insn, pc, b, size);
		} else if (is_mark(b, size)) {
			memcpy(&payload, b + 4, sizeof(payload));
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
				QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)payload);
		}
		pc += size;
	}
}

/* FROM-TO, or one address. */
static int set_ranges(struct ranges *ranges, char *list)
{
	char *save = NULL, *word, *end;

	for (word = strtok_r(list, ":", &save); word; word = strtok_r(NULL, ":", &save)) {
		struct range *r = &ranges->of[ranges->count];

		if (ranges->count++ == MAX_RANGES)
			return -1;
		r->from = strtoull(word, &end, 16);
		r->to = *end == '-' ? strtoull(end + 1, NULL, 16) : r->from + 1;
	}
	return 0;
}

static int set_option(char *arg)
{
	const struct {
		const char *name;
		struct ranges *ranges;
	} lists[] = {
		{ "code", &conf.code }, { "quiet", &conf.quiet }, { "deferred", &conf.deferred },
		{ "hold", &conf.hold }, { "wait", &conf.wait },
	};
	char *value = strchr(arg, '=');
	size_t i;

	if (!value)
		return -1;
	*value++ = 0;
	if (!strcmp(arg, "out")) {
		conf.out = fopen(value, "we");
		return conf.out ? 0 : -1;
	}
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!strcmp(arg, lists[i].name))
			return set_ranges(lists[i].ranges, value);
	return -1;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
					   const qemu_info_t *info, int argc,
					   char **argv)
{
	if (plugin_wants_x86_64("park", info) || plugin_options("park", set_option, argc, argv))
		return -1;
	if (!memory_init() || !conf.out || !conf.code.count) {
		fprintf(stderr, "park: out= and code= are needed, and a QEMU with GLib\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
