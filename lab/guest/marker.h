/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks that a guest program makes in its own instruction stream, for the
 * observer outside to see: an instruction without effect that carries a payload.  It
 * needs no privilege, enters no kernel and does nothing on real hardware.
 *
 *   x86-64   0f 1f 84 00 disp32    nopl disp32(%rax,%rax,1)
 *            disp32 = 0x15000000 | op << 20 | id
 *   arm64    movz xzr, #imm16, lsl #48
 *            imm16 = op << 12 | id
 */
#ifndef LAB_MARKER_H
#define LAB_MARKER_H

#ifdef __x86_64__
#define MARK_BASE	0x15000000
#define MARK_OP_SHIFT	20
#define MARK_ID_SHIFT	0
#define MARK_INSN	".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long "
#else
#define MARK_BASE	0xd2e0001f
#define MARK_OP_SHIFT	17
#define MARK_ID_SHIFT	5
#define MARK_INSN	".inst "
#endif
#define MARK_ID_MASK	0xfff

enum mark_op {
	MARK_WINDOW_BEGIN = 1,	/* from here on every kernel entry counts */
	MARK_WINDOW_END = 2,
	MARK_TICK_BEGIN = 3,	/* the task itself asks for the next syscall */
	MARK_TICK_END = 4,
	MARK_TARGET = 5,	/* the CPU that runs this is the observed one */
	MARK_PROBE = 6,		/* a deliberate entry: the observer must count */
	MARK_ASK_BEGIN = 7,	/* the same as 1 and 2, from another CPU: the observed */
	MARK_ASK_END = 8,	/* one takes them with its next instructions */
	MARK_ASK_PAUSE = 9,	/* it stands still, in user mode, for id tenths of a ms */
	MARK_PARK = 10,		/* for the plugin park: park.h */
	MARK_QUIET_BEGIN = 11,	/* in the kernel, for the plugin section: until the end, */
	MARK_QUIET_END = 12,	/* each block that its CPU executes is looked at */
};

#define MARK_PAYLOAD(op, id)						\
	((long)MARK_BASE | ((long)(op) << MARK_OP_SHIFT) |		\
	 ((long)((id) & MARK_ID_MASK) << MARK_ID_SHIFT))

/* The payload is an immediate: op and id must be constants. */
#define MARK(op, id)							\
	__asm__ volatile(MARK_INSN "%c0"				\
			 :: "i" (MARK_PAYLOAD(op, id)) : "memory")

static inline void mark_tick_begin(void)
{
	MARK(MARK_TICK_BEGIN, 0);
}

static inline void mark_tick_end(void)
{
	MARK(MARK_TICK_END, 0);
}

static inline void mark_target(void)
{
	MARK(MARK_TARGET, 0);
}

static inline void mark_probe(void)
{
	MARK(MARK_PROBE, 0);
}

/*
 * Windows are numbered at run time, so their marks stand in a table of code,
 * one entry of MARK_STUB bytes (the NOP and a ret) for each id below
 * MARK_WINDOWS.  MARK_WINDOW_TABLE() places it, once per program.
 */
#define MARK_WINDOWS	4096
#define MARK_STUB	16

extern const char mark_begin_table[], mark_end_table[];

#define MARK_STR_(x)	#x
#define MARK_STR(x)	MARK_STR_(x)
#define MARK_TABLE_(name, op)						\
	".globl " name "\n\t.balign 16\n" name ":\n\t"			\
	".set mark_id, 0\n\t"						\
	".rept " MARK_STR(MARK_WINDOWS) "\n\t"				\
	MARK_INSN MARK_STR(MARK_BASE) " + (" op " << "			\
	MARK_STR(MARK_OP_SHIFT) ") + (mark_id << "			\
	MARK_STR(MARK_ID_SHIFT) ")\n\tret\n\t"				\
	".balign 16\n\t.set mark_id, mark_id + 1\n\t.endr\n"

#define MARK_WINDOW_TABLE()						\
	__asm__(".pushsection .text\n"					\
		MARK_TABLE_("mark_begin_table", "1")			\
		MARK_TABLE_("mark_end_table", "2")			\
		".popsection")

/* The same of marks for another CPU; only the programs `mark` and `inject` have any. */
#define MARK_ASK_TABLE()						\
	__asm__(".pushsection .text\n"					\
		MARK_TABLE_("mark_ask_begin_table", "7")		\
		MARK_TABLE_("mark_ask_end_table", "8")			\
		".popsection")

#define MARK_PAUSE_TABLE()						\
	__asm__(".pushsection .text\n"					\
		MARK_TABLE_("mark_ask_pause_table", "9")		\
		".popsection")

static inline void mark_window(const char *table, unsigned int id)
{
	((void (*)(void))(table + (id % MARK_WINDOWS) * MARK_STUB))();
}

static inline void mark_window_begin(unsigned int id)
{
	mark_window(mark_begin_table, id);
}

static inline void mark_window_end(unsigned int id)
{
	mark_window(mark_end_table, id);
}

#endif
